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
	return list
}

func avx512() *kernels {
	k := generic()
	k.name = "avx512"
	k.norm, k.add, k.silu = normAVX512Row, addAVX512Row, siluAVX512Row
	k.rotate, k.rotateAdjacent = rotateAVX512Row, rotateAdjacentAVX512Row
	k.softmax, k.sumExp, k.blend = softmaxAVX512Row, sumExpAVX512Row, blendAVX512Row
	k.reset, k.fill = resetRecords, fillRecords
	k.scores = map[quant.Format]scoresKernel{
		quant.F32: scoresAVX512(scoresF32), quant.F16: scoresAVX512(scoresF16), quant.BF16: scoresAVX512(scoresBF16),
	}
	k.values = map[quant.Format]valuesKernel{
		quant.F32: valuesAVX512(valuesF32, 4), quant.F16: valuesAVX512(valuesF16, 2), quant.BF16: valuesAVX512(valuesBF16, 4),
	}
	k.linear = map[quant.Format]*linearKernel{
		quant.F32:  panelKernel(formFloat, 1, f32x, packF32, func(n int) int { return 64 * n }),
		quant.F16:  panelKernel(formFloat, 1, f16x, packF16, func(n int) int { return 32 * n }),
		quant.BF16: panelKernel(formFloat, 1, bf16x, packBF16, func(n int) int { return (n + 1) / 2 * 64 }),
		quant.Q8_0: panelKernel(formInt8, 32, q8_0x, packQ8_0, func(n int) int { return pairedBytes(n/32, 512) }),
		quant.Q4_0: panelKernel(formInt8, 32, q4_0x, packQ4_0, func(n int) int { return pairedBytes(n/32, 256) }),
		quant.Q4_K: panelKernel(formInt8, 256, q4_Kx, packQ4_K, func(n int) int { return n / 256 * q4KPanel }),
		quant.Q6_K: panelKernel(formInt8, 256, q6_Kx, packQ6_K, func(n int) int { return n / 256 * q6KPanel }),
	}
	return k
}

// panelFunc calls the kernel for t rows and r panels; strides are in bytes.
type panelFunc func(t, r int, w *byte, panel int, x *byte, stride, blocks int, y *float32, ld int)

// The panels that kernels take at once for a number of rows; what is left is taken one by one. The
// generator's shapes are these.
var (
	int8Panels  = [...]int{1: 8, 2: 6, 3: 4, 4: 3}
	floatPanels = [...]int{1: 8, 2: 8, 3: 6, 4: 5, 5: 0, 6: 4, 7: 0, 8: 3}
)

// panelKernel makes the products of a format from its kernels. block is the number of values in a
// step of the kernel's count.
func panelKernel(form form, block int, call panelFunc, pack func([]byte, quant.Tensor, int), size func(cols int) int) *linearKernel {
	panels := floatPanels[:]
	if form == formInt8 {
		panels = int8Panels[:]
	}
	// rows returns the largest number of rows up to n that has a kernel.
	rows := func(n int) int {
		n = min(n, len(panels)-1)
		for panels[n] == 0 {
			n--
		}
		return n
	}
	at := func(in *input, r int) (*byte, int) {
		if form == formInt8 {
			return &in.packed[r*in.stride], in.stride
		}
		return byteOf(&in.float[r*in.cols]), 4 * in.cols
	}
	k := &linearKernel{form: form, pack: pack, packBytes: size}
	k.group = func(n int) int { return panels[rows(n)] }
	k.multiply = func(m *matrix, in *input, lo, hi int, y []float32, ld int) {
		whole := min(hi, m.rows/panelRows) // panels without padding
		blocks := m.cols / block
		for p := lo; p < whole; {
			n := 1
			if g := panels[rows(in.rows)]; p+g <= whole {
				n = g
			}
			for r := 0; r < in.rows; {
				t := rows(in.rows - r)
				x, stride := at(in, r)
				w := m.data[p*m.unit:]
				if n == 1 || n == panels[t] {
					call(t, n, &w[0], m.unit, x, stride, blocks, &y[r*ld+p*panelRows], 4*ld)
				} else {
					for i := 0; i < n; {
						some := 1
						if i+panels[t] <= n {
							some = panels[t]
						}
						call(t, some, &w[i*m.unit], m.unit, x, stride, blocks, &y[r*ld+(p+i)*panelRows], 4*ld)
						i += some
					}
				}
				r += t
			}
			p += n
		}
		for o := max(lo, whole) * panelRows; o < min(hi*panelRows, m.rows); o++ {
			for r := range in.rows {
				y[r*ld+o] = k.one(m, in, r, o)
			}
		}
	}
	k.one = func(m *matrix, in *input, r, o int) float32 {
		x, stride := at(in, r)
		var out [panelRows]float32
		p := o / panelRows
		call(1, 1, &m.data[p*m.unit], m.unit, x, stride, m.cols/block, &out[0], 4*panelRows)
		return out[o%panelRows]
	}
	return k
}

