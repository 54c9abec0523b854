package decide_test

import (
	"context"
	"fmt"
	"log"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine/enginetest"
)

// Questions of the three kinds about one state. A fake answers here; an engine reads them off a
// model in one step.
func Example() {
	var d decide.Decider = enginetest.Script().
		OnDecide("shell", enginetest.No(0.97)).
		OnDecide("tool", enginetest.Choose("edit", 0.9)).
		OnDecide("risk", enginetest.Level("reversible", 0.8))

	res, err := d.Decide(context.Background(), decide.Request{
		State: decide.Text("Please rename the package and fix the imports."),
		Questions: []decide.Question{
			decide.Boolean("shell", "Does the request need a shell command?"),
			decide.Choice("tool", "Which tool should handle it?",
				decide.Opt("search", "look things up on the web"),
				decide.Opt("edit", "change files in the workspace"),
				decide.Opt("none", "answer directly")),
			decide.Score("risk", "How risky is it to act without asking?", "harmless", "reversible", "destructive"),
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	if res.Boolean("shell").Probability > 0.8 {
		fmt.Println("a shell")
	}
	tool := res.Choice("tool")
	fmt.Printf("%s %.2f %.2f\n", tool.Value, tool.Probabilities, tool.Confidence)
	fmt.Printf("risk %.1f of 2\n", res.Score("risk").Score)
	fmt.Println(res.Choice("mood").Why) // was never asked
	// Output:
	// edit [0.05 0.90 0.05] 0.85
	// risk 1.0 of 2
	// no such question
}

// A threshold turns an unsure answer into an abstention that the caller can see.
func ExampleRequest_minConfidence() {
	d := enginetest.Script().OnDecide("spam", enginetest.Yes(0.6))
	res, err := d.Decide(context.Background(), decide.Request{
		State:         decide.JSON(map[string]string{"subject": "You have won"}),
		Questions:     []decide.Question{decide.Boolean("spam", "Is this spam?")},
		MinConfidence: 0.5,
	})
	if err != nil {
		log.Fatal(err)
	}
	a := res.Boolean("spam")
	fmt.Println(a.Value, a.Abstained)
	// Output: yes true
}

// Options stand for values of the caller's own: here bools, and a text that the model does not see.
func ExampleOpt() {
	d := enginetest.Script().OnDecide("access", enginetest.Choose("true", 0.9)).OnDecide("next", enginetest.Choose("ask a person", 0.8))
	access := decide.Choice("access", "Should access be granted?",
		decide.Opt(true, "the user owns the file"),
		decide.Opt(false, "anybody else"))
	access.Criteria = "Owners of a folder own its files."
	next := decide.Choice("next", "What now?",
		decide.Option{Name: "go on", Value: decide.ValueOf("step_2")},
		decide.Option{Name: "ask a person", Value: decide.ValueOf("queue_7")})

	res, err := d.Decide(context.Background(), decide.Request{State: decide.Text("..."), Questions: []decide.Question{access, next}})
	if err != nil {
		log.Fatal(err)
	}
	if granted, ok := res.Choice("access").Chosen.Bool(); ok && granted {
		fmt.Println("granted")
	}
	fmt.Println(res.Choice("next").Value)
	// Output:
	// granted
	// queue_7
}
