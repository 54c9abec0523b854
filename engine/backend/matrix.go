package backend

import (
	"errors"
	"fmt"
)

// ErrShape is returned for sizes that do not fit each other or the data.
var ErrShape = errors.New("backend: bad shape")

// Matrix is a dense matrix, row after row. Package dense turns one into a tensor and back.
type Matrix struct {
	Rows, Cols int
	Data       []float32 // Rows x Cols
}

// NewMatrix returns a matrix of zeros. Sizes must not be negative.
func NewMatrix(rows, cols int) Matrix {
	return Matrix{Rows: rows, Cols: cols, Data: make([]float32, rows*cols)}
}

// Row returns row i as a view. It panics when there is no such row, like an index does.
func (m Matrix) Row(i int) []float32 {
	return m.Data[i*m.Cols : (i+1)*m.Cols : (i+1)*m.Cols]
}

// Check returns an error that wraps ErrShape when the sizes do not fit the data.
func (m Matrix) Check() error {
	if m.Rows < 0 || m.Cols < 0 || (m.Cols > 0 && m.Rows > len(m.Data)/m.Cols) || m.Rows*m.Cols != len(m.Data) {
		return fmt.Errorf("%w: %d x %d, have %d values", ErrShape, m.Rows, m.Cols, len(m.Data))
	}
	return nil
}
