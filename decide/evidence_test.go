package decide_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine/backend/cpu"
	"github.com/hotpath-go/hotpath/model"
)

// declaring returns a tiny model with a declared read, more of its members, and numbers for its tokens.
func declaring(t testing.TB, more string) *model.Model {
	t.Helper()
	m := tinyChat(t)
	m.Decision = `{"read": "each", "state": "{state}", "question": "\nQ: {question}", "option": "\nA: {name}[ - {description}]", "yes": "y"` + more + `}`
	r := rand.New(rand.NewPCG(5, 7))
	m.IDF, m.Fold = make([]float32, m.Program.Vocab), make([]int32, m.Program.Vocab)
	for i := range m.IDF {
		if m.Fold[i] = int32(i); i%3 == 1 {
			m.Fold[i] = int32(i - 1)
		}
		if m.IDF[i] = 8 * r.Float32(); i%5 == 0 {
			m.IDF[i] = 0
		}
	}
	return m
}

var shared = []decide.Option{
	decide.Opt("billing", "charges, refunds and a card that was charged twice"),
	decide.Opt("technical", "errors, errors, errors"),
	decide.Opt("the card the card", ""),
	decide.Opt("q", ""),
}

// TestEvidence computes the answers from the model's logits by the formula of the package comment,
// written down again in another way.
func TestEvidence(t *testing.T) {
	t.Parallel()
	const weight, hot = 0.37, 1.7
	m := declaring(t, `, "temperature": {"choice": 1.7, "score": 0.5}, "evidence": {"choice": 0.37}`)
	e, feed := openEngine(t, m), newFeeder(t, cpu.New(), m)
	c := decide.NewCompiler(m, decide.Options{})
	r := decide.Request{State: decide.Text("my card was charged twice, please fix the card"), Questions: []decide.Question{
		decide.Choice("team", "Which team?", shared...),
		decide.Boolean("angry", "Is the customer angry?"),
		decide.Score("urgent", "How urgent is the card?", "the card", "was charged"),
	}}
	state, err := c.Encode(r.State, decide.BorderNone)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := c.Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	spans, err := plan.Spans(state.Form)
	if err != nil {
		t.Fatal(err)
	}
	res, err := e.Decide(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	in := map[int32]bool{}
	for _, id := range state.Tokens {
		in[m.Fold[id]] = true
	}
	ends := histories(state.Tokens, spans)
	at := 0
	next := func(options int) (scores, evidence []float64) {
		for len(scores) < options {
			s := spans[at]
			if len(s.Reads) > 0 {
				scores = append(scores, feed.logits(ends[at])[s.Reads[0].Labels[0]])
				counted, sum := map[int32]bool{}, 0.0
				for _, id := range s.Tokens {
					id = m.Fold[id]
					if m.IDF[id] > 0 && !counted[id] {
						counted[id] = true
						if in[id] {
							sum += float64(m.IDF[id])
						}
					}
				}
				evidence = append(evidence, weight*sum/math.Sqrt(1+float64(len(counted))))
			}
			at++
		}
		return scores, evidence
	}
	for i, temperature := range []float64{hot, 1, 0.5} {
		a := res.Answers[i]
		scores, evidence := next(len(a.Probabilities))
		for j := range scores {
			if i == 0 {
				scores[j] += evidence[j]
				if !(math.Abs(a.Evidence[j]-evidence[j]) < 1e-12) || (j == 0 && evidence[j] == 0) {
					t.Errorf("%s: evidence %d is %v, want %v", a.ID, j, a.Evidence[j], evidence[j])
				}
			}
			scores[j] /= temperature
		}
		if i > 0 && a.Evidence != nil {
			t.Errorf("%s: evidence %v of a kind without", a.ID, a.Evidence)
		}
		if a.Temperature != temperature || a.Calibrated {
			t.Errorf("%s: temperature %v, calibrated %v", a.ID, a.Temperature, a.Calibrated)
		}
		for j, p := range normal(scores) {
			if !(math.Abs(a.Probabilities[j]-p) < 1e-5) {
				t.Errorf("%s: p[%d] is %v, want %v", a.ID, j, a.Probabilities[j], p)
			}
		}
	}
}

// TestEvidenceWithoutOrder permutes the options: every option keeps its bits.
func TestEvidenceWithoutOrder(t *testing.T) {
	t.Parallel()
	e := openEngine(t, declaring(t, `, "temperature": {"choice": 1.3}, "evidence": {"choice": 0.9}`))
	want := map[string][2]float64{}
	for i := range 8 {
		q := decide.Choice("team", "Which team?", shared...)
		q.Options = append([]decide.Option(nil), shared...)
		if i > 0 {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			r.Shuffle(len(q.Options), func(a, b int) { q.Options[a], q.Options[b] = q.Options[b], q.Options[a] })
		}
		res, err := e.Decide(t.Context(), decide.Request{State: decide.Text("the card was charged twice"), Questions: []decide.Question{q}})
		if err != nil {
			t.Fatal(err)
		}
		for j, o := range q.Options {
			got := [2]float64{res.Answers[0].Probabilities[j], res.Answers[0].Evidence[j]}
			if i == 0 {
				want[o.Name] = got
			}
			if got != want[o.Name] {
				t.Errorf("order %d: %s has %v, want %v", i, o.Name, got, want[o.Name])
			}
		}
	}
}

// TestCalibratorReplacesTemperature fits nothing: it gives a calibrator that knows one kind, and finds
// the other kind with the temperature that the model ships.
func TestCalibratorReplacesTemperature(t *testing.T) {
	t.Parallel()
	m := declaring(t, `, "temperature": {"choice": 1.7, "boolean": 3}`)
	r := decide.Request{State: decide.Text("the card"), Questions: []decide.Question{
		decide.Choice("team", "Which team?", shared...), decide.Boolean("angry", "Is the customer angry?"),
	}}
	bare := declaring(t, "")
	logits := probabilities(t, bare, r, nil)
	binding, err := decide.NewCompiler(m, decide.Options{}).Binding()
	if err != nil {
		t.Fatal(err)
	}
	cal := &decide.Calibrator{Binding: binding, Bands: []decide.Band{
		{How: decide.How{Method: decide.Each}, Kind: decide.KindChoice, From: 1, To: 9, Temperature: 0.6},
	}}
	for _, c := range []struct {
		cal        *decide.Calibrator
		choice, yn float64
	}{{nil, 1.7, 3}, {cal, 0.6, 3}} {
		got := probabilities(t, m, r, c.cal)
		for i, temperature := range []float64{c.choice, c.yn} {
			scaled := make([]float64, len(logits[i]))
			for j, p := range logits[i] {
				scaled[j] = math.Log(p) / temperature
			}
			for j, p := range normal(scaled) {
				if !(math.Abs(got[i][j]-p) < 1e-6) {
					t.Errorf("temperature %v: p[%d] is %v, want %v", temperature, j, got[i][j], p)
				}
			}
		}
	}
}

// probabilities returns those of every question of a request, by a compiler under a calibrator.
func probabilities(t *testing.T, m *model.Model, r decide.Request, cal *decide.Calibrator) [][]float64 {
	t.Helper()
	c := decide.NewCompiler(m, decide.Options{Calibrator: cal})
	plan, err := c.Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	state, err := c.Encode(r.State, decide.BorderNone)
	if err != nil {
		t.Fatal(err)
	}
	spans, err := plan.Spans(state.Form)
	if err != nil {
		t.Fatal(err)
	}
	feed := newFeeder(t, cpu.New(), m)
	var readings []decide.Reading
	for i, h := range histories(state.Tokens, spans) {
		for _, read := range spans[i].Reads {
			readings = append(readings, decide.Reading{Labels: []float32{float32(feed.logits(h)[read.Labels[0]])}})
		}
	}
	answers, err := plan.Answer(r, state, readings, nil)
	if err != nil {
		t.Fatal(err)
	}
	var list [][]float64
	for i, a := range answers {
		if want := cal != nil && i == 0; a.Calibrated != want {
			t.Errorf("%s: calibrated %v", a.ID, a.Calibrated)
		}
		list = append(list, a.Probabilities)
	}
	return list
}

func TestBadNumbers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		more string
		idf  int // how many too many; the vocabulary's negative: none
		text []string
	}{
		"good":               {`, "temperature": {"score": 2}, "evidence": {"boolean": 0.1}`, 0, nil},
		"unknown kind":       {`, "temperature": {"colour": 2}`, 0, []string{"temperature", "colour"}},
		"no temperature":     {`, "temperature": {"score": 0}`, 0, []string{"temperature.score", "0, must be above 0", "1000"}},
		"negative":           {`, "temperature": {"score": -1}`, 0, []string{"temperature.score", "-1"}},
		"too hot":            {`, "temperature": {"score": 1001}`, 0, []string{"1001", "1000"}},
		"negative evidence":  {`, "evidence": {"choice": -0.5}`, 0, []string{"evidence.choice", "-0.5, must be 0 or more"}},
		"not a number":       {`, "evidence": {"choice": "x"}`, 0, []string{"JSON"}},
		"infinite":           {`, "evidence": {"choice": 1e999}`, 0, []string{"JSON"}},
		"too many weights":   {`, "evidence": {"choice": 1}`, 1, []string{"hotpath.idf", "numbers, the vocabulary has"}},
		"no weights":         {`, "evidence": {"choice": 1}`, -1, []string{"hotpath.idf", "0 numbers, the vocabulary has"}},
		"no use for weights": {`, "evidence": {"choice": 0}`, -1, nil},
	} {
		m := declaring(t, c.more)
		switch {
		case c.idf < 0:
			m.IDF = nil
		case c.idf > 0:
			m.IDF = append(m.IDF, 1)
		}
		err := decide.NewCompiler(m, decide.Options{}).Check()
		if c.text == nil {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		for _, s := range c.text {
			if !errors.Is(err, decide.ErrDeclared) || !strings.Contains(err.Error(), s) {
				t.Errorf("%s: %v, want ErrDeclared with %q", name, err, s)
			}
		}
	}
}
