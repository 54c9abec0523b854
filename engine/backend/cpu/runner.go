package cpu

import (
	"context"
	"fmt"
	"sync"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/internal/mmap"
	"github.com/hotpath-go/hotpath/internal/pool"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/arch"
)

// Runner runs steps of one model. It implements backend.Runner and backend.BlockIO.
type Runner struct {
	k       *kernels
	model   *model.Model
	program *arch.Program
	caps    backend.Caps
	workers *pool.Pool
	cache   *cache
	weights *weights
	letGo   func() error // of the weights, which others may share

	// turn holds one token while nobody runs on the blocks; closed says that nobody may again.
	turn   chan struct{}
	closed bool // changed and read with the token

	start chan struct{} // a step to run, to the runner's goroutine
	ended sync.WaitGroup
	plan  plan
	step  step
	jobs  jobs
	bufs  buffers
	close sync.Once

	scratch  []attendScratch // by worker
	derived  []deriveScratch // by worker
	gathered []byte
}

// jobs are the loops of the forward pass; they live here so that a step allocates none.
type jobs struct {
	linear linearJob
	attend attendJob
	merge  mergeJob
	gather gatherJob
	norm   normJob
	rope   ropeJob
	gate   gateJob
	fill   fillJob
	head   headState
	derive deriveJob
}

// step is the step in flight: the runner has one, and uses it again.
type step struct {
	r        *Runner
	inFlight bool          // submitted and not yet waited for
	done     chan struct{} // capacity 1
	err      error
}

// Caps implements backend.Runner.
func (r *Runner) Caps() backend.Caps { return r.caps }

// acquire takes the token, or fails when the context ends or the runner is closed.
func (r *Runner) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-r.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	if r.closed {
		r.turn <- struct{}{}
		return backend.ErrClosed
	}
	return nil
}

// Submit implements backend.Runner.
func (r *Runner) Submit(ctx context.Context, b *backend.Batch) (backend.Step, error) {
	if err := r.acquire(ctx); err != nil {
		return nil, err
	}
	if r.step.inFlight {
		r.turn <- struct{}{}
		return nil, fmt.Errorf("%w: a step is in flight, limit 1", backend.ErrBatch)
	}
	if err := b.Check(r.caps, r.program); err != nil {
		r.turn <- struct{}{}
		return nil, err
	}
	r.plan.build(b)
	r.step.inFlight, r.step.err = true, nil
	r.start <- struct{}{} // the token goes with it
	return &r.step, nil
}

// run is the runner's goroutine.
func (r *Runner) run() {
	defer r.ended.Done()
	for range r.start {
		r.step.err = r.guarded()
		r.turn <- struct{}{}
		r.step.done <- struct{}{}
	}
}

// guarded runs the step and makes a fault on the mapping, or a panic, its error.
func (r *Runner) guarded() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cpu: panic in a step: %v", p)
		}
	}()
	return mmap.Guard(r.forward)
}

// Wait implements backend.Step.
func (s *step) Wait(out *backend.Output) error {
	<-s.done
	r := s.r
	<-r.turn
	defer func() { r.turn <- struct{}{} }()
	s.inFlight = false
	if r.closed {
		return backend.ErrClosed
	}
	if s.err == nil {
		r.output(out)
	}
	return s.err
}

// Copy implements backend.Runner.
func (r *Runner) Copy(ctx context.Context, moves []backend.Move) error {
	if err := r.acquire(ctx); err != nil {
		return err
	}
	defer func() { r.turn <- struct{}{} }()
	for _, m := range moves {
		if err := m.Check(r.caps); err != nil {
			return err
		}
	}
	for _, m := range moves {
		if m.From != m.To {
			r.cache.copyRows(m.To, m.From, m.Start, m.Start+m.Rows)
		}
	}
	return nil
}

func (r *Runner) hasBlock(b kvcache.BlockID) bool { return b >= 0 && int(b) < r.cache.blocks }

// Export implements backend.BlockIO.
func (r *Runner) Export(ctx context.Context, block kvcache.BlockID, rows int, dst []byte) (int, error) {
	n, err := r.blockIO(ctx, block, rows, len(dst))
	if err != nil {
		return 0, err
	}
	defer func() { r.turn <- struct{}{} }()
	r.cache.export(block, rows, dst[:n])
	return n, nil
}

// Import implements backend.BlockIO.
func (r *Runner) Import(ctx context.Context, block kvcache.BlockID, rows int, src []byte) error {
	n, err := r.blockIO(ctx, block, rows, len(src))
	if err != nil {
		return err
	}
	defer func() { r.turn <- struct{}{} }()
	r.cache.restore(block, rows, src[:n])
	return nil
}

// blockIO checks an export or import and takes the token.
func (r *Runner) blockIO(ctx context.Context, block kvcache.BlockID, rows, have int) (int, error) {
	n := rows * r.cache.canonical()
	switch {
	case !r.hasBlock(block):
		return 0, fmt.Errorf("%w: block %d, there are %d", backend.ErrBatch, block, r.cache.blocks)
	case rows < 0 || rows > blockSize:
		return 0, fmt.Errorf("%w: %d rows, a block has %d", backend.ErrBatch, rows, blockSize)
	case have < n:
		return 0, fmt.Errorf("%w: %d bytes for %d rows, want %d", backend.ErrBatch, have, rows, n)
	}
	return n, r.acquire(ctx)
}

// Close implements backend.Runner: a step in flight is finished first. Later calls do nothing.
func (r *Runner) Close() error {
	r.close.Do(func() {
		<-r.turn
		r.closed = true
		r.turn <- struct{}{}
		close(r.start)
		r.ended.Wait()
		r.release()
	})
	return nil
}

// release gives back what open took.
func (r *Runner) release() {
	if r.cache != nil {
		r.cache.close()
	}
	if r.letGo != nil {
		_ = r.letGo()
	}
	r.workers.Close()
}
