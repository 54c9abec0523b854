package backend

import (
	"fmt"

	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model/arch"
)

// Check returns an error that wraps ErrBatch when the batch breaks a rule of Batch, or asks for
// something that is not in the Caps. It names the sequence, the span, the field and both numbers.
// Every Runner's Submit calls it. It allocates nothing when the batch is good.
//
// It looks at the batch alone: whether a row that a segment names was ever written, and whether two
// spans write the same slot, it cannot see.
func (b *Batch) Check(c Caps, p *arch.Program) error {
	rows, spans := 0, 0
	for i := range b.Seqs {
		s := &b.Seqs[i]
		if err := s.check(&c, p); err != nil {
			return fmt.Errorf("%w: seq %d: %w", ErrBatch, i, err)
		}
		spans += len(s.Spans)
		for j := range s.Spans {
			rows += len(s.Spans[j].Tokens)
		}
	}
	switch {
	case rows == 0:
		return fmt.Errorf("%w: 0 rows, must be 1 to %d", ErrBatch, c.MaxRows)
	case rows > c.MaxRows:
		return fmt.Errorf("%w: %d rows, limit %d", ErrBatch, rows, c.MaxRows)
	case spans > c.MaxSpans:
		return fmt.Errorf("%w: %d spans, limit %d", ErrBatch, spans, c.MaxSpans)
	}
	return nil
}

func (s *Seq) check(c *Caps, p *arch.Program) error {
	end := 0
	for i := range s.Context {
		g := &s.Context[i]
		if g.Start != end {
			return fmt.Errorf("segment %d: starts at %d, the one before ends at %d", i, g.Start, end)
		}
		if g.Len < 1 {
			return fmt.Errorf("segment %d: %d rows, must be at least 1", i, g.Len)
		}
		if err := checkBlocks(g.Blocks, g.Start, g.Len, c); err != nil {
			return fmt.Errorf("segment %d: %w", i, err)
		}
		end += g.Len
	}
	if s.State < 0 || int(s.State) > c.States {
		return fmt.Errorf("state %d, limit %d", s.State, c.States)
	}
	if len(s.Spans) == 0 {
		return fmt.Errorf("0 spans, must be at least 1")
	}
	for j := range s.Spans {
		if err := s.checkSpan(j, end, c, p); err != nil {
			return fmt.Errorf("span %d: %w", j, err)
		}
	}
	return nil
}

// checkSpan checks span j of a sequence whose context has the given number of rows.
func (s *Seq) checkSpan(j, context int, c *Caps, p *arch.Program) error {
	sp := &s.Spans[j]
	if sp.Parent < 0 || sp.Parent > j {
		return fmt.Errorf("parent %d, must be 0 to %d: a parent comes before its children", sp.Parent, j)
	}
	pos := context
	if sp.Parent > 0 {
		parent := &s.Spans[sp.Parent-1]
		pos = parent.Pos + len(parent.Tokens)
	}
	if sp.Pos != pos {
		return fmt.Errorf("position %d, what it continues ends at %d", sp.Pos, pos)
	}
	n := len(sp.Tokens)
	if n == 0 {
		return fmt.Errorf("0 tokens, must be at least 1")
	}
	if c.Context > 0 && pos+n > c.Context {
		return fmt.Errorf("ends at position %d, limit %d", pos+n, c.Context)
	}
	for k, id := range sp.Tokens {
		switch {
		case int(id) >= p.Vocab:
			return fmt.Errorf("token %d: id %d, the vocabulary has %d", k, id, p.Vocab)
		case id < 0 && c.InFlight < 2:
			return fmt.Errorf("token %d: id %d stands for a choice of the step before, and only %d step may be in flight", k, id, c.InFlight)
		case id < 0 && -1-int(id) >= c.MaxRows:
			return fmt.Errorf("token %d: id %d stands for row %d of the step before, limit %d", k, id, -1-int(id), c.MaxRows)
		}
	}
	if err := checkBlocks(sp.Dst, pos, n, c); err != nil {
		return fmt.Errorf("dst: %w", err)
	}
	if !c.masked(sp.Mask) {
		return fmt.Errorf("mask %d is not among the %d supported", sp.Mask, len(c.Masks))
	}
	if sp.Save < 0 || int(sp.Save) > c.States {
		return fmt.Errorf("save: state %d, limit %d", sp.Save, c.States)
	}
	last := 0
	for k := range sp.Want {
		w := &sp.Want[k]
		if w.Row < last || w.Row >= n {
			return fmt.Errorf("want %d: row %d, must be %d to %d", k, w.Row, last, n-1)
		}
		last = w.Row
		if err := w.check(c, p); err != nil {
			return fmt.Errorf("want %d: %w", k, err)
		}
	}
	return nil
}

