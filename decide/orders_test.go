package decide_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/internal/race"
	"github.com/hotpath-go/hotpath/quant"
)

// bitsOf prints an answer so that equal texts are equal bits, the options by name.
func bitsOf(q decide.Question, a decide.Answer) string {
	var lines []string
	for i, p := range a.Probabilities {
		name := fmt.Sprint(i)
		if len(q.Options) > 0 {
			name = q.Options[i].Name
		}
		lines = append(lines, fmt.Sprintf("%s %x", name, math.Float64bits(p)))
	}
	slices.Sort(lines)
	text := fmt.Sprintf("%s %x ", a.Value, math.Float64bits(a.Confidence))
	for _, x := range []*float64{a.LabelMass, a.OrderSpread} {
		if x != nil {
			text += fmt.Sprintf("%x ", math.Float64bits(*x))
		}
	}
	return text + strings.Join(lines, " ")
}

// TestOptionOrder: asked in sorted rotations, or each alone, a choice has the same bits whatever the
// caller's order; asked once in the caller's order it has not.
func TestOptionOrder(t *testing.T) {
	t.Parallel()
	e := openEngine(t, tinyChat(t))
	options := []decide.Option{
		decide.Opt("cat", "says miaow"), decide.Opt("dog", ""), decide.Opt("bird", "flies"),
		decide.Opt("fish", ""), decide.Opt("ant", "crawls"), decide.Opt("antelope", ""), decide.Opt("Cat", ""),
	}
	rounds := 6
	if race.Enabled {
		rounds = 2
	}
	for _, c := range []struct {
		method decide.Method
		orders int
		same   bool
		asked  int
	}{
		{decide.Label, 1, true, 1}, {decide.Label, 3, true, 3}, {decide.Label, 64, true, 7},
		{decide.Code, 2, true, 2}, {decide.Path, 2, true, 2}, {decide.Each, 0, true, 0},
		{decide.Label, 0, false, 0}, {decide.Path, 0, false, 0},
	} {
		rng := rand.New(rand.NewPCG(1, uint64(c.orders)))
		bits := map[string]bool{}
		for range rounds {
			rng.Shuffle(len(options), func(i, j int) { options[i], options[j] = options[j], options[i] })
			for _, confidence := range []decide.Confidence{decide.Concentration, decide.Entropy} {
				q := decide.Choice("q", "Which animal?", options...)
				res, err := e.Decide(t.Context(), decide.Request{
					State: decide.Text("It was in the garden."), Questions: []decide.Question{q},
					Method: c.method, Orders: c.orders, Confidence: confidence,
				})
				if err != nil {
					t.Fatalf("%v: %v", c, err)
				}
				a := res.Answers[0]
				if a.Method != c.method || a.Orders != c.asked || (a.OrderSpread != nil) != (c.asked > 1) || len(a.Probabilities) != len(options) {
					t.Fatalf("%v: %+v", c, a)
				}
				if s := a.OrderSpread; s != nil && !(*s > 0 && *s < 1) {
					t.Errorf("%v: spread %v", c, *s)
				}
				bits[fmt.Sprint(confidence, bitsOf(q, a))] = true
			}
		}
		if same := len(bits) == 2; same != c.same {
			t.Errorf("%v %d orders: %d different answers, same %v", c.method, c.orders, len(bits)/2, c.same)
		}
	}
}

// TestScoreOrders: the mean of two prompts, with the levels up and down.
func TestScoreOrders(t *testing.T) {
	t.Parallel()
	m := tinyChat(t)
	e := openEngine(t, m)
	state := decide.Text("It was in the garden.")
	ask := func(orders int, levels ...string) decide.Answer {
		res, err := e.Decide(t.Context(), decide.Request{State: state, Orders: orders, Questions: []decide.Question{
			decide.Score("s", "How big?", levels...),
		}})
		if err != nil {
			t.Fatal(err)
		}
		return res.Answers[0]
	}
	up, down := ask(0, "small", "medium", "large"), ask(0, "large", "medium", "small")
	both := ask(2, "small", "medium", "large")
	spread, score := 0.0, 0.0
	for i := range 3 {
		want := (up.Probabilities[i] + down.Probabilities[2-i]) / 2
		if math.Abs(both.Probabilities[i]-want) > 1e-12 {
			t.Errorf("p[%d] %v, want %v", i, both.Probabilities[i], want)
		}
		spread = max(spread, math.Abs(up.Probabilities[i]-down.Probabilities[2-i]))
		score += float64(i) * want
	}
	if both.OrderSpread == nil || math.Abs(*both.OrderSpread-spread) > 1e-12 || math.Abs(both.Score-score) > 1e-12 {
		t.Errorf("%+v, want spread %v and score %v", both, spread, score)
	}
	mass := (*up.LabelMass + *down.LabelMass) / 2
	if math.Abs(*both.LabelMass-mass) > 1e-12 {
		t.Errorf("label mass %v, want %v", *both.LabelMass, mass)
	}
	res, err := e.Decide(t.Context(), decide.Request{State: state, Orders: 2, MaxSpread: spread / 2, Questions: []decide.Question{
		decide.Score("s", "How big?", "small", "medium", "large"),
	}})
	if err != nil || !res.Answers[0].Abstained || !strings.Contains(res.Answers[0].Why, "order spread") {
		t.Errorf("%v, %v", res, err)
	}
}

