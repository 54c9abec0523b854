package cpu

import (
	"github.com/hotpath-go/hotpath/model/arch"
	"github.com/hotpath-go/hotpath/quant"
)

// panelRows is the number of outputs that vector paths interleave, and the unit in which the
// outputs of a product are split over workers.
const panelRows = 16

// matrix is the weights of a linear layer as the path multiplies them.
type matrix struct {
	rows, cols int
	kernel     *linearKernel
	data       []byte // rows as stored, or panels
	unit       int    // bytes of a row, or of a panel
	bias       []float32
}

func (m *matrix) row(o int) []byte { return m.data[o*m.unit : (o+1)*m.unit] }

func (m *matrix) panels() int { return (m.rows + panelRows - 1) / panelRows }

// prepare makes the matrix of a linear layer, except for its panels: packed then says how many
// bytes they take, and pack, for panels 0 to m.panels()-1, writes them.
func prepare(k *kernels, l *arch.Linear, arithmetic Arithmetic) (m *matrix, source quant.Tensor, packed int, err error) {
	t := l.Weight
	if arithmetic == Float {
		t, err = expand(t)
	} else {
		t, err = quant.Convert(t)
	}
	if err != nil {
		return nil, t, 0, err
	}
	m = &matrix{rows: t.Rows, cols: t.Cols, kernel: k.linear[t.Format], bias: l.Bias}
	if m.kernel.pack == nil {
		m.data, m.unit = t.Data, len(t.Data)/t.Rows
		return m, t, 0, nil
	}
	m.unit = m.kernel.packBytes(t.Cols)
	return m, t, m.unit * m.panels(), nil
}

// expand returns the tensor in F32.
func expand(t quant.Tensor) (quant.Tensor, error) {
	if t.Format == quant.F32 {
		return t, nil
	}
	out := quant.Tensor{Format: quant.F32, Rows: t.Rows, Cols: t.Cols, Data: make([]byte, 4*t.Rows*t.Cols)}
	row := make([]float32, t.Cols)
	for i := range t.Rows {
		if err := quant.Decode(row, t.Format, t.Row(i)); err != nil {
			return t, err
		}
		if err := quant.Encode(out.Row(i), quant.F32, row); err != nil {
			return t, err
		}
	}
	return out, nil
}
