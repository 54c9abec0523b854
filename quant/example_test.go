package quant_test

import (
	"fmt"
	"log"

	"github.com/hotpath-go/hotpath/quant"
)

// Values lose a little when they are stored in eight bits.
func ExampleEncode() {
	values := make([]float32, quant.Q8_0.BlockLen())
	values[0], values[1] = 1, -0.3
	size, err := quant.Q8_0.RowBytes(len(values))
	if err != nil {
		log.Fatal(err)
	}
	block := make([]byte, size)
	if err := quant.Encode(block, quant.Q8_0, values); err != nil {
		log.Fatal(err)
	}
	if err := quant.Decode(values, quant.Q8_0, block); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d bytes, %.3f %.3f\n", size, values[0], values[1])
	// Output: 34 bytes, 1.000 -0.299
}

// A product as the kernels compute it: integers within a block, float32 between blocks.
func ExampleDotInt8() {
	weights := make([]float32, 64)
	activations := make([]float32, 64)
	for i := range weights {
		weights[i], activations[i] = 0.5, 2
	}
	row, err := quant.NewInt8Row(len(activations))
	if err != nil {
		log.Fatal(err)
	}
	row.Quantize(activations)
	stored := make([]byte, 68)
	if err := quant.Encode(stored, quant.Q8_0, weights); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.2f\n", quant.DotInt8(quant.Q8_0)(stored, row))
	// Output: 64.00
}
