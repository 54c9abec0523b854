package cpu

import (
	"context"
	"fmt"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/quant"
)

// version changes whenever the bits of any result may.
const version = 1

// open reserves blocks and prepares weights.
func (r *Runner) open(ctx context.Context, o backend.Options, arithmetic Arithmetic, path backend.Selection[string]) error {
	var err error
	list := r.program.Attentions()
	if r.cache, err = openCache(list, o.KV, o.PoolBlocks+o.ScratchBlocks); err != nil {
		return fmt.Errorf("cpu: %d blocks: %w", o.PoolBlocks+o.ScratchBlocks, err)
	}
	if r.weights, r.letGo, err = openWeights(ctx, r, arithmetic, o.Progress); err != nil {
		return err
	}
	workers := r.workers.Workers()
	r.scratch, r.derived = make([]attendScratch, workers), make([]deriveScratch, workers)
	r.jobs.wire(r)
	r.bufs.wire(r.k)
	r.step = step{r: r, done: make(chan struct{}, 1)}
	r.turn, r.start = make(chan struct{}, 1), make(chan struct{}, 1)
	r.turn <- struct{}{}
	r.caps = backend.Caps{
		PoolBlocks: o.PoolBlocks, ScratchBlocks: o.ScratchBlocks, BlockSize: blockSize, BlockBytes: r.cache.bytes,
		WeightBytes: r.weights.bytes, KV: backend.Selection[quant.Format]{Requested: o.KV, Effective: o.KV},
		KVFormats: []quant.Format{quant.BF16, quant.F16, quant.F32}, Workers: workers, Path: path,
		Wants: backend.WantLabels | backend.WantLogSumExp | backend.WantTopK | backend.WantSample,
		Masks: []backend.Mask{backend.Causal, backend.Bidirectional}, Context: o.Context, MaxRows: o.Rows, MaxSpans: o.Spans, InFlight: 1,
		Numerics: fmt.Sprintf("cpu/%s/%v/kv-%v/%d", r.k.name, arithmetic, o.KV, version),
	}
	r.ended.Add(1)
	go r.run()
	return nil
}

func (j *jobs) wire(r *Runner) {
	j.attend.r, j.gather.r, j.norm.r, j.rope.r, j.gate.r, j.fill.r, j.derive.r = r, r, r, r, r, r, r
}
