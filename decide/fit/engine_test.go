package fit_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/decide/fit"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/model"
)

// TestOnAnEngine fits a calibrator on an engine, saves it, opens the model with it, and finds the
// answers divided by the temperature; another binding is refused.
func TestOnAnEngine(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	eng, err := engine.Open(ctx, model.Stories())
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	q := decide.Choice("q", "Who is it about?", decide.Names("a girl", "a boy", "a dog")...)
	var examples []fit.Example
	for i, who := range []string{"a girl named Lily", "a boy named Tim", "a dog named Max"} {
		for _, what := range []string{"ran", "sat", "ate", "slept", "sang", "cried", "won", "hid", "fell", "jumped"} {
			examples = append(examples, fit.Example{State: decide.Text("There was " + who + " who " + what + "."), Question: q, Label: i})
		}
	}
	cal, _, err := fit.Temperature(ctx, eng, examples, fit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := cal.Save(&file); err != nil {
		t.Fatal(err)
	}
	if cal, err = decide.LoadCalibrator(&file); err != nil {
		t.Fatal(err)
	}
	with, err := engine.Open(ctx, model.Stories(), engine.WithCalibrator(cal))
	if err != nil {
		t.Fatal(err)
	}
	defer with.Close()
	r := decide.Request{State: examples[0].State, Questions: []decide.Question{q, decide.Boolean("b", "Is it a dog?")}}
	before, err := eng.Decide(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	after, err := with.Decide(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	a, b := before.Choice("q"), after.Choice("q")
	temperature := cal.Temperature(decide.How{Method: decide.Label}, decide.KindChoice, 3)
	if !b.Calibrated || b.Temperature != temperature || temperature == 1 || a.Calibrated {
		t.Errorf("temperature %v: %+v", temperature, b)
	}
	logits := make([]float64, 3)
	for i, p := range a.Probabilities {
		logits[i] = math.Log(p) / temperature
	}
	for i, p := range softmax(logits) {
		if math.Abs(p-b.Probabilities[i]) > 1e-12 {
			t.Errorf("%v, want %v", b.Probabilities, softmax(logits))
		}
	}
	if x, y := before.Boolean("b"), after.Boolean("b"); y.Calibrated || x.Probability != y.Probability {
		t.Errorf("a question that nothing was fitted for: %+v, was %+v", y, x)
	}
	if _, _, err := fit.Temperature(ctx, with, examples, fit.Options{}); !errors.Is(err, fit.ErrExamples) {
		t.Errorf("fitted on calibrated answers: %v", err)
	}
	plan, err := eng.Compile(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := with.Decide(ctx, decide.Request{State: r.State, Plan: plan}); !errors.Is(err, decide.ErrPlan) {
		t.Errorf("a plan without the calibrator: %v", err)
	}
	for _, change := range []func(b *decide.Binding){
		func(b *decide.Binding) { b.Model[3]++ },
		func(b *decide.Binding) { b.Template[3]++ },
		func(b *decide.Binding) { b.Scheme[3]++ },
	} {
		other := *cal
		change(&other.Binding)
		if _, err := engine.Open(ctx, model.Stories(), engine.WithCalibrator(&other)); !errors.Is(err, decide.ErrCalibrator) {
			t.Errorf("another binding: %v", err)
		}
	}
}

// TestRows trains a head on the hidden states of an engine, and compares the state it reads with the
// one at the end of the tokens that a decision computes.
func TestRows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	eng, err := engine.Open(ctx, model.Stories())
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	m, err := model.Stories().Load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	c := decide.NewCompiler(m, decide.Options{})
	q := decide.Boolean("q", "Is it about a dog?")
	var examples []fit.Example
	for _, name := range []string{"Max", "Tim", "Lily", "Ben", "Sam", "Sue", "Mia", "Tom", "Ann", "Bob"} {
		for i, who := range []string{"dog", "girl"} {
			examples = append(examples,
				fit.Example{State: decide.Text("The " + who + " named " + name + " played in the park. The " + who + " was happy."), Question: q, Label: i},
				fit.Example{State: decide.Text(name + " is a " + who + ". One day the " + who + " saw a ball."), Question: q, Label: i})
		}
	}
	rows, err := fit.Rows(ctx, eng, c, examples, fit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(examples) || len(rows[0].State) != m.Program.Width {
		t.Fatalf("%d rows of %d", len(rows), len(rows[0].State))
	}
	binding, err := eng.Binding()
	if err != nil {
		t.Fatal(err)
	}
	h, report, err := fit.Head(q, rows, fit.Options{Holdout: 0.25, Seed: 1, Model: "m", Binding: binding})
	if err != nil {
		t.Fatal(err)
	}
	if report.After.Accuracy <= report.Before.Accuracy || h.Binding != binding {
		t.Errorf("%v", report)
	}
	examples[3].Question.Instructions = "Another?"
	if _, err := fit.Rows(ctx, eng, c, examples, fit.Options{}); !errors.Is(err, fit.ErrExamples) {
		t.Errorf("two questions: %v", err)
	}
}
