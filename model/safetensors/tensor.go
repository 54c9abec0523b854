package safetensors

import (
	"fmt"
	"slices"

	"github.com/hotpath-go/hotpath/quant"
)

// Tensor is a named view of values.
type Tensor struct {
	Name  string
	DType string // as the file names it: "F32", "BF16", "I64"
	Shape []int  // the outer dimension first; empty for a single value
	Data  []byte // little-endian, the inner dimension contiguous
}

// Matrix returns the tensor as the matrix that the kernels read: Cols is the last dimension and Rows
// the product of the others, 1 where there are none. It is [ErrDType] for types other than F32, F16
// and BF16, and [ErrShape] when a dimension is 0.
func (t Tensor) Matrix() (quant.Tensor, error) {
	var f quant.Format
	switch t.DType {
	case "F32":
		f = quant.F32
	case "F16":
		f = quant.F16
	case "BF16":
		f = quant.BF16
	default:
		return quant.Tensor{}, fmt.Errorf("%w: tensor %q: %s, want F32, F16 or BF16", ErrDType, t.Name, t.DType)
	}
	if slices.Contains(t.Shape, 0) {
		return quant.Tensor{}, fmt.Errorf("%w: tensor %q: %v has no values", ErrShape, t.Name, t.Shape)
	}
	rows, cols := 1, 1
	for i, d := range t.Shape {
		if i == len(t.Shape)-1 {
			cols = d
		} else {
			rows *= d
		}
	}
	return quant.NewTensor(f, rows, cols, t.Data)
}
