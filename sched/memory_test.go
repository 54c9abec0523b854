package sched_test

import (
	"errors"
	"testing"

	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/sched"
)

// TestPlanUnderWayKeepsItsMemory aborts more plans beside one that is under way than there is memory
// of plans.
func TestPlanUnderWayKeepsItsMemory(t *testing.T) {
	t.Parallel()
	cache, err := kvcache.New(kvcache.Options{Blocks: 64})
	if err != nil {
		t.Fatal(err)
	}
	s, err := sched.New(cache, sched.Config{InFlight: 2})
	if err != nil {
		t.Fatal(err)
	}
	submit := func(first int32) *sched.Job {
		t.Helper()
		j, err := s.Submit(sched.Request{Tokens: []int32{first, 2, 3, 4}, MaxTokens: 4})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	slow := submit(1)
	under := s.Plan()
	if len(under.Items) != 1 || under.Items[0].Job != slow {
		t.Fatalf("%d items", len(under.Items))
	}
	for i := range 8 {
		j := submit(int32(100 + i))
		p := s.Plan()
		if len(p.Items) != 1 || p.Items[0].Job != j {
			t.Fatalf("plan %d: %d items", i, len(p.Items))
		}
		s.Finish(j)
		s.Abort(p)
		if len(under.Items) != 1 || under.Items[0].Job != slow || under.Items[0].Spans[0].Tokens[0] != 1 {
			t.Fatalf("after %d aborted plans the one under way has changed", i+1)
		}
	}
	if err := s.Settle(under, 0); err != nil {
		t.Fatal(err)
	}
	s.Finish(slow)
	if st := cache.Stats(); st.Referenced != 0 {
		t.Errorf("%d blocks referenced", st.Referenced)
	}
}

// TestContinuationsPassTheBound: a request that goes on with one that was let in is not refused by a
// full queue.
func TestContinuationsPassTheBound(t *testing.T) {
	t.Parallel()
	cache, err := kvcache.New(kvcache.Options{Blocks: 64, Scratch: 8})
	if err != nil {
		t.Fatal(err)
	}
	s, err := sched.New(cache, sched.Config{QueueRequests: 1})
	if err != nil {
		t.Fatal(err)
	}
	r := sched.Request{Tokens: []int32{1, 2, 3}, MaxTokens: 1}
	if _, err := s.Submit(r); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Submit(r); !errors.Is(err, sched.ErrBusy) {
		t.Errorf("a new request: %v, want ErrBusy", err)
	}
	r.Continues = true
	if _, err := s.Submit(r); err != nil {
		t.Errorf("one that goes on: %v", err)
	}
}
