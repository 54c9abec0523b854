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

	state := decide.Text("Customer: my card was charged twice, please fix it today.\n")
	res, err := eng.Decide(ctx, decide.Request{
		State: state,
		Questions: []decide.Question{
			decide.Boolean("urgent", "Does the customer need a reply within the day?"),
			decide.Choice("team", "Which team should handle this?",
				decide.Opt("billing", "charges, refunds, invoices"),
				decide.Opt("technical", "errors and outages")),
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Boolean("urgent").Probability, res.Choice("team").Value)

	gen, err := eng.Generate(ctx, engine.GenerateRequest{Prompt: state.Prompt(), MaxTokens: 20})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(gen.Text)
	fmt.Println(gen.Usage.CachedTokens, "of", gen.Usage.PromptTokens, "prompt tokens were there already")
}
