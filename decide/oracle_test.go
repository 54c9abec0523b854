package decide_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/engine/backend/cpu"
	"github.com/hotpath-go/hotpath/engine/backend/reference"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/tokenizer"
	"github.com/hotpath-go/hotpath/quant"
)

const chatML = `{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}` +
	`{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}`

// source is a model that is there already.
type source struct{ m *model.Model }

func (s source) Load(context.Context) (*model.Model, error) { return s.m, nil }
func (s source) String() string                             { return s.m.Name }

// tinyChat is a random model with a vocabulary of bytes and a chat template.
func tinyChat(t testing.TB) *model.Model {
	t.Helper()
	tok := byteTokenizer(t, []string{"<|im_start|>", "<|im_end|>", "<|endoftext|>"})
	tiny := backendtest.Tiny(t, backendtest.Shape{
		Name: "chat", Layers: 2, Width: 64, Heads: 4, KVHeads: 2, HeadDim: 16, Inner: 96, Vocab: tok.Size(),
	})
	tiny.Program.Context = 4096
	m, err := model.New("tiny chat", tiny.Program, tok, chatML)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func openEngine(t testing.TB, m *model.Model, o ...engine.Option) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), source{m}, append([]engine.Option{
		engine.WithKV(engine.KV{Format: quant.F32, Bytes: 8 << 20, Scratch: 4 << 20}),
	}, o...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// feeder gives the logits after a history, computed from its tokens alone.
type feeder struct {
	t      testing.TB
	runner backend.Runner
	size   int
	seen   map[string][]float64
}

func newFeeder(t testing.TB, b backend.Backend, m *model.Model) *feeder {
	t.Helper()
	o := backend.Options{BlockSize: 16, PoolBlocks: 256, ScratchBlocks: 1, KV: quant.F32, Context: 4096, Rows: 4096}
	r, err := b.Open(t.Context(), m, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return &feeder{t, r, 16, map[string][]float64{}}
}

func cpuBackend() backend.Backend { return cpu.New() }

// run feeds a history as one span and returns a result for each wanted row, in which only its labels
// and the sum over the vocabulary are asked for.
func (o *feeder) run(history []int32, want ...backend.Want) []backend.Result {
	o.t.Helper()
	dst := make([]kvcache.BlockID, kvcache.BlocksFor(0, len(history), o.size))
	for i := range dst {
		dst[i] = kvcache.BlockID(i)
	}
	step, err := o.runner.Submit(o.t.Context(), &backend.Batch{Seqs: []backend.Seq{{Spans: []backend.Span{{
		Tokens: history, Dst: dst, Want: want,
	}}}}})
	if err != nil {
		o.t.Fatal(err)
	}
	var out backend.Output
	if err := step.Wait(&out); err != nil {
		o.t.Fatal(err)
	}
	return out.Results
}

// logits returns those of the whole vocabulary after a history.
func (o *feeder) logits(history []int32) []float64 {
	key := fmt.Sprint(history)
	if x, ok := o.seen[key]; ok {
		return x
	}
	r := o.run(history, backend.Want{Row: len(history) - 1, Logits: true})
	x := make([]float64, len(r[0].Logits))
	for i, v := range r[0].Logits {
		x[i] = float64(v)
	}
	o.seen[key] = x
	return x
}

func sumExp(x []float64, ids ...int32) float64 {
	top := slices.Max(x)
	sum := 0.0
	if ids == nil {
		for _, v := range x {
			sum += math.Exp(v - top)
		}
	}
	for _, id := range ids {
		sum += math.Exp(x[id] - top)
	}
	return top + math.Log(sum)
}

// logProb is what the model gives to the ids together, after a history.
func (o *feeder) logProb(history []int32, ids ...int32) float64 {
	x := o.logits(history)
	return sumExp(x, ids...) - sumExp(x)
}

// histories returns the tokens up to the end of each span, from the state on.
func histories(state []int32, spans []decide.Span) [][]int32 {
	all := make([][]int32, len(spans))
	for i, s := range spans {
		before := state
		if s.Parent > 0 {
			before = all[s.Parent-1]
		}
		all[i] = slices.Concat(before, s.Tokens)
	}
	return all
}

func normal(logits []float64) []float64 {
	sum := sumExp(logits)
	p := make([]float64, len(logits))
	for i, x := range logits {
		p[i] = math.Exp(x - sum)
	}
	return p
}

// reply returns the tokens of a text that follows another.
func reply(t testing.TB, tok *tokenizer.Tokenizer, before, text string) []int32 {
	t.Helper()
	base := tok.Encode(nil, before, tokenizer.Text)
	all := tok.Encode(nil, before+text, tokenizer.Text)
	if len(all) <= len(base) || !slices.Equal(all[:len(base)], base) {
		t.Fatalf("%q does not follow %q", text, before)
	}
	return all[len(base):]
}

var words = []string{"once upon a time", "once upon a tree", "once upon a", "once", "blue", "onc", "the end"}

func short(n int) []decide.Option {
	list := make([]decide.Option, n)
	for i := range list {
		list[i].Name = fmt.Sprint(i)
	}
	return list
}

// questions are asked of every model.
func questions() map[string]decide.Question {
	with := func(q decide.Question, m decide.Method) decide.Question { q.Method = m; return q }
	length := func(q decide.Question, l decide.Length) decide.Question { q.Length = l; return q }
	described := decide.Choice("described", "Which colour?", decide.Opt("red", "like a rose"), decide.Opt("blue", ""))
	return map[string]decide.Question{
		"boolean":         decide.Boolean("b", "Is it night?"),
		"choice":          decide.Choice("c", "Which one?", decide.Names("cat", "dog", "bird")...),
		"described":       described,
		"score":           decide.Score("s", "How big?", "small", "medium", "large", "huge"),
		"tall score":      decide.Score("t", "How big?", levels(12)...),
		"one option":      decide.Choice("o", "Which one?", decide.Opt("cat", "")),
		"code":            with(decide.Choice("k", "Which one?", short(60)...), decide.Code),
		"path":            with(decide.Choice("p", "How does it go?", decide.Names(words...)...), decide.Path),
		"path by token":   length(with(decide.Choice("p", "How does it go?", decide.Names(words...)...), decide.Path), decide.PerToken),
		"path by byte":    length(with(decide.Choice("p", "How does it go?", decide.Names(words...)...), decide.Path), decide.PerByte),
		"path of one":     with(decide.Choice("p", "How does it go?", decide.Names("once upon")...), decide.Path),
		"path of boolean": with(decide.Boolean("b", "Is it night?"), decide.Path),
		"path of score":   with(decide.Score("s", "How big?", "small", "medium", "large"), decide.Path),
		"each":            with(described, decide.Each),
		"each of boolean": with(decide.Boolean("b", "Is it night?"), decide.Each),
		"each of score":   with(decide.Score("s", "How big?", "small", "medium", "large"), decide.Each),
	}
}

// TestReadsAgainstReference asks questions of an engine, and computes the probabilities from the full
// logits that the reference backend gives to the histories that the options make, one by one.
func TestReadsAgainstReference(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]*model.Model{"raw": stories(t), "chat": tinyChat(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := openEngine(t, m)
			ref := newFeeder(t, reference.New(), m)
			c := decide.NewCompiler(m, decide.Options{})
			state := decide.Text("Tom saw a red cat.")
			encoded, err := c.Encode(state, decide.BorderNone)
			if err != nil {
				t.Fatal(err)
			}
			for name, q := range questions() {
				r := decide.Request{State: state, Questions: []decide.Question{q}}
				plan, err := c.Compile(r)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				spans, err := plan.Spans(encoded.Form)
				if err != nil {
					t.Fatal(err)
				}
				res, err := e.Decide(t.Context(), r)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				a := res.Answers[0]
				if q.Method != decide.Automatic && a.Method != q.Method || a.Length != q.Length || res.Border != encoded.Border {
					t.Errorf("%s: %v, %v, %v", name, a.Method, a.Length, res.Border)
				}
				p, mass := expected(t, m, ref, encoded.Tokens, spans, q, a.Method)
				for i := range p {
					if d := math.Abs(p[i] - a.Probabilities[i]); !(d <= 1e-5) {
						t.Errorf("%s: p[%d] is %v, want %v", name, i, a.Probabilities[i], p[i])
					}
				}
				if a.LabelMass == nil || !(math.Abs(*a.LabelMass-mass) <= 1e-5) {
					t.Errorf("%s: label mass %v, want %v", name, a.LabelMass, mass)
				}
				if a.Method == decide.Path && q.Length == decide.Sum {
					checkAlone(t, m, c, encoded, q, a)
				}
			}
		})
	}
}

