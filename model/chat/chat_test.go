package chat

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotpath-go/hotpath/internal/testdata"
)

var noon = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

// templates are the chat templates of the reference cases.
var templateNames = []string{"chatml", "deepseek_v3", "gemma3", "gemma4_31b", "lfm2", "llama3", "llama3_2_official",
	"nemotron35", "phi4_mini", "qwen2.5-instruct", "qwen3", "qwen3_coder"}

type chatCase struct {
	Name     string
	Context  map[string]json.RawMessage
	Rendered string
	Error    string
}

type chatSuite struct {
	name     string
	template *Template
	Cases    []chatCase
}

func suites(t testing.TB) []chatSuite {
	var out []chatSuite
	for _, name := range templateNames {
		s := chatSuite{name: name}
		var head struct {
			File string `json:"template_file"`
			BOS  string `json:"bos_token"`
			EOS  string `json:"eos_token"`
		}
		raw := testdata.Read(t, "tokenizer-cases/chat/"+name+".json")
		for _, v := range []any{&s, &head} {
			if err := json.Unmarshal(raw, v); err != nil {
				t.Fatal(err)
			}
		}
		if len(s.Cases) != 20 {
			t.Fatalf("%s: %d cases, want 20", name, len(s.Cases))
		}
		src := testdata.Read(t, filepath.Join("tokenizer-cases", head.File))
		var err error
		if s.template, err = NewTemplate(string(src), TemplateOptions{BOS: head.BOS, EOS: head.EOS}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out = append(out, s)
	}
	return out
}

// prompt turns a reference context into a Prompt, and says in which shape it passes messages.
func (c *chatCase) prompt(t testing.TB) (Prompt, RenderOptions, shape) {
	var s shape
	o := RenderOptions{Now: noon}
	decode := func(raw []byte, v any) {
		if err := json.Unmarshal(raw, v); err != nil {
			t.Fatal(err)
		}
	}
	var ms []struct {
		Role       Role
		Content    json.RawMessage
		Reasoning  string `json:"reasoning_content"`
		ToolCallID string `json:"tool_call_id"`
		Name       string
		ToolCalls  []struct {
			ID       string
			Function struct {
				Name      string
				Arguments json.RawMessage
			}
		} `json:"tool_calls"`
	}
	decode(c.Context["messages"], &ms)
	var p Prompt
	for _, m := range ms {
		out := Message{Role: m.Role, Reasoning: m.Reasoning, ToolCallID: m.ToolCallID, Name: m.Name}
		switch {
		case string(m.Content) == "null":
			s.nullContent = true
		case m.Content[0] == '[':
			decode(m.Content, &out.Parts)
		default:
			decode(m.Content, &out.Content)
		}
		for _, call := range m.ToolCalls {
			out.ToolCalls = append(out.ToolCalls, ToolCall{call.ID, call.Function.Name, call.Function.Arguments})
		}
		p = p.With(out)
	}
	for name, raw := range c.Context {
		switch name {
		case "messages", "bos_token", "eos_token":
		case "add_generation_prompt":
			o.AddGenerationPrompt = string(raw) == "true"
		case "tools":
			var tools []struct{ Function Tool }
			decode(raw, &tools)
			for _, tool := range tools {
				p = p.WithTools(tool.Function)
			}
		default:
			p = p.WithArg(name, raw)
		}
	}
	return p, o, s
}

func TestReferenceRenders(t *testing.T) {
	t.Parallel()
	for _, s := range suites(t) {
		for _, c := range s.Cases {
			p, o, shape := c.prompt(t)
			r, err := s.template.render(p, o, shape)
			switch {
			case c.Error != "" && err == nil:
				t.Errorf("%s/%s: rendered %q, want error %s", s.name, c.Name, r.Text, c.Error)
			case c.Error != "":
				if msg := c.Error[strings.Index(c.Error, ": ")+2:]; !strings.Contains(err.Error(), msg) {
					t.Errorf("%s/%s: error %q, reference %q", s.name, c.Name, err, msg)
				}
			case err != nil:
				t.Errorf("%s/%s: %v", s.name, c.Name, err)
			case r.Text != c.Rendered:
				t.Errorf("%s/%s:\n got %q\nwant %q", s.name, c.Name, r.Text, c.Rendered)
			}
		}
	}
}