// checkBlocks checks the blocks that hold n rows from a position on.
func checkBlocks(blocks []kvcache.BlockID, pos, n int, c *Caps) error {
	if need := kvcache.BlocksFor(pos, n, c.BlockSize); len(blocks) != need {
		return fmt.Errorf("%d blocks for %d rows from position %d, must be %d", len(blocks), n, pos, need)
	}
	for i, b := range blocks {
		if b < 0 || int(b) >= c.PoolBlocks+c.ScratchBlocks {
			return fmt.Errorf("block %d: id %d, must be 0 to %d", i, b, c.PoolBlocks+c.ScratchBlocks-1)
		}
	}
	return nil
}

func (c *Caps) masked(m Mask) bool {
	for _, have := range c.Masks {
		if have == m {
			return true
		}
	}
	return false
}

func (w *Want) check(c *Caps, p *arch.Program) error {
	var need WantSet
	if len(w.Labels) > 0 {
		need |= WantLabels
	}
	if w.LogSumExp {
		need |= WantLogSumExp
	}
	if w.TopK != 0 {
		need |= WantTopK
	}
	if w.Sample != nil {
		need |= WantSample
	}
	if !c.Wants.Has(need) {
		return fmt.Errorf("asks for %#b, supported %#b", need, c.Wants)
	}
	for i, id := range w.Labels {
		if id < 0 || int(id) >= p.Vocab {
			return fmt.Errorf("label %d: id %d, the vocabulary has %d", i, id, p.Vocab)
		}
	}
	if w.TopK < 0 || w.TopK > p.Vocab {
		return fmt.Errorf("top-k %d, must be 0 to %d", w.TopK, p.Vocab)
	}
	if w.Sample != nil {
		if w.Sample.Params == nil {
			return fmt.Errorf("sample: no parameters")
		}
		if err := w.Sample.Params.Validate(); err != nil {
			return fmt.Errorf("sample: %w", err)
		}
	}
	return nil
}

// Check returns an error that wraps ErrBatch when a move names a block, a row or a state that is
// not there. Every Runner's Copy calls it before it copies anything.
func (m Move) Check(c Caps) error {
	if m.FromState != 0 || m.ToState != 0 {
		for _, s := range [...]kvcache.StateID{m.FromState, m.ToState} {
			if s < 1 || int(s) > c.States {
				return fmt.Errorf("%w: move: state %d, must be 1 to %d", ErrBatch, s, c.States)
			}
		}
		return nil
	}
	for _, b := range [...]kvcache.BlockID{m.From, m.To} {
		if b < 0 || int(b) >= c.PoolBlocks+c.ScratchBlocks {
			return fmt.Errorf("%w: move: block %d, must be 0 to %d", ErrBatch, b, c.PoolBlocks+c.ScratchBlocks-1)
		}
	}
	if m.Start < 0 || m.Rows < 1 || m.Start > c.BlockSize || m.Rows > c.BlockSize-m.Start {
		return fmt.Errorf("%w: move: rows %d to %d, the block has %d", ErrBatch, m.Start, m.Start+m.Rows, c.BlockSize)
	}
	return nil
}