// expected computes the probabilities of a question with one prompt, and the label mass.
func expected(t *testing.T, m *model.Model, ref *feeder, state []int32, spans []decide.Span, q decide.Question, how decide.Method) ([]float64, float64) {
	t.Helper()
	ends := histories(state, spans)
	names := []string{"yes", "no"}
	if q.Kind != decide.KindBoolean {
		names = nil
		for _, o := range q.Options {
			names = append(names, o.Name)
		}
	}
	n := len(names)
	logits := make([]float64, n)
	switch how {
	case decide.Label:
		if len(spans) != 1 || len(spans[0].Reads) != 1 {
			t.Fatalf("%d spans for one look", len(spans))
		}
		labels := spans[0].Reads[0].Labels
		k := len(labels) / n
		x := ref.logits(ends[0])
		for i := range logits {
			logits[i] = sumExp(x, labels[i*k:(i+1)*k]...)
		}
		return normal(logits), math.Exp(sumExp(logits) - sumExp(x))
	case decide.Each:
		if len(spans) != 1+n {
			t.Fatalf("%d spans for %d options", len(spans), n)
		}
		best := 0
		mass := make([]float64, n)
		for i := range logits {
			s := spans[1+i]
			labels := s.Reads[0].Labels
			k := len(labels) / 2
			x := ref.logits(ends[1+i])
			logits[i] = sumExp(x, labels[:k]...) - sumExp(x, labels[k:]...)
			mass[i] = math.Exp(sumExp(x, labels...) - sumExp(x))
			if s.Parent != 1 {
				t.Errorf("option %d sees span %d", i, s.Parent)
			}
			if logits[i] > logits[best] {
				best = i
			}
		}
		return normal(logits), mass[best]
	}
	seqs := make([][]int32, n)
	before, space := "\nAnswer:", " "
	if m.Template != "" {
		before, space = "assistant\n", ""
	}
	for i, name := range names {
		if how == decide.Code {
			name = codeOf(t, m, ends[0], name)
		}
		seqs[i] = reply(t, m.Tokenizer, before, space+name)
	}
	scaled := make([]float64, n)
	for i, seq := range seqs {
		history := ends[0]
		for _, id := range seq {
			logits[i] += ref.logProb(history, id)
			history = slices.Concat(history, []int32{id})
		}
		count := len(seq)
		if begins(seq, seqs) {
			logits[i] += ref.logProb(history, m.Tokenizer.EOG()...)
			count++
		}
		scaled[i] = logits[i] / map[decide.Length]float64{
			decide.Sum: 1, decide.PerToken: float64(count), decide.PerByte: float64(len(names[i])),
		}[q.Length]
	}
	return normal(scaled), math.Exp(sumExp(logits))
}

