package sample

import (
	"iter"
	"math/bits"
)

// Mask is a set of token ids: bit i%32 of word i/32. A nil Mask allows every token; ids past the
// end of a non-nil one are not allowed.
type Mask []uint32

// NewMask returns an empty mask for a vocabulary of n tokens.
func NewMask(n int) Mask { return make(Mask, (n+31)/32) }

// Set adds an id, which must lie within the mask.
func (m Mask) Set(id int32) { m[id>>5] |= 1 << (id & 31) }

// Clear removes an id, which must lie within the mask.
func (m Mask) Clear(id int32) { m[id>>5] &^= 1 << (id & 31) }

// Has reports whether the id is in the mask.
func (m Mask) Has(id int32) bool {
	if m == nil {
		return id >= 0
	}
	return id >= 0 && int(id>>5) < len(m) && m[id>>5]>>(id&31)&1 != 0
}

// each returns the allowed ids below n as ranges, ascending.
func (m Mask) each(n int) iter.Seq2[int, int] {
	return func(yield func(lo, hi int) bool) { m.runs(n, yield) }
}

func (m Mask) runs(n int, yield func(lo, hi int) bool) {
	if m == nil {
		yield(0, n)
		return
	}
	start := -1 // of the run of whole words under way
	for i, w := range m {
		base := i * 32
		if base >= n {
			break
		}
		if base+32 > n {
			w &= 1<<(n-base) - 1
		}
		if w == ^uint32(0) {
			if start < 0 {
				start = base
			}
			continue
		}
		if start >= 0 {
			if !yield(start, base) {
				return
			}
			start = -1
		}
		for w != 0 {
			lo := bits.TrailingZeros32(w)
			hi := lo + bits.TrailingZeros32(^(w >> lo))
			if !yield(base+lo, base+hi) {
				return
			}
			w &^= 1<<hi - 1
		}
	}
	if start >= 0 {
		yield(start, min(len(m)*32, n))
	}
}

// count returns the number of allowed ids below n.
func (m Mask) count(n int) int {
	c := 0
	for lo, hi := range m.each(n) {
		c += hi - lo
	}
	return c
}
