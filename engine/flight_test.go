package engine_test

import (
	"testing"
	"testing/synctest"

	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/engine/sample"
)

// Where the device holds two steps, the second is there before the first has ended, its token
// standing for a choice not made yet. A choice that looks at the tokens before it must wait.
func TestTwoStepsInFlight(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		fake    *backendtest.Fake
		penalty float64
		ahead   int
	}{
		{"two", &backendtest.Fake{InFlight: 2}, 1, 1},
		{"one", &backendtest.Fake{InFlight: 1}, 1, 0},
		{"penalty", &backendtest.Fake{InFlight: 2}, 1.3, 0},
		{"choices on the host", &backendtest.Fake{InFlight: 2, Without: backend.WantSample}, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := write(sequence(1, 20), 12)
			r.Sampling = sample.Settings{RepetitionPenalty: &c.penalty}
			want := generate(t, openFake(t, &backendtest.Fake{InFlight: 1}), r)
			synctest.Test(t, func(t *testing.T) {
				g := gated(t, c.fake)
				e := openFake(t, c.fake)
				t.Cleanup(g.free)
				call := begin(func() (*engine.Generation, error) { return e.Generate(t.Context(), r) })
				for range 5 {
					g.step()
					synctest.Wait()
					if ahead := c.fake.Count(backendtest.OpSubmit) - c.fake.Count(backendtest.OpStep); ahead != c.ahead {
						t.Errorf("%d steps submitted ahead of the device, want %d", ahead, c.ahead)
					}
					g.let()
				}
				g.free()
				got := <-call
				if got.err != nil {
					t.Fatal(got.err)
				}
				same(t, "generation", got.value, want)
			})
		})
	}
}

// A call that needs the whole pool waits for the one that has it, and runs when that ends.
func TestWaitingCallRuns(t *testing.T) {
	t.Parallel()
	for _, inFlight := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			f := &backendtest.Fake{InFlight: inFlight}
			g := gated(t, f)
			e := openFake(t, f, blocks(6, 20), engine.WithContextLength(256))
			t.Cleanup(g.free)
			first := begin(func() (*engine.Generation, error) { return e.Generate(t.Context(), write(sequence(1, 84), 5)) })
			g.step()
			second := begin(func() (*engine.Generation, error) { return e.Generate(t.Context(), write(sequence(2, 84), 5)) })
			synctest.Wait()
			g.free()
			synctest.Wait()
			for i, c := range []<-chan result[*engine.Generation]{first, second} {
				select {
				case r := <-c:
					if r.err != nil {
						t.Error(r.err)
					}
				default:
					t.Errorf("call %d waits on; %+v", i, e.Stats())
				}
			}
		})
	}
}
