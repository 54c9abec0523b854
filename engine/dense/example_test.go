package dense_test

import (
	"fmt"

	"gorgonia.org/tensor"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/dense"
)

func Example() {
	logits, err := dense.ToDense(backend.Matrix{Rows: 2, Cols: 2, Data: []float32{200, 200, 0, 0}})
	if err != nil {
		fmt.Println(err)
		return
	}
	probabilities, err := tensor.SoftMax(logits, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := dense.FromDense(probabilities.(*tensor.Dense))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Row(0), m.Row(1))
	// Output: [0.5 0.5] [0.5 0.5]
}
