package engine

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/backend/cpu"
	"github.com/hotpath-go/hotpath/internal/sysmem"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model"
)

// Engine runs one model. Its methods are safe for concurrent use.
//
// One goroutine, the loop, owns the scheduler and builds every batch; calls hand it their work and
// wait. A call whose context ends returns at once, and its blocks are freed when the step under way
// ends.
type Engine struct {
	model     *model.Model
	decisions *decide.Compiler
	runner    backend.Runner
	caps      backend.Caps
	info      Info
	opt       options
	cache     *kvcache.Cache
	loop      *loop
	done      chan struct{} // closed when the loop has ended and everything is released

	err error // of releasing, valid after done

	grammar grammar
	calls   grammar // of the arguments of calls, where they hold control tokens
}

// Open loads a model, reserves its KV memory and starts the engine. The caller closes it.
func Open(ctx context.Context, src model.Source, opts ...Option) (*Engine, error) {
	if src == nil {
		return nil, fmt.Errorf("%w: no model source", ErrOption)
	}
	o := options{clock: time.Now(), logger: slog.New(slog.DiscardHandler), stepRows: 1024}
	for i, opt := range opts {
		if opt == nil {
			return nil, fmt.Errorf("%w: option %d of %d is nil", ErrOption, i+1, len(opts))
		}
		if err := opt(&o); err != nil {
			return nil, err
		}
	}
	if o.logger == nil {
		o.logger = slog.New(slog.DiscardHandler)
	}
	if len(o.backends) == 0 {
		o.backends = []backend.Backend{cpu.New()}
	}
	m, err := src.Load(ctx)
	if err != nil {
		return nil, err
	}
	e, err := open(ctx, m, o)
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return e, nil
}

func open(ctx context.Context, m *model.Model, o options) (*Engine, error) {
	if o.context > m.Program.Context {
		return nil, fmt.Errorf("%w: WithContextLength: %d, %s was trained for %d", ErrOption, o.context, m.Name, m.Program.Context)
	}
	mem, err := divide(m.Program, o.kv, o.context, sysmem.Available())
	if err != nil {
		return nil, err
	}
	o.context = mem.context
	o.queue.fill(o.context)
	o.slow.fill()

	e := &Engine{model: m, decisions: decide.NewCompiler(m, decide.Options{Clock: o.clock, Calibrator: o.calibrator}), opt: o, done: make(chan struct{})}
	if err := e.decisions.Check(); err != nil {
		return nil, err
	}
	if o.calibrator != nil {
		b, err := e.decisions.Binding()
		if err != nil {
			return nil, err
		}
		if err := o.calibrator.Binding.Fits(b); err != nil {
			return nil, err
		}
	}
	var name backend.Selection[string]
	if e.runner, name, err = openBackend(ctx, m, o, mem); err != nil {
		return nil, err
	}
	e.caps = e.runner.Caps()
	e.cache, err = kvcache.New(kvcache.Options{
		Blocks:    e.caps.PoolBlocks,
		BlockSize: e.caps.BlockSize,
		Scratch:   e.caps.ScratchBlocks,
		States:    e.caps.States,
	})
	if err != nil {
		return nil, errors.Join(err, e.runner.Close())
	}
	e.info = Info{
		Model: m.Name, Family: m.Program.Family, ModelID: hex.EncodeToString(m.ID[:]),
		Vocab: m.Program.Vocab, Context: o.context, Template: m.Template != "",
		Backend: name, Path: e.caps.Path, KV: e.caps.KV,
		BlockSize: e.caps.BlockSize, BlockBytes: e.caps.BlockBytes,
		PoolBlocks: e.caps.PoolBlocks, ScratchBlocks: e.caps.ScratchBlocks,
		Workers: e.caps.Workers, Numerics: e.caps.Numerics + " " + runtime.GOARCH,
	}
	if e.loop, err = newLoop(e); err != nil {
		return nil, errors.Join(err, e.runner.Close())
	}
	go e.run()
	o.logger.Info("engine open", "model", m.Name, "backend", name.Effective, "path", e.caps.Path.Effective,
		"numerics", e.caps.Numerics, "context", o.context, "pool", e.caps.PoolBlocks, "scratch", e.caps.ScratchBlocks)
	return e, nil
}

// openBackend returns the runner of the first backend that opens the model.
func openBackend(ctx context.Context, m *model.Model, o options, mem memory) (backend.Runner, backend.Selection[string], error) {
	sel := backend.Selection[string]{Requested: o.backends[0].Name()}
	settings := backend.Options{
		BlockSize: blockSize, PoolBlocks: mem.pool, ScratchBlocks: mem.scratch,
		KV: mem.format, Context: o.context, Workers: o.workers, Rows: o.stepRows, Logger: o.logger,
		Progress: o.report("weights"),
	}
	var failed []error
	for _, b := range o.backends {
		r, err := b.Open(ctx, m, settings)
		if err == nil {
			sel.Effective = b.Name()
			if len(failed) > 0 {
				sel.Reason = errors.Join(failed...).Error()
			}
			return r, sel, nil
		}
		if ctx.Err() != nil {
			return nil, sel, err
		}
		failed = append(failed, fmt.Errorf("%s: %w", b.Name(), err))
	}
	return nil, sel, fmt.Errorf("%w: %w", ErrBackend, errors.Join(failed...))
}

// report returns a progress callback for a stage that passes on at most a hundred calls.
func (o *options) report(stage string) func(done, total int64) {
	if o.progress == nil {
		return nil
	}
	var mu sync.Mutex
	last := int64(-1)
	return func(done, total int64) {
		mu.Lock()
		defer mu.Unlock()
		if percent := done * 100 / max(total, 1); percent > last {
			last = percent
			o.progress(Progress{Stage: stage, Done: done, Total: total})
		}
	}
}

// Info says what the engine is.
func (e *Engine) Info() Info { return e.info }

// Stats returns counters and the state of this moment.
func (e *Engine) Stats() Stats {
	s := e.loop.stats()
	s.Cache = e.cache.Stats()
	return s
}

// Shutdown drains the engine: new calls fail with ErrDraining, those that are running or waiting
// finish, then the engine closes. When ctx ends first it closes at once and returns ctx's error.
func (e *Engine) Shutdown(ctx context.Context) error {
	e.loop.drain()
	select {
	case <-e.done:
		return e.err
	case <-ctx.Done():
		return errors.Join(ctx.Err(), e.Close())
	}
}

// Close ends every call with ErrClosed and releases the model. It returns when the engine's
// goroutines have ended. Closing twice is harmless.
func (e *Engine) Close() error {
	e.loop.close()
	<-e.done
	return e.err
}

// run is the engine's goroutine.
func (e *Engine) run() {
	e.loop.run()
	e.err = errors.Join(e.runner.Close(), e.model.Close())
	close(e.done)
}
