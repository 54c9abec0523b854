package enginetest_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/enginetest"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/embedded"
)

var (
	urgent = decide.Boolean("urgent", "Is it urgent?")
	team   = decide.Choice("team", "Which team?", decide.Names("billing", "technical", "sales")...)
	mood   = decide.Score("mood", "How upset?", "calm", "annoyed", "furious")
)

func about(text string, q ...decide.Question) decide.Request {
	return decide.Request{State: decide.Text(text), Questions: q}
}

// recorder is a test that records its failures.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

// done returns what AssertDone complains about.
func done(f *enginetest.Fake) []string {
	r := &recorder{}
	f.AssertDone(r)
	return r.failures
}

func TestScriptAnswers(t *testing.T) {
	t.Parallel()
	f := enginetest.Script().
		OnDecide("urgent", enginetest.Yes(0.9)).
		OnDecide("team", enginetest.Choose("technical", 0.8)).
		OnDecide("mood", enginetest.Level("furious", 0.6)).
		OnDecide("urgent", enginetest.No(0.25)).
		OnDecide("team", enginetest.Spread(0.5, 0.3, 0.2)).
		OnDecide("mood", enginetest.Abstain())
	for i, c := range []struct {
		value       string
		probability float64
		spread      []float64
		score       float64
		abstained   bool
	}{
		{"yes", 0.9, []float64{0.9, 0.1}, 0, false},
		{"technical", 0.8, []float64{0.1, 0.8, 0.1}, 0, false},
		{"furious", 0.6, []float64{0.2, 0.2, 0.6}, 1.4, false},
		{"yes", 0.75, []float64{0.75, 0.25}, 0, false},
		{"billing", 0.5, []float64{0.5, 0.3, 0.2}, 0, false},
		{"calm", 1. / 3, []float64{1. / 3, 1. / 3, 1. / 3}, 1, true},
	} {
		q := []decide.Question{urgent, team, mood}[i%3]
		res, err := f.Decide(t.Context(), about("ticket", q))
		if err != nil {
			t.Fatalf("answer %d: %v", i, err)
		}
		a := res.Answers[0]
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }
		if a.ID != q.ID || a.Value != c.value || !near(a.Probability, c.probability) || !slices.EqualFunc(a.Probabilities, c.spread, near) ||
			!near(a.Score, c.score) || a.Abstained != c.abstained {
			t.Errorf("answer %d: %+v, want %+v", i, a, c)
		}
	}
	if got := done(f); got != nil {
		t.Error(got)
	}
}

// A request with several questions takes an answer for each, and its thresholds hold.
func TestScriptSeveralQuestions(t *testing.T) {
	t.Parallel()
	f := enginetest.Script().OnDecide("urgent", enginetest.Yes(0.6)).OnDecide("team", enginetest.Choose("sales", 0.95))
	r := about("ticket", urgent, team)
	r.MinConfidence = 0.5
	res, err := f.Decide(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if a := res.Boolean("urgent"); !a.Abstained {
		t.Errorf("confidence %v is under the threshold and not abstained", a.Confidence)
	}
	if a := res.Choice("team"); a.Abstained || a.Value != "sales" {
		t.Errorf("%+v", a)
	}
	if a := res.Score("mood"); !a.Abstained {
		t.Error("an answer to a question that was not asked")
	}
	f.AssertDone(t)
}

func TestScriptGenerates(t *testing.T) {
	t.Parallel()
	f := enginetest.Script().OnGenerate("Here is what I found.").OnGenerate("two  spaces ").OnGenerate("")
	g, err := f.Generate(t.Context(), engine.GenerateRequest{Prompt: chat.Text("a")})
	if err != nil || g.Text != "Here is what I found." || g.Finish != engine.FinishStop {
		t.Errorf("%+v, %v", g, err)
	}
	for _, want := range []string{"two  spaces ", ""} {
		var text strings.Builder
		var last *engine.Generation
		for ev, err := range f.Stream(t.Context(), engine.GenerateRequest{Prompt: chat.Text("b")}) {
			if err != nil {
				t.Fatal(err)
			}
			text.WriteString(ev.Text)
			last = ev.Done
		}
		if last == nil || text.String() != want || last.Text != want {
			t.Errorf("streamed %q, last %+v, want %q", text.String(), last, want)
		}
	}
	f.AssertDone(t)
}

// What is not in the script is an error of the call, and of AssertDone.
func TestScriptRefuses(t *testing.T) {
	t.Parallel()
	gen := func(f *enginetest.Fake) error {
		_, err := f.Generate(t.Context(), engine.GenerateRequest{})
		return err
	}
	stream := func(f *enginetest.Fake) (last error) {
		for _, err := range f.Stream(t.Context(), engine.GenerateRequest{}) {
			last = err
		}
		return last
	}
	dec := func(q ...decide.Question) func(f *enginetest.Fake) error {
		return func(f *enginetest.Fake) error {
			_, err := f.Decide(t.Context(), about("x", q...))
			return err
		}
	}
	for name, c := range map[string]struct {
		script *enginetest.Fake
		call   func(*enginetest.Fake) error
		says   string
		left   int // answers never asked for
	}{
		"nothing left":     {enginetest.Script(), gen, "no more than its 0 answers", 0},
		"streamed":         {enginetest.Script(), stream, "no more than its 0 answers", 0},
		"another question": {enginetest.Script().OnDecide("team", enginetest.Choose("sales", 1)), dec(urgent), `"team" next`, 1},
		"another kind":     {enginetest.Script().OnGenerate("a"), dec(urgent), `generation of "a" next`, 1},
		"other kind still": {enginetest.Script().OnDecide("team", enginetest.Yes(1)), gen, `"team" next`, 1},
		"no such option":   {enginetest.Script().OnDecide("team", enginetest.Choose("legal", 1)), dec(team), `"legal"`, 0},
		"too probable":     {enginetest.Script().OnDecide("team", enginetest.Choose("sales", 1.5)), dec(team), "1.5", 0},
		"not a number":     {enginetest.Script().OnDecide("urgent", enginetest.Yes(math.NaN())), dec(urgent), "NaN", 0},
		"short spread":     {enginetest.Script().OnDecide("team", enginetest.Spread(0.5, 0.5)), dec(team), "3 options, the script gives 2", 0},
		"bad spread":       {enginetest.Script().OnDecide("urgent", enginetest.Spread(0.9, 0.9)), dec(urgent), "1.8", 0},
	} {
		err := c.call(c.script)
		if !errors.Is(err, enginetest.ErrScript) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want ErrScript that says %q", name, err, c.says)
		}
		if got := done(c.script); len(got) != 1+c.left {
			t.Errorf("%s: AssertDone says %q, want the fault and %d answers left", name, got, c.left)
		}
	}
}

