package engine_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/sample"
	"github.com/hotpath-go/hotpath/internal/race"
	"github.com/hotpath-go/hotpath/model/chat"
)

// mixed returns decisions and generations whose prompts share prefixes of many lengths.
func mixed() []any {
	warm, penalty := 0.8, 1.2
	story := "Once upon a time, there was a little girl named Lily. She loved to play outside in the park. One day, she saw a big, red ball."
	calls := []any{
		ask(decide.Text(story)),
		engine.GenerateRequest{Prompt: chat.Text(story[:90]), MaxTokens: 20, LogProbs: true, TopLogProbs: 3},
		decide.Request{State: decide.Text(story[:70]), Questions: []decide.Question{decide.Boolean("big", "Is the ball big?")}},
		engine.GenerateRequest{Prompt: chat.Text(story), MaxTokens: 30, Seed: 7, Sampling: sample.Settings{Temperature: &warm}, LogProbs: true},
		ask(decide.JSON(map[string]any{"name": "Lily", "balls": 3})),
		engine.GenerateRequest{Prompt: chat.Text(story), MaxTokens: 30, Seed: 8, Sampling: sample.Settings{Temperature: &warm, RepetitionPenalty: &penalty}},
		ask(decide.Text(story[:33])),
		engine.GenerateRequest{Prompt: chat.Text("Tom had a dog."), MaxTokens: 40},
	}
	if race.Enabled {
		return calls[1:5]
	}
	return calls
}

// runAll makes n calls at once, the mixed ones again and again, and compares them with want.
func runAll(t *testing.T, e *engine.Engine, calls []any, n int, want []string) {
	t.Helper()
	order := rand.New(rand.NewPCG(uint64(n), 0)).Perm(n)
	var group sync.WaitGroup
	for _, i := range order {
		group.Go(func() {
			got, err := call(t, e, calls[i%len(calls)])
			if err != nil {
				t.Errorf("call %d of %d: %v", i, n, err)
				return
			}
			same(t, fmt.Sprintf("call %d of %d at once", i, n), got, want[i%len(calls)])
		})
	}
	group.Wait()
}

func call(t *testing.T, e *engine.Engine, r any) (any, error) {
	if r, ok := r.(decide.Request); ok {
		return e.Decide(t.Context(), r)
	}
	return e.Generate(t.Context(), r.(engine.GenerateRequest))
}

// alone makes each call cold and with nothing beside it.
func alone(t *testing.T, calls []any) []string {
	t.Helper()
	e := open(t)
	var out []string
	for i, c := range calls {
		switch r := c.(type) {
		case decide.Request:
			r.Namespace = fmt.Sprint(i)
			c = r
		case engine.GenerateRequest:
			r.Namespace = fmt.Sprint(i)
			c = r
		}
		v, err := call(t, e, c)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, print(v))
	}
	if n := e.Stats().Cache.HitTokens; n != 0 {
		t.Fatalf("%d tokens of cold calls were hot", n)
	}
	return out
}

// Invariant 5: the same call gives the same bits alone, among others, cold and hot, in steps of any
// size and on any number of workers. Not parallel: it changes GOMAXPROCS, which bounds the workers.
func TestInvariant05SameBits(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	calls := mixed()
	want := alone(t, calls)

	for _, n := range []int{1, 2, 7, 32} {
		e := open(t)
		runAll(t, e, calls, n, want)
		if n == 7 {
			runAll(t, e, calls, n, want) // all hot now
		}
	}
	for _, rows := range []int{1, 7, 16, 64, 512} {
		if race.Enabled && rows%16 == 0 {
			continue
		}
		t.Run(fmt.Sprint("steps of ", rows), func(t *testing.T) {
			runAll(t, open(t, engine.WithStepRows(rows)), calls, len(calls), want)
		})
	}
	for _, workers := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(workers, " workers"), func(t *testing.T) {
			e := open(t, engine.WithWorkers(workers))
			if n := e.Info().Workers; n != workers {
				t.Errorf("%d workers, want %d", n, workers)
			}
			runAll(t, e, calls, len(calls), want)
		})
	}
	t.Run("a small pool", func(t *testing.T) { // preemption, eviction, scratch taken in turns
		runAll(t, open(t, blocks(14, 24), engine.WithContextLength(224)), calls, 3*len(calls), want)
	})
}

// A head that computes labels alone gives them the same bits.
func TestSkipMassSameBits(t *testing.T) {
	t.Parallel()
	e := open(t)
	r := ask(decide.Text("Once upon a time, there was a big dog."))
	with := decideOn(t, e, r)
	r.SkipMass = true
	without := decideOn(t, e, r)
	for i := range without.Answers {
		if without.Answers[i].LabelMass != nil {
			t.Errorf("question %d: a label mass that was to be skipped", i)
		}
		if with.Answers[i].LabelMass == nil {
			t.Fatalf("question %d: no label mass", i)
		}
		with.Answers[i].LabelMass = nil
	}
	same(t, "without mass", without, with)
}
