package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/internal/race"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model/chat"
)

// greedy is what a fake writes after a prompt, from its logits alone.
func greedy(prompt []int32, n int) []int32 {
	history := slices.Clone(prompt)
	logits := make([]float32, 512)
	for range n {
		backendtest.FakeLogits(history, logits)
		best := 0
		for id, v := range logits {
			if v > logits[best] {
				best = id
			}
		}
		history = append(history, int32(best))
	}
	return history[len(prompt):]
}

// The calls whose rows a failed step carried fail with it. All others are served, with the right
// tokens, and the bookkeeping stays whole.
func TestFaultFailsItsStepAlone(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	prompts := make([][]int32, 8)
	want := make([][]int32, len(prompts))
	for i := range prompts {
		// Half of them share a prompt that ends within a block, and go on after it: blocks are copied.
		prompts[i] = concat(sequence(i%2*(1+i), 20), sequence(50+i, 1+i))
		want[i] = greedy(prompts[i], 12)
	}
	for op, name := range map[backendtest.Op]string{
		backendtest.OpSubmit: "Submit", backendtest.OpStep: "step", backendtest.OpWait: "Wait", backendtest.OpCopy: "Copy",
	} {
		for _, inFlight := range []int{1, 2} {
			for _, panics := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %d in flight, panics %v", name, inFlight, panics), func(t *testing.T) {
					t.Parallel()
					hits := 0
					for n := 1; n <= 14; n++ {
						synctest.Test(t, func(t *testing.T) {
							var carried atomic.Int32 // sequences of the step that failed
							var over atomic.Bool
							f := &backendtest.Fake{InFlight: inFlight, Hook: func(c backendtest.Call) error {
								if c.Op != op || c.N != n || over.Load() {
									return nil
								}
								carried.Store(1)
								if c.Batch != nil {
									carried.Store(int32(len(c.Batch.Seqs)))
								}
								if panics {
									panic(boom)
								}
								return boom
							}}
							e := openFake(t, f, blocks(40, 24), engine.WithStepRows(48))
							var calls []<-chan result[*engine.Generation]
							for i := range prompts {
								calls = append(calls, begin(func() (*engine.Generation, error) { return e.Generate(t.Context(), write(prompts[i], 12)) }))
							}
							failed := 0
							for i, c := range calls {
								r := <-c
								switch {
								case r.err == nil:
									if !slices.Equal(r.value.IDs, want[i]) {
										t.Errorf("fault %d: call %d: ids %v, want %v", n, i, r.value.IDs, want[i])
									}
								case errors.Is(r.err, boom) && !panics, errors.Is(r.err, engine.ErrInternal) && panics:
									failed++
									if !slices.Equal(r.value.IDs, want[i][:len(r.value.IDs)]) {
										t.Errorf("fault %d: failed call %d: ids %v, want the first of %v", n, i, r.value.IDs, want[i])
									}
								default:
									t.Errorf("fault %d: call %d: %v", n, i, r.err)
								}
							}
							synctest.Wait()
							checkIdle(t, e)
							over.Store(true)
							hit := int(carried.Load())
							if hit > 0 {
								hits++
							}
							if exact := op != backendtest.OpCopy; exact && failed != hit || !exact && (failed > 0) != (hit > 0) || failed > len(prompts) {
								t.Errorf("fault %d: %d calls failed, the step carried %d", n, failed, hit)
							}
							if s := e.Stats(); int(s.Failed) != failed {
								t.Errorf("fault %d: %d failed in the statistics, want %d", n, s.Failed, failed)
							}
							for i := range prompts { // whatever is cached now is right
								g := generate(t, e, write(prompts[i], 12))
								if !slices.Equal(g.IDs, want[i]) {
									t.Errorf("after fault %d: call %d: ids %v, want %v", n, i, g.IDs, want[i])
								}
							}
						})
					}
					if hits == 0 {
						t.Errorf("%d faults came about", hits)
					}
				})
			}
		}
	}
}

// long says whether the long forms of tests were asked for.
func long() bool { return os.Getenv("HOTPATH_LONG") == "1" }

// Many goroutines make calls of all kinds on a small pool, cancel them at any time, and the device
// fails now and then. Every answer that comes is right, and in the end nothing is lost.
func TestSoak(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		inFlight int
		without  backend.WantSet
		rows     int
	}{
		{"one in flight", 1, 0, 64},
		{"two in flight", 2, 0, 48},
		{"choices on the host", 2, backend.WantSample | backend.WantLabels, 512},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			soak(t, &backendtest.Fake{InFlight: c.inFlight, Without: c.without}, c.rows)
		})
	}
}