// A request that an engine would refuse is refused, and uses up no answer.
func TestScriptChecksRequests(t *testing.T) {
	t.Parallel()
	f := enginetest.Script().OnDecide("urgent", enginetest.Yes(1))
	if _, err := f.Decide(t.Context(), about("x")); !errors.Is(err, decide.ErrRequest) {
		t.Errorf("no questions: %v", err)
	}
	if _, err := f.Decide(t.Context(), about("x", decide.Boolean("urgent", ""))); !errors.Is(err, decide.ErrRequest) {
		t.Errorf("no instructions: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Decide(ctx, about("x", urgent)); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
	if _, err := f.Generate(ctx, engine.GenerateRequest{}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
	if got := done(f); len(got) != 1 || !strings.Contains(got[0], `never asked for: a decision on "urgent"`) {
		t.Errorf("AssertDone says %q", got)
	}
	if _, err := f.Decide(t.Context(), about("x", urgent)); err != nil {
		t.Error(err)
	}
	f.AssertDone(t)
}

func TestScriptErrors(t *testing.T) {
	t.Parallel()
	busy := errors.New("busy")
	f := enginetest.Script().OnError(busy).OnError(busy).OnGenerate("a b c")
	if _, err := f.Generate(t.Context(), engine.GenerateRequest{}); !errors.Is(err, busy) {
		t.Errorf("generation: %v", err)
	}
	if _, err := f.Decide(t.Context(), about("x", urgent)); !errors.Is(err, busy) {
		t.Errorf("decision: %v", err)
	}
	for range f.Stream(t.Context(), engine.GenerateRequest{}) {
		break // leaving early is fine
	}
	f.AssertDone(t)
}

// What was asked is recorded, in order.
func TestScriptRecords(t *testing.T) {
	t.Parallel()
	f := enginetest.Script().OnDecide("urgent", enginetest.Yes(1)).OnGenerate("ok")
	if _, err := f.Decide(t.Context(), about("the ticket", urgent)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Generate(t.Context(), engine.GenerateRequest{Prompt: chat.Text("hi"), MaxTokens: 7}); err != nil {
		t.Fatal(err)
	}
	d, g := f.Decisions(), f.Generations()
	if len(d) != 1 || d[0].Questions[0].ID != "urgent" || d[0].State.Prompt().RawText() != "the ticket" {
		t.Errorf("decisions %+v", d)
	}
	if len(g) != 1 || g[0].MaxTokens != 7 {
		t.Errorf("generations %+v", g)
	}
}

func TestScriptConcurrent(t *testing.T) {
	t.Parallel()
	f := enginetest.Script()
	for range 50 {
		f.OnGenerate("x")
	}
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			if _, err := f.Generate(t.Context(), engine.GenerateRequest{}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	f.AssertDone(t)
}

// The embedded model needs nothing and gives the same bits on every run, whatever runs beside it and
// in whatever steps.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	r := decide.Request{State: decide.Text("I was charged twice, please let me talk to a person."), Questions: []decide.Question{
		decide.Boolean("human", "Does the user ask for a human?"),
		decide.Choice("team", "Which team?", decide.Opt("billing", "charges and refunds"), decide.Opt("technical", "errors"), decide.Opt("sales", "")),
		decide.Score("urgency", "How urgent is it?", "can wait", "today", "at once"),
	}}
	var want []decide.Answer
	for i, e := range []*engine.Engine{
		enginetest.Embedded(t), enginetest.Embedded(t), enginetest.Embedded(t, engine.WithStepRows(7)), enginetest.Embedded(t, engine.WithWorkers(1)),
	} {
		var group sync.WaitGroup
		group.Go(func() {
			other := r
			other.State = decide.Text("The parcel is lost.")
			if _, err := e.Decide(t.Context(), other); err != nil {
				t.Error(err)
			}
		})
		for range 2 { // cold and hot
			res, err := e.Decide(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = res.Answers
			}
			if !reflect.DeepEqual(res.Answers, want) {
				t.Errorf("engine %d: %v, want %v", i, res.Answers, want)
			}
		}
		group.Wait()
	}
	if e := enginetest.Embedded(t); e.Info().Model != embedded.Name {
		t.Errorf("the model is %s", e.Info().Model)
	}
}
