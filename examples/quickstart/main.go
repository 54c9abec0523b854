// Quickstart opens a model, decides three questions about one state, then generates from the same
// state, and prints what each call found in the cache and what it computed.
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -model qwen3-0.6b-q8_0.gguf
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/model"
)

func main() {
	path := flag.String("model", "", "GGUF file or safetensors folder; empty: the embedded model")
	flag.Parse()
	if err := run(context.Background(), *path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, path string) error {
	src := model.Embedded()
	if path != "" {
		src = model.File(path)
	}
	eng, err := engine.Open(ctx, src)
	if err != nil {
		return err
	}
	defer eng.Close()
	fmt.Println(eng.Info())
	if path == "" {
		fmt.Println("The embedded model has 260 thousand parameters and writes small stories: its answers mean nothing yet.")
	}

	state := decide.Text("Once upon a time, there was a little girl named Lily. She loved to play outside in the park. One day, she saw a big, red ball.")
	fmt.Println("\nThree questions about one state, read without generating anything:")
	res, err := eng.Decide(ctx, decide.Request{
		State: state,
		Questions: []decide.Question{
			decide.Boolean("happy", "Is the story happy?"),
			decide.Choice("next", "What comes next?",
				decide.Opt("play", "she plays with the ball"),
				decide.Opt("home", "she goes home"),
				decide.Opt("sleep", "she falls asleep")),
			decide.Score("risk", "How dangerous is it?", "safe", "a little", "very"),
		},
	})
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "question\tanswer\tprobabilities\tconfidence\tlabel mass")
	for _, a := range res.Answers {
		fmt.Fprintf(table, "%s\t%s\t%.3f\t%.3f\t%.5f\n", a.ID, a.Value, a.Probabilities, a.Confidence, *a.LabelMass)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Println(res.Usage)

	fmt.Println("\nThen the text goes on from the same blocks:")
	for ev, err := range eng.Stream(ctx, engine.GenerateRequest{Prompt: state.Prompt(), MaxTokens: 48}) {
		if err != nil {
			return err
		}
		fmt.Print(ev.Text)
		if ev.Done != nil {
			fmt.Printf("\n%v\n", ev.Done.Usage)
		}
	}
	return nil
}
