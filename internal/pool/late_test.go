package pool

import (
	"runtime"
	"testing"
	"time"
)

// TestLateFinisher plays the finisher of one job that takes its last task, and looks at the flag only
// when the next job's caller has parked: that caller must still be woken by its own.
func TestLateFinisher(t *testing.T) {
	t.Parallel()
	c := &crew{done: make(chan struct{}, 1)}
	c.left.Store(1) // of the next job
	over := make(chan struct{})
	go func() {
		c.wait()
		close(over)
	}()
	for !c.waiting.Load() {
		runtime.Gosched()
	}
	// The late finisher's look at the flag.
	if c.waiting.CompareAndSwap(true, false) {
		c.done <- struct{}{}
	}
	limit := time.Now().Add(10 * time.Second) // for ever is the failure
	for !c.waiting.Load() {                   // the caller looks again, and parks again
		if time.Now().After(limit) {
			t.Fatal("the caller parks without its flag: nobody would wake it")
		}
		runtime.Gosched()
	}
	c.finish()
	select {
	case <-over:
	case <-time.After(10 * time.Second):
		t.Fatal("the caller was not woken")
	}
}
