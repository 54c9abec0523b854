package cpu

import "github.com/hotpath-go/hotpath/quant"

// The generic products read the rows of a matrix as stored. Tiles of rows and outputs keep both
// in cache; they change no sum.
const genericRows = 32

func int8Generic(f quant.Format) *linearKernel {
	dot := quant.DotInt8(f)
	one := func(m *matrix, in *input, r, o int) float32 {
		return dot(m.row(o), in.int8(r*in.cols, (r+1)*in.cols))
	}
	return &linearKernel{form: formInt8, one: one, multiply: tiled(one)}
}

func floatGeneric(f quant.Format) *linearKernel {
	dot := quant.DotFloat(f)
	one := func(m *matrix, in *input, r, o int) float32 {
		return dot(m.row(o), in.row(r))
	}
	return &linearKernel{form: formFloat, one: one, multiply: tiled(one)}
}

func tiled(one func(m *matrix, in *input, r, o int) float32) func(m *matrix, in *input, lo, hi int, y []float32, ld int) {
	return func(m *matrix, in *input, lo, hi int, y []float32, ld int) {
		first, end := lo*panelRows, min(hi*panelRows, m.rows)
		for r := 0; r < in.rows; r += genericRows {
			for o := first; o < end; o++ {
				for i := r; i < min(r+genericRows, in.rows); i++ {
					y[i*ld+o] = one(m, in, i, o)
				}
			}
		}
	}
}
