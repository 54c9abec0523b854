package engine

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/kvcache"
)

// ErrNoSnapshot is returned by an engine whose backend's blocks cannot leave the device.
var ErrNoSnapshot = errors.New("engine: the backend exports no blocks")

// Snapshot writes the prefix cache to w: every prefix that is cached now, with keys and values, so that
// another process can start warm. Calls go on meanwhile. It can be restored by an engine of the same
// model, KV format and numerics id alone.
func (e *Engine) Snapshot(ctx context.Context, w io.Writer) error {
	d, id, err := e.device(ctx)
	if err != nil {
		return err
	}
	_, err = e.cache.Snapshot(ctx, w, id, d, nil)
	return err
}

// SnapshotFile writes a snapshot so that at path there is either the whole new file or what was there
// before, whenever the process or the machine stops.
func (e *Engine) SnapshotFile(ctx context.Context, path string) error {
	d, id, err := e.device(ctx)
	if err != nil {
		return err
	}
	_, err = e.cache.SnapshotFile(ctx, path, id, d, nil)
	return err
}

// Restore reads a snapshot into free blocks, beside what is cached already; what finds none is left
// out, the least recently used first. A snapshot of another model, KV format or numerics id is
// kvcache.ErrForeign, a damaged one kvcache.ErrSnapshot; after any error nothing of it is there.
func (e *Engine) Restore(ctx context.Context, r io.Reader) error {
	d, id, err := e.device(ctx)
	if err != nil {
		return err
	}
	info, err := e.cache.Restore(ctx, r, id, d)
	e.loop.poke()
	if err == nil {
		e.opt.logger.Info("snapshot restored", "blocks", info.Blocks, "tokens", info.Tokens, "skipped", info.Skipped)
	}
	return err
}

// device returns the cache's way to the backend's blocks, and what their bytes mean.
func (e *Engine) device(ctx context.Context) (*device, kvcache.Identity, error) {
	if err := ctx.Err(); err != nil {
		return nil, kvcache.Identity{}, err
	}
	blocks, ok := e.runner.(backend.BlockIO)
	if !ok {
		return nil, kvcache.Identity{}, fmt.Errorf("%w: %s", ErrNoSnapshot, e.info.Backend.Effective)
	}
	sum := e.model.Tokenizer.Hash()
	id := kvcache.Identity{
		Model: e.info.ModelID, Tokenizer: fmt.Sprintf("%x", sum), Format: e.info.KV.Effective.String(), Numerics: e.info.Numerics,
	}
	bytes := e.model.Program.KVBytes(e.info.KV.Effective) * e.info.BlockSize
	return &device{ctx: ctx, loop: e.loop, blocks: blocks, bytes: bytes}, id, nil
}

// device moves blocks in the loop's goroutine, between steps.
type device struct {
	ctx    context.Context
	loop   *loop
	blocks backend.BlockIO
	bytes  int
}

func (d *device) BlockBytes() int { return d.bytes }

func (d *device) StateBytes() int { return 0 }

func (d *device) ExportBlock(b kvcache.BlockID, rows int, dst []byte) error {
	return d.loop.between(d.ctx, func() error {
		_, err := d.blocks.Export(d.ctx, b, rows, dst)
		return err
	})
}

func (d *device) ImportBlock(b kvcache.BlockID, rows int, src []byte) error {
	return d.loop.between(d.ctx, func() error { return d.blocks.Import(d.ctx, b, rows, src) })
}

func (d *device) ExportState(kvcache.StateID, []byte) error { return ErrNoSnapshot }

func (d *device) ImportState(kvcache.StateID, []byte) error { return ErrNoSnapshot }

// errand is work that has to be done where steps are submitted.
type errand struct {
	do   func() error
	done chan error // capacity 1
}

// between runs f in the loop's goroutine between two steps and returns its error. It waits for that
// even when ctx ends, since f's buffers are the caller's: at most for the step under way.
func (l *loop) between(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e := errand{f, make(chan error, 1)}
	l.mu.Lock()
	if l.phase == closed {
		l.mu.Unlock()
		return ErrClosed
	}
	l.errands = append(l.errands, e)
	l.mu.Unlock()
	l.poke()
	return <-e.done
}

// refuseErrands answers what came too late; none can come after it.
func (l *loop) refuseErrands() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.errands {
		e.done <- ErrClosed
	}
	l.errands = nil
}

// runErrands does what waits to be done between steps.
func (l *loop) runErrands() {
	l.mu.Lock()
	list := l.errands
	l.errands = nil
	l.mu.Unlock()
	for _, e := range list {
		e.done <- guard(e.do)
	}
}
