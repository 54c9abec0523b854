package backendtest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/sample"
	"github.com/hotpath-go/hotpath/kvcache"
)

type ids = []kvcache.BlockID

func openFake(t *testing.T, f *Fake) backend.Runner {
	t.Helper()
	r, err := f.Open(t.Context(), Tiny(t, Shapes()[0]), backend.Options{BlockSize: 16, PoolBlocks: 8, ScratchBlocks: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// one is a step of a single span.
func one(context []backend.Segment, pos int, dst ids, tokens ...int32) *backend.Batch {
	return &backend.Batch{Seqs: []backend.Seq{{Context: context, Spans: []backend.Span{{
		Tokens: tokens, Pos: pos, Dst: dst, Want: []backend.Want{{Row: len(tokens) - 1, Logits: true}},
	}}}}}
}

func step(t *testing.T, r backend.Runner, b *backend.Batch) ([]float32, error) {
	t.Helper()
	s, err := r.Submit(t.Context(), b)
	if err != nil {
		return nil, err
	}
	var out backend.Output
	if err := s.Wait(&out); err != nil {
		return nil, err
	}
	return out.Results[0].Logits, out.Results[0].Err
}

func TestFakeHashesHistory(t *testing.T) {
	t.Parallel()
	var f Fake
	r := openFake(t, &f)
	want := make([]float32, 160)
	FakeLogits([]int32{5, 6, 7, 8}, want)
	if got, err := step(t, r, one(nil, 0, ids{3}, 5, 6, 7, 8)); err != nil || !slices.Equal(got, want) {
		t.Fatalf("in one span: %v, logits differ", err)
	}
	if _, err := step(t, r, one(nil, 0, ids{1}, 5, 6)); err != nil {
		t.Fatal(err)
	}
	got, err := step(t, r, one([]backend.Segment{{Blocks: ids{1}, Len: 2}}, 2, ids{9}, 7, 8))
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("in two: %v, logits differ", err)
	}
	FakeLogits([]int32{5, 6, 8, 8}, want)
	if slices.Equal(got, want) {
		t.Fatal("another history has the same logits")
	}
	_ = r.Close()
	f.Verify(t)
}

// Each mistake is an error of the call, and a problem.
func TestFakeSeesMistakes(t *testing.T) {
	t.Parallel()
	segment := func(start, n int, blocks ...kvcache.BlockID) backend.Segment {
		return backend.Segment{Blocks: blocks, Start: start, Len: n}
	}
	for name, c := range map[string]struct {
		do   func(t *testing.T, r backend.Runner) error
		want string
	}{
		"never written": {func(t *testing.T, r backend.Runner) error {
			_, err := step(t, r, one([]backend.Segment{segment(0, 3, 0)}, 3, ids{2}, 1))
			return err
		}, "never written"},
		"rows of another sequence": {func(t *testing.T, r backend.Runner) error {
			if _, err := step(t, r, one(nil, 0, ids{4}, 9, 9, 9, 9)); err != nil {
				t.Fatal(err)
			}
			_, err := step(t, r, one([]backend.Segment{segment(0, 2, 0), segment(2, 2, 4)}, 4, ids{2}, 1))
			return err
		}, "does not continue"},
		"two spans write one slot": {func(t *testing.T, r backend.Runner) error {
			b := one(nil, 0, ids{5}, 1, 2)
			b.Seqs = append(b.Seqs, one(nil, 0, ids{5}, 3).Seqs...)
			_, err := step(t, r, b)
			return err
		}, "written twice"},
		"written and read in one step": {func(t *testing.T, r backend.Runner) error {
			b := one(nil, 0, ids{0}, 1, 2)
			b.Seqs = append(b.Seqs, one([]backend.Segment{segment(0, 2, 0)}, 2, ids{1}, 3).Seqs...)
			_, err := step(t, r, b)
			return err
		}, "written by the same step"},
		"read and written in one step": {func(t *testing.T, r backend.Runner) error {
			b := one([]backend.Segment{segment(0, 2, 0)}, 2, ids{1}, 3)
			b.Seqs = append(b.Seqs, one(nil, 0, ids{0}, 1, 2).Seqs...)
			_, err := step(t, r, b)
			return err
		}, "read by the same step"},
		"copy of nothing": {func(t *testing.T, r backend.Runner) error {
			return r.Copy(t.Context(), []backend.Move{{From: 0, To: 1, Rows: 3}})
		}, "row 2 from block 0"},
		"export of nothing": {func(t *testing.T, r backend.Runner) error {
			_, err := r.(backend.BlockIO).Export(t.Context(), 7, 1, make([]byte, 1<<12))
			return err
		}, "row 0 of block 7"},
		"placeholder for nothing": {func(t *testing.T, r backend.Runner) error {
			_, err := step(t, r, one([]backend.Segment{segment(0, 2, 0)}, 2, ids{0}, -1))
			return err
		}, "row 0 of the step before"},
		"too many in flight": {func(t *testing.T, r backend.Runner) error {
			for i := range 3 {
				if _, err := r.Submit(t.Context(), one(nil, 0, ids{kvcache.BlockID(i + 1)}, 1)); err != nil {
					return err
				}
			}
			return nil
		}, "3 steps in flight, limit 2"},
		"batch changed": {func(t *testing.T, r backend.Runner) error {
			_, err := step(t, r, one(nil, 0, ids{1}, 1, 2)) // the hook changes it
			return err
		}, "batch changed"},
		"wait out of order": {func(t *testing.T, r backend.Runner) error {
			for i := range 2 {
				s, err := r.Submit(t.Context(), one(nil, 0, ids{kvcache.BlockID(i + 1)}, 1))
				if err != nil {
					t.Fatal(err)
				}
				if i == 1 {
					return s.Wait(new(backend.Output))
				}
			}
			return nil
		}, "before that of"},
		"wait twice": {func(t *testing.T, r backend.Runner) error {
			s, err := r.Submit(t.Context(), one(nil, 0, ids{1}, 1, 2))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Wait(new(backend.Output)); err != nil {
				t.Fatal(err)
			}
			return s.Wait(new(backend.Output))
		}, "twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := Fake{}
			if name == "batch changed" {
				f.Hook = func(c Call) error {
					if c.Op == OpStep && c.N == 2 {
						c.Batch.Seqs[0].Spans[0].Tokens[1] = 3
					}
					return nil
				}
			}
			r := openFake(t, &f)
			if _, err := step(t, r, one(nil, 0, ids{0}, 1, 2)); err != nil {
				t.Fatal(err)
			}
			err := c.do(t, r)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one with %q", err, c.want)
			}
			if p := f.Problems(); len(p) != 1 || !strings.Contains(p[0], c.want) {
				t.Fatalf("problems %q", p)
			}
		})
	}
}

