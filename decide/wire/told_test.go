package wire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/decide/wire"
)

func everybody() []wire.Dialect {
	var list []wire.Dialect
	for s := range wire.SGLangShape + 1 {
		list = append(list, wire.Dialects(s)...)
	}
	return list
}

// TestCriteria: whoever is asked over a wire is told the same text as in process.
func TestCriteria(t *testing.T) {
	t.Parallel()
	with := func(q decide.Question) decide.Question {
		q.Criteria = "Only what is \"written\" counts."
		return q
	}
	r := decide.Request{State: decide.Text("s"), Questions: []decide.Question{
		with(decide.Boolean("b", "Is it late?")), with(decide.Choice("c", "Which?", decide.Opt("x", "an x"), decide.Opt("y", ""))),
		with(decide.Score("s", "How much?", "low", "high")),
	}}
	for _, d := range everybody() {
		body, err := d.EncodeRequest(wire.NewCall("m", r))
		if err != nil {
			t.Errorf("%s: %v", d.Name, err)
			continue
		}
		back, err := d.DecodeRequest(body)
		if err != nil {
			t.Errorf("%s: %v", d.Name, err)
			continue
		}
		for i := range r.Questions {
			if got, want := back.Request.Questions[i].Text(), r.Questions[i].Text(); got != want {
				t.Errorf("%s: %q is told, want %q", d.Name, got, want)
			}
		}
	}
}

// TestMeans carries what yes and what no mean, where a shape has words for it.
func TestMeans(t *testing.T) {
	t.Parallel()
	r := decide.Request{State: decide.Text("s"), Questions: []decide.Question{decide.Boolean("b", "Is it late?").Means("after noon", "")}}
	for _, d := range everybody() {
		body, err := d.EncodeRequest(wire.NewCall("m", r))
		if d.Shape == wire.OpenAIShape {
			if !errors.Is(err, wire.ErrShape) {
				t.Errorf("%s: %v, want ErrShape", d.Name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", d.Name, err)
			continue
		}
		back, err := d.DecodeRequest(body)
		if err != nil {
			t.Errorf("%s: %v", d.Name, err)
			continue
		}
		if got := fmt.Sprint(back.Request.Questions[0].Options); got != fmt.Sprint(r.Questions[0].Options) {
			t.Errorf("%s: %v", d.Name, got)
		}
	}
}

// TestInstructionsOfTheRequest: they are carried, or the request is refused by name; never dropped.
func TestInstructionsOfTheRequest(t *testing.T) {
	t.Parallel()
	r := decide.Request{
		State: decide.Text("s"), Instructions: "You triage mail.", Namespace: "tenant", Priority: 7,
		Questions: []decide.Question{decide.Boolean("b", "Is it late?")},
	}
	carried := 0
	for _, d := range everybody() {
		call := wire.NewCall("m", r)
		call.ID = "id"
		body, err := d.EncodeRequest(call)
		if err != nil {
			if !errors.Is(err, wire.ErrShape) || !strings.Contains(err.Error(), "Instructions") {
				t.Errorf("%s: %v", d.Name, err)
			}
			continue
		}
		back, err := d.DecodeRequest(body)
		if err != nil {
			t.Errorf("%s: %v", d.Name, err)
			continue
		}
		if got := back.Request; got.Instructions != r.Instructions || got.Namespace != r.Namespace || got.Priority != r.Priority || back.ID != "id" {
			t.Errorf("%s: %s came back as %+v", d.Name, body, got)
		}
		carried++
	}
	if carried != 4 { // vLLM's System One, and the three of our own
		t.Errorf("%d dialects carry them, want 4", carried)
	}
}

// TestValuesOverTheWire: a caller gets the values of its options back from every speaker, whatever the
// shape writes for them.
func TestValuesOverTheWire(t *testing.T) {
	t.Parallel()
	options := []decide.Option{
		decide.Opt(true, "it is"), decide.Opt(false, ""), decide.Opt("ask", ""), {Name: "go on", Value: decide.ValueOf("step_2")},
	}
	r := decide.Request{State: decide.Text("s"), Questions: []decide.Question{decide.Choice("c", "Which?", options...)}}
	look := decide.Request{State: decide.Text("s"), Questions: []decide.Question{decide.Choice("c", "Which?", decide.Opt("true", ""), decide.Opt(true, ""))}}
	for _, d := range everybody() {
		call := wire.NewCall("m", r)
		body, err := d.EncodeRequest(call)
		if err != nil {
			t.Errorf("%s: %v", d.Name, err)
			continue
		}
		if strings.Contains(string(body), "step_2") {
			t.Errorf("%s: %s tells what an option stands for", d.Name, body)
		}
		served, err := d.DecodeRequest(body)
		if err != nil {
			t.Errorf("%s: %v", d.Name, err)
			continue
		}
		for i := range options {
			p := []float64{.1, .1, .1, .1}
			p[i] = .7
			reply, err := d.EncodeResponse(served, result(t, served, "m", []given{{p: p}}), wire.Meta{ID: "x"})
			if err != nil {
				t.Fatal(err)
			}
			if raw := string(reply); d.Shape == wire.OpenAIShape && i < 2 && !strings.Contains(raw, `"choice":`+options[i].Name) {
				t.Errorf("%s: %s does not choose the bool %s", d.Name, raw, options[i].Name)
			}
			res, err := d.DecodeResponse(call, reply)
			if err != nil {
				t.Errorf("%s: %v", d.Name, err)
				continue
			}
			if a := res.Choice("c"); a.Index != i || a.Chosen != r.Questions[0].ValueAt(i) || a.Value != a.Chosen.String() {
				t.Errorf("%s: option %d came back as %+v", d.Name, i, a)
			}
		}
		// Shapes whose options are strings cannot tell the two apart.
		_, err = d.EncodeRequest(wire.NewCall("m", look))
		if d.Shape == wire.OpenAIShape && err != nil || d.Shape != wire.OpenAIShape && !errors.Is(err, wire.ErrShape) {
			t.Errorf("%s: look-alikes: %v", d.Name, err)
		}
	}
}

// TestNamesWithControls: a name that had to be written otherwise for the model stands for itself.
func TestNamesWithControls(t *testing.T) {
	t.Parallel()
	d := wire.TypeSafe()
	c, err := d.DecodeRequest([]byte(systemOne(`"q":{"type":"choice","instructions":"i","criteria":{"a\nb":null," a":null,"a":null}}`)))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"a\nb", " a", "a"} {
		if got := c.Request.Questions[0].ValueAt(i); got != decide.ValueOf(want) {
			t.Errorf("option %d stands for %q, want %q", i, got, want)
		}
		var name string
		if err := json.Unmarshal([]byte(c.Request.Questions[0].Options[i].Name), &name); err != nil || name != want {
			t.Errorf("option %d is shown as %s", i, c.Request.Questions[0].Options[i].Name)
		}
	}
}