// TestManyOptions reads 4,096 options in each way, on a device whose logits are a plain function of
// the history, with far less scratch than the spans take at once.
func TestManyOptions(t *testing.T) {
	t.Parallel()
	const n = 4096
	m := tinyChat(t)
	m.Program.Context = 32768
	more := func(h uint64, id int32) uint64 { return (h ^ uint64(id)) * 1099511628211 }
	hash := func(history []int32) uint64 {
		h := uint64(14695981039346656037)
		for _, id := range history {
			h = more(h, id)
		}
		return h
	}
	logit := func(h uint64, id int32) float32 {
		h = (h ^ uint64(id)*0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
		return float32(h>>40) / (1 << 22) // 0 to 4
	}
	fake := &backendtest.Fake{Logits: func(history []int32, logits []float32) {
		h := hash(history)
		for id := range logits {
			logits[id] = logit(h, int32(id))
		}
	}}
	t.Cleanup(func() { fake.Verify(t) })
	block := int64(2 * 2 * 2 * 16 * 16 * 4) // 2 layers, keys and values, 2 heads of 16, 16 positions, f32
	e := openEngine(t, m, engine.WithBackend(fake), engine.WithStepRows(256),
		engine.WithContextLength(32768), engine.WithKV(engine.KV{Format: quant.F32, Bytes: 2048 * block, Scratch: 1700 * block}))
	options := make([]decide.Option, n)
	for i := range options {
		options[i].Name = fmt.Sprintf("%c%c%c", 'a'+i%16, 'a'+i/16%16, 'a'+i/256)
	}
	c := decide.NewCompiler(m, decide.Options{})
	state, err := c.Encode(decide.Text("Which?"), decide.BorderNone)
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []decide.Method{decide.Path, decide.Each} {
		q := decide.Choice("q", "?", options...)
		q.Method = method
		r := decide.Request{State: decide.Text("Which?"), Questions: []decide.Question{q}}
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
			t.Fatalf("%v: %v", method, err)
		}
		ends := histories(state.Tokens, spans)
		prompt := hash(ends[0])
		logits := make([]float64, len(q.Options))
		sums := map[uint64]float64{} // over the vocabulary
		for i, o := range q.Options {
			if method == decide.Each {
				h, labels := hash(ends[1+i]), spans[1+i].Reads[0].Labels
				var x []float64
				for _, id := range labels {
					x = append(x, float64(logit(h, id)))
				}
				k := len(x) / 2
				logits[i] = sumExp(x[:k]) - sumExp(x[k:])
				continue
			}
			h := prompt
			for _, id := range reply(t, m.Tokenizer, "assistant\n", o.Name) {
				if _, ok := sums[h]; !ok {
					x := make([]float64, m.Program.Vocab)
					for j := range x {
						x[j] = float64(logit(h, int32(j)))
					}
					sums[h] = sumExp(x)
				}
				logits[i] += float64(logit(h, id)) - sums[h]
				h = more(h, id)
			}
		}
		a := res.Answers[0]
		for i, p := range normal(logits) {
			if math.Abs(p-a.Probabilities[i]) > 1e-5*p {
				t.Fatalf("%v: p[%d] is %v, want %v", method, i, a.Probabilities[i], p)
			}
		}
		rows, err := plan.Rows(state.Form)
		if err != nil || res.Usage.ComputedTokens < rows || res.Usage.Steps < 2 {
			t.Errorf("%v: %v, planned %d rows, %v", method, res.Usage, rows, err)
		}
		if method == decide.Each && (res.Usage.ComputedTokens > rows+rows/4 || res.Usage.StateTokens != len(state.Tokens)) {
			t.Errorf("%v: %v, planned %d rows", method, res.Usage, rows)
		}
	}
}

// TestBooleanOrders: yes is yes in both orders of what yes and no mean.
func TestBooleanOrders(t *testing.T) {
	t.Parallel()
	m := tinyChat(t)
	q := decide.Question{ID: "b", Kind: decide.KindBoolean, Instructions: "Is it late?", Orders: 2,
		Options: []decide.Option{decide.Opt("yes", "after ten"), decide.Opt("no", "before ten")}}
	for _, method := range []decide.Method{decide.Label, decide.Path} {
		q.Method = method
		plan, err := decide.Compile(m, decide.Request{Questions: []decide.Question{q}}, decide.Options{})
		if err != nil {
			t.Fatal(err)
		}
		spans, err := plan.Spans(decide.BorderTurn)
		if err != nil {
			t.Fatal(err)
		}
		var readings []decide.Reading
		var texts []string
		for i, end := range histories(nil, spans) {
			for _, read := range spans[i].Reads {
				in := decide.Reading{LogSumExp: 4}
				for _, id := range read.Labels {
					logit := float32(0)
					if tok, _ := m.Tokenizer.Token(id); strings.EqualFold(strings.TrimSpace(string(tok.Bytes)), "yes") {
						logit = 2
					}
					in.Labels = append(in.Labels, logit)
				}
				readings = append(readings, in)
				texts = append(texts, m.Tokenizer.Decode(end, false))
			}
		}
		if len(texts) != 2 || strings.Index(texts[0], "after") > strings.Index(texts[0], "before") || strings.Index(texts[1], "after") < strings.Index(texts[1], "before") {
			t.Fatalf("%v: %q", method, texts)
		}
		a, err := plan.Answer(decide.Request{}, decide.Encoded{Form: decide.BorderTurn}, readings, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := 1 / (1 + math.Exp(-2)); a[0].Value != "yes" || math.Abs(a[0].Probability-want) > 1e-9 || a[0].OrderSpread == nil || *a[0].OrderSpread != 0 || a[0].Orders != 2 {
			t.Errorf("%v: %+v, want yes with %v", method, a[0], want)
		}
	}
}
