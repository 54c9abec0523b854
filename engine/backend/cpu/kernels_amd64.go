//go:build !noasm

package cpu

import (
	"github.com/hotpath-go/hotpath/quant"
	"github.com/klauspost/cpuid/v2"
)

// native returns the paths in assembly that this processor runs, best first.
func native() []*kernels {
	var list []*kernels
	if cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512VL, cpuid.AVX512DQ, cpuid.AVX512VNNI, cpuid.FMA3, cpuid.F16C, cpuid.BMI2) {
		list = append(list, avx512())
	}
	if cpuid.CPU.Supports(cpuid.AVX2, cpuid.FMA3, cpuid.F16C) {
		list = append(list, avx2())
	}
	return list
}

func avx512() *kernels {
	k := generic()
	k.name = "avx512"
	k.norm = func(dst, src, gain []float32, epsilon float32) {
		var sum float32
		squaresAVX512(&sum, &src[0], len(src))
		factor := rsqrt(sum/float32(len(src)) + epsilon)
		scaleAVX512(&dst[0], &src[0], &gain[0], &factor, len(src))
	}
	k.add = func(dst, src []float32) { addAVX512(&dst[0], &src[0], len(src)) }
	k.silu = func(up, gate []float32) { siluAVX512(&up[0], &gate[0], len(gate)) }
	k.rotate = func(a, b, cos, sin []float32) {
		if len(cos) > 0 {
			rotateAVX512(&a[0], &b[0], &cos[0], &sin[0], len(cos))
		}
	}
	k.rotateAdjacent = func(x, cos, sin []float32) {
		n := len(cos) &^ 7
		if n > 0 {
			rotateAdjacentAVX512(&x[0], &cos[0], &sin[0], n)
		}
		rotateAdjacentGeneric(x[2*n:], cos[n:], sin[n:])
	}
	k.softmax = func(scores []float32, n int, scale float32) (top, sum float32) {
		out := [2]float32{scale}
		softmaxAVX512(&scores[0], n, &out)
		clear(scores[(n+15)&^15:])
		return out[0], out[1]
	}
	k.sumExp = func(x []float32) (top, sum float32) {
		out := [2]float32{1}
		sumExpAVX512(&x[0], len(x), &out)
		return out[0], out[1]
	}
	k.blend = func(acc, part []float32, a, b float32) {
		ab := [2]float32{a, b}
		blendAVX512(&acc[0], &part[0], &ab, len(part))
	}
	k.reset = resetRecords
	k.fill = func(in *input, row, lo, hi int) {
		if in.forms&formInt8 != 0 {
			quantizeAVX512(in.record(row, lo), &in.float[row*in.cols+lo], (hi-lo)/32)
		}
	}
	tiles := [...]int{0, 4, 4, 4, 4, 4, 4}
	k.scores = map[quant.Format]scoresKernel{
		quant.F32: scoresOf(scoresF32, tiles), quant.F16: scoresOf(scoresF16, tiles), quant.BF16: scoresOf(scoresBF16, tiles),
	}
	wide, narrow := []int{8, 4, 1}, []int{4, 1}
	columns := [...][]int{nil, wide, wide, narrow, narrow, narrow, narrow}
	k.values = map[quant.Format]valuesKernel{
		quant.F32: valuesOf(valuesF32, 4, columns), quant.F16: valuesOf(valuesF16, 2, columns), quant.BF16: valuesOf(valuesBF16, 4, columns),
	}
	k.linear = panelSet{
		f32: f32x, f16: f16x, bf16: bf16x, q8_0: q8_0x, q4_0: q4_0x, q4_K: q4_Kx, q6_K: q6_Kx,
		floats: []int{0, 8, 8, 6, 5, 0, 4, 0, 3}, manyFloats: 8,
		ints: []int{0, 8, 6, 4, 3, 1, 1, 1, 1}, manyInts: 4, flip: 0x80808080,
	}.linear()
	return k
}

func avx2() *kernels {
	k := generic()
	k.name = "avx2"
	k.norm = func(dst, src, gain []float32, epsilon float32) {
		var sum float32
		squaresAVX2(&sum, &src[0], len(src))
		factor := rsqrt(sum/float32(len(src)) + epsilon)
		scaleAVX2(&dst[0], &src[0], &gain[0], &factor, len(src))
	}
	k.add = func(dst, src []float32) { addAVX2(&dst[0], &src[0], len(src)) }
	k.silu = func(up, gate []float32) { siluAVX2(&up[0], &gate[0], len(gate)) }
	k.rotate = func(a, b, cos, sin []float32) {
		if len(cos) > 0 {
			rotateAVX2(&a[0], &b[0], &cos[0], &sin[0], len(cos))
		}
	}
	k.softmax = func(scores []float32, n int, scale float32) (top, sum float32) {
		out := [2]float32{scale}
		softmaxAVX2(&scores[0], n, &out)
		clear(scores[(n+7)&^7:])
		return out[0], out[1]
	}
	k.sumExp = func(x []float32) (top, sum float32) {
		out := [2]float32{1}
		sumExpAVX2(&x[0], len(x), &out)
		return out[0], out[1]
	}
	k.blend = func(acc, part []float32, a, b float32) {
		ab := [2]float32{a, b}
		blendAVX2(&acc[0], &part[0], &ab, len(part))
	}
	k.reset = resetRecords
	k.fill = func(in *input, row, lo, hi int) {
		if in.forms&formInt8 != 0 {
			quantizeAVX2(in.record(row, lo), &in.float[row*in.cols+lo], (hi-lo)/32)
		}
	}
	tiles := [...]int{0, 4, 2, 2, 1, 1, 1}
	k.scores = map[quant.Format]scoresKernel{
		quant.F32: scoresOf(scoresHalfF32, tiles), quant.F16: scoresOf(scoresHalfF16, tiles), quant.BF16: scoresOf(scoresHalfBF16, tiles),
	}
	one := []int{1}
	columns := [...][]int{nil, {4, 1}, {2, 1}, one, one, one, one}
	k.values = map[quant.Format]valuesKernel{
		quant.F32: valuesOf(valuesHalfF32, 4, columns), quant.F16: valuesOf(valuesHalfF16, 2, columns), quant.BF16: valuesOf(valuesHalfBF16, 4, columns),
	}
	k.linear = panelSet{
		f32: f32y, f16: f16y, bf16: bf16y, q8_0: q8_0y, q4_0: q4_0y, q4_K: q4_Ky, q6_K: q6_Ky,
		floats: []int{0, 4, 2, 2, 1, 0, 1}, manyFloats: 6, ints: []int{0, 2, 1, 1}, manyInts: 3,
	}.linear()
	return k
}
