package backendtest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model/arch"
)

// fakeRunner is the caller's side: it checks, counts and queues. The device runs what is queued, in
// order, on its own goroutine.
type fakeRunner struct {
	fake    *Fake
	program *arch.Program
	caps    backend.Caps
	device  device
	jobs    chan func()
	done    chan struct{} // the device's goroutine has ended
	busy    atomic.Bool   // inside Submit, Copy, Export or Import

	mu      sync.Mutex
	closed  bool
	steps   uint64          // submitted
	waiting map[uint64]bool // submitted and not waited for
	sampled map[int]int     // Samples asked for in the last step, by row
}

type fakeStep struct {
	runner   *fakeRunner
	number   uint64 // from 1
	unwaited uint64 // first step whose outcome the submitter could not know
	batch    *backend.Batch
	digest   uint64
	out      backend.Output
	err      error
	panicked any
	lost     bool  // its Wait failed
	rows     []int // slots it wrote
	done     chan struct{}
	waited   atomic.Bool
}

var (
	_ backend.Backend = (*Fake)(nil)
	_ backend.Runner  = (*fakeRunner)(nil)
	_ backend.BlockIO = (*fakeRunner)(nil)
)

func (r *fakeRunner) work() {
	defer close(r.done)
	for job := range r.jobs {
		job()
	}
}

func (r *fakeRunner) Caps() backend.Caps { return r.caps }

// enter guards the calls that one goroutine at a time may make.
func (r *fakeRunner) enter(what string) (leave func(), err error) {
	if !r.busy.CompareAndSwap(false, true) {
		return nil, r.fake.problem(fmt.Errorf("%s while another goroutine is in Submit, Copy, Export or Import", what))
	}
	return func() { r.busy.Store(false) }, nil
}

func (r *fakeRunner) Submit(ctx context.Context, b *backend.Batch) (backend.Step, error) {
	leave, err := r.enter("Submit")
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := r.fake.hook(Call{Op: OpSubmit, Batch: b}); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, backend.ErrClosed
	}
	if err := b.Check(r.caps, r.program); err != nil {
		return nil, r.fake.problem(err)
	}
	if len(r.waiting) >= r.caps.InFlight {
		return nil, r.fake.problem(fmt.Errorf("%w: %d steps in flight, limit %d", backend.ErrBatch, len(r.waiting)+1, r.caps.InFlight))
	}
	sampled, err := r.placeholders(b)
	if err != nil {
		return nil, r.fake.problem(err)
	}
	r.sampled = sampled
	r.steps++
	s := &fakeStep{runner: r, number: r.steps, unwaited: r.steps, batch: b, digest: digest(b), done: make(chan struct{})}
	for n := range r.waiting {
		s.unwaited = min(s.unwaited, n)
	}
	if r.waiting == nil {
		r.waiting = map[uint64]bool{}
	}
	r.waiting[s.number] = true
	r.jobs <- func() {
		defer close(s.done)
		select {
		case <-r.device.closing:
			s.err = backend.ErrClosed
		default:
			s.err = r.device.run(s)
		}
	}
	return s, nil
}

// placeholders checks the ids that stand for choices of the step before, and counts the choices of
// this one's rows.
func (r *fakeRunner) placeholders(b *backend.Batch) (map[int]int, error) {
	sampled := map[int]int{}
	row := 0
	for i := range b.Seqs {
		for j := range b.Seqs[i].Spans {
			sp := &b.Seqs[i].Spans[j]
			for k, id := range sp.Tokens {
				if id < 0 && r.sampled[-1-int(id)] != 1 {
					return nil, fmt.Errorf("%w: seq %d: span %d: token %d: id %d stands for row %d of the step before, which has %d Samples, must be 1", backend.ErrBatch, i, j, k, id, -1-int(id), r.sampled[-1-int(id)])
				}
			}
			for k := range sp.Want {
				if sp.Want[k].Sample != nil {
					sampled[row+sp.Want[k].Row]++
				}
			}
			row += len(sp.Tokens)
		}
	}
	return sampled, nil
}

func (s *fakeStep) Wait(out *backend.Output) error {
	if !s.waited.CompareAndSwap(false, true) {
		return s.runner.fake.problem(fmt.Errorf("step %d: Wait was called twice", s.number))
	}
	if err := s.runner.inOrder(s); err != nil {
		return err
	}
	defer s.runner.settle(s)
	s.lost = true // unless all goes well
	if err := s.runner.fake.hook(Call{Op: OpWait, Batch: s.batch}); err != nil {
		return err
	}
	<-s.done
	if s.panicked != nil {
		panic(s.panicked)
	}
	if s.err != nil {
		return s.err
	}
	s.lost = false
	out.Resize(len(s.out.Results))
	for i := range s.out.Results {
		from, to := &s.out.Results[i], &out.Results[i]
		to.Err = from.Err
		to.Logits = append(to.Logits, from.Logits...)
		to.Labels = append(to.Labels, from.Labels...)
		to.LogSumExp = from.LogSumExp
		to.TopIDs = append(to.TopIDs, from.TopIDs...)
		to.TopLogits = append(to.TopLogits, from.TopLogits...)
		to.Hidden = append(to.Hidden, from.Hidden...)
		top := append(to.Choice.Top, from.Choice.Top...)
		to.Choice = from.Choice
		to.Choice.Top = top
	}
	return nil
}

