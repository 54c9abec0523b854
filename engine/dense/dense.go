package dense

import (
	"errors"
	"fmt"

	// gorgonia.org/tensor asks this package at start whether the garbage collector moves objects. Its
	// own go.mod names a version that panics under current Go; this import keeps the newer one that
	// our go.mod names.
	_ "go4.org/unsafe/assume-no-moving-gc"
	"gorgonia.org/tensor"

	"github.com/hotpath-go/hotpath/engine/backend"
)

var (
	// ErrView is returned for a tensor whose elements do not lie row after row in memory: a slice of
	// columns, a lazy transpose, a column-major or a masked tensor. Materialize or Transpose makes a
	// plain copy.
	ErrView = errors.New("dense: not contiguous in row order")
	// ErrType is returned for a tensor of other elements than the operation knows.
	ErrType = errors.New("dense: unsupported element type")
	// ErrShape is returned for shapes that do not fit each other or the operation, and for empty ones,
	// which the tensor library does not have.
	ErrShape = errors.New("dense: bad shape")
)

// ToDense returns a tensor of shape (Rows, Cols) over the matrix's own data: what is written to one
// shows in the other. Both sizes must be at least 1. The tensor carries Engine.
func ToDense(m backend.Matrix) (*tensor.Dense, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	if m.Rows == 0 || m.Cols == 0 {
		return nil, fmt.Errorf("%w: %d x %d", ErrShape, m.Rows, m.Cols)
	}
	return tensor.New(tensor.WithShape(m.Rows, m.Cols), tensor.WithBacking(m.Data), tensor.WithEngine(Engine{})), nil
}

// FromDense returns a matrix over the tensor's own data: float32, of two dimensions, or of one, which
// becomes a single row. The tensor must live, and keep its memory, as long as the matrix is used.
func FromDense(d *tensor.Dense) (backend.Matrix, error) {
	if d.Dtype() != tensor.Float32 {
		return backend.Matrix{}, fmt.Errorf("%w: %v, must be float32", ErrType, d.Dtype())
	}
	if err := plain("tensor", d); err != nil {
		return backend.Matrix{}, err
	}
	shape := d.Shape()
	var m backend.Matrix
	switch len(shape) {
	case 1:
		m.Rows, m.Cols = 1, shape[0]
	case 2:
		m.Rows, m.Cols = shape[0], shape[1]
	default:
		return m, fmt.Errorf("%w: %d dimensions, must be 1 or 2", ErrShape, len(shape))
	}
	m.Data = d.Float32s()
	return m, m.Check()
}

// WithEngine gives the tensor this package's engine, in place.
func WithEngine(d *tensor.Dense) *tensor.Dense {
	tensor.WithEngine(Engine{})(d)
	return d
}

// plain checks that a tensor's elements follow each other in row order.
func plain(what string, t tensor.Tensor) error {
	d, ok := t.(*tensor.Dense)
	if !ok {
		return fmt.Errorf("%w: %s is a %T, must be *tensor.Dense", ErrType, what, t)
	}
	if d.IsMasked() {
		return fmt.Errorf("%w: %s is masked", ErrView, what)
	}
	shape, strides := d.Shape(), d.Strides()
	if len(strides) != len(shape) && !d.IsScalar() {
		return fmt.Errorf("%w: %s of shape %v has strides %v", ErrView, what, shape, strides)
	}
	if d.DataOrder().IsColMajor() {
		return fmt.Errorf("%w: %s is column-major", ErrView, what)
	}
	want := 1
	for i := len(strides) - 1; i >= 0; i-- {
		if shape[i] != 1 && strides[i] != want {
			return fmt.Errorf("%w: %s of shape %v has strides %v", ErrView, what, shape, strides)
		}
		want *= shape[i]
	}
	// The library makes a view that is to hold a result look plain; its memory gives it away.
	if have := int(d.MemSize() / d.Dtype().Size()); have != want {
		return fmt.Errorf("%w: %s of shape %v spans %d elements of memory", ErrView, what, shape, have)
	}
	return nil
}
