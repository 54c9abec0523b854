package reference

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/sample"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/quant"
)

type runner struct {
	backend *Backend
	net     *net
	caps    backend.Caps
	sampler sample.Sampler

	mu     sync.Mutex // held while a call runs
	closed bool
	slots  []slot // of all blocks
}

// slot is what the runner remembers of a position: the token, to compute with, and the bytes of its
// keys and values, layer after layer, for Export alone.
type slot struct {
	known bool
	token int32
	bytes []byte
}

var (
	_ backend.Backend = (*Backend)(nil)
	_ backend.BlockIO = (*runner)(nil)
)

type step struct {
	results []backend.Result
	err     error
	waited  bool
}

func (r *runner) Caps() backend.Caps { return r.caps }

// Submit runs the step before it returns.
func (r *runner) Submit(ctx context.Context, b *backend.Batch) (backend.Step, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, backend.ErrClosed
	}
	if err := b.Check(r.caps, r.net.program); err != nil {
		return nil, err
	}
	s := &step{}
	s.results, s.err = r.run(b)
	return s, nil
}

func (s *step) Wait(out *backend.Output) error {
	if s.waited {
		return errors.New("reference: Wait was called twice")
	}
	s.waited = true
	if s.err != nil {
		return s.err
	}
	out.Results = s.results
	return nil
}

// written is a row whose token becomes known when the whole step is done.
type written struct {
	at   int
	slot slot
}

func (r *runner) run(b *backend.Batch) (results []backend.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("reference: panic: %v", p)
		}
		if err != nil {
			results = nil
			r.forget(b)
		}
	}()
	var rows []written
	for i := range b.Seqs {
		seq := &b.Seqs[i]
		context, err := r.tokens(seq.Context)
		if err != nil {
			return nil, fmt.Errorf("seq %d: %w", i, err)
		}
		histories := make([][]int32, len(seq.Spans))
		for j := range seq.Spans {
			sp := &seq.Spans[j]
			history := context
			if sp.Parent > 0 {
				history = histories[sp.Parent-1]
			}
			history = append(history[:len(history):len(history)], sp.Tokens...)
			histories[j] = history
			t, err := r.net.forward(history)
			if err != nil {
				return nil, err
			}
			for k := range sp.Want {
				w := &sp.Want[k]
				hidden := t.hidden[(sp.Pos+w.Row)*r.net.program.Width:][:r.net.program.Width]
				result, err := r.result(w, hidden)
				if err != nil {
					return nil, err
				}
				results = append(results, result)
			}
			for k, id := range sp.Tokens {
				at := r.index(sp.Dst, sp.Pos, sp.Pos+k)
				rows = append(rows, written{at, slot{known: true, token: id, bytes: r.net.encode(t, sp.Pos+k)}})
			}
		}
	}
	for _, w := range rows {
		r.slots[w.at] = w.slot
	}
	return results, nil
}

// forget drops what the slots of a failed step held.
func (r *runner) forget(b *backend.Batch) {
	for i := range b.Seqs {
		for j := range b.Seqs[i].Spans {
			sp := &b.Seqs[i].Spans[j]
			for k := range sp.Tokens {
				r.slots[r.index(sp.Dst, sp.Pos, sp.Pos+k)] = slot{}
			}
		}
	}
}

// tokens returns the tokens that segments hold.
func (r *runner) tokens(segments []backend.Segment) ([]int32, error) {
	var tokens []int32
	for i, g := range segments {
		for pos := g.Start; pos < g.Start+g.Len; pos++ {
			s := r.slots[r.index(g.Blocks, g.Start, pos)]
			if !s.known {
				return nil, fmt.Errorf("%w: segment %d: position %d holds no row that this backend wrote", backend.ErrBatch, i, pos)
			}
			tokens = append(tokens, s.token)
		}
	}
	return tokens, nil
}

// index returns the slot of a position in blocks of which the first holds start.
func (r *runner) index(blocks []kvcache.BlockID, start, pos int) int {
	size := r.caps.BlockSize
	return int(blocks[pos/size-start/size])*size + pos%size
}