// inOrder reports a Wait before that of an earlier step.
func (r *fakeRunner) inOrder(s *fakeStep) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := range r.waiting {
		if n < s.number {
			return r.fake.problem(fmt.Errorf("step %d: Wait before that of step %d", s.number, n))
		}
	}
	return nil
}

// settle ends a step that was waited for. Nobody may read the rows of a Wait that failed.
func (r *fakeRunner) settle(s *fakeStep) {
	<-s.done
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, s.number)
	if s.lost && s.err == nil && !r.closed {
		rows := s.rows
		r.jobs <- func() { r.device.forget(rows, s.number) }
	}
}

// do runs f on the device after the steps submitted so far, and waits for it.
func (r *fakeRunner) do(ctx context.Context, call Call, f func() error) error {
	leave, err := r.enter("Copy, Export or Import")
	if err != nil {
		return err
	}
	defer leave()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.fake.hook(call); err != nil {
		return err
	}
	done := make(chan error, 1)
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return backend.ErrClosed
	}
	r.jobs <- func() { done <- f() }
	r.mu.Unlock()
	return <-done
}

func (r *fakeRunner) Copy(ctx context.Context, moves []backend.Move) error {
	for _, m := range moves {
		if err := m.Check(r.caps); err != nil {
			return r.fake.problem(err)
		}
	}
	return r.do(ctx, Call{Op: OpCopy, Moves: moves}, func() error { return r.device.copy(moves) })
}

func (r *fakeRunner) Export(ctx context.Context, block kvcache.BlockID, rows int, dst []byte) (n int, err error) {
	if err := r.checkIO(block, rows, len(dst)); err != nil {
		return 0, err
	}
	err = r.do(ctx, Call{Op: OpExport}, func() error {
		n, err = r.device.export(block, rows, dst)
		return err
	})
	return n, err
}

func (r *fakeRunner) Import(ctx context.Context, block kvcache.BlockID, rows int, src []byte) error {
	if err := r.checkIO(block, rows, len(src)); err != nil {
		return err
	}
	return r.do(ctx, Call{Op: OpImport}, func() error {
		r.device.load(block, rows, src)
		return nil
	})
}

func (r *fakeRunner) checkIO(block kvcache.BlockID, rows, bytes int) error {
	if err := (backend.Move{From: block, To: block, Rows: rows}).Check(r.caps); err != nil {
		return r.fake.problem(err)
	}
	if need := rows * r.device.rowBytes; bytes < need {
		return r.fake.problem(fmt.Errorf("%w: %d bytes for %d rows, must be at least %d", backend.ErrBatch, bytes, rows, need))
	}
	return nil
}

// Close fails the steps that the device has not finished.
func (r *fakeRunner) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		<-r.done
		return nil
	}
	r.closed = true
	close(r.device.closing)
	close(r.jobs)
	r.mu.Unlock()
	<-r.done
	r.fake.mu.Lock()
	r.fake.open--
	r.fake.mu.Unlock()
	return r.fake.hook(Call{Op: OpClose})
}

// digest is a hash of what a batch asks for.
func digest(b *backend.Batch) uint64 {
	h := uint64(origin)
	add := func(v ...int) {
		for _, x := range v {
			h = mix(h ^ uint64(x))
		}
	}
	blocks := func(ids []kvcache.BlockID) {
		add(len(ids))
		for _, id := range ids {
			add(int(id))
		}
	}
	ids := func(ids []int32) {
		add(len(ids))
		for _, id := range ids {
			add(int(id))
		}
	}
	flag := func(v bool) {
		if v {
			add(1)
		} else {
			add(0)
		}
	}
	add(len(b.Seqs))
	for i := range b.Seqs {
		s := &b.Seqs[i]
		add(len(s.Context), int(s.State), len(s.Spans))
		for _, g := range s.Context {
			add(g.Start, g.Len)
			blocks(g.Blocks)
		}
		for j := range s.Spans {
			sp := &s.Spans[j]
			add(sp.Parent, sp.Pos, int(sp.Mask), int(sp.Save), len(sp.Want))
			ids(sp.Tokens)
			blocks(sp.Dst)
			for _, w := range sp.Want {
				add(w.Row, w.TopK)
				ids(w.Labels)
				flag(w.Logits)
				flag(w.LogSumExp)
				flag(w.Hidden)
				flag(w.Sample != nil)
				if w.Sample != nil {
					add(int(w.Sample.Key.Seed), int(w.Sample.Key.Choice), int(w.Sample.Key.Position))
				}
			}
		}
	}
	return h
}
