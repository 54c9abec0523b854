package enginetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
)

// ErrScript is returned to code that asks for something else than the script says comes next.
var ErrScript = errors.New("enginetest: not in the script")

// Fake answers from a script. It satisfies engine.Generator and decide.Decider and is safe for
// concurrent use, though concurrent calls meet the script in whatever order they come.
type Fake struct {
	mu          sync.Mutex
	steps       []step
	next        int
	faults      []string // what was asked outside the script
	decisions   []decide.Request
	generations []engine.GenerateRequest
}

// step is one scripted answer: to the question id, or to a generation where id is empty.
type step struct {
	id    string
	reply Reply
	text  string
	err   error
}

func (s step) String() string {
	switch {
	case s.id != "":
		return fmt.Sprintf("a decision on %q", s.id)
	case s.err != nil:
		return fmt.Sprintf("a call that fails with %q", s.err)
	}
	return fmt.Sprintf("a generation of %q", s.text)
}

var (
	_ engine.Generator = (*Fake)(nil)
	_ decide.Decider   = (*Fake)(nil)
)

// Script returns a fake with an empty script.
func Script() *Fake { return &Fake{} }

// OnDecide scripts the next answer: to the question with this id. A request with several questions
// takes one scripted answer for each, in the request's order.
func (f *Fake) OnDecide(id string, r Reply) *Fake { return f.add(step{id: id, reply: r}) }

// OnGenerate scripts the next generation: its whole text.
func (f *Fake) OnGenerate(text string) *Fake { return f.add(step{text: text}) }

// OnError scripts the next call, of either kind, to fail.
func (f *Fake) OnError(err error) *Fake { return f.add(step{err: err}) }

func (f *Fake) add(s step) *Fake {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.steps = append(f.steps, s)
	return f
}

// AssertDone fails the test unless every scripted answer was asked for and nothing else was.
func (f *Fake) AssertDone(t testing.TB) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, fault := range f.faults {
		t.Errorf("enginetest: %s", fault)
	}
	for _, s := range f.steps[f.next:] {
		t.Errorf("enginetest: never asked for: %v", s)
	}
}

// Decisions returns the requests that were decided, or refused as not in the script, in order.
func (f *Fake) Decisions() []decide.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]decide.Request(nil), f.decisions...)
}

// Generations returns the requests for a generation, in order.
func (f *Fake) Generations() []engine.GenerateRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]engine.GenerateRequest(nil), f.generations...)
}

// take returns the next step if it is of the kind asked for: a decision on id, or a generation.
func (f *Fake) take(id string) (step, error) {
	asked := "a generation"
	if id != "" {
		asked = fmt.Sprintf("a decision on %q", id)
	}
	if f.next == len(f.steps) {
		return step{}, f.fault("asked for %s, the script has no more than its %d answers", asked, len(f.steps))
	}
	s := f.steps[f.next]
	if s.err == nil && s.id != id {
		return step{}, f.fault("asked for %s, the script has %v next", asked, s)
	}
	f.next++
	return s, s.err
}

func (f *Fake) fault(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	f.faults = append(f.faults, text)
	return fmt.Errorf("%w: %s", ErrScript, text)
}

// Decide answers the request's questions from the script. Questions compiled into a Plan cannot be
// seen by a fake and are refused.
func (f *Fake) Decide(ctx context.Context, r decide.Request) (*decide.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.decisions = append(f.decisions, r)
	if err := r.Check(); err != nil {
		return nil, err
	}
	if r.Plan != nil {
		return nil, f.fault("asked with a compiled Plan, which a fake cannot read")
	}
	res := &decide.Result{Model: Model, Numerics: Model}
	for _, q := range r.Questions {
		s, err := f.take(q.ID)
		if err != nil {
			return nil, err
		}
		a, err := s.reply(r, q)
		if err != nil {
			return nil, f.fault("%v", err)
		}
		res.Answers = append(res.Answers, a)
	}
	return res, nil
}

// Generate returns the next scripted text.
func (f *Fake) Generate(ctx context.Context, r engine.GenerateRequest) (*engine.Generation, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.generations = append(f.generations, r)
	s, err := f.take("")
	if err != nil {
		return nil, err
	}
	return &engine.Generation{Text: s.text, Finish: engine.FinishStop, Model: Model, Numerics: Model}, nil
}

// Stream yields the next scripted text word by word.
func (f *Fake) Stream(ctx context.Context, r engine.GenerateRequest) iter.Seq2[engine.Event, error] {
	return func(yield func(engine.Event, error) bool) {
		g, err := f.Generate(ctx, r)
		if err != nil {
			yield(engine.Event{}, err)
			return
		}
		for word := range strings.SplitAfterSeq(g.Text, " ") {
			if err := ctx.Err(); err != nil {
				yield(engine.Event{}, err)
				return
			}
			if word != "" && !yield(engine.Event{Text: word}, nil) {
				return
			}
		}
		yield(engine.Event{Done: g}, nil)
	}
}

// Model is the model and numerics id that a Fake's results name.
const Model = "script"
