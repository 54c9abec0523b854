package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/engine/constrain"
	"github.com/hotpath-go/hotpath/engine/sample"
	"github.com/hotpath-go/hotpath/internal/race"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/chat/parse"
)

// speaking are templates whose replies are read in each format, but for DeepSeek's, whose markers hold
// what the story model's tokenizer takes for blanks.
func speaking() map[parse.Format]string {
	out := map[parse.Format]string{}
	for f, sign := range map[parse.Format]string{
		parse.Hermes: "<tool_call>", parse.Qwen3: "<tool_call> <think></think>", parse.Qwen3Coder: "<function=", parse.GLM45: "<arg_key>",
		parse.Llama3JSON: "<|python_tag|> <|start_header_id|>", parse.Pythonic: "<|python_start|>",
		parse.LFM2: "<|tool_call_start|>", parse.Mistral: "[TOOL_CALLS]", parse.Gemma: "<|tool_call>", parse.Phi4: "<|tool_call|>",
	} {
		bare := strings.NewReplacer("<tool_call>", "call ", "</tool_call>", "").Replace(hermes)
		out[f] = "{# " + sign + " #}" + bare
	}
	out[parse.GPTOSS] = strings.Replace(out[parse.LFM2], "[assistant] {%", "<|start|>assistant{# <|channel|><|message|> #}{%", 1)
	return out
}

// murmur is a backend of random logits under which free text comes to "<|end|>" now and then.
func murmur() engine.Option {
	return engine.WithBackend(&backendtest.Fake{Logits: func(history []int32, logits []float32) {
		h := uint64(len(history)) * 0x9e3779b97f4a7c15
		for _, id := range history[max(0, len(history)-4):] {
			h = (h ^ uint64(id)) * 0x100000001b3
		}
		for i := range logits {
			h ^= h << 13
			h ^= h >> 7
			h ^= h << 17
			logits[i] = float32(h%1000) / 250
		}
		const end = "<|end|>"
		for i := len(end) - 1; i >= 0; i-- {
			if bytesTail(history, i) == end[:i] && (i > 0 || len(history)%11 == 0) {
				logits[3+int(end[i])] = 1e6
				return
			}
		}
	}})
}

// murmurEnds is murmur where one token ends free text.
func murmurEnds(end int32) engine.Option {
	return engine.WithBackend(&backendtest.Fake{Logits: func(history []int32, logits []float32) {
		h := uint64(len(history)) * 0x9e3779b97f4a7c15
		for i := range logits {
			h ^= h << 13
			h ^= h >> 7
			h ^= h << 17
			logits[i] = float32(h%1000) / 250
		}
		if len(history)%29 == 0 {
			logits[end] = 1e6
		}
	}})
}

func toolPrompt() chat.Prompt {
	return chat.Messages(chat.User("What is the weather in Oslo?")).WithTools(
		chat.Tool{Name: "weather", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","maxLength":12},"days":{"type":"integer","minimum":1,"maximum":9},"note":{"type":["string","null"],"maxLength":6},"tags":{"type":"array","items":{"type":"string","maxLength":3},"maxItems":2},"deep":{"type":"object","properties":{"on":{"type":"boolean"}},"required":["on"],"additionalProperties":false}},"required":["city","days"],"additionalProperties":false}`)},
		chat.Tool{Name: "weather_map", Parameters: json.RawMessage(`{"type":"object","properties":{"zoom":{"type":"integer","minimum":0,"maximum":3}},"required":["zoom"],"additionalProperties":false}`)},
		chat.Tool{Name: "stop"},
	)
}

// TestToolChoiceInEveryFormat makes random logits call tools: the call is read back and its arguments
// satisfy the tool's schema, streamed or not.
func TestToolChoiceInEveryFormat(t *testing.T) {
	t.Parallel()
	const seeds = 25 // until random logits call different tools
	named := uint64(seeds)
	if race.Enabled {
		named = 4
	}
	tools := toolPrompt().Tools()
	checks := map[string]*jsonschema.Schema{}
	for _, tool := range tools {
		schema := string(tool.Parameters)
		if schema == "" {
			schema = `{"type":"object","additionalProperties":false}`
		}
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("s.json", doc); err != nil {
			t.Fatal(err)
		}
		if checks[tool.Name], err = c.Compile("s.json"); err != nil {
			t.Fatal(err)
		}
	}
	for format, template := range speaking() {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			if f := parse.ForTemplate(template); f != format {
				t.Fatalf("the template speaks %s", f)
			}
			e := openFor(t, chatty{template}, murmur())
			seen, thought := map[string]bool{}, 0
			for seed := range uint64(seeds) {
				choices := []string{engine.ToolRequired, "weather", "weather_map", "stop"}
				if seed >= named {
					choices = choices[:1]
				}
				for _, choice := range choices {
					r := engine.GenerateRequest{Prompt: toolPrompt(), ToolChoice: choice, MaxTokens: 400, Seed: seed, Sampling: sample.Settings{Temperature: new(1.5)}}
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
					doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(call.Arguments)))
					if err == nil {
						err = checks[call.Name].Validate(doc)
					}
					if err != nil {
						t.Errorf("%s: %s: %v", call.Name, call.Arguments, err)
					}
					if g.Reasoning != "" {
						thought++
					}
					if seed == 0 {
						streamed(t, e, r, g)
					}
				}
			}
			if len(seen) < 2 {
				t.Errorf("any tool was always %v", seen)
			}
			if format.Channels() && thought == 0 {
				t.Error("the model never reasoned first")
			}
		})
	}
}

