package wire_test

import (
	"fmt"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/decide/wire"
)

// A server decodes a body, asks a decide.Decider, and encodes the answers.
func Example() {
	d := wire.TypeSafe()
	call, err := d.DecodeRequest([]byte(`{"model":"m","state":"The cup is cracked.",
		"questions":{"team":{"type":"choice","instructions":"Who helps?","criteria":{"refunds":"money back","care":null}}}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	// Stands for Decide(ctx, call.Request).
	a, err := decide.NewAnswer(call.Request, call.Request.Questions[0], []float64{0.75, 0.25})
	if err != nil {
		fmt.Println(err)
		return
	}
	body, err := d.EncodeResponse(call, &decide.Result{Model: "m", Answers: []decide.Answer{a}}, wire.Meta{})
	fmt.Println(string(body), err)
	// Output:
	// {"model":"m","answers":{"team":{"type":"choice","choice":"refunds","probabilities":{"refunds":0.75,"care":0.25},"confidence":0.5}},"usage":{"input_tokens":0,"output_tokens":0}} <nil>
}