// begins reports whether a longer sequence of the list begins with seq.
func begins(seq []int32, list [][]int32) bool {
	return slices.ContainsFunc(list, func(o []int32) bool { return len(o) > len(seq) && slices.Equal(o[:len(seq)], seq) })
}

// codeOf returns the code that the question shows before an option.
func codeOf(t *testing.T, m *model.Model, question []int32, option string) string {
	t.Helper()
	for line := range strings.Lines(m.Tokenizer.Decode(question, false)) {
		if code, name, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && name == option {
			return code
		}
	}
	t.Fatalf("no line for %q", option)
	return ""
}

// checkAlone feeds each option alone to a runner of its own, as one span after state and question:
// the sums of its tokens' log-probabilities make the answer's probabilities, bit for bit.
func checkAlone(t *testing.T, m *model.Model, c *decide.Compiler, state decide.Encoded, q decide.Question, a decide.Answer) {
	t.Helper()
	alone := newFeeder(t, cpu.New(), m)
	scores := make([]float64, len(a.Probabilities))
	names := []string{"yes", "no"}
	if q.Kind != decide.KindBoolean {
		names = names[:0]
		for _, o := range q.Options {
			names = append(names, o.Name)
		}
	}
	before, space := "\nAnswer:", " "
	if m.Template != "" {
		before, space = "assistant\n", ""
	}
	seqs := make([][]int32, len(names))
	for i, name := range names {
		seqs[i] = reply(t, m.Tokenizer, before, space+name)
	}
	plan, err := c.Compile(decide.Request{Questions: []decide.Question{q}})
	if err != nil {
		t.Fatal(err)
	}
	spans, err := plan.Spans(state.Form)
	if err != nil {
		t.Fatal(err)
	}
	prompt := slices.Concat(state.Tokens, spans[0].Tokens)
	for i, seq := range seqs {
		var want []backend.Want
		for k, id := range seq {
			want = append(want, backend.Want{Row: len(prompt) - 1 + k, Labels: []int32{id}, LogSumExp: true})
		}
		if begins(seq, seqs) {
			want = append(want, backend.Want{Row: len(prompt) - 1 + len(seq), Labels: m.Tokenizer.EOG(), LogSumExp: true})
		}
		for _, r := range alone.run(slices.Concat(prompt, seq), want...) {
			x := make([]float64, len(r.Labels))
			for j, v := range r.Labels {
				x[j] = float64(v)
			}
			scores[i] += decide.LogSumExp(x) - float64(r.LogSumExp)
		}
	}
	for i, p := range decide.Softmax(scores, 1) {
		if math.Float64bits(p) != math.Float64bits(a.Probabilities[i]) {
			t.Errorf("%s: p[%d] is %v, fed alone %v", q.ID, i, a.Probabilities[i], p)
		}
	}
}
