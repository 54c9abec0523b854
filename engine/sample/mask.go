package sample

import "math/bits"

// Mask is a set of token ids: bit i%32 of word i/32. A nil Mask allows every token; ids past the
// end of a non-nil one are not allowed.
type Mask []uint32

// NewMask returns an empty mask for a vocabulary of n tokens.
func NewMask(n int) Mask { return make(Mask, (max(n, 0)+31)/32) }

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

// count returns the number of allowed ids below n.
func (m Mask) count(n int) int {
	if m == nil {
		return n
	}
	c := 0
	for i, w := range m {
		if left := n - i*32; left < 32 {
			w &= 1<<max(left, 0) - 1
		}
		c += bits.OnesCount32(w)
	}
	return c
}

// next returns the first allowed place from i on whose logit is above low or NaN, or the row's
// length. Words with many ids are searched for large logits first, others for ids first.
func (m Mask) next(row []float32, i int, low float32) int {
	if m == nil {
		return next(row, i, low)
	}
	for n := min(len(row), len(m)*32); i < n; {
		w := m[i>>5] >> (i & 31)
		end := min(i|31+1, n)
		if bits.OnesCount32(w) > 6 {
			if i = next(row[:end], i, low); i < end {
				if m.Has(int32(i)) {
					return i
				}
				i++
			}
			continue
		}
		for ; w != 0; w &= w - 1 {
			j := i + bits.TrailingZeros32(w)
			if j >= n {
				break
			}
			if !(row[j] <= low) {
				return j
			}
		}
		i = end
	}
	return len(row)
}
