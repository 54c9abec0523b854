package decide

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
)

func ln(x float64) float32 { return float32(math.Log(x)) }

// compiled is a plan of one question whose labels have the given number of spellings each.
func compiled(q Question, spellings int) *Plan {
	names := namesOf(&q)
	p := prompt{reads: []Read{{Labels: make([]int32, spellings*len(names)), LogSumExp: true, Mass: true}}}
	for i := range names {
		p.scores = append(p.scores, []term{{from: i * spellings, to: (i + 1) * spellings}})
	}
	return planOf(q, &asked{names: names, method: Label, prompts: []prompt{p}})
}

func planOf(q Question, a *asked) *Plan {
	plan := &Plan{questions: []Question{q}}
	plan.forms[BorderRaw] = func() (*form, error) { return &form{asked: []*asked{a}, reads: a.reads()}, nil }
	return plan
}

// TestAnswers reads answers off logits whose exponentials are simple numbers.
func TestAnswers(t *testing.T) {
	t.Parallel()
	choice := Choice("c", "which?", Names("a", "b", "c")...)
	score := Score("s", "how?", "low", "mid", "high")
	for _, c := range []struct {
		name      string
		q         Question
		spellings int
		r         Request
		in        Reading
		want      Answer
		mass      float64
	}{
		{
			"spellings are summed", Boolean("b", "is it?"), 2, Request{},
			Reading{Labels: []float32{ln(1), ln(5), ln(1), ln(1)}, LogSumExp: ln(16)},
			Answer{Value: "yes", Probability: .75, Confidence: .5}, .5,
		},
		{
			"a boolean's probability is that of yes", Boolean("b", "is it?"), 1, Request{},
			Reading{Labels: []float32{ln(1), ln(3)}, LogSumExp: ln(4)},
			Answer{Value: "no", Index: 1, Probability: .25, Confidence: .5}, 1,
		},
		{
			"choice", choice, 1, Request{},
			Reading{Labels: []float32{ln(1), ln(8), ln(1)}, LogSumExp: ln(20)},
			Answer{Value: "b", Index: 1, Probability: .8, Confidence: .7}, .5,
		},
		{
			"score", score, 1, Request{},
			Reading{Labels: []float32{ln(7), ln(2), ln(1)}, LogSumExp: ln(10)},
			Answer{Value: "low", Probability: .7, Score: .4, Confidence: .4}, 1,
		},
		{
			"the lowest of equals, and said so", choice, 1, Request{},
			Reading{Labels: []float32{ln(1), ln(2), ln(2)}, LogSumExp: ln(5)},
			Answer{Value: "b", Index: 1, Probability: .4, Confidence: .1, Tied: true}, 1,
		},
		{
			"below the threshold of confidence", choice, 1, Request{MinConfidence: .75},
			Reading{Labels: []float32{ln(1), ln(8), ln(1)}, LogSumExp: ln(10)},
			Answer{Value: "b", Index: 1, Probability: .8, Confidence: .7, Abstained: true}, 1,
		},
		{
			"below the threshold of label mass", choice, 1, Request{MinLabelMass: .6},
			Reading{Labels: []float32{ln(1), ln(8), ln(1)}, LogSumExp: ln(20)},
			Answer{Value: "b", Index: 1, Probability: .8, Confidence: .7, Abstained: true}, .5,
		},
		{
			"confidence by mass", choice, 1, Request{Confidence: Mass},
			Reading{Labels: []float32{ln(1), ln(8), ln(1)}, LogSumExp: ln(20)},
			Answer{Value: "b", Index: 1, Probability: .8, Confidence: .4}, .5,
		},
		{
			"mass skipped", choice, 1, Request{SkipMass: true},
			Reading{Labels: []float32{ln(1), ln(8), ln(1)}},
			Answer{Value: "b", Index: 1, Probability: .8, Confidence: .7}, math.NaN(),
		},
		{
			"an option that cannot be", choice, 1, Request{},
			Reading{Labels: []float32{float32(math.Inf(-1)), ln(1), ln(1)}, LogSumExp: ln(2)},
			Answer{Value: "b", Index: 1, Probability: .5, Confidence: .25, Tied: true}, 1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := compiled(c.q, c.spellings).Answer(c.r, BorderRaw, []Reading{c.in}, nil)
			if err != nil {
				t.Fatal(err)
			}
			a := got[0]
			near := func(name string, got, want float64) {
				if math.Abs(got-want) > 1e-6 {
					t.Errorf("%s %v, want %v", name, got, want)
				}
			}
			near("probability", a.Probability, c.want.Probability)
			near("score", a.Score, c.want.Score)
			near("confidence", a.Confidence, c.want.Confidence)
			if a.Value != c.want.Value || a.Index != c.want.Index || a.Tied != c.want.Tied || a.Abstained != c.want.Abstained {
				t.Errorf("got %+v, want %+v", a, c.want)
			}
			if a.Abstained != (a.Why != "") {
				t.Errorf("abstained %v, because %q", a.Abstained, a.Why)
			}
			switch {
			case c.mass != c.mass:
				if a.LabelMass != nil {
					t.Errorf("label mass %v, want none", *a.LabelMass)
				}
			case a.LabelMass == nil:
				t.Error("no label mass")
			default:
				near("label mass", *a.LabelMass, c.mass)
			}
		})
	}
}

