package engine_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
)

// everyCall begins one call of each kind and returns their outcomes.
func everyCall(ctx context.Context, e *engine.Engine) map[string]<-chan error {
	calls := map[string]<-chan error{}
	add := func(name string, f func() error) {
		c := make(chan error, 1)
		calls[name] = c
		go func() { c <- f() }()
	}
	for _, n := range []string{"1", "2"} { // of different prefixes
		text := "Once upon a time, for the " + n + ". time, there was a little dog with a long tail"
		add("Generate "+n, func() error {
			_, err := e.Generate(ctx, engine.GenerateRequest{Prompt: chat.Text(text + "a"), IgnoreEOS: true})
			return err
		})
		add("Stream "+n, func() error {
			for _, err := range e.Stream(ctx, engine.GenerateRequest{Prompt: chat.Text(text + "b"), IgnoreEOS: true}) {
				if err != nil {
					return err
				}
			}
			return nil
		})
		add("Decide "+n, func() error {
			_, err := e.Decide(ctx, ask(decide.Text(text+"c")))
			return err
		})
		add("Warm "+n, func() error {
			h, err := e.Warm(ctx, chat.Text(text+"d"), 0)
			if err == nil {
				h.Release()
			}
			return err
		})
	}
	return calls
}

// Invariant 10: Close ends every caller with ErrClosed, at once, though a step is under way.
func TestInvariant10CloseEndsEveryCaller(t *testing.T) {
	t.Parallel()
	for _, steps := range []int{0, 1, 3, 7} {
		synctest.Test(t, func(t *testing.T) {
			f := &backendtest.Fake{}
			g := gated(t, f)
			e := openFake(t, f, engine.WithStepRows(24))
			t.Cleanup(g.free)
			calls := everyCall(t.Context(), e)
			g.step()
			for range steps {
				g.let()
				g.step()
			}
			synctest.Wait()
			closed := begin(func() (struct{}, error) { return struct{}{}, e.Close() })
			synctest.Wait()
			for name, c := range calls {
				select {
				case err := <-c:
					if steps > 1 && err == nil && (strings.HasPrefix(name, "Warm") || strings.HasPrefix(name, "Decide")) {
						continue // it was through
					}
					mustFail(t, err, engine.ErrClosed)
				default:
					t.Errorf("after %d steps: %s waits on", steps, name)
				}
			}
			if len(closed) > 0 {
				t.Error("Close returned while a step was under way")
			}
			g.free()
			if r := <-closed; r.err != nil {
				t.Error(r.err)
			}
			for name, c := range everyCall(t.Context(), e) {
				if err := <-c; !errors.Is(err, engine.ErrClosed) {
					t.Errorf("%s after Close: %v, want ErrClosed", name, err)
				}
			}
			if err := e.Close(); err != nil {
				t.Errorf("second Close: %v", err)
			}
			mustFail(t, e.Shutdown(t.Context()))
		})
	}
}

// Invariant 10: every goroutine ends with Close. Not parallel: it counts those of the process.
func TestInvariant10GoroutinesEnd(t *testing.T) {
	for _, opts := range [][]engine.Option{nil, {engine.WithBackend(&backendtest.Fake{})}} {
		e, err := engine.Open(t.Context(), model.Stories(), opts...)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		calls := everyCall(ctx, e)
		for range e.Stream(ctx, engine.GenerateRequest{Prompt: chat.Text("Once"), MaxTokens: 5}) {
			break
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		for _, c := range calls {
			<-c
		}
		cancel()
	}
	var stacks string
	for range 1000 { // goroutines that have returned may take a moment to be gone
		buf := make([]byte, 1<<20)
		stacks = string(buf[:runtime.Stack(buf, true)])
		left := 0
		for _, s := range strings.Split(stacks, "\n\n") {
			if strings.Contains(s, "hotpath/") && !strings.Contains(s, "testing.tRunner") {
				left++
			}
		}
		if left == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("goroutines after Close:\n%s", stacks)
}

// Shutdown lets what is there finish, and refuses what comes after.
func TestShutdownDrains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &backendtest.Fake{}
		g := gated(t, f)
		e := openFake(t, f)
		t.Cleanup(g.free)
		calls := everyCall(t.Context(), e)
		g.step()
		synctest.Wait()
		down := begin(func() (struct{}, error) { return struct{}{}, e.Shutdown(t.Context()) })
		synctest.Wait()
		for name, c := range everyCall(t.Context(), e) {
			if err := <-c; !errors.Is(err, engine.ErrDraining) {
				t.Errorf("%s after Shutdown: %v, want ErrDraining", name, err)
			}
		}
		if len(down) > 0 {
			t.Error("Shutdown returned while calls were live")
		}
		g.free()
		for name, c := range calls {
			if err := <-c; err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if r := <-down; r.err != nil {
			t.Error(r.err)
		}
		_, err := e.Generate(t.Context(), write(sequence(1, 3), 1))
		mustFail(t, err, engine.ErrClosed)
	})
}

// A Shutdown whose context ends closes at once.
func TestShutdownGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &backendtest.Fake{Latency: time.Second}
		e := openFake(t, f)
		calls := everyCall(t.Context(), e)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		mustFail(t, e.Shutdown(ctx), context.DeadlineExceeded)
		closed := 0
		for _, c := range calls {
			if err := <-c; errors.Is(err, engine.ErrClosed) {
				closed++
			} else if err != nil {
				t.Error(err)
			}
		}
		if closed < 4 {
			t.Errorf("%d calls ended with ErrClosed", closed)
		}
	})
}

// An engine without calls shuts down at once.
func TestShutdownIdle(t *testing.T) {
	t.Parallel()
	e := openFake(t, &backendtest.Fake{})
	if err := e.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
