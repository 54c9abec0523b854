package decide_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine/backend/reference"
)

// TestLikeliestSpelling asks a model that declares the likeliest spelling of a label to count alone,
// and computes its answers from the full logits of the reference backend.
func TestLikeliestSpelling(t *testing.T) {
	t.Parallel()
	for declaration, likeliest := range map[string]bool{
		`{"read": "label", "spellings": "max"}`: true,
		`{"read": "label", "spellings": "sum"}`: false,
		`{"read": "label"}`:                     false,
	} {
		m := stories(t)
		m.Decision = declaration
		e, ref := openEngine(t, m), newFeeder(t, reference.New(), m)
		c := decide.NewCompiler(m, decide.Options{})
		state := decide.Text("Tom saw a red cat.")
		encoded, err := c.Encode(state, decide.BorderNone)
		if err != nil {
			t.Fatal(err)
		}
		differ := 0 // answers that the other rule would not give
		for _, q := range []decide.Question{
			decide.Boolean("b", "Is it night?"),
			decide.Choice("c", "Which one?", decide.Names("cat", "dog", "bird")...),
			{ID: "e", Kind: decide.KindBoolean, Instructions: "Is it night?", Method: decide.Each},
		} {
			r := decide.Request{State: state, Questions: []decide.Question{q}}
			plan, err := c.Compile(r)
			if err != nil {
				t.Fatal(err)
			}
			spans, err := plan.Spans(encoded.Form)
			if err != nil {
				t.Fatal(err)
			}
			res, err := e.Decide(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			a := res.Answers[0]
			if each := len(spans) > 1; a.Method != decide.Label && !each || a.Method != decide.Each && each {
				t.Errorf("%s %s: read by %v", declaration, q.ID, a.Method)
			}
			ends := histories(encoded.Tokens, spans)
			combine := func(x []float64, ids []int32) float64 {
				sum, top := sumExp(x, ids...), math.Inf(-1)
				for _, id := range ids {
					top = max(top, x[id])
				}
				if sum-top > 1e-3 {
					differ++
				}
				if likeliest {
					return top
				}
				return sum
			}
			var logits []float64
			var mass float64
			if a.Method == decide.Each {
				best := math.Inf(-1)
				for i, s := range spans[1:] {
					x, ids := ref.logits(ends[1+i]), s.Reads[0].Labels
					k := len(ids) / 2
					logits = append(logits, combine(x, ids[:k])-combine(x, ids[k:]))
					if logits[i] > best {
						best, mass = logits[i], math.Exp(sumExp(x, ids...)-sumExp(x))
					}
				}
			} else {
				x, ids := ref.logits(ends[0]), spans[0].Reads[0].Labels
				k := len(ids) / len(a.Probabilities)
				for i := range a.Probabilities {
					logits = append(logits, combine(x, ids[i*k:(i+1)*k]))
				}
				// All spellings count as labels, whichever makes the logit.
				mass = math.Exp(sumExp(x, ids...) - sumExp(x))
			}
			for i, p := range normal(logits) {
				if !(math.Abs(p-a.Probabilities[i]) <= 1e-5) {
					t.Errorf("%s %s: p[%d] is %v, want %v", declaration, q.ID, i, a.Probabilities[i], p)
				}
			}
			if a.LabelMass == nil || !(math.Abs(*a.LabelMass-mass) <= 1e-5) {
				t.Errorf("%s %s: label mass %v, want %v", declaration, q.ID, a.LabelMass, mass)
			}
		}
		if differ == 0 {
			t.Errorf("%s: no label has two spellings that weigh", declaration)
		}
	}
}

// TestSpellingsBind: what was fitted under one rule is refused under the other.
func TestSpellingsBind(t *testing.T) {
	t.Parallel()
	m := stories(t)
	var list []decide.Binding
	for _, d := range []string{"", `{"read": "label"}`, `{"read": "label", "spellings": "max"}`} {
		m.Decision = d
		b, err := decide.NewCompiler(m, decide.Options{}).Binding()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, b)
	}
	if list[0] != list[1] {
		t.Error("a declaration of what holds anyway changes the binding")
	}
	if err := list[0].Fits(list[2]); !errors.Is(err, decide.ErrCalibrator) {
		t.Errorf("%v, want ErrCalibrator", err)
	}
}

func TestBadSpellings(t *testing.T) {
	t.Parallel()
	for declaration, part := range map[string]string{
		`{"read": "label", "spellings": "mean"}`:              `"mean"`,
		`{"read": "label", "spellings": 1}`:                   "Spellings",
		`{"read": "label", "state": "{state}"}`:               `"state"`,
		`{"read": "each", "spellings": "last", "yes": "yes"}`: `"last"`,
		`{"read": "label"`:                                    "JSON",
	} {
		m := tinyChat(t)
		m.Decision = declaration
		_, err := decide.Compile(m, decide.Request{Questions: []decide.Question{decide.Boolean("b", "Is it?")}}, decide.Options{})
		if !errors.Is(err, decide.ErrDeclared) || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v, want ErrDeclared with %s", declaration, err, part)
		}
	}
}