func TestAnswerOfNaN(t *testing.T) {
	t.Parallel()
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for name, in := range map[string]Reading{
		"a label":         {Labels: []float32{0, nan}},
		"an endless one":  {Labels: []float32{0, inf}},
		"none possible":   {Labels: []float32{-inf, -inf}},
		"the whole vocab": {Labels: []float32{0, 0}, LogSumExp: nan},
		"more than all":   {Labels: []float32{0, 0}, LogSumExp: 0},
	} {
		if _, err := compiled(Boolean("b", "is it?"), 1).Answer(Request{}, BorderRaw, []Reading{in}, nil); !errors.Is(err, ErrNaN) {
			t.Errorf("%s: %v, want ErrNaN", name, err)
		}
	}
}

// TestPlanNeedsItsReadings refuses what a plan did not ask for.
func TestPlanNeedsItsReadings(t *testing.T) {
	t.Parallel()
	p := compiled(Boolean("b", "is it?"), 2)
	for name, in := range map[string][]Reading{
		"none":       nil,
		"two":        make([]Reading, 2),
		"few labels": {{Labels: make([]float32, 3)}},
	} {
		if _, err := p.Answer(Request{}, BorderRaw, in, nil); !errors.Is(err, ErrPlan) {
			t.Errorf("%s: %v, want ErrPlan", name, err)
		}
	}
}

