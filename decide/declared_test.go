package decide_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine/backend/cpu"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/arch"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/quant"
)

// trained is a question with what another framework computes from the embedded model's weights.
type trained struct {
	Set, Kind, State, Question string
	Options                    []decide.Option
	Prefix                     []int32   `json:"prefix_ids"`
	Each                       [][]int32 `json:"option_ids"`
	Scores                     []float64 // logits of yes
	Evidence                   []float64 // of shared words, before its weight
	Probabilities              []float64
}

func trainedQuestions(t *testing.T) []trained {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "model", "embedded", "train", "reference.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list []trained
	if err := json.Unmarshal(b, &list); err != nil {
		t.Fatal(err)
	}
	if len(list) < 40 {
		t.Fatalf("%d questions", len(list))
	}
	return list
}

func (r *trained) request() decide.Request {
	q := decide.Question{ID: "q", Instructions: r.Question, Options: r.Options, Kind: map[string]decide.Kind{
		"boolean": decide.KindBoolean, "choice": decide.KindChoice, "score": decide.KindScore,
	}[r.Kind]}
	return decide.Request{State: decide.Text(r.State), Questions: []decide.Question{q}}
}

// TestDeclaredRead reproduces the tokens, scores and probabilities that the embedded model, which
// declares the each read, has in the framework that trained it. The weights are decoded first: their
// products with rounded activations are held to a bound of their own below.
func TestDeclaredRead(t *testing.T) {
	t.Parallel()
	own, err := model.Embedded().Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = own.Close() })
	m := decoded(t, own)
	e, feed := openEngine(t, m), newFeeder(t, cpu.New(), m)
	rounded := openEngine(t, own)
	c := decide.NewCompiler(m, decide.Options{})
	worst := 0.0
	kinds := map[string]int{}
	list := trainedQuestions(t)
	for i, item := range list {
		kinds[item.Kind]++
		r := item.request()
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
		ends := histories(state.Tokens, spans)
		if !slices.Equal(ends[0], item.Prefix) {
			t.Errorf("%d (%s): state and question %v, want %v", i, item.Set, ends[0], item.Prefix)
			continue
		}
		for j := range item.Scores {
			if s := spans[1+j]; !slices.Equal(s.Tokens, item.Each[j]) || s.Parent != 1 {
				t.Errorf("%d (%s): option %d: %v, want %v", i, item.Set, j, s.Tokens, item.Each[j])
				continue
			}
			got := feed.logits(ends[1+j])[spans[1+j].Reads[0].Labels[0]]
			if !(math.Abs(got-item.Scores[j]) < 1e-4) {
				t.Errorf("%d (%s): option %d has score %v, want %v", i, item.Set, j, got, item.Scores[j])
			}
		}
		res, err := e.Decide(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		a := res.Answers[0]
		for j, p := range item.Probabilities {
			if !(math.Abs(a.Probabilities[j]-p) < 1e-4) {
				t.Errorf("%d (%s): p[%d] is %v, want %v", i, item.Set, j, a.Probabilities[j], p)
			}
		}
		if a.Method != decide.Each || a.LabelMass != nil || res.Border != decide.BorderDeclared || a.Calibrated {
			t.Errorf("%d: %v, %v, %v, %v", i, a.Method, a.LabelMass, res.Border, a.Calibrated)
		}
		checkEvidence(t, i, &item, &a)
		res, err = rounded.Decide(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		for j, p := range item.Probabilities {
			worst = max(worst, math.Abs(res.Answers[0].Probabilities[j]-p))
		}
	}
	if kinds["boolean"] == 0 || kinds["choice"] == 0 || kinds["score"] == 0 {
		t.Errorf("kinds of questions: %v", kinds)
	}
	t.Logf("%d questions, %v; with rounded activations a probability is off by at most %.4f", len(list), kinds, worst)
	if !(worst < 0.05) {
		t.Errorf("with rounded activations a probability is off by %v", worst)
	}
}

// checkEvidence compares what shared words add with the reference, which has it before the weight.
func checkEvidence(t *testing.T, i int, item *trained, a *decide.Answer) {
	t.Helper()
	if a.Evidence == nil {
		return // the kind has no weight; the probabilities say so too
	}
	weight := 0.0
	for j, x := range item.Evidence {
		switch {
		case x == 0:
			if a.Evidence[j] != 0 {
				t.Errorf("%d (%s): evidence %d is %v, want none", i, item.Set, j, a.Evidence[j])
			}
		case weight == 0:
			weight = a.Evidence[j] / x
		case !(math.Abs(a.Evidence[j]/x-weight) < 1e-5):
			t.Errorf("%d (%s): evidence %d is %v, %v of the reference, before it was %v", i, item.Set, j, a.Evidence[j], a.Evidence[j]/x, weight)
		}
	}
}

// decoded returns a model with the weights of another in F32.
func decoded(t *testing.T, m *model.Model) *model.Model {
	t.Helper()
	matrix := func(w quant.Tensor) quant.Tensor {
		x := make([]float32, w.Rows*w.Cols)
		if err := quant.Decode(x, w.Format, w.Data); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 4*len(x))
		if err := quant.Encode(b, quant.F32, x); err != nil {
			t.Fatal(err)
		}
		out, err := quant.NewTensor(quant.F32, w.Rows, w.Cols, b)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	p := *m.Program
	p.Embedding = matrix(p.Embedding)
	if p.Head = p.Embedding; !p.Tied {
		p.Head = matrix(m.Program.Head)
	}
	p.Layers = slices.Clone(p.Layers)
	for i := range p.Layers {
		a, f := *p.Layers[i].Mixer.(*arch.Attention), *p.Layers[i].Forward.(*arch.Gated)
		for _, l := range []*arch.Linear{&a.Q, &a.K, &a.V, &a.O, &f.Gate, &f.Up, &f.Down} {
			l.Weight = matrix(l.Weight)
		}
		p.Layers[i].Mixer, p.Layers[i].Forward = &a, &f
	}
	out, err := model.New(m.Name, &p, m.Tokenizer, m.Template)
	if err != nil {
		t.Fatal(err)
	}
	out.Decision, out.IDF, out.Fold = m.Decision, m.IDF, m.Fold
	return out
}

// TestDeclaredMessages finds one user message written as text is, so that both share their blocks.
func TestDeclaredMessages(t *testing.T) {
	t.Parallel()
	m, err := model.Embedded().Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	c := decide.NewCompiler(m, decide.Options{})
	for _, s := range []string{"Hello", "my  Card was\ncharged twice, <|state|> please", "ÄRGER mit dem Zug"} {
		text, err := c.Encode(decide.Text(s), decide.BorderNone)
		if err != nil {
			t.Fatal(err)
		}
		chats, err := c.Encode(decide.Chat(chat.Messages(chat.User(s))), decide.BorderNone)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(text.Tokens, chats.Tokens) {
			t.Errorf("%q: text %v, message %v", s, text.Tokens, chats.Tokens)
		}
	}
}

func TestBadDeclarations(t *testing.T) {
	t.Parallel()
	good := map[string]string{"read": "each", "state": "<|im_start|>{state}", "question": "Q {question}", "option": "A {name}[ - {description}]", "yes": "y"}
	for name, c := range map[string]struct{ field, value, text string }{
		"good":               {},
		"another read":       {"read", "pointer", `"pointer"`},
		"no state":           {"state", "<|im_start|>", "{state}"},
		"unknown field":      {"option", "{name} {colour}", `"colour"`},
		"a field twice":      {"option", "{name} {name}", `"name"`},
		"open brace":         {"option", "{name", "name"},
		"open bracket":       {"option", "{name}[ {description}", "open"},
		"bracket in bracket": {"option", "[[{name}]]", "'['"},
		"nothing in bracket": {"option", "{name}[x]", "']'"},
		"stray bracket":      {"option", "{name}]", "']'"},
		"no such token":      {"yes", "<|nope|>", "<|nope|>"},
		"unknown setting":    {"colour", "red", "colour"},
	} {
		in := map[string]string{}
		for k, v := range good {
			in[k] = v
		}
		if c.field != "" {
			in[c.field] = c.value
		}
		b, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		m := tinyChat(t)
		m.Decision = string(b)
		_, err = decide.Compile(m, decide.Request{Questions: []decide.Question{decide.Boolean("b", "Is it?")}}, decide.Options{})
		if c.field == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if !errors.Is(err, decide.ErrDeclared) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want ErrDeclared with %s", name, err, c.text)
		}
	}
}
