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
	"github.com/hotpath-go/hotpath/internal/testdata"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/arch"
	"github.com/hotpath-go/hotpath/model/safetensors"
	"github.com/hotpath-go/hotpath/model/tokenizer"
)

const declaration = `{"read": "each", "state": "<|bos|><|state|> {state}", "question": "<|question|> {question}",
	"option": "<|A|> {name}[ : {description}]<|mark|>", "level": "<|A|> {index}: {name}<|mark|>", "yes": "<|yes|>", "words": true}`

// TestDeclaredRead reproduces the scores that a small trained model, which declares the each read, has
// in its own framework.
func TestDeclaredRead(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(testdata.Dir(t), "..", "embedded", "prototype", "best_hf")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("this test reads a prototype that lies beside the data: %v", err)
	}
	read := func(name string, v any) {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, v); err != nil {
			t.Fatal(err)
		}
	}
	// Its own pattern for words is unknown; that of GPT-2 gives these texts the same tokens.
	var description map[string]any
	read("tokenizer.json", &description)
	description["pre_tokenizer"] = map[string]any{"type": "ByteLevel", "add_prefix_space": false, "use_regex": true}
	raw, err := json.Marshal(description)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.FromJSON(raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Open(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	program, err := arch.FromSafetensors(f)
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.New("prototype", program, tok, "")
	if err != nil {
		t.Fatal(err)
	}
	m.Decision = declaration
	e, feed := openEngine(t, m), newFeeder(t, cpu.New(), m)
	c := decide.NewCompiler(m, decide.Options{})

	var cases []struct {
		Set, State, Question string
		Options              [][2]string
		Prefix               []int32   `json:"prefix_ids"`
		Each                 [][]int32 `json:"option_ids"`
		Scores               []float64
	}
	read("reference.json", &cases)
	if len(cases) != 24 {
		t.Fatalf("%d cases", len(cases))
	}
	for i, item := range cases {
		q := decide.Choice("q", item.Question)
		for j, o := range item.Options {
			// Its trainer cut descriptions to 28 tokens.
			_, cut, _ := strings.Cut(tok.Decode(item.Each[j], false), " : ")
			d := strings.ToLower(o[1])
			if cut = strings.TrimSuffix(cut, "<|mark|>"); strings.HasPrefix(d, cut) {
				d = cut
			}
			q.Options = append(q.Options, decide.Opt(o[0], d))
		}
		r := decide.Request{State: decide.Text(item.State), Questions: []decide.Question{q}}
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
		for j := range q.Options {
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
		for j, p := range normal(item.Scores) {
			if !(math.Abs(a.Probabilities[j]-p) < 1e-4) {
				t.Errorf("%d (%s): p[%d] is %v, want %v", i, item.Set, j, a.Probabilities[j], p)
			}
		}
		if a.Method != decide.Each || a.LabelMass != nil || res.Border != decide.BorderDeclared {
			t.Errorf("%d: %v, %v, %v", i, a.Method, a.LabelMass, res.Border)
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
