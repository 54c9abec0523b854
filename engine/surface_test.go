package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/engine/constrain"
	"github.com/hotpath-go/hotpath/engine/sample"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/tokenizer"
)

// hermes is a template in the form of many models: roles between markers, tools first, calls as JSON.
const hermes = `{%- if tools %}[tools]{% for t in tools %} {{ t.function.name }}{% endfor %}
{% endif %}
{%- for m in messages %}[{{ m.role }}] {{ m.content }}
{% if m.tool_calls %}{% for c in m.tool_calls %}<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}[assistant] {% endif %}`

// chatty is stories260K with a chat template.
type chatty struct{ template string }

func (c chatty) String() string { return "chatty" }

func (c chatty) Load(ctx context.Context) (*model.Model, error) {
	m, err := model.Stories().Load(ctx)
	if err != nil {
		return nil, err
	}
	return model.New("chatty", m.Program, m.Tokenizer, c.template)
}

func openFor(t testing.TB, src model.Source, opts ...engine.Option) *engine.Engine {
	t.Helper()
	e, err := engine.Open(context.Background(), src, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

const once = "Once upon a time, there was a little girl named Lily."

// samplings are ways to choose that a feature must not depend on.
func samplings() map[string]engine.GenerateRequest {
	base := engine.GenerateRequest{Prompt: chat.Text(once), MaxTokens: 80}
	warm := base
	warm.Sampling, warm.Seed = sample.Settings{Temperature: new(1.3), TopP: new(0.95)}, 42
	return map[string]engine.GenerateRequest{"greedy": base, "seeded": warm}
}

// TestLookupChangesNothing drafts from the history and gets the text of plain decoding, in fewer steps
// where the text repeats itself.
func TestLookupChangesNothing(t *testing.T) {
	t.Parallel()
	fake := &backendtest.Fake{}
	for name, e := range map[string]*engine.Engine{
		"cpu":   openFor(t, model.Stories()),
		"fake":  openFor(t, model.Stories(), engine.WithBackend(fake)),
		"tight": openFor(t, model.Stories(), engine.WithStepRows(3)),
	} {
		for kind, r := range samplings() {
			plain := generate(t, e, r)
			for _, n := range []int{1, 2, 7, 64} {
				r.Lookup = n
				got := generate(t, e, r)
				if got.Text != plain.Text || !slices.Equal(got.IDs, plain.IDs) || got.Finish != plain.Finish {
					t.Errorf("%s, %s, %d drafted: %q, plain %q", name, kind, n, got.Text, plain.Text)
				}
			}
		}
	}
	if p := fake.Problems(); len(p) > 0 {
		t.Error(p)
	}

	// A text that repeats itself: the same prompt twice over is one that the model goes on with.
	e := openFor(t, model.Stories())
	r := engine.GenerateRequest{Prompt: chat.Text(strings.Repeat(once+"\n", 6)), MaxTokens: 100}
	plain := generate(t, e, r)
	r.Lookup = 8
	quick := generate(t, e, r)
	if quick.Text != plain.Text {
		t.Errorf("%q, plain %q", quick.Text, plain.Text)
	}
	if quick.Usage.Steps >= plain.Usage.Steps {
		t.Errorf("%d steps with drafts, %d without", quick.Usage.Steps, plain.Usage.Steps)
	}
	t.Logf("%d steps with drafts of 8, %d without, %d rows and %d", quick.Usage.Steps, plain.Usage.Steps, quick.Usage.ComputedTokens, plain.Usage.ComputedTokens)
}

// TestLookupStops ends inside a draft at a stop text and at the limit, as plain decoding does.
func TestLookupStops(t *testing.T) {
	t.Parallel()
	e := openFor(t, model.Stories())
	for n := 1; n < 40; n += 3 {
		r := engine.GenerateRequest{Prompt: chat.Text(strings.Repeat(once+"\n", 4)), MaxTokens: n}
		plain := generate(t, e, r)
		r.Lookup = 9
		if got := generate(t, e, r); got.Text != plain.Text || !slices.Equal(got.IDs, plain.IDs) || got.Finish != plain.Finish {
			t.Errorf("limit %d: %q %s, plain %q %s", n, got.Text, got.Finish, plain.Text, plain.Finish)
		}
	}
	r := engine.GenerateRequest{Prompt: chat.Text(strings.Repeat(once+"\n", 4)), MaxTokens: 60, Stop: []string{"Lily", "girl na"}}
	plain := generate(t, e, r)
	r.Lookup = 9
	if got := generate(t, e, r); got.Text != plain.Text || got.Finish != plain.Finish {
		t.Errorf("%q %s, plain %q %s", got.Text, got.Finish, plain.Text, plain.Finish)
	}
}

// TestChoices asks for several continuations at once: each is what its number alone would give, they
// differ, and the prompt is computed once.
func TestChoices(t *testing.T) {
	t.Parallel()
	e := openFor(t, model.Stories())
	r := engine.GenerateRequest{
		Prompt: chat.Text(once), MaxTokens: 24, N: 4, Seed: 7,
		Sampling: sample.Settings{Temperature: new(1.0)},
	}
	all := generate(t, e, r)
	if len(all.Others) != 3 {
		t.Fatalf("%d further continuations", len(all.Others))
	}
	texts := map[string]bool{all.Text: true}
	computed := all.Usage.ComputedTokens
	for _, g := range all.Others {
		texts[g.Text] = true
		computed += g.Usage.ComputedTokens
	}
	if len(texts) != 4 {
		t.Errorf("%d different texts of 4", len(texts))
	}
	if most := all.Usage.PromptTokens + 4*24 + 4*16; computed > most {
		t.Errorf("%d rows computed, at most %d when the prompt is shared", computed, most)
	}
	again := generate(t, e, r)
	for i := range all.Others {
		if again.Others[i].Text != all.Others[i].Text {
			t.Errorf("choice %d is another the second time", i+1)
		}
	}
	streamed := make([]string, r.N)
	done := 0
	for ev, err := range e.Stream(context.Background(), r) {
		if err != nil {
			t.Fatal(err)
		}
		streamed[ev.Choice] += ev.Text
		if ev.Done != nil {
			done++
		}
	}
	if done != 4 || streamed[0] != all.Text || streamed[3] != all.Others[2].Text {
		t.Errorf("%d choices done, %q and %q", done, streamed[0], streamed[3])
	}
}

// TestConstraints: whatever the model would rather write, the text is what the constraint says.
func TestConstraints(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]*engine.Engine{
		"cpu":  openFor(t, model.Stories()),
		"fake": openFor(t, model.Stories(), engine.WithBackend(&backendtest.Fake{Without: 0xff})),
	} {
		for seed := range uint64(12) {
			r := engine.GenerateRequest{
				Prompt: chat.Text(once), MaxTokens: 300, Seed: seed, Sampling: sample.Settings{Temperature: new(1.0)},
			}
			schema := constrain.JSONSchema([]byte(`{"type":"object","properties":{"name":{"type":"string","maxLength":8},"mood":{"enum":["glad","sad"]},"age":{"type":"integer","minimum":0,"maximum":120}},"required":["name","mood","age"],"additionalProperties":false}`), constrain.WhitespaceNone)
			r.Constraint = &schema
			g := generate(t, e, r)
			var got struct {
				Name, Mood string
				Age        *int
			}
			dec := json.NewDecoder(strings.NewReader(g.Text))
			dec.DisallowUnknownFields()
			if err := dec.Decode(&got); err != nil || got.Age == nil || *got.Age > 120 || got.Mood != "glad" && got.Mood != "sad" {
				t.Errorf("%s, seed %d: %q: %v", name, seed, g.Text, err)
			}
			if g.Finish != engine.FinishStop {
				t.Errorf("%s: finish %q", name, g.Finish)
			}
			choice := constrain.Choice("yes", "no", "not yet")
			r.Constraint = &choice
			if g := generate(t, e, r); g.Text != "yes" && g.Text != "no" && g.Text != "not yet" {
				t.Errorf("%s: %q", name, g.Text)
			}
		}
	}
}

// TestForcedTextIsOneStep takes what a grammar forces without a step for each token.
func TestForcedTextIsOneStep(t *testing.T) {
	t.Parallel()
	e := openFor(t, model.Stories())
	long := constrain.Regexp(`The answer to all of your questions is (yes|no), and that is final`)
	r := engine.GenerateRequest{Prompt: chat.Text(once), MaxTokens: 200, Constraint: &long}
	g := generate(t, e, r)
	if g.Text != "The answer to all of your questions is yes, and that is final" && g.Text != "The answer to all of your questions is no, and that is final" {
		t.Errorf("%q", g.Text)
	}
	if n := len(g.IDs); g.Usage.Steps > 8 || n < 25 {
		t.Errorf("%d tokens in %d steps", n, g.Usage.Steps)
	}
}

func weather() chat.Prompt {
	return chat.Messages(chat.User("What is the weather in Oslo?")).WithTools(
		chat.Tool{Name: "weather", Description: "look it up", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","maxLength":12},"days":{"type":"integer","minimum":1,"maximum":9}},"required":["city","days"],"additionalProperties":false}`)},
		chat.Tool{Name: "weather_map", Parameters: json.RawMessage(`{"type":"object","properties":{"zoom":{"type":"integer","minimum":0,"maximum":3}},"required":["zoom"],"additionalProperties":false}`)},
		chat.Tool{Name: "stop"},
	)
}

// TestToolChoice makes a story model call tools.
func TestToolChoice(t *testing.T) {
	t.Parallel()
	e := openFor(t, chatty{hermes})
	plain := generate(t, e, engine.GenerateRequest{Prompt: weather(), MaxTokens: 5})
	seen := map[string]bool{}
	for seed := range uint64(24) {
		for _, choice := range []string{"weather", "weather_map", "stop", engine.ToolRequired} {
			r := engine.GenerateRequest{
				Prompt: weather(), ToolChoice: choice, MaxTokens: 200, Seed: seed,
				Sampling: sample.Settings{Temperature: new(2.0)},
			}
			g := generate(t, e, r)
			if g.Finish != engine.FinishTool || len(g.ToolCalls) != 1 || g.Text != "" {
				t.Fatalf("%s: finish %q, calls %+v, text %q", choice, g.Finish, g.ToolCalls, g.Text)
			}
			call := g.ToolCalls[0]
			if choice == engine.ToolRequired {
				seen[call.Name] = true
			} else if call.Name != choice {
				t.Errorf("%s: called %q", choice, call.Name)
			}
			var args map[string]any
			if err := json.Unmarshal(call.Arguments, &args); err != nil {
				t.Errorf("%s: %v", choice, err)
			}
			want := map[string][]string{"weather": {"city", "days"}, "weather_map": {"zoom"}, "stop": nil}[call.Name]
			if len(args) != len(want) {
				t.Errorf("%s: arguments %s", call.Name, call.Arguments)
			}
			for _, k := range want {
				if _, ok := args[k]; !ok {
					t.Errorf("%s: arguments %s, no %s", call.Name, call.Arguments, k)
				}
			}
			// The choice never changes the prompt.
			if g.Usage.PromptTokens != plain.Usage.PromptTokens {
				t.Errorf("%s: prompt of %d tokens, %d without a choice", choice, g.Usage.PromptTokens, plain.Usage.PromptTokens)
			}
		}
	}
	if len(seen) < 2 {
		t.Errorf("any tool was always %v", seen)
	}
}

// TestMessageGoesOn puts the reply back as a turn: the next prompt finds its blocks.
func TestMessageGoesOn(t *testing.T) {
	t.Parallel()
	e := openFor(t, chatty{hermes})
	p := chat.Messages(chat.User("Tell me a story about a very small dog."))
	g := generate(t, e, engine.GenerateRequest{Prompt: p, MaxTokens: 40})
	if g.Message.Role != chat.RoleAssistant || g.Message.Content != g.Text || !slices.Equal(g.Message.IDs, g.IDs) {
		t.Errorf("%+v", g.Message)
	}
	next := generate(t, e, engine.GenerateRequest{Prompt: p.With(g.Message, chat.User("Go on.")), MaxTokens: 4})
	if least := g.Usage.PromptTokens + g.Usage.GeneratedTokens - 2; next.Usage.CachedTokens < least {
		t.Errorf("%d tokens cached of %d, want at least %d", next.Usage.CachedTokens, next.Usage.PromptTokens, least)
	}
}

// TestReasoningIsApart reads a reply with a reasoning section and a call, event by event.
func TestReasoningIsApart(t *testing.T) {
	t.Parallel()
	src := chatty{strings.Replace(hermes, "{%- if tools", "{# <think></think> #}{%- if tools", 1)}
	m, err := src.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	script := "<think>\nIt rains.\n</think>\n\nI look.<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>"
	// The ids of the script inside a text: without the blank before what begins one.
	ids := m.Tokenizer.EncodeInside(nil, script, tokenizer.Text)
	prompt, err := m.Encode(weather(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	// The fake's largest logit is the next token of the script.
	fake := &backendtest.Fake{Logits: func(history []int32, logits []float32) {
		at := len(history) - len(prompt)
		next := m.Tokenizer.EOG()[0]
		if at >= 0 && at < len(ids) {
			next = ids[at]
		}
		logits[next] = 1e6
	}}
	e := openFor(t, src, engine.WithBackend(fake))
	g := generate(t, e, engine.GenerateRequest{Prompt: weather(), MaxTokens: 200})
	if g.Reasoning != "It rains." || g.Text != "I look." || len(g.ToolCalls) != 1 || g.ToolCalls[0].Name != "weather" || g.Finish != engine.FinishTool {
		t.Errorf("reasoning %q, text %q, calls %+v, finish %q", g.Reasoning, g.Text, g.ToolCalls, g.Finish)
	}
	var text, reasoning string
	var calls []chat.ToolCall
	for ev, err := range e.Stream(context.Background(), engine.GenerateRequest{Prompt: weather(), MaxTokens: 200}) {
		if err != nil {
			t.Fatal(err)
		}
		text, reasoning = text+ev.Text, reasoning+ev.Reasoning
		calls = append(calls, ev.ToolCalls...)
	}
	if text != g.Text || reasoning != g.Reasoning || fmt.Sprint(calls) != fmt.Sprint(g.ToolCalls) {
		t.Errorf("streamed: reasoning %q, text %q, calls %+v", reasoning, text, calls)
	}
	none := generate(t, e, engine.GenerateRequest{Prompt: weather(), MaxTokens: 200, ToolChoice: engine.ToolNone})
	if len(none.ToolCalls) != 0 || none.Finish != engine.FinishStop {
		t.Errorf("no tools wanted: calls %+v, finish %q", none.ToolCalls, none.Finish)
	}
}

// TestConstraintAfterReasoning lets the model think and holds the rest to the constraint.
func TestConstraintAfterReasoning(t *testing.T) {
	t.Parallel()
	thinks := strings.Replace(hermes, "[assistant] {%", "[assistant] <think>{%", 1)
	e := openFor(t, chatty{thinks}, engine.WithBackend(&backendtest.Fake{Logits: func(history []int32, logits []float32) {
		// After 20 tokens or so the reasoning closes, one byte token at a time.
		close := "</think>"
		for i := len(close) - 1; i >= 0; i-- {
			if tail := bytesTail(history, i); tail == close[:i] && (i > 0 || len(history)%23 == 0) {
				logits[3+int(close[i])] = 1e6
				return
			}
		}
	}}))
	choice := constrain.Choice("blue", "green")
	g := generate(t, e, engine.GenerateRequest{Prompt: chat.Messages(chat.User("Which colour?")), Constraint: &choice, MaxTokens: 200})
	if g.Text != "blue" && g.Text != "green" {
		t.Errorf("text %q after reasoning %q", g.Text, g.Reasoning)
	}
	if g.Reasoning == "" {
		t.Error("no reasoning")
	}
}

// bytesTail returns the last n tokens of a history as text, when all are byte tokens of the story model.
func bytesTail(history []int32, n int) string {
	b := make([]byte, 0, n)
	for _, id := range history[max(0, len(history)-n):] {
		if id < 3 || id >= 259 {
			return "\x00"
		}
		b = append(b, byte(id-3))
	}
	return string(b)
}

// dictate is a backend that writes one text over and over, a byte token at a time.
func dictate(prompt int, text string) engine.Option {
	return engine.WithBackend(&backendtest.Fake{Logits: func(history []int32, logits []float32) {
		logits[3+int(text[max(len(history)-prompt, 0)%len(text)])] = 1e6
	}})
}

// TestHalfACharacterAtTheLimit: what MaxTokens cuts within a character is shown as the published decoder
// shows it, a U+FFFD for each byte of the run, and is valid UTF-8, streamed or not.
func TestHalfACharacterAtTheLimit(t *testing.T) {
	t.Parallel()
	const text = "a😀é"
	p := chat.Tokens(1, 9, 9)
	e := openFor(t, model.Stories(), dictate(3, text))
	for n := 1; n <= len(text); n++ {
		r := engine.GenerateRequest{Prompt: p, MaxTokens: n}
		g := generate(t, e, r)
		want := text[:n]
		if !utf8.ValidString(want) {
			want = strings.Repeat("\uFFFD", n)
		}
		if g.Text != want || g.Finish != engine.FinishLength || len(g.IDs) != n {
			t.Errorf("%d tokens: %q, %s, want %q", n, g.Text, g.Finish, want)
		}
		streamed(t, e, r, g)
	}
}

// TestUnknownToolsAreSaid: a call of a tool that the prompt does not offer is a call, and is warned of.
func TestUnknownToolsAreSaid(t *testing.T) {
	t.Parallel()
	const text = "Look.<tool_call>{\"name\": \"fly\", \"arguments\": {\"to\": \"STOP\"}}</tool_call>"
	quiet := openFor(t, chatty{hermes})
	n, err := quiet.Count(weather())
	if err != nil {
		t.Fatal(err)
	}
	e := openFor(t, chatty{hermes}, dictate(n, text))
	g := generate(t, e, engine.GenerateRequest{Prompt: weather(), MaxTokens: len(text), Stop: []string{"STOP"}})
	if len(g.ToolCalls) != 1 || g.ToolCalls[0].Name != "fly" || len(g.Warnings) != 1 || !strings.Contains(g.Warnings[0], `"fly"`) {
		t.Errorf("%q, calls %+v, warnings %q", g.Text, g.ToolCalls, g.Warnings)
	}
	if g.Text != "Look." || g.Finish != engine.FinishLength {
		t.Errorf("%q, %s", g.Text, g.Finish)
	}
}

// TestSeedExtremes: the largest seeds are seeds like any other.
func TestSeedExtremes(t *testing.T) {
	t.Parallel()
	e := openFor(t, model.Stories())
	seen := map[string]uint64{}
	for _, seed := range []uint64{0, 1, 1 << 32, 1 << 63, 1<<64 - 1} {
		r := engine.GenerateRequest{Prompt: chat.Text(once), MaxTokens: 40, Seed: seed, Sampling: sample.Settings{Temperature: new(1.5)}}
		g := generate(t, e, r)
		if again := generate(t, e, r); again.Text != g.Text {
			t.Errorf("seed %d: %q and then %q", seed, g.Text, again.Text)
		}
		if other, ok := seen[g.Text]; ok {
			t.Errorf("seeds %d and %d both gave %q", seed, other, g.Text)
		}
		seen[g.Text] = seed
	}
}

func TestBadSurface(t *testing.T) {
	t.Parallel()
	e := openFor(t, chatty{hermes})
	bad := constrain.JSONSchema([]byte(`{"type":"objekt"}`), constrain.WhitespaceNone)
	fine := constrain.Choice("a")
	text, talk := chat.Text("x"), weather()
	for name, c := range map[string]struct {
		r    engine.GenerateRequest
		says []string
	}{
		"schema":             {engine.GenerateRequest{Prompt: text, Constraint: &bad}, []string{"Constraint", "#/type"}},
		"two constraints":    {engine.GenerateRequest{Prompt: talk, Constraint: &fine, ToolChoice: "weather"}, []string{"Constraint", "ToolChoice"}},
		"unknown tool":       {engine.GenerateRequest{Prompt: talk, ToolChoice: "wether"}, []string{"ToolChoice", "wether", "3 tools"}},
		"no tools":           {engine.GenerateRequest{Prompt: chat.Messages(chat.User("x")), ToolChoice: engine.ToolRequired}, []string{"ToolChoice", "0 tools"}},
		"tool without turns": {engine.GenerateRequest{Prompt: text, ToolChoice: "weather"}, []string{"ToolChoice", "messages"}},
		"choices":            {engine.GenerateRequest{Prompt: text, N: 129}, []string{"N", "129", "128"}},
		"negative choices":   {engine.GenerateRequest{Prompt: text, N: -1}, []string{"N", "-1"}},
		"drafts":             {engine.GenerateRequest{Prompt: text, Lookup: 65}, []string{"Lookup", "65", "64"}},
	} {
		_, err := e.Generate(context.Background(), c.r)
		if !errors.Is(err, engine.ErrRequest) {
			t.Errorf("%s: %v, want ErrRequest", name, err)
			continue
		}
		for _, s := range c.says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%s: %q does not say %q", name, err, s)
			}
		}
	}
	// Settings that cannot be followed are said so.
	g := generate(t, e, engine.GenerateRequest{Prompt: text, MaxTokens: 2, Lookup: 4, LogProbs: true})
	if len(g.Warnings) != 1 || !strings.Contains(g.Warnings[0], "Lookup") {
		t.Errorf("warnings %q", g.Warnings)
	}
}

// TestDroppedMessagesAreSaid warns of a turn that the template leaves out.
func TestDroppedMessagesAreSaid(t *testing.T) {
	t.Parallel()
	e := openFor(t, chatty{`{% for m in messages %}{% if m.role != "tool" %}[{{ m.role }}] {{ m.content }}
{% endif %}{% endfor %}[assistant] `})
	p := chat.Messages(chat.User("hi"), chat.ToolResult("1", "t", "seven"))
	g := generate(t, e, engine.GenerateRequest{Prompt: p, MaxTokens: 2})
	if len(g.Warnings) != 1 || !strings.Contains(g.Warnings[0], "message 1") {
		t.Errorf("warnings %q", g.Warnings)
	}
}
