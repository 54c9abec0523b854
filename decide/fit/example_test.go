package fit_test

import (
	"context"
	"fmt"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/decide/fit"
)

// oracle is always sure, and right three times in four. It stands for an engine.
type oracle struct{}

func (oracle) Decide(_ context.Context, r decide.Request) (*decide.Result, error) {
	a, err := decide.NewAnswer(r, r.Questions[0], []float64{0.98, 0.02})
	return &decide.Result{Model: "oracle", Answers: []decide.Answer{a}}, err
}

func Example() {
	var examples []fit.Example
	for i := range 200 {
		label := 0
		if i%4 == 3 {
			label = 1
		}
		examples = append(examples, fit.Example{
			State: decide.Text("..."), Question: decide.Boolean("refund", "Does the customer ask for a refund?"), Label: label,
		})
	}
	cal, report, err := fit.Temperature(context.Background(), oracle{}, examples, fit.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("temperature %.2f\n", cal.Temperature(decide.How{}, decide.KindBoolean, 2))
	fmt.Printf("calibration error %.2f to %.2f\n", report.Before.ECE, report.After.ECE)
	// Output:
	// temperature 3.54
	// calibration error 0.23 to 0.00
}
