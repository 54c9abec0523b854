package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/constrain"
	"github.com/hotpath-go/hotpath/engine/sample"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestForcedOpeningStops ends a reply inside the text that its constraint forces at the start.
func TestForcedOpeningStops(t *testing.T) {
	t.Parallel()
	e := openFor(t, chatty{hermes})
	answer := constrain.Regexp("The answer to all of your questions is (yes|no)")
	for name, r := range map[string]engine.GenerateRequest{
		"stop text": {Prompt: chat.Text(once), Constraint: &answer, Stop: []string{"questions"}},
		"tool":      {Prompt: weather(), ToolChoice: "weather", StopIDs: e.EncodeText("name", false)},
		"stop id":   {Prompt: chat.Text(once), Constraint: &answer, StopIDs: e.EncodeText(" answer", false)},
	} {
		g := generate(t, e, r)
		if g.Finish != engine.FinishStop || len(g.IDs) == 0 {
			t.Errorf("%s: %q, %s", name, g.Text, g.Finish)
		}
		for _, err := range e.Stream(t.Context(), r) {
			if err != nil {
				t.Errorf("%s, streamed: %v", name, err)
			}
		}
	}
}

// TestWatchKeepsToItsNamespace: what one caller's watched reply computed is no hit for another.
func TestWatchKeepsToItsNamespace(t *testing.T) {
	t.Parallel()
	e := openFor(t, model.Stories())
	r := engine.GenerateRequest{
		Prompt: chat.Text(once + " " + once), MaxTokens: 20, Namespace: "alice",
		OnDecision: engine.Every(5, leaves, func(res *decide.Result) engine.Action {
			if res.Usage.CachedTokens < res.Usage.StateTokens-16 {
				t.Errorf("%d of %d state tokens cached", res.Usage.CachedTokens, res.Usage.StateTokens)
			}
			return engine.Continue()
		}),
	}
	generate(t, e, r)
	r.Namespace, r.OnDecision = "", nil
	if g := generate(t, e, r); g.Usage.CachedTokens != 0 {
		t.Errorf("%d tokens of another namespace were a hit", g.Usage.CachedTokens)
	}
}

// TestWatchNearTheEnd goes on without decisions where the context has no room for their questions.
func TestWatchNearTheEnd(t *testing.T) {
	t.Parallel()
	e := openFor(t, model.Stories(), engine.WithContextLength(160))
	r := engine.GenerateRequest{Prompt: chat.Text(once), IgnoreEOS: true}
	plain := generate(t, e, r)
	r.OnDecision = engine.Every(7, leaves, func(*decide.Result) engine.Action { return engine.Continue() })
	got := generate(t, e, r)
	if got.Text != plain.Text || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "OnDecision") {
		t.Errorf("%q, warnings %q; unwatched %q", got.Text, got.Warnings, plain.Text)
	}
}

// TestShutdownDrainsWatchedReplies lets a reply and its own decisions finish.
func TestShutdownDrainsWatchedReplies(t *testing.T) {
	t.Parallel()
	e, err := engine.Open(t.Context(), model.Stories())
	if err != nil {
		t.Fatal(err)
	}
	down := make(chan error, 1)
	n := 0
	g, err := e.Generate(t.Context(), engine.GenerateRequest{
		Prompt: chat.Text(once), MaxTokens: 60, IgnoreEOS: true,
		OnDecision: engine.Every(10, leaves, func(*decide.Result) engine.Action {
			if n++; n == 1 {
				go func() { down <- e.Shutdown(context.Background()) }()
				time.Sleep(20 * time.Millisecond) // for Shutdown to begin, in most runs
			}
			return engine.Continue()
		}),
	})
	if err != nil || len(g.IDs) != 60 || n != 5 {
		t.Errorf("%d tokens, %d decisions, %v", len(g.IDs), n, err)
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
}

// TestPanicInAWatchFreesTheReply: the caller's own panic is the caller's, the reply's blocks go back.
func TestPanicInAWatchFreesTheReply(t *testing.T) {
	t.Parallel()
	e := openFor(t, model.Stories())
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic did not reach the caller")
			}
		}()
		_, _ = e.Generate(t.Context(), engine.GenerateRequest{
			Prompt: chat.Text(once), MaxTokens: 60, IgnoreEOS: true,
			OnDecision: engine.Every(10, leaves, func(*decide.Result) engine.Action { panic("mine") }),
		})
	}()
	if s := e.Stats(); s.Cache.Referenced != 0 || s.Running != 0 {
		t.Errorf("%d blocks referenced, %d running", s.Cache.Referenced, s.Running)
	}
}

