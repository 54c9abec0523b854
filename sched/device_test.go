package sched

import (
	"fmt"

	"github.com/hotpath-go/hotpath/kvcache"
)

// device stands for a backend: a row's "keys and values" are a digest of the whole history up to
// it, read from the row before it through the context that the plan names. A block that holds
// somebody else's rows, a wrong segment, a lost copy or a stale state all give another digest, and
// the choice of the next token depends on it.
type device struct {
	size    int
	blocks  [][]uint64
	states  []uint64 // recurrent: the digest after the last row it has seen
	choices [2][]int32
	step    int
}

func newDevice(blocks, size, states int) *device {
	d := &device{size: size, blocks: make([][]uint64, blocks), states: make([]uint64, states+1)}
	for i := range d.blocks {
		d.blocks[i] = make([]uint64, size)
	}
	d.states[0] = start
	return d
}

const start = 14695981039346656037

func mix(h uint64, token int32) uint64 {
	h = (h ^ uint64(uint32(token))) * 1099511628211
	return h ^ h>>29
}

func digest(tokens []int32) uint64 {
	h := uint64(start)
	for _, t := range tokens {
		h = mix(h, t)
	}
	return h
}

// chosen is the model: the next token after a history.
func chosen(h uint64) int32 { return int32(h>>40) % 5 }

func (d *device) at(blocks []kvcache.BlockID, first, pos int) *uint64 {
	return &d.blocks[blocks[pos/d.size-first/d.size]][pos%d.size]
}

// run executes a plan; out has each item's spans' digests after their last row.
func (d *device) run(p *Plan) (out [][]uint64, err error) {
	for _, m := range p.Copies {
		copy(d.blocks[m.To][:m.Rows], d.blocks[m.From][:m.Rows])
	}
	for _, m := range p.StateMoves {
		d.states[m.To] = d.states[m.From]
	}
	before := d.choices[d.step%2]
	d.step++
	var now []int32
	for n, it := range p.Items {
		if it.Row != len(now) {
			return nil, fmt.Errorf("item %d starts at row %d, numbered %d", n, len(now), it.Row)
		}
		base, pos := uint64(start), 0
		for _, s := range it.Context {
			if s.Start != pos {
				return nil, fmt.Errorf("item %d: segment at %d, want %d", n, s.Start, pos)
			}
			pos += s.Len
			base = *d.at(s.Blocks, s.Start, pos-1)
		}
		recurrent := d.states[it.State]
		if len(d.states) > 1 && recurrent != base {
			return nil, fmt.Errorf("item %d: state %d is not the one after %d rows", n, it.State, pos)
		}
		ends := make([]uint64, len(it.Spans))
		poses := make([]int, len(it.Spans))
		for i, sp := range it.Spans {
			h, at := base, pos
			if sp.Parent > 0 {
				h, at = ends[sp.Parent-1], poses[sp.Parent-1]
			}
			if at != sp.Pos || len(sp.Tokens) != sp.To-sp.From || len(sp.Dst) != kvcache.BlocksFor(sp.Pos, len(sp.Tokens), d.size) {
				return nil, fmt.Errorf("item %d span %d: at %d, %d tokens in %d blocks after position %d", n, i, sp.Pos, len(sp.Tokens), len(sp.Dst), at)
			}
			for k, t := range sp.Tokens {
				if t < 0 {
					t = before[-1-t]
				}
				h = mix(h, t)
				*d.at(sp.Dst, sp.Pos, at+k) = h
				now = append(now, chosen(h))
			}
			ends[i], poses[i] = h, at+len(sp.Tokens)
			if sp.Save != 0 {
				d.states[sp.Save] = h
			}
		}
		out = append(out, ends)
	}
	d.choices[d.step%2] = now
	return out, nil
}
