package quant

import "fmt"

// Tensor is a matrix of weights in one format, row after row. Data is not owned: it may be a view
// of a mapped file that is valid until the model that gave it is closed. A Tensor is read-only
// and may be shared between goroutines. Cols is the inner dimension and holds whole blocks.
type Tensor struct {
	Format Format
	Rows   int
	Cols   int
	Data   []byte // Rows x RowBytes(Cols) bytes
}

// NewTensor checks the shape against the length of data.
func NewTensor(f Format, rows, cols int, data []byte) (Tensor, error) {
	n, err := f.RowBytes(cols)
	if err != nil {
		return Tensor{}, err
	}
	if rows < 0 || (n > 0 && rows > maxInt/n) || rows*n != len(data) {
		return Tensor{}, fmt.Errorf("%w: %d x %d values in %v need %d x %d bytes, have %d",
			ErrLength, rows, cols, f, rows, n, len(data))
	}
	return Tensor{Format: f, Rows: rows, Cols: cols, Data: data}, nil
}

// IsZero reports whether there is no tensor.
func (t Tensor) IsZero() bool { return t.Format == None }

// Row returns the stored bytes of row i, which must be in range.
func (t Tensor) Row(i int) []byte {
	n := len(t.Data) / t.Rows
	return t.Data[i*n : (i+1)*n : (i+1)*n]
}