// TestArgumentsAreObjects writes an object whatever the parameters leave open, and refuses names that
// could not be read back.
func TestArgumentsAreObjects(t *testing.T) {
	t.Parallel()
	e := openFor(t, chatty{hermes})
	for _, parameters := range []string{`{}`, ``, `{"properties":{"n":{"type":"integer","minimum":1,"maximum":9}},"required":["n"],"additionalProperties":false}`} {
		p := chat.Messages(chat.User("Go.")).WithTools(chat.Tool{Name: "størrelse", Parameters: json.RawMessage(parameters)})
		g := generate(t, e, engine.GenerateRequest{Prompt: p, ToolChoice: "størrelse", MaxTokens: 400})
		if g.Finish == engine.FinishLength {
			continue // an open object may go on for long
		}
		var args map[string]any
		if len(g.ToolCalls) != 1 || g.ToolCalls[0].Name != "størrelse" || json.Unmarshal(g.ToolCalls[0].Arguments, &args) != nil {
			t.Errorf("%s: calls %+v, text %q", parameters, g.ToolCalls, g.Text)
		}
	}
	for _, name := range []string{`a"b`, `a\b`, "x</s>y", "a\nb", ""} {
		p := chat.Messages(chat.User("Go.")).WithTools(chat.Tool{Name: name})
		choice := name
		if choice == "" {
			choice = engine.ToolRequired
		}
		if _, err := e.Generate(t.Context(), engine.GenerateRequest{Prompt: p, ToolChoice: choice}); err == nil || !strings.Contains(err.Error(), "Name") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// boundedSchema is a random schema whose texts end within a few hundred bytes.
func boundedSchema(r *rand.Rand, depth int) map[string]any {
	kinds := 8
	if depth == 0 {
		kinds = 5
	}
	low := r.IntN(4)
	switch r.IntN(kinds) {
	case 0:
		return map[string]any{"type": "integer", "minimum": -low, "maximum": low + r.IntN(200)}
	case 1:
		return map[string]any{"type": "string", "minLength": low, "maxLength": low + r.IntN(6)}
	case 2:
		return map[string]any{"type": []any{"boolean", "null"}[:1+r.IntN(2)]}
	case 3:
		return map[string]any{"enum": []any{1, "two", nil, []any{3, "four"}, map[string]any{"five": 5.5}, "\"\\\n"}[r.IntN(3) : 4+r.IntN(3)]}
	case 4:
		return map[string]any{"type": "string", "pattern": []string{"^[a-z]{1,6}$", "^(ab|c)?d{2,3}$", "^é[^x]{0,2}$"}[r.IntN(3)]}
	case 5:
		return map[string]any{"type": "array", "items": boundedSchema(r, depth-1), "minItems": low / 2, "maxItems": low/2 + r.IntN(3)}
	case 6:
		return map[string]any{"anyOf": []any{boundedSchema(r, depth-1), boundedSchema(r, depth-1)}}
	}
	props, required := map[string]any{}, []any{}
	for _, name := range []string{"a", "bc", "d e", "\"f", "ğ"}[:1+r.IntN(4)] {
		props[name] = boundedSchema(r, depth-1)
		if r.IntN(2) == 0 {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": props, "required": required, "additionalProperties": false}
}

// TestThousandSchemas generates under random schemas: every text parses and validates.
func TestThousandSchemas(t *testing.T) {
	t.Parallel()
	e := openFor(t, model.Stories())
	n := 1000
	if testing.Short() {
		n = 100
	}
	for i := range n {
		doc := boundedSchema(rand.New(rand.NewPCG(uint64(i), 4)), 3)
		schema, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		spec := constrain.JSONSchema(schema, constrain.WhitespaceNone)
		g := generate(t, e, engine.GenerateRequest{
			Prompt: chat.Text(once), Constraint: &spec, MaxTokens: 480, Seed: uint64(i),
			Sampling: sample.Settings{Temperature: new(1.0)},
		})
		parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("s.json", parsed); err != nil {
			t.Fatal(err)
		}
		valid, err := c.Compile("s.json")
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(g.Text))
		if err == nil {
			err = valid.Validate(value)
		}
		if err != nil {
			t.Errorf("%s: %q: %v", schema, g.Text, err)
		}
	}
}