func soak(t *testing.T, f *backendtest.Fake, rows int) {
	const goroutines = 64
	each := 40
	switch {
	case long():
		each = 800
	case race.Enabled:
		each = 5
	}
	boom := errors.New("boom")
	var faults atomic.Bool
	faults.Store(true)
	var mu sync.Mutex
	dice := rand.New(rand.NewPCG(1, 2))
	f.Hook = func(c backendtest.Call) error {
		mu.Lock()
		roll := dice.IntN(300)
		mu.Unlock()
		if c.Op == backendtest.OpOpen || c.Op == backendtest.OpClose || !faults.Load() {
			return nil
		}
		switch roll {
		case 0:
			return boom
		case 1:
			panic(boom)
		}
		return nil
	}
	e := openFake(t, f, blocks(48, 64), engine.WithContextLength(256), engine.WithStepRows(rows),
		engine.WithSlowReader(engine.SlowReader{Events: 6, After: time.Minute}))

	// What can be asked, and the answers of an engine where nothing goes wrong.
	quiet := openFake(t, &backendtest.Fake{})
	var prompts [][]int32
	var written [][]int32
	var decided []string
	for i := range 24 {
		ids := concat(sequence(i%3, 10+i%2*30), sequence(200+i, 1+i*5%40))
		prompts = append(prompts, ids)
		written = append(written, greedy(ids, 24))
		decided = append(decided, print(decideOn(t, quiet, ask(decide.Tokens(ids...)))))
	}

	var served, ended atomic.Int64
	worker := func(g int) {
		r := rand.New(rand.NewPCG(uint64(g), 9))
		for range each {
			ctx, cancel := context.WithCancel(t.Context())
			cancelled := r.IntN(4) == 0
			if cancelled {
				if r.IntN(8) == 0 {
					cancel()
				} else {
					time.AfterFunc(time.Duration(r.IntN(2000))*time.Microsecond, cancel)
				}
			}
			i := r.IntN(len(prompts))
			n := 1 + r.IntN(24)
			w := write(prompts[i], n)
			w.Caller, w.Priority = fmt.Sprint("caller ", g%5), r.IntN(2)
			var err error
			left := false // by ourselves
			switch r.IntN(5) {
			case 0, 1:
				var got *engine.Generation
				if got, err = e.Generate(ctx, w); err == nil && !slices.Equal(got.IDs, written[i][:n]) {
					t.Errorf("prompt %d: ids %v, want %v", i, got.IDs, written[i][:n])
				}
			case 2:
				var ids []int32
				leave := r.IntN(2 * n)
				for ev, e := range e.Stream(ctx, w) {
					if ids, err = append(ids, ev.IDs...), e; len(ids) > leave {
						left = true
						break
					}
					if r.IntN(4) == 0 {
						time.Sleep(time.Duration(r.IntN(300)) * time.Microsecond)
					}
				}
				if !slices.Equal(ids, written[i][:len(ids)]) || err == nil && !left && len(ids) != n {
					t.Errorf("prompt %d: streamed ids %v, want %v", i, ids, written[i][:n])
				}
			case 3:
				d := ask(decide.Tokens(prompts[i]...))
				d.Caller = w.Caller
				var got *decide.Result
				if got, err = e.Decide(ctx, d); err == nil {
					same(t, fmt.Sprint("decision ", i), got, decided[i])
				}
			case 4:
				var h *engine.Hold
				if h, err = e.Warm(ctx, chat.Tokens(prompts[i]...), time.Duration(r.IntN(3))*time.Millisecond); err == nil {
					if r.IntN(2) == 0 {
						time.Sleep(time.Millisecond)
					}
					h.Release()
				}
			}
			cancel()
			switch {
			case err == nil:
				served.Add(1)
			case errors.Is(err, kvcache.ErrHoldCap): // the others hold enough
			case errors.Is(err, boom), errors.Is(err, engine.ErrInternal),
				cancelled && errors.Is(err, context.Canceled):
				ended.Add(1)
			default:
				t.Errorf("error %v", err)
			}
		}
	}
	var group sync.WaitGroup
	for g := range goroutines {
		group.Go(func() { worker(g) })
	}
	group.Wait()
	faults.Store(false)
	for i := range prompts { // whatever is cached by now is right
		if g := generate(t, e, write(prompts[i], 24)); !slices.Equal(g.IDs, written[i]) {
			t.Errorf("afterwards: prompt %d: ids %v, want %v", i, g.IDs, written[i])
		}
		same(t, fmt.Sprint("afterwards: decision ", i), decideOn(t, e, ask(decide.Tokens(prompts[i]...))), decided[i])
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	checkIdle(t, e)
	if s, x := served.Load(), ended.Load(); 3*s < x || x == 0 {
		t.Errorf("%d calls served, %d ended: the test shows little", s, x)
	}
}
