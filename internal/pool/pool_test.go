package pool

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

type job func(worker, i int)

func (j job) Do(worker, i int) { j(worker, i) }

func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(0))) // so that there are four workers
	m.Run()
}

func TestRunCallsEachTaskOnce(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{1, 2, 3, 0} {
		p := Open(workers)
		busy := make([]atomic.Bool, p.Workers())
		for _, n := range []int{0, 1, 2, 7, 1000} {
			counts := make([]atomic.Int32, n)
			err := p.Run(job(func(w, i int) {
				if busy[w].Swap(true) {
					t.Error("two tasks on one worker")
				}
				counts[i].Add(1)
				busy[w].Store(false)
			}), n)
			if err != nil {
				t.Fatal(err)
			}
			for i := range counts {
				if c := counts[i].Load(); c != 1 {
					t.Fatalf("%d workers, task %d of %d ran %d times", workers, i, n, c)
				}
			}
		}
		p.Close()
		p.Close()
	}
}

func TestRunFromManyHolders(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			p := Open(1 + i%4)
			defer p.Close()
			for range 300 {
				var sum atomic.Int64
				if err := p.Run(job(func(w, i int) {
					if w >= p.Workers() {
						t.Errorf("worker %d of %d", w, p.Workers())
					}
					sum.Add(int64(i))
				}), 50); err != nil || sum.Load() != 1225 {
					t.Errorf("sum %d, %v", sum.Load(), err)
				}
			}
		}()
	}
	wg.Wait()
}

// Parked helpers must wake: every round leaves them time to park.
func TestRunAfterIdle(t *testing.T) {
	t.Parallel()
	p := Open(0)
	defer p.Close()
	for range 20 {
		time.Sleep(2 * time.Millisecond)
		var n atomic.Int32
		if err := p.Run(job(func(_, _ int) { n.Add(1); time.Sleep(50 * time.Microsecond) }), 8); err != nil || n.Load() != 8 {
			t.Fatalf("%d tasks, %v", n.Load(), err)
		}
	}
}

func TestPanicBecomesError(t *testing.T) {
	t.Parallel()
	p := Open(0)
	defer p.Close()
	for range 50 {
		err := p.Run(job(func(_, i int) {
			if i%3 == 1 {
				panic("boom")
			}
		}), 40)
		if err == nil || !strings.Contains(err.Error(), "boom") {
			t.Fatalf("error %v", err)
		}
	}
	if err := p.Run(job(func(_, _ int) {}), 40); err != nil {
		t.Fatalf("after a panic: %v", err)
	}
}

func TestRunRefusesTooManyTasks(t *testing.T) {
	t.Parallel()
	p := Open(1)
	defer p.Close()
	if err := p.Run(job(func(_, _ int) {}), MaxTasks+1); err == nil {
		t.Error("accepted")
	}
}

func TestRunAllocatesNothing(t *testing.T) {
	p := Open(0)
	defer p.Close()
	var j Job = job(func(_, _ int) {})
	if n := testing.AllocsPerRun(100, func() { _ = p.Run(j, 16) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestControlWordIsSetAndRestored(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const flushToZero = 1 << 15
	old := setControl(controlDefault | flushToZero)
	defer setControl(old)
	p := Open(0)
	defer p.Close()
	tiny := float32(1e-30)
	var zeros atomic.Int32
	if err := p.Run(job(func(_, _ int) {
		if tiny*1e-10 == 0 {
			zeros.Add(1)
		}
	}), 64); err != nil || zeros.Load() != 0 {
		t.Errorf("%d of 64 tasks flushed a subnormal to zero, %v", zeros.Load(), err)
	}
	if got := setControl(controlDefault | flushToZero); runtime.GOARCH == "amd64" && got&flushToZero == 0 && got != controlDefault {
		t.Errorf("control word %#x was not restored", got)
	}
}

func BenchmarkRun(b *testing.B) {
	p := Open(0)
	defer p.Close()
	var j Job = job(func(_, _ int) {})
	for b.Loop() {
		_ = p.Run(j, 2)
	}
}
