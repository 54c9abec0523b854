// Quickstart decides three questions about a customer's message, asks another one about the same
// message to show that its tokens are not computed again, and then lets a model write.
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -model qwen3-0.6b-q8_0.gguf
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
)

func main() {
	path := flag.String("model", "", "GGUF file or safetensors folder; empty: the embedded models")
	flag.Parse()
	if err := run(context.Background(), *path, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const message = "This is the third time I write: you charged me twice! I need my money back today, and I want to talk to a person."

func run(ctx context.Context, path string, out io.Writer) error {
	src := model.Embedded()
	if path != "" {
		src = model.File(path)
	}
	eng, err := engine.Open(ctx, src)
	if err != nil {
		return err
	}
	defer eng.Close()
	fmt.Fprintf(out, "%v\n\n%s\n", eng.Info(), message)

	state := decide.Text(message)
	fmt.Fprintln(out, "\nThree questions about this message, answered without generating anything:")
	if err := ask(ctx, eng, out, state,
		decide.Boolean("human", "Does the user want to talk to a person?"),
		decide.Choice("team", "Which team should handle this?",
			decide.Opt("billing", "charges, refunds, invoices"),
			decide.Opt("shipping", "delivery, tracking, lost parcels"),
			decide.Opt("technical", "errors, bugs and outages"),
			decide.Opt("sales", "prices and offers before buying")),
		decide.Score("urgency", "How urgent is the message?", "can wait", "this week", "today", "immediately"),
	); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nOne more about the same message, whose tokens are there already:")
	if err := ask(ctx, eng, out, state,
		decide.Score("mood", "How frustrated is the user?", "not at all", "a little", "quite", "very much"),
	); err != nil {
		return err
	}

	prompt := state.Prompt()
	switch {
	case path == "":
		// The embedded model decides and does not write. Another one that the module carries does.
		stories, err := engine.Open(ctx, model.Stories())
		if err != nil {
			return err
		}
		defer stories.Close()
		eng, prompt = stories, chat.Text("Once upon a time, there was a little girl named Lily.")
		fmt.Fprintln(out, "\nThe embedded model decides and does not write. stories260K, a second model in this module, writes small stories:")
	case eng.Info().Template:
		prompt = chat.Messages(state.Messages()...)
	}
	if path != "" {
		fmt.Fprintln(out, "\nThen the text goes on from the same blocks:")
	}
	for ev, err := range eng.Stream(ctx, engine.GenerateRequest{Prompt: prompt, MaxTokens: 48}) {
		if err != nil {
			return err
		}
		fmt.Fprint(out, ev.Text)
		if ev.Done != nil {
			fmt.Fprintf(out, "\n%v\n", ev.Done.Usage)
		}
	}
	return nil
}

// ask prints the answers to questions and what they cost.
func ask(ctx context.Context, d decide.Decider, out io.Writer, state decide.State, questions ...decide.Question) error {
	res, err := d.Decide(ctx, decide.Request{State: state, Questions: questions})
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "question\tanswer\tprobabilities")
	for i, a := range res.Answers {
		options := questions[i].Options
		if options == nil {
			options = decide.Names("yes", "no")
		}
		fmt.Fprintf(table, "%s\t%s\t", a.ID, a.Value)
		for j, o := range options {
			fmt.Fprintf(table, "%s %.2f  ", o.Name, a.Probabilities[j])
		}
		fmt.Fprintln(table)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out, res.Usage)
	return nil
}
