package quant

import (
	"fmt"
	"math"
)

// Int8Block is the number of activations that share a scale in an Int8Row.
const Int8Block = 32

// Int8Row is a row of activations, rounded for integer dot products: value i is about
// Codes[i] * Scales[i/32]. Sums[i/16] is the sum of 16 codes, with which formats that have an
// offset or a minimum correct a whole sub-block at once.
type Int8Row struct {
	Codes  []int8    // n, a multiple of 32, in [-127, 127]
	Scales []float32 // n/32
	Sums   []int32   // n/16
}

// NewInt8Row returns a row for n values, which must be whole blocks of 32.
func NewInt8Row(n int) (Int8Row, error) {
	if n < 0 || n%Int8Block != 0 {
		return Int8Row{}, fmt.Errorf("%w: %d activations, blocks hold %d", ErrLength, n, Int8Block)
	}
	return Int8Row{Codes: make([]int8, n), Scales: make([]float32, n/32), Sums: make([]int32, n/16)}, nil
}

// smallestScaled is the least magnitude that quantisation keeps: below it 127/amax nears the
// largest float32, and the whole block becomes zeros with scale 0.
const smallestScaled = 1.0 / (1 << 60) / (1 << 50)

// Quantize rounds src into the row, block by block: the scale is the largest magnitude over 127,
// codes are rounded to the nearest integer, ties to even. A block of zeros (or of magnitudes below
// 2^-110) has scale 0. A block with a NaN or an infinity has scale NaN and codes 0, so that every
// product with it is NaN. src must be as long as the row.
func (r Int8Row) Quantize(src []float32) {
	for b := range r.Scales {
		r.quantizeBlock(b, (*[32]float32)(src[32*b:]))
	}
}

func (r Int8Row) quantizeBlock(b int, src *[32]float32) {
	codes, sums := (*[32]int8)(r.Codes[32*b:]), (*[2]int32)(r.Sums[2*b:])
	// The bits of magnitudes order as the magnitudes do, with NaN on top.
	var top uint32
	for _, v := range src {
		top = max(top, math.Float32bits(v)&0x7fffffff)
	}
	amax := math.Float32frombits(top)
	if top >= 0x7f800000 || amax < smallestScaled {
		*codes, *sums, r.Scales[b] = [32]int8{}, [2]int32{}, 0
		if top >= 0x7f800000 {
			r.Scales[b] = float32(math.NaN())
		}
		return
	}
	r.Scales[b] = amax / 127
	inv := 127 / amax
	for i, v := range src {
		codes[i] = int8(roundToEven(v * inv))
	}
	for h := range sums {
		var s int32
		for _, c := range codes[16*h : 16*h+16] {
			s += int32(c)
		}
		sums[h] = s
	}
}

// roundToEven rounds a value of magnitude below 2^22: the sum has no bits left for a fraction.
func roundToEven(v float32) int32 {
	const shift = 3 << 22
	return int32(math.Float32bits(v+shift)) - 0x4b400000
}
