package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/sample"
	"github.com/hotpath-go/hotpath/engine/serve"
	"github.com/hotpath-go/hotpath/model/chat"
)

// What chat completions send is what the engine generates for the same messages, seed and settings,
// streamed and not, for several choices, with stop texts and log-probabilities.
func TestChatIsTheEnginesReply(t *testing.T) {
	t.Parallel()
	e := open(t)
	h := handler(t, e)
	heat := 0.9
	request := engine.GenerateRequest{
		Prompt: chat.Messages(chat.System("Be kind."), chat.User("Tell a story.")), MaxTokens: 24, Seed: 7, N: 2, Stop: []string{"zebra", "q"},
		Sampling: sample.Settings{Temperature: &heat}, LogProbs: true, TopLogProbs: 2,
	}
	want, err := e.Generate(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	const fields = `"messages":[{"role":"developer","content":"Be kind."},{"role":"user","content":"Tell a story."}],
		"max_completion_tokens":24,"seed":7,"n":2,"stop":["zebra","q"],"temperature":0.9,"logprobs":true,"top_logprobs":2,"unknown":{"a":[1]}`
	v := object(t, post(t, h, "/v1/chat/completions", `{`+fields+`}`))
	if v["object"] != "chat.completion" || v["model"] != "tiny-chat" || v["system_fingerprint"] != want.Numerics {
		t.Errorf("%v", v)
	}
	generated := 0
	for i, g := range append([]engine.Generation{*want}, want.Others...) {
		generated += len(g.IDs)
		c := at(v, "choices", i)
		if at(c, "message", "content") != g.Text || at(c, "message", "role") != "assistant" || at(c, "index") != float64(i) {
			t.Errorf("choice %d: %v, want %q", i, c, g.Text)
		}
		if at(c, "finish_reason") != map[engine.Finish]string{engine.FinishStop: "stop", engine.FinishLength: "length"}[g.Finish] {
			t.Errorf("choice %d: %v, want %v", i, at(c, "finish_reason"), g.Finish)
		}
		for j, p := range g.LogProbs {
			one := at(c, "logprobs", "content", j)
			if got, _ := at(one, "logprob").(float64); math.Abs(got-p.LogProb) > 1e-9 || len(at(one, "top_logprobs").([]any)) != 2 {
				t.Errorf("choice %d, token %d: %v, want %v", i, j, one, p)
			}
			var bytes []byte
			for _, b := range at(one, "bytes").([]any) {
				bytes = append(bytes, byte(b.(float64)))
			}
			if string(bytes) != p.Text {
				t.Errorf("choice %d, token %d: bytes %q, want %q", i, j, bytes, p.Text)
			}
		}
	}
	u := v["usage"]
	if at(u, "prompt_tokens") != float64(want.Usage.PromptTokens) || at(u, "completion_tokens") != float64(generated) ||
		at(u, "total_tokens") != float64(want.Usage.PromptTokens+generated) {
		t.Errorf("usage %v, want %v and %d", u, want.Usage, generated)
	}
	if cached, _ := at(u, "prompt_tokens_details", "cached_tokens").(float64); cached < 16 {
		t.Errorf("the prompt is hot: %v", u)
	}

	w := post(t, h, "/v1/chat/completions", `{"stream":true,"stream_options":{"include_usage":true},`+fields+`}`)
	if ct := w.Header().Get("Content-Type"); ct != "text/event-stream" {
		t.Errorf("content type %q", ct)
	}
	events := sse(w.Body.String())
	if n := len(events); n < 4 || events[n-1] != "[DONE]" {
		t.Fatalf("events: %q", events)
	}
	texts, finishes, roles, probs := map[float64]string{}, map[float64]any{}, map[float64]int{}, map[float64]int{}
	var last map[string]any
	for _, data := range events[:len(events)-1] {
		last = nil
		if err := json.Unmarshal([]byte(data), &last); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		if last["object"] != "chat.completion.chunk" {
			t.Errorf("%s", data)
		}
		if u, ok := last["usage"]; !ok || (u == nil) != (len(last["choices"].([]any)) > 0) {
			t.Errorf("usage is for the last event, and null before it: %s", data)
		}
		if len(last["choices"].([]any)) == 0 {
			continue
		}
		c := at(last, "choices", 0)
		i := at(c, "index").(float64)
		if text, ok := at(c, "delta", "content").(string); ok {
			texts[i] += text
		}
		if at(c, "delta", "role") == "assistant" {
			roles[i]++
		}
		if list, ok := at(c, "logprobs", "content").([]any); ok {
			probs[i] += len(list)
		}
		if f := at(c, "finish_reason"); f != nil {
			finishes[i] = f
		}
	}
	for i, g := range append([]engine.Generation{*want}, want.Others...) {
		k := float64(i)
		if texts[k] != g.Text || finishes[k] == nil || roles[k] != 1 || probs[k] != len(g.LogProbs) {
			t.Errorf("streamed choice %d: %q %v, %d roles, %d log-probabilities, want %q and %d", i, texts[k], finishes[k], roles[k], probs[k], g.Text, len(g.LogProbs))
		}
	}
	if at(last, "usage", "completion_tokens") != float64(generated) || len(last["choices"].([]any)) != 0 {
		t.Errorf("the last event has no usage: %v", last)
	}
	if strings.Contains(post(t, h, "/v1/chat/completions", `{"stream":true,`+fields+`}`).Body.String(), `"usage"`) {
		t.Error("usage that nobody asked for")
	}
}

// scripted is an engine whose replies are given.
type scripted struct {
	*engine.Engine
	events []engine.Event
	asked  func(engine.GenerateRequest)
}

func (s scripted) Generate(_ context.Context, r engine.GenerateRequest) (*engine.Generation, error) {
	if s.asked != nil {
		s.asked(r)
	}
	return s.events[len(s.events)-1].Done, nil
}

func (s scripted) Stream(_ context.Context, r engine.GenerateRequest) iter.Seq2[engine.Event, error] {
	return func(yield func(engine.Event, error) bool) {
		if s.asked != nil {
			s.asked(r)
		}
		for _, ev := range s.events {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

func TestReasoningAndToolCalls(t *testing.T) {
	t.Parallel()
	calls := []chat.ToolCall{{Name: "weather", Arguments: json.RawMessage(`{"city":"Graz","b":1}`)}, {ID: "given", Name: "time", Arguments: json.RawMessage(`{}`)}}
	done := &engine.Generation{Reasoning: "It asks.", ToolCalls: calls, Finish: engine.FinishTool}
	h := handler(t, scripted{Engine: open(t), events: []engine.Event{
		{Reasoning: "It "}, {Reasoning: "asks."}, {ToolCalls: calls[:1]}, {ToolCalls: calls[1:]}, {Done: done},
	}})
	const body = `{"messages":[{"role":"user","content":"Weather?"}],"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object"}}}]`
	v := object(t, post(t, h, "/v1/chat/completions", body+`}`))
	m := at(v, "choices", 0, "message")
	if at(v, "choices", 0, "finish_reason") != "tool_calls" || at(m, "content") != nil || at(m, "reasoning_content") != "It asks." ||
		at(m, "tool_calls", 0, "function", "arguments") != `{"city":"Graz","b":1}` || at(m, "tool_calls", 1, "id") != "given" ||
		!strings.HasPrefix(at(m, "tool_calls", 0, "id").(string), "call_") || at(m, "tool_calls", 0, "index") != nil {
		t.Errorf("%v", v)
	}
	reasoning := ""
	var seen []string
	for _, data := range sse(post(t, h, "/v1/chat/completions", body+`,"stream":true}`).Body.String()) {
		var v map[string]any
		if json.Unmarshal([]byte(data), &v) != nil {
			continue
		}
		d := at(v, "choices", 0, "delta")
		if r, ok := at(d, "reasoning_content").(string); ok {
			reasoning += r
		}
		if c := at(d, "tool_calls", 0); c != nil {
			seen = append(seen, fmt.Sprint(at(c, "index"), at(c, "function", "name")))
		}
	}
	if reasoning != "It asks." || fmt.Sprint(seen) != "[0weather 1time]" {
		t.Errorf("%q %v", reasoning, seen)
	}
}

// Every field of a request reaches the engine.
func TestChatFields(t *testing.T) {
	t.Parallel()
	var got engine.GenerateRequest
	h := handler(t, scripted{Engine: open(t), events: []engine.Event{{Done: &engine.Generation{}}}, asked: func(r engine.GenerateRequest) { got = r }})
	w := post(t, h, "/v1/chat/completions", `{"messages":[{"role":"user","content":"a"},
		{"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"z\":1,\"a\":2}"}}]},
		{"role":"tool","tool_call_id":"c1","content":"42"}],
		"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object","properties":{"z":{},"a":{}}}}}],
		"tool_choice":{"type":"function","function":{"name":"f"}},"max_tokens":5,"top_p":0.5,"top_k":-1,"min_p":0.1,"frequency_penalty":0.2,"presence_penalty":-0.2,
		"repetition_penalty":1.1,"logit_bias":{"7":-100,"3":1.5},"cache_salt":"salt","priority":3,"stop":"x","stop_token_ids":[2],"ignore_eos":true,"seed":-1,
		"reasoning_effort":"none","chat_template_kwargs":{"custom":[1]},"user":"u","store":true,"metadata":{},"parallel_tool_calls":false}`)
	if w.Code != 200 {
		t.Fatal(w.Body)
	}
	turns := got.Prompt.Turns()
	if len(turns) != 3 || turns[1].Reasoning != "hm" || string(turns[1].ToolCalls[0].Arguments) != `{"z":1,"a":2}` ||
		turns[2].Name != "f" || turns[2].ToolCallID != "c1" || string(got.Prompt.Tools()[0].Parameters) != `{"type":"object","properties":{"z":{},"a":{}}}` {
		t.Errorf("%+v %+v", turns, got.Prompt.Tools())
	}
	s := got.Sampling
	if got.ToolChoice != "f" || got.MaxTokens != 5 || *s.TopP != 0.5 || s.TopK != nil || *s.MinP != 0.1 || *s.FrequencyPenalty != 0.2 ||
		*s.PresencePenalty != -0.2 || *s.RepetitionPenalty != 1.1 || *s.Temperature != 1 || got.Namespace != "salt" || got.Priority != -3 ||
		fmt.Sprint(got.Stop, got.StopIDs, got.IgnoreEOS) != "[x] [2] true" || got.Seed != math.MaxUint64 ||
		fmt.Sprint(got.Bias) != "[{3 1.5} {7 -100}]" || fmt.Sprint(got.Prompt.Args()) != fmt.Sprint([]chat.Arg{{Name: "enable_thinking", Value: []byte("false")}, {Name: "custom", Value: []byte("[1]")}}) {
		t.Errorf("%+v", got)
	}
	if first := got.Seed; post(t, h, "/v1/chat/completions", `{"messages":[{"role":"user","content":"a"}]}`).Code != 200 || got.Seed == first || got.Seed == 0 {
		t.Errorf("no seed of its own: %d", got.Seed)
	}
}

// A response format and a tool choice hold, whatever the model would rather write.
func TestConstrainedReplies(t *testing.T) {
	t.Parallel()
	h := handler(t, open(t))
	const ask = `{"messages":[{"role":"user","content":"Give it."}],"seed":3,"max_tokens":200,`
	schema := `"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"object","additionalProperties":false,
		"properties":{"team":{"enum":["red","blue"]},"n":{"type":"integer","minimum":1,"maximum":9}},"required":["team","n"]}}}`
	for seed := range 4 {
		v := object(t, post(t, h, "/v1/chat/completions", strings.Replace(ask, `"seed":3`, fmt.Sprintf(`"seed":%d`, seed), 1)+schema+`}`))
		text, _ := at(v, "choices", 0, "message", "content").(string)
		var out struct {
			Team string
			N    int
		}
		if err := json.Unmarshal([]byte(text), &out); err != nil || out.Team != "red" && out.Team != "blue" || out.N < 1 || out.N > 9 {
			t.Errorf("%q: %v", text, err)
		}
	}
	v := object(t, post(t, h, "/v1/chat/completions", ask+`"response_format":{"type":"json_object"}}`))
	if text, _ := at(v, "choices", 0, "message", "content").(string); !strings.HasPrefix(text, "{") {
		t.Errorf("%v", v)
	}
	v = object(t, post(t, h, "/v1/chat/completions", ask+`"tool_choice":"required","tools":[{"type":"function","function":{"name":"pick",
		"parameters":{"type":"object","additionalProperties":false,"properties":{"side":{"enum":["left","right"]}},"required":["side"]}}}]}`))
	call := at(v, "choices", 0, "message", "tool_calls", 0)
	arguments, _ := at(call, "function", "arguments").(string)
	if at(call, "function", "name") != "pick" || !strings.Contains(arguments, "left") && !strings.Contains(arguments, "right") ||
		at(v, "choices", 0, "finish_reason") != "tool_calls" {
		t.Errorf("%v", v)
	}
}

func TestCompletions(t *testing.T) {
	t.Parallel()
	e := open(t)
	h := handler(t, e)
	var want []string
	zero := 0.0
	for _, p := range []string{"Once upon", "Tim had"} {
		g, err := e.Generate(t.Context(), engine.GenerateRequest{Prompt: chat.Text(p), MaxTokens: 6, N: 2, Sampling: sample.Settings{Temperature: &zero}})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, p+g.Text, p+g.Others[0].Text)
	}
	const fields = `"prompt":["Once upon","Tim had"],"max_tokens":6,"n":2,"temperature":0,"echo":true`
	v := object(t, post(t, h, "/v1/completions", `{`+fields+`}`))
	for i, text := range want {
		if at(v, "choices", i, "text") != text || at(v, "choices", i, "finish_reason") != "length" {
			t.Errorf("choice %d: %v, want %q", i, at(v, "choices", i), text)
		}
	}
	if at(v, "usage", "completion_tokens") != 24.0 {
		t.Errorf("%v", v["usage"])
	}
	got := make([]string, len(want))
	events := sse(post(t, h, "/v1/completions", `{"stream":true,"stream_options":{"include_usage":true},`+fields+`}`).Body.String())
	for _, data := range events[:len(events)-2] {
		var v map[string]any
		if err := json.Unmarshal([]byte(data), &v); err != nil {
			t.Fatal(err, data)
		}
		got[int(at(v, "choices", 0, "index").(float64))] += at(v, "choices", 0, "text").(string)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || !strings.Contains(events[len(events)-2], `"completion_tokens":24`) {
		t.Errorf("%q, want %q", got, want)
	}

	ids, _ := json.Marshal(e.EncodeText("Once upon", false))
	v = object(t, post(t, h, "/v1/completions", `{"prompt":`+string(ids)+`,"max_tokens":4,"temperature":0,"logprobs":3}`))
	l := at(v, "choices", 0, "logprobs")
	if n := len(at(l, "tokens").([]any)); n != 4 || len(at(l, "top_logprobs", 1).(map[string]any)) != 3 || at(l, "text_offset", 0) != 0.0 {
		t.Errorf("%v", v)
	}
	text, joined := at(v, "choices", 0, "text").(string), ""
	for _, s := range at(l, "tokens").([]any) {
		joined += s.(string)
	}
	if joined != text {
		t.Errorf("tokens %q of %q", joined, text)
	}
}

var _ serve.Engine = scripted{}
