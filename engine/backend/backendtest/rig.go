package backendtest

import (
	"slices"
	"testing"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/quant"
)

// Rig drives a Runner as the engine does, but with nothing shared unless the test says so: it hands
// out blocks in an order that is not the natural one, and runs one step at a time. It is for one
// goroutine.
type Rig struct {
	T      testing.TB
	Runner backend.Runner
	Caps   backend.Caps
	Model  *model.Model

	pool, scratch []kvcache.BlockID
	out           backend.Output
}

// NewRig opens a model on a backend until the test ends. Zero fields of the options become: blocks
// of 16 positions, 64 of them in the pool and 32 in scratch.
func NewRig(t testing.TB, b backend.Backend, m *model.Model, o backend.Options) *Rig {
	t.Helper()
	o.BlockSize = or(o.BlockSize, 16)
	o.PoolBlocks = or(o.PoolBlocks, 64)
	o.ScratchBlocks = or(o.ScratchBlocks, 32)
	r, err := b.Open(t.Context(), m, o)
	if err != nil {
		t.Fatalf("%s: %s: %v", b.Name(), m.Name, err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("%s: Close: %v", b.Name(), err)
		}
	})
	rig := &Rig{T: t, Runner: r, Caps: r.Caps(), Model: m}
	for i := range rig.Caps.PoolBlocks + rig.Caps.ScratchBlocks {
		if i < rig.Caps.PoolBlocks {
			rig.pool = append(rig.pool, kvcache.BlockID(i))
		} else {
			rig.scratch = append(rig.scratch, kvcache.BlockID(i))
		}
	}
	for _, list := range [][]kvcache.BlockID{rig.pool, rig.scratch} {
		slices.SortFunc(list, func(a, b kvcache.BlockID) int {
			return int(int32(mix(uint64(a))>>33)) - int(int32(mix(uint64(b))>>33))
		})
	}
	return rig
}

// Pool takes the blocks that hold n rows from a position on; Scratch takes them from scratch. They
// come around again when all were handed out.
func (r *Rig) Pool(pos, n int) []kvcache.BlockID { return take(r, &r.pool, pos, n) }

// Scratch is Pool for scratch blocks.
func (r *Rig) Scratch(pos, n int) []kvcache.BlockID { return take(r, &r.scratch, pos, n) }

func take(r *Rig, list *[]kvcache.BlockID, pos, n int) []kvcache.BlockID {
	r.T.Helper()
	k := kvcache.BlocksFor(pos, n, r.Caps.BlockSize)
	if k > len(*list) {
		r.T.Fatalf("%d blocks for %d rows from position %d, the rig has %d", k, n, pos, len(*list))
	}
	got := slices.Clone((*list)[:k])
	*list = append((*list)[k:], got...)
	return got
}

// Span returns the span of a block table's positions.
func (r *Rig) Span(table []kvcache.BlockID, pos int, tokens []int32, want ...backend.Want) backend.Span {
	return backend.Span{Tokens: tokens, Pos: pos, Dst: r.Blocks(table, pos, len(tokens)), Want: want}
}

// Blocks returns the part of a block table, of which the first block holds position 0, that holds n
// rows from a position on.
func (r *Rig) Blocks(table []kvcache.BlockID, pos, n int) []kvcache.BlockID {
	first := pos / r.Caps.BlockSize
	return table[first : first+kvcache.BlocksFor(pos, n, r.Caps.BlockSize)]
}

// Context returns the first n positions of a block table as one segment; none when n is 0.
func (r *Rig) Context(table []kvcache.BlockID, n int) []backend.Segment {
	if n == 0 {
		return nil
	}
	return []backend.Segment{{Blocks: r.Blocks(table, 0, n), Len: n}}
}

// Step runs one step and returns its results, which are valid until the next.
func (r *Rig) Step(seqs ...backend.Seq) []backend.Result {
	r.T.Helper()
	results, err := r.Try(&backend.Batch{Seqs: seqs})
	if err != nil {
		r.T.Fatal(err)
	}
	for i := range results {
		if results[i].Err != nil {
			r.T.Fatalf("result %d: %v", i, results[i].Err)
		}
	}
	return results
}

// Try is Step for a batch that may fail.
func (r *Rig) Try(b *backend.Batch) ([]backend.Result, error) {
	s, err := r.Runner.Submit(r.T.Context(), b)
	if err != nil {
		return nil, err
	}
	if err := s.Wait(&r.out); err != nil {
		return nil, err
	}
	return r.out.Results, nil
}

// Prefill computes positions from..len(tokens)-1 of a sequence into its block table, chunk rows a
// step, and returns the logits of the given rows, which must rise.
func (r *Rig) Prefill(table []kvcache.BlockID, tokens []int32, from, chunk int, rows ...int) []backend.Result {
	r.T.Helper()
	var all []backend.Result
	for pos := from; pos < len(tokens); pos += chunk {
		n := min(chunk, len(tokens)-pos)
		var want []backend.Want
		for _, row := range rows {
			if row >= pos && row < pos+n {
				want = append(want, backend.Want{Row: row - pos, Logits: true, Hidden: true})
			}
		}
		span := r.Span(table, pos, tokens[pos:pos+n], want...)
		for _, res := range r.Step(backend.Seq{Context: r.Context(table, pos), Spans: []backend.Span{span}}) {
			all = append(all, backend.Result{Logits: slices.Clone(res.Logits), Hidden: slices.Clone(res.Hidden)})
		}
	}
	return all
}

// Logits computes a sequence from nothing and returns the logits of the given rows.
func (r *Rig) Logits(tokens []int32, chunk int, rows ...int) [][]float32 {
	r.T.Helper()
	var logits [][]float32
	for _, res := range r.Prefill(r.Pool(0, len(tokens)), tokens, 0, chunk, rows...) {
		logits = append(logits, res.Logits)
	}
	return logits
}

// RunTinyCase opens a case on a backend and compares its logits at all rows. It returns the largest
// difference.
func RunTinyCase(t testing.TB, b backend.Backend, c TinyCase, kv quant.Format, chunk int) float32 {
	t.Helper()
	rows := c.Rows(t)
	n := rows[len(rows)-1].Row + 1
	rig := NewRig(t, b, c.Open(t), backend.Options{KV: kv, PoolBlocks: n/16 + 2, ScratchBlocks: 1, Context: n, Rows: chunk})
	var at []int
	for _, row := range rows {
		at = append(at, row.Row)
	}
	worst := float32(0)
	for i, got := range rig.Logits(TinyTokens(n), min(chunk, rig.Caps.MaxRows), at...) {
		worst = max(worst, CompareLogits(t, c.Name, got, rows[i].Logits, rows[i].Tolerance))
	}
	return worst
}
