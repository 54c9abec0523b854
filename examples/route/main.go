package main

import (
	"context"
	"fmt"
	"log"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/model"
)

func main() {
	ctx := context.Background()
	eng, err := engine.Open(ctx, model.Embedded()) // or model.File("qwen3-0.6b-q8_0.gguf")
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()

	state := decide.Text("Customer: my card was charged twice, please fix it today.")
	res, err := eng.Decide(ctx, decide.Request{
		State: state,
		Questions: []decide.Question{
			decide.Score("urgency", "How urgent is the message?", "can wait", "this week", "today", "immediately"),
			decide.Choice("team", "Which team should handle this?",
				decide.Opt("billing", "charges, refunds, invoices"),
				decide.Opt("technical", "errors and outages")),
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Score("urgency").Value, res.Choice("team").Value, res.Choice("team").Probability)

	// A later question about the same message computes its own few tokens.
	res, err = eng.Decide(ctx, decide.Request{
		State:     state,
		Questions: []decide.Question{decide.Boolean("human", "Does the user ask for a human?")},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Boolean("human").Probability)
	fmt.Println(res.Usage.CachedTokens, "of", res.Usage.StateTokens, "state tokens were there already")
}