func (r *runner) result(w *backend.Want, hidden []float32) (backend.Result, error) {
	var out backend.Result
	logits, err := r.net.logits(hidden)
	if err != nil {
		return out, err
	}
	out.Fill(w, logits, &r.sampler)
	if w.Hidden && out.Err == nil {
		out.Hidden = append(out.Hidden, hidden...)
	}
	return out, nil
}

// encode returns the bytes of a position's keys and values, layer after layer.
func (n *net) encode(t *trace, pos int) []byte {
	var out []byte
	for i := range t.keys {
		a := n.layers[i].attention
		width := a.KVHeads * a.HeadDim
		for _, part := range [...][]float32{t.keys[i], t.values[i]} {
			for _, v := range part[pos*width : (pos+1)*width] {
				switch n.kv {
				case quant.F16:
					out = binary.LittleEndian.AppendUint16(out, quant.Float32ToF16(v))
				case quant.BF16:
					out = binary.LittleEndian.AppendUint16(out, quant.Float32ToBF16(v))
				default:
					out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
				}
			}
		}
	}
	return out
}

func (r *runner) Copy(ctx context.Context, moves []backend.Move) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return backend.ErrClosed
	}
	for _, m := range moves {
		if err := m.Check(r.caps); err != nil {
			return err
		}
	}
	for _, m := range moves {
		from, to := int(m.From)*r.caps.BlockSize, int(m.To)*r.caps.BlockSize
		copy(r.slots[to+m.Start:][:m.Rows], r.slots[from+m.Start:])
	}
	return nil
}

// parts calls f with the place of every row's keys, and values, of every layer: in the bytes of a
// whole export and in those of the row.
func (r *runner) parts(rows int, f func(row, export, inRow, n int)) {
	export, inRow := 0, 0
	for i := range r.net.layers {
		a := r.net.layers[i].attention
		n := a.KVHeads * a.HeadDim * r.net.kv.BlockBytes()
		for range 2 {
			for row := range rows {
				f(row, export, inRow, n)
				export += n
			}
			inRow += n
		}
	}
}

func (r *runner) Export(ctx context.Context, block kvcache.BlockID, rows int, dst []byte) (int, error) {
	slots, n, unlock, err := r.io(ctx, block, rows, len(dst))
	if err != nil {
		return 0, err
	}
	defer unlock()
	for i := range slots {
		if !slots[i].known {
			return 0, fmt.Errorf("%w: export of row %d of block %d, which this backend did not write", backend.ErrBatch, i, block)
		}
		r.backend.learn(slots[i].bytes, slots[i].token)
	}
	r.parts(rows, func(row, export, inRow, n int) { copy(dst[export:], slots[row].bytes[inRow:inRow+n]) })
	return n, nil
}

func (r *runner) Import(ctx context.Context, block kvcache.BlockID, rows int, src []byte) error {
	slots, _, unlock, err := r.io(ctx, block, rows, len(src))
	if err != nil {
		return err
	}
	defer unlock()
	for i := range slots {
		slots[i] = slot{bytes: make([]byte, r.net.program.KVBytes(r.net.kv))}
	}
	r.parts(rows, func(row, export, inRow, n int) { copy(slots[row].bytes[inRow:], src[export:export+n]) })
	for i := range slots {
		slots[i].token, slots[i].known = r.backend.recall(slots[i].bytes)
	}
	return nil
}

// io checks an Export or Import and returns the rows and their size in bytes, with the lock held.
func (r *runner) io(ctx context.Context, block kvcache.BlockID, rows, have int) ([]slot, int, func(), error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, nil, err
	}
	if err := (backend.Move{From: block, To: block, Rows: rows}).Check(r.caps); err != nil {
		return nil, 0, nil, err
	}
	n := rows * r.net.program.KVBytes(r.net.kv)
	if have < n {
		return nil, 0, nil, fmt.Errorf("%w: %d bytes for %d rows, must be at least %d", backend.ErrBatch, have, rows, n)
	}
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, 0, nil, backend.ErrClosed
	}
	return r.slots[int(block)*r.caps.BlockSize:][:rows], n, r.mu.Unlock, nil
}

func (r *runner) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.slots = nil
	return nil
}
