package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/model/chat"
)

// A call whose context ends returns at once, wherever it is; its blocks are freed when the step
// under way ends.
func TestCancelAtEveryPoint(t *testing.T) {
	t.Parallel()
	ids := sequence(1, 60)
	gen := func(ctx context.Context, e *engine.Engine) error {
		g, err := e.Generate(ctx, write(ids, 20))
		if g != nil && (g.Finish != engine.FinishCancelled || g.Usage.GeneratedTokens != len(g.IDs)) {
			return fmt.Errorf("finish %q, usage %v", g.Finish, g.Usage)
		}
		return err
	}
	stream := func(ctx context.Context, e *engine.Engine) error {
		var last engine.Event
		var err error
		for last, err = range e.Stream(ctx, write(ids, 20)) {
		}
		if last.Done == nil || last.Done.Finish != engine.FinishCancelled {
			return fmt.Errorf("last event %+v, want one that holds the cancelled generation", last)
		}
		return err
	}
	dec := func(ctx context.Context, e *engine.Engine) error {
		_, err := e.Decide(ctx, ask(decide.Tokens(ids...)))
		return err
	}
	warm := func(ctx context.Context, e *engine.Engine) error {
		_, err := e.Warm(ctx, chat.Tokens(ids...), 0)
		return err
	}
	for name, c := range map[string]struct {
		call  func(context.Context, *engine.Engine) error
		steps int // let go before the context ends; -1: still queued
	}{
		"queued generation":  {gen, -1},
		"queued stream":      {stream, -1},
		"queued decision":    {dec, -1},
		"queued warm":        {warm, -1},
		"first prefill":      {gen, 0},
		"second prefill":     {gen, 1},
		"first token":        {gen, 3},
		"decoding":           {gen, 8},
		"decoding, streamed": {stream, 8},
		"decision's state":   {dec, 1},
		"decision's spans":   {dec, 5},
		"warm":               {warm, 1},
	} {
		for _, inFlight := range []int{1, 2} {
			for _, deadline := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %d in flight, deadline %v", name, inFlight, deadline), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						f := &backendtest.Fake{InFlight: inFlight}
						g := gated(t, f)
						e := openFake(t, f, engine.WithStepRows(16))
						t.Cleanup(g.free)
						var other <-chan result[*engine.Generation]
						if c.steps < 0 { // something else keeps the device busy
							other = begin(func() (*engine.Generation, error) { return e.Generate(t.Context(), write(sequence(2, 100), 3)) })
							g.step()
							synctest.Wait()
						}
						before := e.Stats()
						ctx, cancel := context.WithCancel(t.Context())
						want := context.Canceled
						if deadline {
							ctx, cancel = context.WithTimeout(t.Context(), time.Hour)
							want = context.DeadlineExceeded
						}
						defer cancel()
						call := begin(func() (struct{}, error) { return struct{}{}, c.call(ctx, e) })
						if c.steps >= 0 {
							g.step()
							for range c.steps {
								g.let()
								g.step()
							}
						}
						synctest.Wait()
						if s := e.Stats(); s.Running+s.Waiting != before.Running+before.Waiting+1 {
							t.Fatalf("%d running, %d waiting: the call is not where it should be", s.Running, s.Waiting)
						}
						if deadline {
							time.Sleep(2 * time.Hour)
						} else {
							cancel()
						}
						synctest.Wait()
						select {
						case r := <-call:
							mustFail(t, r.err, want)
						default:
							t.Fatal("the call did not return")
						}
						s := e.Stats()
						if s.Running != before.Running || s.Waiting != before.Waiting || s.Cancelled != 1 || s.Failed != 0 {
							t.Errorf("stats %+v", s)
						}
						if c.steps >= 0 && s.Cache.Referenced == 0 && s.Cache.ScratchFree == s.Cache.Scratch {
							t.Error("the blocks were freed while the step was under way")
						}
						g.free()
						if other != nil {
							if r := <-other; r.err != nil {
								t.Error(r.err)
							}
						}
						synctest.Wait()
						checkIdle(t, e)
						generate(t, e, write(ids, 2))
					})
				})
			}
		}
	}
}

// A context that has ended starts nothing.
func TestCancelledBefore(t *testing.T) {
	t.Parallel()
	e := openFake(t, &backendtest.Fake{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range everyCall(ctx, e) {
		if err := <-c; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s := e.Stats(); s.Steps != 0 || s.Running+s.Waiting != 0 {
		t.Errorf("stats %+v", s)
	}
}

// Leaving the loop over a stream cancels its generation, even while a step is under way.
func TestLeavingStreamCancels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &backendtest.Fake{}
		g := gated(t, f)
		e := openFake(t, f)
		t.Cleanup(g.free)
		left := begin(func() (int, error) {
			n := 0
			for ev, err := range e.Stream(t.Context(), write(sequence(1, 20), 200)) {
				if err != nil {
					return n, err
				}
				if n += len(ev.IDs); n == 3 {
					break
				}
			}
			return n, nil
		})
		g.step()
		for len(left) == 0 {
			g.let()
			g.step()
			synctest.Wait()
		}
		if r := <-left; r.err != nil || r.value != 3 {
			t.Errorf("%d tokens, error %v", r.value, r.err)
		}
		if s := e.Stats(); s.Running != 0 || s.Cancelled != 1 || s.Cache.Referenced == 0 {
			t.Errorf("with a step under way: %d running, %d cancelled, %d blocks referenced", s.Running, s.Cancelled, s.Cache.Referenced)
		}
		g.free()
		synctest.Wait()
		checkIdle(t, e)
		if n := e.Stats().Generated; n > 6 {
			t.Errorf("%d tokens generated for a reader who left after 3", n)
		}
	})
}

