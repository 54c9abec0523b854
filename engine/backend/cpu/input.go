package cpu

import "github.com/hotpath-go/hotpath/quant"

// form is how the activations of a product are held.
type form uint8

const (
	formFloat form = 1 << iota // float32
	formInt8                   // 8-bit integers with a scale for each block of 32
)

// input is rows of activations in the forms that the matrices at hand need. float is always there;
// the others are derived from it by fill. One input is used for one product after another.
type input struct {
	k          *kernels
	rows, cols int
	forms      form

	float []float32 // rows x cols

	codes  []int8 // generic: an Int8Row for each row
	scales []float32
	sums   []int32

	packed []byte // vector paths: their own records, stride bytes a row
	stride int
}

// reset gives the input a shape. Contents are undefined until the rows are written and filled.
func (in *input) reset(rows, cols int, forms form) {
	in.rows, in.cols, in.forms = rows, cols, forms
	n := rows * cols
	in.float = grown(in.float, n)
	if in.k.fill != nil {
		in.k.reset(in)
		return
	}
	if forms&formInt8 != 0 {
		in.codes = grown(in.codes, n)
		in.scales = grown(in.scales, n/32)
		in.sums = grown(in.sums, n/16)
	}
}

// row returns the float32 values of a row, to be written before fill.
func (in *input) row(r int) []float32 { return in.float[r*in.cols : (r+1)*in.cols] }

// fill derives the other forms of columns lo to hi of a row, which are whole blocks.
func (in *input) fill(r, lo, hi int) {
	if in.k.fill != nil {
		in.k.fill(in, r, lo, hi)
		return
	}
	from, to := r*in.cols+lo, r*in.cols+hi
	src := in.float[from:to]
	if in.forms&formInt8 != 0 {
		in.int8(from, to).Quantize(src)
	}
}

// int8 returns values from..to, counted over all rows.
func (in *input) int8(from, to int) quant.Int8Row {
	return quant.Int8Row{Codes: in.codes[from:to], Scales: in.scales[from/32 : to/32], Sums: in.sums[from/16 : to/16]}
}

// view returns rows from..from+rows-1 as an input of their own, over the same memory.
func (in *input) view(from, rows int) input {
	v := *in
	v.rows = rows
	v.float = in.float[from*in.cols:]
	if in.forms&formInt8 == 0 {
		return v
	}
	if in.k.fill != nil {
		v.packed = in.packed[from*in.stride:]
	} else {
		v.codes, v.scales, v.sums = in.codes[from*in.cols:], in.scales[from*in.cols/32:], in.sums[from*in.cols/16:]
	}
	return v
}
