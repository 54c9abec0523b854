package engine

import (
	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/kvcache"
)

// wave is a part of a decision's spans that fits into scratch at once. A span that is there only for
// those that continue it has no reads.
type wave struct {
	spans []decide.Span
	first []int // number of each span's first read
}

// split divides spans that continue a state into waves, as few as scratch allows. What several
// waves continue is computed in each. A span that does not fit with those before it is a wave all the
// same, to be refused with both numbers.
func split(spans []decide.Span, state, blockSize, scratch int) (waves []wave) {
	ends := make([]int, len(spans)) // rows up to the end of each
	blocks := make([]int, len(spans))
	first := make([]int, len(spans))
	total, reads := 0, 0
	for i := range spans {
		s := &spans[i]
		before := 0
		if s.Parent > 0 {
			before = ends[s.Parent-1]
		}
		ends[i] = before + len(s.Tokens)
		blocks[i] = kvcache.BlocksFor(state+before, len(s.Tokens), blockSize)
		total += blocks[i]
		first[i] = reads
		reads += len(s.Reads)
	}
	// A state that is recomputed from within its last block takes a block of scratch too.
	if total < scratch || len(spans) < 2 {
		return []wave{{spans, first}}
	}
	var w wave
	at := make([]int, len(spans)) // 1 + index in the wave; 0: not there
	used := 0
	var chain []int
	for i := range spans {
		if len(spans[i].Reads) == 0 {
			continue // comes with what continues it
		}
		for {
			chain = chain[:0]
			need := 0
			for j := i; at[j] == 0; j = spans[j].Parent - 1 {
				chain = append(chain, j)
				need += blocks[j]
				if spans[j].Parent == 0 {
					break
				}
			}
			if used == 0 || used+need < scratch {
				used += need
				break
			}
			waves = append(waves, w)
			w, used = wave{}, 0
			clear(at)
		}
		for k := len(chain) - 1; k >= 0; k-- {
			j := chain[k]
			s := spans[j]
			if s.Parent > 0 {
				s.Parent = at[s.Parent-1]
			}
			if j != i {
				s.Reads = nil
			}
			w.spans, w.first = append(w.spans, s), append(w.first, first[j])
			at[j] = len(w.spans)
		}
	}
	return append(waves, w)
}