func TestFakeFailures(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, op := range []Op{OpSubmit, OpStep, OpWait} {
		f := Fake{Hook: func(c Call) error {
			if c.Op == op && c.N == 2 {
				return boom
			}
			return nil
		}}
		r := openFake(t, &f)
		if _, err := step(t, r, one(nil, 0, ids{0}, 1, 2)); err != nil {
			t.Fatal(err)
		}
		context := []backend.Segment{{Blocks: ids{0}, Len: 2}}
		if _, err := step(t, r, one(context, 2, ids{0}, 3)); !errors.Is(err, boom) {
			t.Fatalf("op %d: %v", op, err)
		}
		if _, err := step(t, r, one(context, 2, ids{1}, 3)); err != nil {
			t.Fatalf("op %d: rows of the step before were lost: %v", op, err)
		}
		_, err := step(t, r, one([]backend.Segment{{Blocks: ids{0}, Len: 3}}, 3, ids{1}, 4))
		if !errors.Is(err, backend.ErrBatch) || len(f.Problems()) != 1 {
			t.Fatalf("op %d: a row of the failed step was read: %v, problems %q", op, err, f.Problems())
		}
	}
}

// A step submitted before the failure of the one before was known fails too, and nobody is to blame.
func TestFakeFailureWithTwoInFlight(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	release := make(chan struct{})
	f := Fake{Hook: func(c Call) error {
		if c.Op == OpStep && c.N == 1 {
			<-release
			return boom
		}
		return nil
	}}
	r := openFake(t, &f)
	first := one(nil, 0, ids{0}, 1, 2)
	first.Seqs[0].Spans[0].Want[0].Sample = &backend.Sample{Params: &sample.Params{}}
	a, err := r.Submit(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.Submit(t.Context(), one([]backend.Segment{{Blocks: ids{0}, Len: 2}}, 2, ids{0}, -2))
	if err != nil {
		t.Fatal(err)
	}
	close(release)
	var out backend.Output
	if err := a.Wait(&out); !errors.Is(err, boom) {
		t.Fatal(err)
	}
	if err := b.Wait(&out); err != nil || out.Results[0].Err == nil {
		t.Fatalf("rows on a lost choice: %v, %+v", err, out.Results[0])
	}
	_ = r.Close()
	f.Verify(t)
}

func TestFakePanicsWhereTold(t *testing.T) {
	t.Parallel()
	f := Fake{Hook: func(c Call) error {
		if c.Op == OpStep && c.N == 1 {
			panic("device")
		}
		return nil
	}}
	r := openFake(t, &f)
	func() {
		defer func() {
			if p := recover(); p != "device" {
				t.Errorf("recovered %v", p)
			}
		}()
		_, _ = step(t, r, one(nil, 0, ids{0}, 1, 2))
	}()
	if _, err := step(t, r, one(nil, 0, ids{0}, 1, 2)); err != nil {
		t.Fatal(err)
	}
}

func TestFakeCloseEndsSteps(t *testing.T) {
	t.Parallel()
	f := Fake{Latency: time.Hour}
	r := openFake(t, &f)
	s, err := r.Submit(context.Background(), one(nil, 0, ids{0}, 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(new(backend.Output)); !errors.Is(err, backend.ErrClosed) {
		t.Fatal(err)
	}
	f.Verify(t)
}
