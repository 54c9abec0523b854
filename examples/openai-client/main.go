// Openai-client talks to a hotpath server (go run ./examples/serve) with OpenAI's Go library:
// models, decisions, and a reply as a stream. It is a module of its own, so that nobody who imports
// the engine inherits the library.
//
//	go run . -url http://127.0.0.1:8080/v1 -state "Third time I ask. Cancel it."
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

func main() {
	url := flag.String("url", "http://127.0.0.1:8080/v1", "address of the server")
	key := flag.String("key", os.Getenv("HOTPATH_KEY"), "API key; HOTPATH_KEY")
	state := flag.String("state", "Third time I ask. Cancel it and give me my money back.", "what is asked about")
	flag.Parse()
	client := openai.NewClient(option.WithBaseURL(*url), option.WithAPIKey(*key))
	if err := run(context.Background(), &client, *state, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "openai-client:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, client *openai.Client, state string, out io.Writer) error {
	models, err := client.Models.List(ctx)
	if err != nil {
		return err
	}
	model := models.Data[0].ID
	fmt.Fprintf(out, "model %s\n", model)

	decision, err := client.Decisions.New(ctx, openai.DecisionNewParams{
		Model: model,
		Input: openai.DecisionNewParamsInputUnion{OfString: openai.String(state)},
		Questions: []openai.DecisionNewParamsQuestionUnion{
			{OfPredicate: &openai.DecisionNewParamsQuestionPredicate{
				Name:         openai.String("cancel"),
				Instructions: openai.DecisionNewParamsQuestionPredicateInstructionsUnion{OfString: openai.String("The customer wants to cancel.")},
			}},
			{OfChoice: &openai.DecisionNewParamsQuestionChoice{
				Name:         openai.String("team"),
				Instructions: openai.DecisionNewParamsQuestionChoiceInstructionsUnion{OfString: openai.String("Which team should answer?")},
				Choices:      []openai.DecisionNewParamsQuestionChoiceChoice{choice("orders", "status"), choice("refunds", "money back")},
			}},
		},
	})
	if err != nil {
		return err
	}
	for _, a := range decision.Answers {
		switch a := a.AsAny().(type) {
		case openai.DecisionAnswerPredicate:
			fmt.Fprintf(out, "%s: %.3f\n", a.Name, a.Probability)
		case openai.DecisionAnswerChoice:
			fmt.Fprintf(out, "%s: %s, confidence %.3f\n", a.Name, a.Choice.OfString, a.Confidence)
		}
	}

	stream := client.Completions.NewStreaming(ctx, openai.CompletionNewParams{
		Model:     openai.CompletionNewParamsModel(model),
		Prompt:    openai.CompletionNewParamsPromptUnion{OfString: openai.String("Once upon a time")},
		MaxTokens: openai.Int(60),
	})
	defer stream.Close()
	for stream.Next() {
		for _, c := range stream.Current().Choices {
			fmt.Fprint(out, c.Text)
		}
	}
	fmt.Fprintln(out)
	return stream.Err()
}

func choice(value, description string) openai.DecisionNewParamsQuestionChoiceChoice {
	return openai.DecisionNewParamsQuestionChoiceChoice{
		Value:       openai.DecisionNewParamsQuestionChoiceChoiceValueUnion{OfString: openai.String(value)},
		Description: openai.String(description),
	}
}
