package decide_test

import (
	"context"
	"fmt"
	"log"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine/enginetest"
)

// Structs in, structs out. Here a script answers; an engine would.
func ExampleInto() {
	type Triage struct {
		Urgent bool               `decide:"Does the customer need a reply within the hour?"`
		Team   string             `decide:"Which team should handle this?" options:"billing,technical,sales"`
		Mood   decide.Level       `decide:"How upset is the customer?" levels:"calm,annoyed,furious"`
		Fraud  decide.Maybe[bool] `decide:"Is this an attempt at fraud?" min:"0.9"` // nothing below 0.9
	}
	ticket := map[string]any{"subject": "charged twice", "body": "Please fix it today."}

	d := enginetest.Script().
		OnDecide("Urgent", enginetest.Yes(0.97)).
		OnDecide("Team", enginetest.Choose("billing", 0.9)).
		OnDecide("Mood", enginetest.Spread(0.1, 0.8, 0.1)).
		OnDecide("Fraud", enginetest.No(0.7))
	t, res, err := decide.Into[Triage](context.Background(), d, decide.Request{State: decide.JSON(ticket)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(t.Urgent, t.Team, t.Mood.Name)
	if _, known := t.Fraud.Get(); !known {
		fmt.Println("fraud:", res.Boolean("Fraud").Why)
	}
	// Output:
	// true billing annoyed
	// fraud: confidence 0.400, threshold 0.900
}