func TestTypedGetters(t *testing.T) {
	t.Parallel()
	r := &Result{Answers: []Answer{{ID: "b", Kind: KindBoolean, Probability: .9, Value: "yes"}, {ID: "c", Kind: KindChoice, Value: "x"}}}
	if a := r.Boolean("b"); a.Abstained || a.Probability != .9 {
		t.Errorf("%+v", a)
	}
	if a := r.Choice("c"); a.Abstained || a.Value != "x" {
		t.Errorf("%+v", a)
	}
	for name, a := range map[string]Answer{"unknown": r.Choice("none"), "another kind": r.Score("c"), "empty": (&Result{}).Boolean("b")} {
		if !a.Abstained || a.Why == "" || a.Value != "" || a.Probability != 0 {
			t.Errorf("%s: %+v, want an abstained zero answer", name, a)
		}
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	ok := []Question{Boolean("b", "is it?")}
	many := make([]Question, MaxQuestions+1)
	for i := range many {
		many[i] = Boolean(strings.Repeat("x", i+1), "is it?")
	}
	for name, c := range map[string]struct {
		r    Request
		want []string // in the message
	}{
		"no questions":        {Request{}, []string{"Questions", "0", "256"}},
		"too many questions":  {Request{Questions: many}, []string{"Questions", "257", "256"}},
		"empty id":            {Request{Questions: []Question{Boolean(" ", "is it?")}}, []string{"Questions[0].ID"}},
		"twice one id":        {Request{Questions: []Question{ok[0], ok[0]}}, []string{"Questions[1].ID", "Questions[0]"}},
		"no instructions":     {Request{Questions: []Question{Boolean("b", "\n ")}}, []string{`"b"`, "Instructions"}},
		"unknown kind":        {Request{Questions: []Question{{ID: "b", Kind: 9, Instructions: "x"}}}, []string{"Kind", "9", "3"}},
		"no kind":             {Request{Questions: []Question{{ID: "b", Instructions: "x"}}}, []string{"Kind", "0"}},
		"no options":          {Request{Questions: []Question{Choice("c", "which?")}}, []string{`"c"`, "Options", "0", "4096"}},
		"too many options":    {Request{Questions: []Question{Choice("c", "which?", make([]Option, 4097)...)}}, []string{"4097", "4096"}},
		"one level":           {Request{Questions: []Question{Score("s", "how?", "low")}}, []string{"1 levels", "2 to 255"}},
		"too many levels":     {Request{Questions: []Question{Score("s", "how?", make([]string, 256)...)}}, []string{"256", "255"}},
		"empty option":        {Request{Questions: []Question{Choice("c", "which?", Names("a", " ")...)}}, []string{"Options[1].Name"}},
		"twice one option":    {Request{Questions: []Question{Choice("c", "which?", Names("a", "b", " a ")...)}}, []string{"Options[2].Name", "Options[0]"}},
		"odd boolean options": {Request{Questions: []Question{{ID: "b", Kind: KindBoolean, Instructions: "x", Options: Names("no", "yes")}}}, []string{"Options", "yes and no"}},
		"threshold":           {Request{Questions: ok, MinConfidence: 1.5}, []string{"MinConfidence", "1.5", "0 to 1"}},
		"own threshold":       {Request{Questions: []Question{{ID: "b", Kind: KindBoolean, Instructions: "x", MinConfidence: 2}}}, []string{"MinConfidence", "2"}},
		"long text":           {Request{Questions: []Question{Boolean("b", strings.Repeat("x", MaxText+1))}}, []string{"1048577", "1048576"}},
		"control character":   {Request{Questions: []Question{Choice("c", "which?", Names("a\nB: b")...)}}, []string{"Options[0].Name", "control"}},
		"threshold NaN":       {Request{Questions: ok, MinLabelMass: math.NaN()}, []string{"MinLabelMass"}},
		"definition":          {Request{Questions: ok, Confidence: 7}, []string{"Confidence", "7", "2"}},
		"mass and no mass":    {Request{Questions: ok, SkipMass: true, Confidence: Mass}, []string{"SkipMass"}},
		"plan and questions":  {Request{Questions: ok, Plan: &Plan{}}, []string{"Plan"}},
		"state":               {Request{Questions: ok, State: JSON(math.Inf(1))}, []string{"state"}},
		"deep state":          {Request{Questions: ok, State: JSON(nest(65))}, []string{"65", "64"}},
	} {
		err := c.r.Check()
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", name, err, part)
			}
		}
	}
	if err := (&Request{Questions: ok, State: JSON(nest(64))}).Check(); err != nil {
		t.Errorf("64 levels: %v", err)
	}
}

func nest(n int) any {
	var v any = "]]{{\\\"["
	for range n {
		v = []any{v}
	}
	return v
}

func TestJSONState(t *testing.T) {
	t.Parallel()
	type ticket struct {
		Zeta  string
		Alpha []int
		HTML  string
	}
	s := JSON(ticket{"z", []int{1, 2}, "<a&b>"})
	if got, want := s.Prompt().RawText(), `{"Zeta":"z","Alpha":[1,2],"HTML":"<a&b>"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	raw := JSON(json.RawMessage(`{ "b" : 1, "a" : [ ] }`))
	if got, want := raw.Prompt().RawText(), `{"b":1,"a":[]}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if m := s.Messages(); len(m) != 1 || m[0].Content != s.Prompt().RawText() {
		t.Errorf("messages %+v", m)
	}
	if !(State{}).IsZero() || s.IsZero() || Text("").IsZero() {
		t.Error("only the zero State is zero")
	}
}
