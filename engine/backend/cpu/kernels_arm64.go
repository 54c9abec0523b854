//go:build !noasm

package cpu

import (
	"encoding/binary"
	"math"

	"github.com/hotpath-go/hotpath/quant"
	"github.com/klauspost/cpuid/v2"
)

// native returns the paths in assembly that this processor runs, best first.
func native() []*kernels {
	if cpuid.CPU.Supports(cpuid.ASIMD, cpuid.ASIMDDP) {
		return []*kernels{neon()}
	}
	return nil
}

func neon() *kernels {
	k := generic()
	k.name = "neon"
	k.norm, k.add, k.silu, k.rotate = normNEON, addRowNEON, siluRowNEON, rotateRowNEON
	k.softmax, k.sumExp, k.blend = softmaxNEON, sumExpNEON, blendRowNEON
	k.reset = resetRecords
	k.fill = func(in *input, row, lo, hi int) {
		if in.forms&formInt8 == 0 {
			return
		}
		for ; lo < hi; lo += 32 {
			quantizeRecord((*[recordBytes]byte)(in.packed[row*in.stride+lo/32*recordBytes:]), in.row(row)[lo:lo+32])
		}
	}
	k.scores = map[quant.Format]scoresKernel{
		quant.F32: scoresNEON(scoresF32), quant.F16: scoresNEON(scoresF16), quant.BF16: scoresNEON(scoresBF16),
	}
	k.values = map[quant.Format]valuesKernel{
		quant.F32: valuesNEON(valuesF32, 4), quant.F16: valuesNEON(valuesF16, 2), quant.BF16: valuesNEON(valuesBF16, 4),
	}
	k.linear = panelSet{
		f32: f32n, f16: f16n, bf16: bf16n, q8_0: q8_0n, q4_0: q4_0n, q4_K: q4_Kn, q6_K: q6_Kn,
		floats: []int{0, 4, 2, 0, 1}, manyFloats: 4, ints: []int{0, 2, 1, 1}, manyInts: 3,
	}.linear()
	return k
}

// quantizeRecord rounds 32 values into a record.
func quantizeRecord(dst *[recordBytes]byte, src []float32) {
	var codes [32]int8
	var scale [1]float32
	var sums [2]int32
	quant.Int8Row{Codes: codes[:], Scales: scale[:], Sums: sums[:]}.Quantize(src)
	for i, c := range codes {
		dst[i] = byte(c)
	}
	sum := -sums[0] - sums[1]
	binary.LittleEndian.PutUint32(dst[32:], math.Float32bits(scale[0]))
	binary.LittleEndian.PutUint32(dst[36:], uint32(sum))
	binary.LittleEndian.PutUint32(dst[40:], uint32(-sums[0]))
	binary.LittleEndian.PutUint32(dst[44:], math.Float32bits(float32(sum)))
}

// rowsNEON is how many of some rows the attention kernels take at once.
func rowsNEON(n int) int { return [...]int{0, 1, 2, 2, 4, 4, 4}[n] }

func scoresNEON(call func(rows, n int, out, q *float32, dim int, tiles **byte)) scoresKernel {
	kernel := scoresOf(call, [...]int{0, 1, 1, 1, 1, 1, 1})
	return func(out, q []float32, rows, dim int, tiles []*byte) {
		for r := 0; r < rows; {
			n := rowsNEON(rows - r)
			kernel(out[r*partition:], q[r*dim:], n, dim, tiles)
			r += n
		}
	}
}

func valuesNEON(call func(rows, n int, out, weights *float32, dim int, tiles **byte, offset, lo, hi int), unit int) valuesKernel {
	kernel := valuesOf(call, unit, [...][]int{nil, {4, 1}, {2, 1}, nil, {1}, nil, nil})
	return func(out, weights []float32, rows, dim int, tiles []*byte, lo, hi int) {
		for r := 0; r < rows; {
			n := rowsNEON(rows - r)
			kernel(out[r*dim:], weights[r*partition:], n, dim, tiles, lo, hi)
			r += n
		}
	}
}
