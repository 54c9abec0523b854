package serve_test

import (
	"math"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/decide/wire"
	"github.com/hotpath-go/hotpath/engine/serve"
)

// TestRoutesTellWhatIsAsked: bools, criteria, what yes and no mean and the request's own instructions
// reach the model over HTTP as they do in process, and bools come back as bools.
func TestRoutesTellWhatIsAsked(t *testing.T) {
	t.Parallel()
	e := open(t)
	h := handler(t, e, serve.WithDialects(wire.Own(wire.SystemOneShape), wire.Own(wire.OpenAIShape), wire.Own(wire.SGLangShape)))
	grant := decide.Choice("grant", "Grant it?", decide.Opt("true", ""), decide.Opt(true, "she owns it"), decide.Opt(false, ""))
	late := decide.Boolean("late", "Is it late?").Means("after noon", "")
	late.Criteria = "By the clock."
	ask := func(instructions string, q decide.Question) decide.Answer {
		t.Helper()
		res, err := e.Decide(t.Context(), decide.Request{State: decide.Text("The cup is cracked."), Instructions: instructions, Questions: []decide.Question{q}})
		if err != nil {
			t.Fatal(err)
		}
		return res.Answers[0]
	}
	close := func(what string, got any, want float64) {
		t.Helper()
		if g, ok := got.(float64); !ok || math.Abs(g-want) > 1e-9 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}

	w := post(t, h, "/v1/decisions", `{"model":"tiny-chat","input":"The cup is cracked.","instructions":"Be strict.","questions":[
		{"type":"choice","name":"grant","instructions":"Grant it?","choices":[{"value":"true"},{"value":true,"description":"she owns it"},{"value":false}]}]}`)
	if w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	v, want := object(t, w), ask("Be strict.", grant)
	for i, value := range []any{"true", true, false} {
		close("grant", at(v, "answers", 0, "probabilities", i, "probability"), want.Probabilities[i])
		if got := at(v, "answers", 0, "probabilities", i, "value"); got != value {
			t.Errorf("value %d is %v (%T), want %v", i, got, got, value)
		}
	}
	if got, text := at(v, "answers", 0, "choice"), want.Chosen.String(); got != text && got != (text == "true") {
		t.Errorf("choice %v, want %v", got, want.Chosen)
	}

	yes := ask("Be strict.", late)
	for path, body := range map[string]string{
		"/v1/systemone": `{"state":"The cup is cracked.","instructions":"Be strict.","questions":{"late":{"type":"noul","instructions":"Is it late?\nCriteria: By the clock.","criteria":{"true":"after noon"}}}}`,
		"/v1/decisions": `{"input":"The cup is cracked.","instructions":"Be strict.","questions":[{"id":"late","type":"yes_no","question":"Is it late?\nCriteria: By the clock.","yes":"after noon"}]}`,
	} {
		w := post(t, h, path, body)
		if w.Code != 200 {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		v := object(t, w)
		got := at(v, "answers", "late", "noul")
		if path == "/v1/decisions" {
			got = at(v, "answers", "late", "probabilities", "yes")
		}
		close(path, got, yes.Probability)
	}
	// Each of them makes a difference, or nothing was compared.
	late.Criteria = ""
	for what, a := range map[string]decide.Answer{"the instructions": ask("", late), "the criteria": ask("Be strict.", late)} {
		if a.Probability == yes.Probability {
			t.Errorf("%s change nothing", what)
		}
	}
	// A shape that has no such field says so.
	w = post(t, handler(t, e), "/v1/decisions", `{"model":"tiny-chat","input":"x","instructions":"Be strict.","questions":[{"type":"predicate","instructions":"?"}]}`)
	if w.Code != 400 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