// recordBytes is the size of 32 activations as the kernels read them.
const recordBytes = 48

func resetRecords(in *input) {
	in.stride = in.cols / 32 * recordBytes
	if in.forms&formInt8 != 0 {
		in.packed = grown(in.packed, in.rows*in.stride)
	}
}

func fillRecords(in *input, row, lo, hi int) {
	if in.forms&formInt8 != 0 {
		quantizeAVX512(&in.packed[row*in.stride+lo/32*recordBytes], &in.float[row*in.cols+lo], (hi-lo)/32)
	}
}

func scoresAVX512(call func(rows, n int, out, q *float32, dim int, tiles **byte)) scoresKernel {
	return func(out, q []float32, rows, dim int, tiles []*byte) {
		for t := 0; t < len(tiles); {
			n := 1
			if t+4 <= len(tiles) {
				n = 4
			}
			call(rows, n, &out[t*blockSize], &q[0], dim, &tiles[t])
			t += n
		}
	}
}

// valuesAVX512 wraps a kernel; unit is the distance of two values of a position in bytes.
func valuesAVX512(call func(rows, n int, out, weights *float32, dim int, tiles **byte, offset, lo, hi int), unit int) valuesKernel {
	return func(out, weights []float32, rows, dim int, tiles []*byte, lo, hi int) {
		if lo == hi {
			return
		}
		for d := 0; d < dim; {
			n, left := 1, (dim-d)/16
			switch {
			case left >= 8 && rows <= 2:
				n = 8
			case left >= 4:
				n = 4
			}
			call(rows, n, &out[d], &weights[0], dim, &tiles[0], d*unit, lo, hi)
			d += 16 * n
		}
	}
}

func normAVX512Row(dst, src, gain []float32, epsilon float32) {
	var sum float32
	squaresAVX512(&sum, &src[0], len(src))
	factor := rsqrt(sum/float32(len(src)) + epsilon)
	scaleAVX512(&dst[0], &src[0], &gain[0], &factor, len(src))
}

func addAVX512Row(dst, src []float32) { addAVX512(&dst[0], &src[0], len(src)) }

func siluAVX512Row(up, gate []float32) { siluAVX512(&up[0], &gate[0], len(gate)) }

func rotateAVX512Row(a, b, cos, sin []float32) {
	if len(cos) > 0 {
		rotateAVX512(&a[0], &b[0], &cos[0], &sin[0], len(cos))
	}
}

func rotateAdjacentAVX512Row(x, cos, sin []float32) {
	n := len(cos) &^ 7
	if n > 0 {
		rotateAdjacentAVX512(&x[0], &cos[0], &sin[0], n)
	}
	rotateAdjacentGeneric(x[2*n:], cos[n:], sin[n:])
}

func softmaxAVX512Row(scores []float32, n int, scale float32) (top, sum float32) {
	out := [2]float32{scale}
	softmaxAVX512(&scores[0], n, &out)
	clear(scores[(n+15)&^15:])
	return out[0], out[1]
}

func sumExpAVX512Row(x []float32) (top, sum float32) {
	out := [2]float32{1}
	sumExpAVX512(&x[0], len(x), &out)
	return out[0], out[1]
}

func blendAVX512Row(acc, part []float32, a, b float32) {
	ab := [2]float32{a, b}
	blendAVX512(&acc[0], &part[0], &ab, len(part))
}
