package decide_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
)

// oracle answers each question by its id: the value, or "" to abstain.
type oracle map[string]string

func (o oracle) Decide(_ context.Context, r decide.Request) (*decide.Result, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	res := &decide.Result{}
	for _, q := range r.Questions {
		names := []string{"yes", "no"}
		if q.Kind != decide.KindBoolean {
			names = nil
			for _, o := range q.Options {
				names = append(names, o.Name)
			}
		}
		p := make([]float64, len(names))
		want, ok := o[q.ID]
		if !ok {
			return nil, errors.New("not expected: " + q.ID)
		}
		if i := slices.Index(names, want); i >= 0 {
			p[i] = 1
		} else {
			for i := range p {
				p[i] = 1 / float64(len(p))
			}
		}
		a, err := decide.NewAnswer(r, q, p)
		if err != nil {
			return nil, err
		}
		if want == "" {
			a.Abstained, a.Why = true, "told to"
		}
		res.Answers = append(res.Answers, a)
	}
	return res, nil
}

type team string

type customer struct {
	Mood decide.Level `decide:"How upset is the customer?" levels:"calm,annoyed,furious"`
	_    string       // not exported, not asked
}

type triage struct {
	Urgent   bool               `decide:"Does it need a reply within the hour?"`
	Team     team               `decide:"Which team?" options:"billing=charges and refunds,sales"`
	Fraud    decide.Maybe[bool] `decide:"Is it fraud?" min:"0.9"`
	Next     decide.Maybe[team] `decide:"Who next?" options:"a, first|b, second"`
	Topics   []team             `decide:"Does it speak of" options:"price,delivery=late or lost,quality"`
	Customer customer
	Comment  string // not asked
}

func TestInto(t *testing.T) {
	t.Parallel()
	all := oracle{
		"Urgent": "yes", "Team": "sales", "Fraud": "no", "Next": "b, second",
		"Topics.price": "yes", "Topics.delivery": "no", "Topics.quality": "yes", "Customer.Mood": "annoyed",
	}
	got, res, err := decide.Into[triage](context.Background(), all, decide.Request{State: decide.Text("x")})
	if err != nil {
		t.Fatal(err)
	}
	want := triage{
		Urgent: true, Team: "sales",
		Fraud:    decide.Maybe[bool]{Known: true},
		Next:     decide.Maybe[team]{Value: "b, second", Known: true},
		Topics:   []team{"price", "quality"},
		Customer: customer{Mood: decide.Level{Index: 1, Name: "annoyed", Score: 1}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if len(res.Answers) != 8 {
		t.Errorf("%d answers", len(res.Answers))
	}
}

// TestIntoAsks shows the questions that a struct stands for.
func TestIntoAsks(t *testing.T) {
	t.Parallel()
	var seen []decide.Question
	d := deciderFunc(func(r decide.Request) (*decide.Result, error) {
		seen = r.Questions
		return nil, errors.New("enough")
	})
	_, _, _ = decide.Into[triage](context.Background(), d, decide.Request{State: decide.Text("x")})
	want := []decide.Question{
		{ID: "Urgent", Kind: decide.KindBoolean, Instructions: "Does it need a reply within the hour?"},
		{ID: "Team", Kind: decide.KindChoice, Instructions: "Which team?", Options: []decide.Option{decide.Opt("billing", "charges and refunds"), decide.Opt("sales", "")}},
		{ID: "Fraud", Kind: decide.KindBoolean, Instructions: "Is it fraud?", MinConfidence: .9},
		{ID: "Next", Kind: decide.KindChoice, Instructions: "Who next?", Options: decide.Names("a, first", "b, second")},
		{ID: "Topics.price", Kind: decide.KindBoolean, Instructions: "Does it speak of price"},
		{ID: "Topics.delivery", Kind: decide.KindBoolean, Instructions: "Does it speak of delivery (late or lost)"},
		{ID: "Topics.quality", Kind: decide.KindBoolean, Instructions: "Does it speak of quality"},
		{ID: "Customer.Mood", Kind: decide.KindScore, Instructions: "How upset is the customer?", Options: decide.Names("calm", "annoyed", "furious")},
	}
	if !reflect.DeepEqual(seen, want) {
		t.Errorf("got %+v\nwant %+v", seen, want)
	}
}

type deciderFunc func(decide.Request) (*decide.Result, error)

func (f deciderFunc) Decide(_ context.Context, r decide.Request) (*decide.Result, error) { return f(r) }

func TestIntoAbstains(t *testing.T) {
	t.Parallel()
	some := oracle{
		"Urgent": "yes", "Team": "", "Fraud": "", "Next": "",
		"Topics.price": "yes", "Topics.delivery": "no", "Topics.quality": "yes", "Customer.Mood": "",
	}
	got, res, err := decide.Into[triage](context.Background(), some, decide.Request{State: decide.Text("x")})
	if !errors.Is(err, decide.ErrAbstained) || !strings.HasSuffix(err.Error(), ": Team, Customer.Mood") {
		t.Errorf("%v, want ErrAbstained with the plain fields' paths", err)
	}
	if res == nil || !got.Urgent || got.Fraud.Known || got.Next.Known {
		t.Errorf("%+v, result %v", got, res)
	}
	if v, ok := got.Fraud.Get(); v || ok {
		t.Errorf("Fraud: %v, %v", v, ok)
	}
}

func TestIntoRefuses(t *testing.T) {
	t.Parallel()
	ctx, r := context.Background(), decide.Request{State: decide.Text("x")}
	check := func(name string, err error, want error, says string) {
		t.Helper()
		if !errors.Is(err, want) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %v that says %q", name, err, want, says)
		}
	}
	_, _, err := decide.Into[int](ctx, oracle{}, r)
	check("no struct", err, decide.ErrType, "int")
	_, _, err = decide.Into[struct{ A string }](ctx, oracle{}, r)
	check("no question", err, decide.ErrType, "decide tag")
	_, _, err = decide.Into[struct {
		A int `decide:"x"`
	}](ctx, oracle{}, r)
	check("odd type", err, decide.ErrType, "A")
	_, _, err = decide.Into[struct {
		A string `decide:"x"`
	}](ctx, oracle{}, r)
	check("no options", err, decide.ErrType, "options")
	_, _, err = decide.Into[struct {
		A decide.Level `decide:"x" options:"a,b"`
	}](ctx, oracle{}, r)
	check("no levels", err, decide.ErrType, "levels")
	_, _, err = decide.Into[struct {
		A bool `decide:"x" options:"a,b"`
	}](ctx, oracle{}, r)
	check("options of a boolean", err, decide.ErrType, "A")
	_, _, err = decide.Into[struct {
		A bool `decide:"x" min:"1.5"`
	}](ctx, oracle{}, r)
	check("threshold", err, decide.ErrType, "1.5")
	_, _, err = decide.Into[struct {
		a bool `decide:"x"`
	}](ctx, oracle{}, r)
	check("not exported", err, decide.ErrType, "not exported")
	_, _, err = decide.Into[struct {
		A decide.Level `decide:"x" levels:"one"`
	}](ctx, oracle{}, r)
	check("one level", err, decide.ErrRequest, "1 levels")
	r.Questions = []decide.Question{decide.Boolean("b", "x")}
	_, _, err = decide.Into[triage](ctx, oracle{}, r)
	check("own questions", err, decide.ErrRequest, "Questions")
}
