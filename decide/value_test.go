package decide_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
)

type tool string

const editTool tool = "edit"

// TestValues: an answer has what its option stands for, with its type, wherever the model's own choice
// falls.
func TestValues(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		q      decide.Question
		values []decide.Value
		texts  []string
	}{
		"bools":      {decide.Choice("q", "Grant it?", decide.Opt(true, "she owns it"), decide.Opt(false, "")), []decide.Value{decide.ValueOf(true), decide.ValueOf(false)}, []string{"true", "false"}},
		"mixed":      {decide.Choice("q", "Grant it?", decide.Opt(false, ""), decide.Opt("ask", ""), decide.Opt(true, "")), []decide.Value{decide.ValueOf(false), decide.ValueOf("ask"), decide.ValueOf(true)}, []string{"false", "ask", "true"}},
		"look-alike": {decide.Choice("q", "What does it say?", decide.Opt("true", ""), decide.Opt(true, ""), decide.Opt("other", "")), []decide.Value{decide.ValueOf("true"), decide.ValueOf(true), decide.ValueOf("other")}, []string{"true", "true", "other"}},
		"own type":   {decide.Choice("q", "Which?", decide.Opt(editTool, ""), decide.Opt("none", "")), []decide.Value{decide.ValueOf("edit"), decide.ValueOf("none")}, []string{"edit", "none"}},
		"apart":      {decide.Choice("q", "Which?", decide.Option{Name: "change files", Value: decide.ValueOf("edit_v2")}, decide.Option{Name: "go on", Value: decide.ValueOf(false)}), []decide.Value{decide.ValueOf("edit_v2"), decide.ValueOf(false)}, []string{"edit_v2", "false"}},
		"boolean":    {decide.Boolean("q", "Is it?"), []decide.Value{decide.ValueOf(true), decide.ValueOf(false)}, []string{"yes", "no"}},
		"score":      {decide.Score("q", "How much?", "low", "high"), []decide.Value{decide.ValueOf("low"), decide.ValueOf("high")}, []string{"low", "high"}},
	} {
		r := decide.Request{Questions: []decide.Question{c.q}}
		if err := r.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i := range c.values {
			p := make([]float64, len(c.values))
			p[i] = 1
			a, err := decide.NewAnswer(r, c.q, p)
			if err != nil || a.Index != i || a.Chosen != c.values[i] || a.Value != c.texts[i] {
				t.Errorf("%s: option %d: %q, %v, %v", name, i, a.Value, a.Chosen, err)
			}
			want, isBool := c.values[i].Bool()
			if got, ok := a.Chosen.Bool(); got != want || ok != isBool {
				t.Errorf("%s: option %d: %v, %v", name, i, got, ok)
			}
		}
	}
}

