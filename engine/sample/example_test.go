package sample_test

import (
	"fmt"

	"github.com/hotpath-go/hotpath/engine/sample"
)

func Example() {
	row := []float32{0.5, 2.5, 2.25, -1} // logits of a vocabulary of four
	params := sample.Params{Temperature: 0.8, TopP: 0.9}
	if err := params.Validate(); err != nil {
		fmt.Println(err)
		return
	}
	var s sample.Sampler
	var history sample.Counts
	for position := range uint64(6) {
		c, err := s.Choose(row, &params, nil, &history, sample.Key{Seed: 7, Position: position})
		if err != nil {
			fmt.Println(err)
			return
		}
		history.AddOutput(c.Token)
		fmt.Print(c.Token, " ")
	}
	fmt.Println(history.Output(1), "times token 1")
	// Output: 2 1 1 1 1 1 5 times token 1
}
