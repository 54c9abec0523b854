package cpu

import "github.com/hotpath-go/hotpath/quant"

// panelFunc calls the kernel for t rows and r panels; strides are in bytes.
type panelFunc func(t, r int, w *byte, panel int, x *byte, stride, blocks int, y *float32, ld int)

// panelKernel makes the products of a format from its kernels.
type panelKernel struct {
	form   form
	block  int   // values in a step of the kernels' count
	panels []int // that the kernels take at once, by rows; 0: no kernel. What is left is taken one by one
	many   int   // rows that a kernel takes where there are more than fewRows
	call   panelFunc
}

// fewRows is up to how many rows the time goes into reading weights: then the best kernel is the one
// that reads them once, past that the one that computes most with what it loads.
const fewRows = 16

// rows returns how many of n rows left of total the next kernel takes.
func (k *panelKernel) rows(n, total int) int {
	n = min(n, len(k.panels)-1)
	if total > fewRows {
		n = min(n, k.many)
	}
	for k.panels[n] == 0 {
		n--
	}
	return n
}

// at returns the activations of a row and their stride.
func (k *panelKernel) at(in *input, r int) (*byte, int) {
	if k.form == formInt8 {
		return &in.packed[r*in.stride], in.stride
	}
	return byteOf(&in.float[r*in.cols]), 4 * in.cols
}

func (k *panelKernel) multiply(m *matrix, in *input, lo, hi int, y []float32, ld int) {
	whole := min(hi, m.rows/panelRows) // panels without padding
	for p := lo; p < whole; {
		n := min(k.panels[k.rows(in.rows, in.rows)], whole-p)
		for r := 0; r < in.rows; {
			t := k.rows(in.rows-r, in.rows)
			x, stride := k.at(in, r)
			for i := 0; i < n; {
				some := 1
				if i+k.panels[t] <= n {
					some = k.panels[t]
				}
				k.call(t, some, &m.data[(p+i)*m.unit], m.unit, x, stride, m.cols/k.block, &y[r*ld+(p+i)*panelRows], 4*ld)
				i += some
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

func (k *panelKernel) one(m *matrix, in *input, r, o int) float32 {
	x, stride := k.at(in, r)
	var out [panelRows]float32
	p := o / panelRows
	k.call(1, 1, &m.data[p*m.unit], m.unit, x, stride, m.cols/k.block, &out[0], 4*panelRows)
	return out[o%panelRows]
}

// linear gives the kernel a packer and the size of its panels.
func (k *panelKernel) linear(pack func([]byte, quant.Tensor, int), size func(cols int) int) *linearKernel {
	return &linearKernel{
		form: k.form, pack: pack, packBytes: size, multiply: k.multiply, one: k.one,
		group: func(rows int) int { return k.panels[k.rows(rows, rows)] },
	}
}

// panelSet is the kernels of a path, by format.
type panelSet struct {
	f32, f16, bf16         panelFunc
	q8_0, q4_0, q4_K, q6_K panelFunc
	floats, ints           []int // panels at once, by rows
	manyFloats, manyInts   int   // rows at once where there are many
	flip                   uint32
}

func (s panelSet) linear() map[quant.Format]*linearKernel {
	float := func(call panelFunc) *panelKernel { return &panelKernel{formFloat, 1, s.floats, s.manyFloats, call} }
	ints := func(block int, call panelFunc) *panelKernel {
		return &panelKernel{formInt8, block, s.ints, s.manyInts, call}
	}
	return map[quant.Format]*linearKernel{
		quant.F32:  float(s.f32).linear(packF32, func(n int) int { return 64 * n }),
		quant.F16:  float(s.f16).linear(packF16, func(n int) int { return 32 * n }),
		quant.BF16: float(s.bf16).linear(packBF16, func(n int) int { return (n + 1) / 2 * 64 }),
		quant.Q8_0: ints(32, s.q8_0).linear(packQ8_0(s.flip), func(n int) int { return pairedBytes(n/32, 512) }),
		quant.Q4_0: ints(32, s.q4_0).linear(packQ4_0, func(n int) int { return pairedBytes(n/32, 256) }),
		quant.Q4_K: ints(256, s.q4_K).linear(packQ4_K, func(n int) int { return n / 256 * q4KPanel }),
		quant.Q6_K: ints(256, s.q6_K).linear(packQ6_K, func(n int) int { return n / 256 * q6KPanel }),
	}
}

// recordBytes is the size of 32 activations as the kernels read them: codes, scale, and minus the
// sum of the codes, of the first 16 codes, and of the codes as float32.
const recordBytes = 48

func resetRecords(in *input) {
	in.stride = in.cols / 32 * recordBytes
	if in.forms&formInt8 != 0 {
		in.packed = grown(in.packed, in.rows*in.stride)
	}
}

// record returns where column lo of a row is kept.
func (in *input) record(row, lo int) *byte { return &in.packed[row*in.stride+lo/32*recordBytes] }

// scoresOf makes the kernel of all tiles from one of a few: step is how many a number of rows takes
// at once.
func scoresOf(call func(rows, n int, out, q *float32, dim int, tiles **byte), step [maxTileRows + 1]int) scoresKernel {
	return func(out, q []float32, rows, dim int, tiles []*byte) {
		for t := 0; t < len(tiles); {
			n := 1
			if t+step[rows] <= len(tiles) {
				n = step[rows]
			}
			call(rows, n, &out[t*blockSize], &q[0], dim, &tiles[t])
			t += n
		}
	}
}

// valuesOf makes the kernel of all columns from one of a few registers of 16: steps are how many a
// number of rows takes at once, most first. unit is the distance of two values of a position in bytes.
func valuesOf(call func(rows, n int, out, weights *float32, dim int, tiles **byte, offset, lo, hi int), unit int, steps [maxTileRows + 1][]int) valuesKernel {
	return func(out, weights []float32, rows, dim int, tiles []*byte, lo, hi int) {
		if lo == hi {
			return
		}
		for d := 0; d < dim; {
			for _, n := range steps[rows] {
				if d+16*n <= dim {
					call(rows, n, &out[d], &weights[0], dim, &tiles[0], d*unit, lo, hi)
					d += 16 * n
					break
				}
			}
		}
	}
}