// streamed compares a stream with the whole generation.
func streamed(t *testing.T, e *engine.Engine, r engine.GenerateRequest, g *engine.Generation) {
	t.Helper()
	var text, reasoning string
	var calls []chat.ToolCall
	for ev, err := range e.Stream(context.Background(), r) {
		if err != nil {
			t.Fatal(err)
		}
		text, reasoning, calls = text+ev.Text, reasoning+ev.Reasoning, append(calls, ev.ToolCalls...)
	}
	if text != g.Text || reasoning != g.Reasoning || len(calls) != len(g.ToolCalls) {
		t.Errorf("streamed %q, %q, %d calls; whole %q, %q, %d", text, reasoning, len(calls), g.Text, g.Reasoning, len(g.ToolCalls))
	}
}

// TestConstraintInChannels: a constrained reply in the harmony format is the final message, with or
// without reasoning before it.
func TestConstraintInChannels(t *testing.T) {
	t.Parallel()
	template := speaking()[parse.GPTOSS]
	e := openFor(t, chatty{template}, murmur())
	spec := constrain.JSONSchema([]byte(`{"type":"object","properties":{"a":{"type":"integer","maximum":9,"minimum":0},"b":{"enum":["x","y"]}},"required":["a","b"],"additionalProperties":false}`), constrain.WhitespaceNone)
	thought := 0
	for seed := range uint64(20) {
		g := generate(t, e, engine.GenerateRequest{Prompt: chat.Messages(chat.User("hi")), Constraint: &spec, MaxTokens: 300, Seed: seed, Sampling: sample.Settings{Temperature: new(1.5)}})
		var v struct {
			A *int
			B string
		}
		if err := json.Unmarshal([]byte(g.Text), &v); err != nil || v.A == nil || v.B != "x" && v.B != "y" || g.Finish != engine.FinishStop {
			t.Errorf("%q, finish %s: %v", g.Text, g.Finish, err)
		}
		if g.Reasoning != "" {
			thought++
		}
	}
	if thought == 0 || thought == 20 {
		t.Errorf("%d of 20 replies reasoned first", thought)
	}
	// A prompt that has begun the message leaves no choice of channel; one in the middle of a header is refused.
	begun := strings.Replace(template, "<|start|>assistant{#", "<|start|>assistant<|channel|>final<|message|>{#", 1)
	if g := generate(t, openFor(t, chatty{begun}, murmur()), engine.GenerateRequest{Prompt: chat.Messages(chat.User("hi")), Constraint: &spec, MaxTokens: 300}); !json.Valid([]byte(g.Text)) || g.Reasoning != "" {
		t.Errorf("%q after %q", g.Text, g.Reasoning)
	}
	half := strings.Replace(template, "<|start|>assistant{#", "<|start|>assistant<|channel|>{#", 1)
	for _, r := range []engine.GenerateRequest{{Constraint: &spec}, {ToolChoice: "stop"}} {
		r.Prompt = toolPrompt()
		if _, err := openFor(t, chatty{half}, murmur()).Generate(context.Background(), r); !errors.Is(err, engine.ErrRequest) || !strings.Contains(err.Error(), "<|channel|>") {
			t.Errorf("%v", err)
		}
	}
}

// TestTruncatedCalls: a call that MaxTokens cuts is text, whole and in every format, and never half a call.
func TestTruncatedCalls(t *testing.T) {
	t.Parallel()
	for format, template := range speaking() {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			e := openFor(t, chatty{template}, murmur())
			whole := generate(t, e, engine.GenerateRequest{Prompt: toolPrompt(), ToolChoice: "weather", MaxTokens: 400, Seed: 5})
			for n := 40; n < len(whole.IDs); n += 1 + len(whole.IDs)/9 {
				g, err := e.Generate(context.Background(), engine.GenerateRequest{Prompt: toolPrompt(), ToolChoice: "weather", MaxTokens: n, Seed: 5})
				if errors.Is(err, engine.ErrRequest) && strings.Contains(err.Error(), "forced tokens") {
					continue // no room for what must come first
				}
				if err != nil {
					t.Fatal(err)
				}
				for _, call := range g.ToolCalls {
					if !json.Valid(call.Arguments) {
						t.Errorf("%d tokens: arguments %s", n, call.Arguments)
					}
				}
				if len(g.ToolCalls) == 0 && g.Finish != engine.FinishLength {
					t.Errorf("%d tokens: finish %s", n, g.Finish)
				}
			}
		})
	}
}

// TestToolNames refuses the names that a format cannot call.
func TestToolNames(t *testing.T) {
	t.Parallel()
	templates := speaking()
	for _, c := range []struct {
		format parse.Format
		name   string
		ok     bool
	}{
		{parse.Hermes, "get weather", true}, {parse.Hermes, `a"b`, false}, {parse.Hermes, "", false},
		{parse.LFM2, "web.search-2", true}, {parse.LFM2, "get weather", false}, {parse.LFM2, "2d", false},
		{parse.GPTOSS, "a_b", true}, {parse.GPTOSS, "a b", false}, {parse.Qwen3Coder, "a b", false}, {parse.GLM45, "a>b", false}, {parse.Gemma, "a{b", false},
	} {
		e := openFor(t, chatty{templates[c.format]}, murmur())
		p := chat.Messages(chat.User("x")).WithTools(chat.Tool{Name: c.name}, chat.Tool{Name: "other"})
		_, err := e.Generate(context.Background(), engine.GenerateRequest{Prompt: p, ToolChoice: engine.ToolRequired, MaxTokens: 300})
		if refused := errors.Is(err, engine.ErrRequest) && strings.Contains(err.Error(), "Name"); refused == c.ok || c.ok && err != nil {
			t.Errorf("%s: %q: %v", c.format, c.name, err)
		}
	}
}
