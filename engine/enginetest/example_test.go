package enginetest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/enginetest"
	"github.com/hotpath-go/hotpath/model/chat"
)

// Agent is code under test: it depends on the two interfaces, not on an engine.
type Agent struct {
	decider   decide.Decider
	generator engine.Generator
}

func (a *Agent) Run(ctx context.Context, request string) (string, error) {
	res, err := a.decider.Decide(ctx, decide.Request{
		State: decide.Text(request),
		Questions: []decide.Question{decide.Choice("tool", "Which tool should handle it?",
			decide.Opt("search", "look things up on the web"),
			decide.Opt("none", "answer directly"))},
	})
	if err != nil {
		return "", err
	}
	prompt := request
	if tool := res.Choice("tool"); tool.Value == "search" && tool.Probability > 0.8 {
		prompt += "\n[results of the search]"
	}
	out, err := a.generator.Generate(ctx, engine.GenerateRequest{Prompt: chat.Text(prompt)})
	if err != nil {
		return "", err
	}
	return out.Text, nil
}

func TestAgentWithScript(t *testing.T) {
	fake := enginetest.Script().
		OnDecide("tool", enginetest.Choose("search", 0.93)).
		OnGenerate("Here is what I found.")
	a := &Agent{fake, fake}
	text, err := a.Run(t.Context(), "Find the opening hours.")
	if err != nil || text != "Here is what I found." {
		t.Errorf("%q, %v", text, err)
	}
	if got := fake.Generations()[0].Prompt.RawText(); got != "Find the opening hours.\n[results of the search]" {
		t.Errorf("the agent asked %q", got)
	}
	fake.AssertDone(t) // every scripted answer was asked for, in order
}

// Desk is more code under test: it puts messages into queues.
type Desk struct{ decider decide.Decider }

func (d *Desk) Queue(ctx context.Context, message string) (string, error) {
	res, err := d.decider.Decide(ctx, decide.Request{
		State: decide.Text(message),
		Questions: []decide.Question{decide.Choice("queue", "Which team should handle this?",
			decide.Opt("billing", "payments, refunds, invoices"),
			decide.Opt("shipping", "delivery and tracking of parcels"),
			decide.Opt("technical", "errors and crashes of the app"))},
	})
	if err != nil {
		return "", err
	}
	return res.Choice("queue").Value, nil
}

func TestDeskRoutes(t *testing.T) {
	eng := enginetest.Embedded(t) // the small trained model in the module: no download, same bits on every run
	desk := &Desk{eng}            // takes decide.Decider
	for message, want := range map[string]string{
		"I want a refund, you charged my card twice.": "billing",
		"The tracking says that my parcel is lost.":   "shipping",
		"The app crashes with an error at the start.": "technical",
	} {
		if got, err := desk.Queue(t.Context(), message); err != nil || got != want {
			t.Errorf("%q goes to %q, want %q; %v", message, got, want, err)
		}
	}
}

func ExampleScript() {
	fake := enginetest.Script().
		OnDecide("tool", enginetest.Choose("search", 0.93)).
		OnGenerate("Here is what I found.")
	a := &Agent{fake, fake}
	text, err := a.Run(context.Background(), "Find the opening hours.")
	fmt.Println(text, err)

	_, err = a.Run(context.Background(), "And now?")
	fmt.Println(err)
	// Output:
	// Here is what I found. <nil>
	// enginetest: not in the script: asked for a decision on "tool", the script has no more than its 2 answers
}