// TestLookAlikes: the model is told apart what the caller tells apart, and otherwise sees names alone.
func TestLookAlikes(t *testing.T) {
	t.Parallel()
	m := stories(t)
	text := func(method decide.Method, options ...decide.Option) string {
		t.Helper()
		q := decide.Choice("q", "What does it say?", options...)
		q.Method = method
		p, err := decide.Compile(m, decide.Request{Questions: []decide.Question{q}}, decide.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var ids []int32
		for _, s := range spansOf(t, p) {
			ids = append(ids, s.Tokens...)
		}
		return m.Tokenizer.Decode(ids, false)
	}
	if got := text(decide.Label, decide.Opt("true", "the word"), decide.Opt(true, ""), decide.Opt("a<b", "")); !strings.Contains(got, ": \"true\" - the word\n") || !strings.Contains(got, ": true\n") || !strings.Contains(got, ": \"a<b\"\n") {
		t.Errorf("%q", got)
	}
	if got := text(decide.Label, decide.Opt("maybe", ""), decide.Opt(true, "")); !strings.Contains(got, ": maybe\n") || !strings.Contains(got, ": true\n") {
		t.Errorf("%q", got)
	}
	if got := text(decide.Each, decide.Opt("true", ""), decide.Opt(true, "")); !strings.Contains(got, "answer: \"true\"\n") || !strings.Contains(got, "answer: true\n") {
		t.Errorf("%q", got)
	}
	// What an option stands for does not reach the model.
	a := text(decide.Label, decide.Option{Name: "go", Value: decide.ValueOf("secret")}, decide.Option{Name: "stay", Value: decide.ValueOf(false)})
	if b := text(decide.Label, decide.Names("go", "stay")...); a != b {
		t.Errorf("%q\n%q", a, b)
	}
}

// TestValuesInEngine reads look-alikes in every way and in orders.
func TestValuesInEngine(t *testing.T) {
	t.Parallel()
	e := openEngine(t, stories(t))
	options := []decide.Option{decide.Opt("true", ""), decide.Opt(true, ""), decide.Opt(false, ""), {Name: "neither", Value: decide.ValueOf("n/a")}}
	for _, method := range []decide.Method{decide.Label, decide.Code, decide.Path, decide.Each} {
		for _, orders := range []int{0, 3} {
			q := decide.Choice("q", "What does it say?", options...)
			q.Method, q.Orders = method, orders
			res, err := e.Decide(t.Context(), decide.Request{State: decide.Text("Tom said true."), Questions: []decide.Question{q}})
			if err != nil {
				t.Fatal(err)
			}
			a := res.Choice("q")
			want := []decide.Value{decide.ValueOf("true"), decide.ValueOf(true), decide.ValueOf(false), decide.ValueOf("n/a")}
			if a.Chosen != want[a.Index] || a.Value != want[a.Index].String() || len(a.Probabilities) != 4 {
				t.Errorf("%v, %d orders: %+v", method, orders, a)
			}
			// The same options in another order are the same answer.
			if orders > 0 {
				q.Options = slices.Clone(options)
				slices.Reverse(q.Options)
				back, err := e.Decide(t.Context(), decide.Request{State: decide.Text("Tom said true."), Questions: []decide.Question{q}})
				if err != nil {
					t.Fatal(err)
				}
				p := slices.Clone(back.Answers[0].Probabilities)
				slices.Reverse(p)
				if !slices.Equal(p, a.Probabilities) {
					t.Errorf("%v: %v, reversed %v", method, a.Probabilities, p)
				}
			}
		}
	}
}

func TestBadValues(t *testing.T) {
	t.Parallel()
	yes := decide.ValueOf(true)
	for name, c := range map[string]struct {
		q    decide.Question
		want []string
	}{
		"a bool twice":           {decide.Choice("q", "?", decide.Opt(true, ""), decide.Opt(true, "x")), []string{"Options[1].Name", `"true"`, "Options[0]"}},
		"a bool under two names": {decide.Choice("q", "?", decide.Option{Name: "a", Value: yes}, decide.Option{Name: "b", Value: yes}), []string{"Options[1].Value", "true", "Options[0]"}},
		"a text twice":           {decide.Choice("q", "?", decide.Opt("a", ""), decide.Option{Name: "b", Value: decide.ValueOf("a")}), []string{"Options[1].Value", `"a"`, "Options[0]"}},
		"one name for two":       {decide.Choice("q", "?", decide.Option{Name: "a", Value: yes}, decide.Opt("a", "")), []string{"Options[1].Name", `"a"`, "Options[0]"}},
		"a misleading name":      {decide.Choice("q", "?", decide.Opt("true", ""), decide.Option{Name: "true", Value: decide.ValueOf(false)}), []string{"Options[1].Name", "Options[0]"}},
		"a third look-alike":     {decide.Choice("q", "?", decide.Opt("true", ""), decide.Opt(true, ""), decide.Opt(" true", "")), []string{"Options[2].Name", "Options[0]"}},
		"of a level":             {decide.Question{ID: "q", Kind: decide.KindScore, Instructions: "?", Options: []decide.Option{{Name: "a", Value: yes}, {Name: "b"}}}, []string{"Options[0].Value", "choice"}},
		"of a boolean":           {decide.Question{ID: "q", Kind: decide.KindBoolean, Instructions: "?", Options: []decide.Option{{Name: "yes", Value: yes}, {Name: "no"}}}, []string{"Options[0].Value", "choice"}},
		"no name":                {decide.Choice("q", "?", decide.Option{Value: yes}), []string{"Options[0].Name", "empty"}},
	} {
		err := (&decide.Request{Questions: []decide.Question{c.q}}).Check()
		if !errors.Is(err, decide.ErrRequest) {
			t.Errorf("%s: %v, want ErrRequest", name, err)
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", name, err, part)
			}
		}
	}
}

func TestValueJSON(t *testing.T) {
	t.Parallel()
	for v, want := range map[decide.Value]string{
		{}:                       `null`,
		decide.ValueOf(true):     `true`,
		decide.ValueOf(false):    `false`,
		decide.ValueOf("true"):   `"true"`,
		decide.ValueOf("<a>\n"):  `"<a>\n"`,
		decide.ValueOf(""):       `""`,
		decide.ValueOf(editTool): `"edit"`,
	} {
		got, err := v.MarshalJSON()
		var back decide.Value
		if err != nil || string(got) != want || json.Unmarshal(got, &back) != nil || back != v {
			t.Errorf("%#v: %s, %v, back %#v", v, got, err, back)
		}
	}
	for _, bad := range []string{`1`, `{}`, `[true]`, `1.5`} {
		if err := json.Unmarshal([]byte(bad), new(decide.Value)); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}