// The reader of a stream may leave by panicking, too.
func TestPanicInStreamLoop(t *testing.T) {
	t.Parallel()
	e := openFake(t, &backendtest.Fake{})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the reader's panic was swallowed")
			}
		}()
		for range e.Stream(t.Context(), write(sequence(1, 20), 0)) {
			panic("mine")
		}
	}()
	generate(t, e, write(sequence(2, 20), 5))
}

// A reader that falls behind is not scheduled until it reads, and then goes on as if nothing had been.
func TestSlowReaderIsPaused(t *testing.T) {
	t.Parallel()
	for _, inFlight := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			e := openFake(t, &backendtest.Fake{InFlight: inFlight}, engine.WithSlowReader(engine.SlowReader{Events: 4, After: time.Minute}))
			want := generate(t, e, write(sequence(1, 20), 30))
			made := e.Stats().Generated
			var ids []int32
			for ev, err := range e.Stream(t.Context(), write(sequence(1, 20), 30)) {
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, ev.IDs...)
				time.Sleep(time.Second) // while it sleeps everything comes to rest
				n := int(e.Stats().Generated - made)
				if limit := len(ids) + 2*4 + inFlight; n > limit {
					t.Errorf("%d tokens made for a reader who has taken %d", n, len(ids))
				}
				generate(t, e, write(sequence(3, 10), 1)) // others are served
				made++
			}
			if fmt.Sprint(ids) != fmt.Sprint(want.IDs) {
				t.Errorf("ids %v, want %v", ids, want.IDs)
			}
		})
	}
}

// A reader that stays behind for too long is ended with ErrSlowReader; what it had is still there.
func TestSlowReaderIsEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := openFake(t, &backendtest.Fake{}, engine.WithSlowReader(engine.SlowReader{Events: 4, After: time.Minute}))
		var ids []int32
		var last error
		var done *engine.Generation
		for ev, err := range e.Stream(t.Context(), write(sequence(1, 20), 100)) {
			if last != nil {
				t.Error("an event after the error")
			}
			if ids = append(ids, ev.IDs...); len(ids) == 2 && ev.IDs != nil {
				time.Sleep(59 * time.Second)
				if s := e.Stats(); s.Running != 1 {
					t.Errorf("%d running after 59 seconds", s.Running)
				}
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if s := e.Stats(); s.Running != 0 || s.Failed != 1 || s.Cache.Referenced != 0 {
					t.Errorf("after 61 seconds: %d running, %d failed, %d blocks referenced", s.Running, s.Failed, s.Cache.Referenced)
				}
			}
			last, done = err, ev.Done
		}
		mustFail(t, last, engine.ErrSlowReader)
		if last != nil && (!strings.Contains(last.Error(), "4 events") || !strings.Contains(last.Error(), "1m0s")) {
			t.Errorf("error %q does not name both bounds", last)
		}
		if done == nil || done.Finish != engine.FinishError || fmt.Sprint(done.IDs) != fmt.Sprint(ids) {
			t.Errorf("generation %+v, want the %d tokens that were read", done, len(ids))
		}
	})
}

// A full queue refuses with both numbers; what is queued is served.
func TestQueueFull(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		queue engine.Queue
		field string
		have  int
		most  int
	}{
		{engine.Queue{Requests: 3}, "requests", 4, 3},
		{engine.Queue{Tokens: 70}, "tokens", 80, 70},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &backendtest.Fake{InFlight: 1}
			g := gated(t, f)
			e := openFake(t, f, engine.WithQueue(c.queue))
			t.Cleanup(g.free)
			var calls []<-chan result[*engine.Generation]
			for i := range 4 {
				calls = append(calls, begin(func() (*engine.Generation, error) { return e.Generate(t.Context(), write(sequence(i, 20), 3)) }))
				if i == 0 {
					g.step() // runs; the others wait for the step to end
				}
			}
			synctest.Wait()
			if n := e.Stats().Waiting; n != 3 {
				t.Fatalf("%d calls wait", n)
			}
			_, err := e.Decide(t.Context(), ask(decide.Tokens(sequence(9, 20)...)))
			var busy *engine.ErrBusy
			if !errors.As(err, &busy) {
				t.Fatalf("error %v, want ErrBusy", err)
			}
			if busy.Field != c.field || busy.Have != c.have || busy.Most != c.most || busy.RetryAfter <= 0 {
				t.Errorf("%+v", busy)
			}
			for _, s := range []string{c.field, fmt.Sprint(c.have), fmt.Sprint(c.most)} {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("error %q does not say %q", err, s)
				}
			}
			g.free()
			for _, c := range calls {
				if r := <-c; r.err != nil {
					t.Error(r.err)
				}
			}
			decideOn(t, e, ask(decide.Tokens(sequence(9, 20)...)))
		})
	}
}
