package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model"
)

// rig is an opened model whose blocks hold noise: what keys and values are does not change what
// reading them costs.
type rig struct {
	model  *model.Model
	runner backend.Runner
	out    backend.Output
}

func openRig(ctx context.Context, src model.Source, b backend.Backend, o backend.Options) (*rig, error) {
	m, err := src.Load(ctx)
	if err != nil {
		return nil, err
	}
	o.BlockSize = blockSize
	runner, err := b.Open(ctx, m, o)
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	r := &rig{model: m, runner: runner}
	if err := r.fill(ctx); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *rig) close() {
	_ = r.runner.Close()
	_ = r.model.Close()
}

// fill writes one block's noise to the first block and copies it to the others.
func (r *rig) fill(ctx context.Context) error {
	io, ok := r.runner.(backend.BlockIO)
	if !ok {
		return nil
	}
	caps := r.runner.Caps()
	noise := make([]byte, r.model.Program.KVBytes(caps.KV.Effective)*blockSize)
	rng := rand.NewPCG(1, 2)
	size := caps.KV.Effective.BlockBytes()
	for i := range noise {
		noise[i] = byte(rng.Uint64())
		if i%size == size-1 {
			noise[i] = noise[i]&0x80 | 0x3e // an exponent near that of 1 in each of the formats
		}
	}
	if err := io.Import(ctx, 0, blockSize, noise); err != nil {
		return err
	}
	var moves []backend.Move
	for b := 1; b < caps.PoolBlocks; b++ {
		moves = append(moves, backend.Move{From: 0, To: kvcache.BlockID(b), Rows: blockSize})
	}
	return r.runner.Copy(ctx, moves)
}

// run runs one step.
func (r *rig) run(ctx context.Context, b *backend.Batch) error {
	s, err := r.runner.Submit(ctx, b)
	if err != nil {
		return err
	}
	return s.Wait(&r.out)
}

func blocks(first, n int) []kvcache.BlockID {
	ids := make([]kvcache.BlockID, n)
	for i := range ids {
		ids[i] = kvcache.BlockID(first + i)
	}
	return ids
}

func (r *rig) tokens(n int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32((i*37 + 11) % r.model.Program.Vocab)
	}
	return ids
}

func hot(ids []kvcache.BlockID, n int) []backend.Segment {
	if n == 0 {
		return nil
	}
	return []backend.Segment{{Blocks: ids[:kvcache.BlocksFor(0, n, blockSize)], Len: n}}
}

// measure runs one sample of a test.
func (r *rig) measure(ctx context.Context, t test) (time.Duration, error) {
	switch t.kind {
	case decoding:
		return r.decode(ctx, t)
	case deciding:
		return r.decide(ctx, t)
	}
	table := blocks(0, kvcache.BlocksFor(0, t.rows, blockSize))
	tokens := r.tokens(t.rows)
	begin := time.Now()
	for at := 0; at < t.rows; at += chunk {
		n := min(chunk, t.rows-at)
		span := backend.Span{Tokens: tokens[at : at+n], Pos: at, Dst: table[at/blockSize : kvcache.BlocksFor(0, at+n, blockSize)]}
		if at+n == t.rows {
			span.Want = []backend.Want{{Row: n - 1, Logits: true}}
		}
		if err := r.run(ctx, &backend.Batch{Seqs: []backend.Seq{{Context: hot(table, at), Spans: []backend.Span{span}}}}); err != nil {
			return 0, err
		}
	}
	return time.Since(begin), nil
}

// decode takes a few steps of all sequences, each from its own blocks, and the largest logit of each.
func (r *rig) decode(ctx context.Context, t test) (time.Duration, error) {
	each := kvcache.BlocksFor(0, t.context, blockSize) + kvcache.BlocksFor(t.context, 1+decodes, blockSize)
	begin := time.Now()
	for i := range decodes {
		var b backend.Batch
		for s := range t.parallel {
			table := blocks(s*each, each)
			pos := t.context + i
			b.Seqs = append(b.Seqs, backend.Seq{
				Context: hot(table, pos),
				Spans: []backend.Span{{
					Tokens: []int32{int32(s+i) % int32(r.model.Program.Vocab)}, Pos: pos,
					Dst:  table[pos/blockSize : pos/blockSize+1],
					Want: []backend.Want{{TopK: 1}},
				}},
			})
		}
		if err := r.run(ctx, &b); err != nil {
			return 0, err
		}
	}
	return time.Since(begin), nil
}

// decide reads a few labels and the label mass off each span's last row, in scratch.
func (r *rig) decide(ctx context.Context, t test) (time.Duration, error) {
	seq := backend.Seq{Context: hot(blocks(0, kvcache.BlocksFor(0, t.context, blockSize)), t.context)}
	n := kvcache.BlocksFor(t.context, t.rows, blockSize)
	for i := range t.parallel {
		seq.Spans = append(seq.Spans, backend.Span{
			Tokens: r.tokens(t.rows), Pos: t.context,
			Dst:  blocks(r.runner.Caps().PoolBlocks+i*n, n),
			Want: []backend.Want{{Row: t.rows - 1, Labels: []int32{1, 2}, LogSumExp: true}},
		})
	}
	begin := time.Now()
	err := r.run(ctx, &backend.Batch{Seqs: []backend.Seq{seq}})
	return time.Since(begin), err
}
