package parse_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hotpath-go/hotpath/internal/testdata"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/chat/parse"
)

// TestTemplatesAreReadBack: what a model's template writes for an assistant's turn is what the model was
// taught to write, so the parser chosen from the template must read the same turn back.
func TestTemplatesAreReadBack(t *testing.T) {
	t.Parallel()
	tools := []chat.Tool{
		{Name: "get_weather", Description: "Weather", Parameters: []byte(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},"deep":{"type":"object"}},"required":["city"]}`)},
		{Name: "run_shell", Description: "Shell", Parameters: []byte(`{"type":"object","properties":{"cmd":{"type":"string"},"dry":{"type":"boolean"}}}`)},
	}
	calls := []chat.ToolCall{
		{ID: "abcdefgh1", Name: "get_weather", Arguments: []byte(`{"city": "Zürich \"HB\"", "days": 5, "deep": {"a": [1, true, null, "x"]}}`)},
		{ID: "abcdefgh2", Name: "run_shell", Arguments: []byte(`{"cmd": "ls {a,b} && echo 'é'\ncat", "dry": false}`)},
	}
	for _, c := range []struct {
		template string
		format   parse.Format
		parallel bool // several calls in a turn
		content  bool // content beside calls
	}{
		{"qwen3", parse.Qwen3, true, true},
		{"qwen2.5-instruct", parse.Hermes, true, true},
		{"qwen3_coder", parse.Qwen3Coder, true, true},
		{"nemotron35", parse.Qwen3Coder, true, true},
		{"lfm2", parse.LFM2, true, true},
		{"llama3_2_official", parse.Llama3JSON, false, false},
		{"gemma4_31b", parse.Gemma, true, false},
		{"deepseek_v3", parse.DeepSeekV3, true, false},
		{"chatml", parse.Plain, false, false},
		{"gemma3", parse.Plain, false, false},
		{"llama3", parse.Plain, false, false},
		{"phi4_mini", parse.Phi4, false, true},
	} {
		src := string(testdata.Read(t, "tokenizer-cases/templates/"+c.template+".jinja"))
		if f := parse.ForTemplate(src); f != c.format {
			t.Errorf("%s: format %s, want %s", c.template, f, c.format)
			continue
		}
		if c.format == parse.Plain {
			continue
		}
		tmpl, err := chat.NewTemplate(src, chat.TemplateOptions{EOS: "<eos>"})
		if err != nil {
			t.Fatal(err)
		}
		turn := chat.Message{Role: chat.RoleAssistant, ToolCalls: calls[:1]}
		if c.parallel {
			turn.ToolCalls = calls
		}
		if c.content {
			turn.Content = "I look."
		}
		p := chat.Messages(chat.User("Weather?")).WithTools(tools...)
		o := chat.RenderOptions{Now: time.Unix(0, 0).UTC()}
		whole, err := tmpl.Render(p.With(turn), o)
		if err != nil {
			t.Fatalf("%s: %v", c.template, err)
		}
		o.AddGenerationPrompt = true
		asked, err := tmpl.Render(p, o)
		if err != nil {
			t.Fatalf("%s: %v", c.template, err)
		}
		start, _ := asked.Last(chat.ReplyStart)
		opened := asked.Text[start.Offset:]
		reply := whole.Text[start.Offset:]
		for i := range min(len(opened), len(reply)) { // templates open replies with more than they keep in history
			if opened[i] != reply[i] {
				opened = opened[:strings.LastIndexByte(opened[:i], '\n')+1]
				break
			}
		}
		reply = reply[len(opened):]
		parser, err := parse.New(parse.ForTemplate(src), parse.Options{Tools: tools, Opened: opened})
		if err != nil {
			t.Fatal(err)
		}
		var content string
		var got []chat.ToolCall
		events := append([]parse.Event(nil), parser.Push(reply)...)
		for _, e := range append(events, parser.Flush()...) {
			switch e.Kind {
			case parse.Content:
				content += e.Text
			case parse.Call:
				got = append(got, e.Call)
			}
		}
		if len(got) != len(turn.ToolCalls) {
			t.Errorf("%s: %d calls of %d in %q", c.template, len(got), len(turn.ToolCalls), reply)
			continue
		}
		for i, want := range turn.ToolCalls {
			var a, b any
			if err := json.Unmarshal(got[i].Arguments, &a); err != nil {
				t.Errorf("%s: %s: %v", c.template, got[i].Arguments, err)
			}
			if err := json.Unmarshal(want.Arguments, &b); err != nil {
				t.Fatal(err)
			}
			if got[i].Name != want.Name || !reflect.DeepEqual(a, b) {
				t.Errorf("%s: call %s %s, want %s %s, in %q", c.template, got[i].Name, got[i].Arguments, want.Name, want.Arguments, reply)
			}
		}
		if c.content && !strings.HasPrefix(content, "I look.") {
			t.Errorf("%s: content %q in %q", c.template, content, reply)
		}
	}
}
