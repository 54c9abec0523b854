package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/sample"
	"github.com/hotpath-go/hotpath/sched"
)

// loop is the engine's goroutine and what it shares with the callers. The lock guards the
// scheduler and every task; it is held while a step is planned and settled, never while one runs.
type loop struct {
	e    *Engine
	wake chan struct{} // capacity 1: there may be something to do

	mu      sync.Mutex
	sched   *sched.Scheduler
	phase   phase
	live    map[task]struct{} // every call that waits for its end
	counted Stats

	errands []errand // to do between steps

	flights []*flight // steps under way, oldest first
	ended   time.Time // of the last step
	spare   []*flight // to use again
	sampler sample.Sampler
}

// holdPoll is how long an expired hold may go unnoticed by those who wait for its blocks.
const holdPoll = 250 * time.Millisecond

type phase uint8

const (
	serving phase = iota
	draining
	closed
)

// task is one request in the loop. Its methods are called with the lock held.
type task interface {
	// want appends the wants of a span of its job.
	want(dst []backend.Want, s *sched.Span) []backend.Want
	// settle takes the results of those wants, in order, after the step has finished.
	settle(item *sched.Item, s *sched.Span, results []backend.Result)
	// admitted says that the job has left the queue.
	admitted()
	// fail ends the call with an error. It is called at most once, and nothing after it.
	fail(err error)
	common() *call
}

// call is what all tasks have in common.
type call struct {
	loop *loop
	job  *sched.Job
	done chan struct{} // closed when the result or the error is there
	over bool
	stop func() bool // ends the watch over the caller's context
}

func newLoop(e *Engine) (*loop, error) {
	s, err := sched.New(e.cache, sched.Config{
		StepRows:      min(e.opt.stepRows, e.caps.MaxRows),
		StepSpans:     e.caps.MaxSpans,
		InFlight:      e.caps.InFlight,
		QueueRequests: e.opt.queue.Requests,
		QueueTokens:   e.opt.queue.Tokens,
	})
	if err != nil {
		return nil, err
	}
	return &loop{e: e, sched: s, wake: make(chan struct{}, 1), live: map[task]struct{}{}}, nil
}

// run is the engine's goroutine: it ends when the engine is closed and no step is under way.
func (l *loop) run() {
	for {
		switch more, err := l.turn(); {
		case err != nil:
			l.collapse(err)
		case !more:
			return
		}
	}
}

// turn keeps the device busy until there is nothing to do, then waits for work. It returns false
// when the engine is closed.
func (l *loop) turn() (more bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrInternal, r)
		}
	}()
	l.runErrands()
	for len(l.flights) < l.e.caps.InFlight {
		f := l.plan()
		if f == nil {
			break
		}
		l.submit(f)
	}
	if len(l.flights) > 0 {
		f := l.flights[0]
		err := l.wait(f)
		l.flights = l.flights[:copy(l.flights, l.flights[1:])]
		l.settle(f, err)
		return true, nil
	}
	l.mu.Lock()
	ended := l.phase == closed || l.phase == draining && len(l.live) == 0
	queued := l.sched.Stats().Queued > 0
	l.mu.Unlock()
	if ended {
		l.close()
		l.refuseErrands()
		return false, nil
	}
	if !queued {
		<-l.wake
		return true, nil
	}
	// What waits for room may find it when a hold expires, which nobody is told of.
	timer := time.NewTimer(holdPoll)
	defer timer.Stop()
	select {
	case <-l.wake:
	case <-timer.C:
	}
	return true, nil
}

// collapse ends every call after a fault that leaves the scheduler in doubt.
func (l *loop) collapse(err error) {
	l.e.opt.logger.Error("engine loop", "error", err)
	for _, f := range l.flights {
		if f.step != nil && !f.waited {
			_ = guard(func() error { return f.step.Wait(&f.out) })
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.flights {
		_ = guard(func() error { l.sched.Abort(f.plan); return nil })
	}
	l.flights = nil
	l.failAll(err)
}

// guard turns a panic of f into an error.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrInternal, r)
		}
	}()
	return f()
}

// insider marks the context of a call that a live one makes for itself: it belongs to what is drained.
type insider struct{}

// start queues a task's job, and calls its method started, where it has one, with the lock held before
// anything of it runs. The task is failed when its caller's context ends.
func (l *loop) start(ctx context.Context, t task, r sched.Request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := t.common()
	c.loop, c.done = l, make(chan struct{})
	r.Tag = t
	if d, ok := ctx.Deadline(); ok {
		r.Deadline = d
	}
	l.mu.Lock()
	switch l.phase {
	case closed:
		l.mu.Unlock()
		return ErrClosed
	case draining:
		if ctx.Value(insider{}) == nil {
			l.mu.Unlock()
			return ErrDraining
		}
	}
	job, err := l.sched.Submit(r)
	if err != nil {
		l.mu.Unlock()
		return err
	}
	c.job = job
	l.live[t] = struct{}{}
	c.stop = context.AfterFunc(ctx, func() { l.end(t, ctx.Err()) }) // runs on its own, after Unlock
	if s, ok := t.(interface{ started() }); ok {
		s.started()
	}
	l.mu.Unlock()
	l.poke()
	return nil
}

// end fails a task, unless it has ended.
func (l *loop) end(t task, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed(t, err)
	l.poke()
}

// failed ends a task with an error; the lock is held.
func (l *loop) failed(t task, err error) {
	if c := t.common(); !c.over {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			l.counted.Cancelled++
		} else {
			l.counted.Failed++
		}
		t.fail(err)
		c.finish(t)
	}
}

// finish takes a task whose result is there out of the loop; the lock is held. The job's blocks
// go back now, or when the step under way on it ends.
func (c *call) finish(t task) {
	c.over = true
	c.loop.sched.Finish(c.job)
	delete(c.loop.live, t)
	c.stop()
	close(c.done)
}

func (l *loop) failAll(err error) {
	for t := range l.live {
		l.failed(t, err)
	}
}

// poke wakes the loop.
func (l *loop) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// drain refuses new calls; the loop ends with the last one that is live.
func (l *loop) drain() {
	l.mu.Lock()
	l.phase = max(l.phase, draining)
	l.mu.Unlock()
	l.poke()
}

// close ends every call.
func (l *loop) close() {
	l.mu.Lock()
	l.phase = closed
	l.failAll(ErrClosed)
	l.mu.Unlock()
	l.poke()
}

func (l *loop) stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.counted
	st := l.sched.Stats()
	s.Waiting, s.Running, s.Steps, s.Rows = st.Queued, st.Running, st.Steps, st.Rows
	return s
}
