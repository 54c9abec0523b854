package chat

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/model/chat/jinja"
)

const chatML = `{{ bos_token }}{% for m in messages %}{% if m.role == 'assistant' and not loop.last and m.reasoning_content %}` +
	`{% endif %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}` +
	`{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}`

func mustTemplate(t testing.TB, src string) *Template {
	t.Helper()
	tmpl, err := NewTemplate(src, TemplateOptions{Limits: jinja.Limits{Steps: 100_000}})
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	if _, err := NewTemplate("a\n{% if x %}\n{{ y }", TemplateOptions{}); !errors.Is(err, ErrTemplate) || !errors.Is(err, jinja.ErrSyntax) || !strings.Contains(err.Error(), "3:6") {
		t.Errorf("malformed template: %v", err)
	}
	strict := `{% for m in messages %}{% if m.role not in ['user','assistant'] %}{{ raise_exception('Unknown role: ' + m.role) }}{% endif %}` +
		`{{ m.content }}{% else %}{{ raise_exception('No user query found') }}{% endfor %}`
	for name, c := range map[string]struct {
		src  string
		p    Prompt
		o    RenderOptions
		want error
		text string
	}{
		"text":                {chatML, Text("x"), RenderOptions{}, ErrPrompt, "only messages"},
		"ids":                 {chatML, Tokens(1), RenderOptions{}, ErrPrompt, "only messages"},
		"zero":                {chatML, Prompt{}, RenderOptions{}, ErrPrompt, "only messages"},
		"no turn":             {strict, Messages(), RenderOptions{}, jinja.ErrRaised, "No user query found"},
		"unknown role":        {strict, Messages(Message{Role: "wizard", Content: "x"}), RenderOptions{}, ErrRender, "Unknown role: wizard"},
		"content and parts":   {chatML, Messages(User("a"), Message{Role: RoleUser, Content: "x", Parts: []Part{{"text", "y"}}}), RenderOptions{}, ErrPrompt, "message 1"},
		"image":               {chatML, Messages(Message{Role: RoleUser, Parts: []Part{{"image", ""}}}), RenderOptions{}, ErrPrompt, `"image"`},
		"arguments no JSON":   {chatML, Messages(Message{Role: RoleAssistant, ToolCalls: []ToolCall{{Name: "f", Arguments: []byte(`{"a":`)}}}), RenderOptions{}, ErrPrompt, "message 0: call 0 (f)"},
		"arguments a number":  {chatML, Messages(Message{Role: RoleAssistant, ToolCalls: []ToolCall{{Name: "f", Arguments: []byte(`5`)}}}), RenderOptions{}, ErrPrompt, "neither"},
		"schema no JSON":      {chatML, Messages(User("x")).WithTools(Tool{Name: "f", Parameters: []byte("{")}), RenderOptions{}, ErrPrompt, "tool 0 (f)"},
		"schema a list":       {chatML, Messages(User("x")).WithTools(Tool{Name: "f", Parameters: []byte("[]")}), RenderOptions{}, ErrPrompt, "tool 0 (f)"},
		"reserved argument":   {chatML, Messages(User("x")).WithArg("messages", []byte("[]")), RenderOptions{}, ErrPrompt, `"messages"`},
		"argument no JSON":    {chatML, Messages(User("x")).WithArg("k", []byte("yes")), RenderOptions{}, ErrPrompt, `"k"`},
		"continue a user":     {chatML, Messages(User("x")), RenderOptions{ContinueFinal: true}, ErrPrompt, "assistant"},
		"continue and open":   {chatML, Messages(User("x"), Assistant("y")), RenderOptions{ContinueFinal: true, AddGenerationPrompt: true}, ErrPrompt, "exclude"},
		"continue nothing":    {chatML, Messages(User("x"), Assistant("")), RenderOptions{ContinueFinal: true}, ErrPrompt, "no content"},
		"endless template":    {`{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}`, Messages(User("x")), RenderOptions{}, jinja.ErrLimit, "limit"},
		"parts for a string":  {chatML, Messages(Message{Role: RoleUser, Parts: []Part{{"text", "y"}}}), RenderOptions{}, ErrRender, "concatenate"},
		"deeply nested value": {chatML, Messages(User("x")).WithArg("k", []byte(strings.Repeat("[", 10_000))), RenderOptions{}, ErrPrompt, "nested"},
	} {
		r, err := mustTemplate(t, c.src).Render(c.p, c.o)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, %v; want %v with %q", name, r, err, c.want, c.text)
		}
	}
	var none *Template
	if _, err := none.Render(Messages(User("x")), RenderOptions{}); !errors.Is(err, ErrNoTemplate) {
		t.Errorf("no template: %v", err)
	}
}

func TestContinueFinal(t *testing.T) {
	t.Parallel()
	r, err := mustTemplate(t, chatML).Render(Messages(User("Count."), Assistant("One, two,")), RenderOptions{ContinueFinal: true})
	if err != nil {
		t.Fatal(err)
	}
	if want := "<|im_start|>user\nCount.<|im_end|>\n<|im_start|>assistant\nOne, two,"; r.Text != want {
		t.Errorf("got %q, want %q", r.Text, want)
	}
}

// TestShapes: calls reach the text in whatever form the template takes them.
func TestShapes(t *testing.T) {
	t.Parallel()
	p := Messages(User("Weather?"), Message{Role: RoleAssistant, ToolCalls: []ToolCall{{
		ID: "call12345", Name: "get_weather", Arguments: []byte(`{"city": "Zürich", "days": 2}`)}}},
		ToolResult("call12345", "get_weather", "sunny"))
	shows := map[string]bool{ // the others refuse calls or leave them out
		"deepseek_v3": true, "gemma4_31b": true, "lfm2": true, "llama3_2_official": true, "nemotron35": true,
		"phi4_mini": true, "qwen2.5-instruct": true, "qwen3": true, "qwen3_coder": true,
	}
	for _, s := range suites(t) {
		r, err := s.template.Render(p, RenderOptions{AddGenerationPrompt: true, Now: noon})
		if !shows[s.name] {
			if err == nil && strings.Contains(r.Text, "get_weather") {
				t.Errorf("%s renders calls now: add it to the list", s.name)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
			continue
		}
		for _, w := range []string{"get_weather", "Zürich", "days", "sunny"} {
			if !strings.Contains(r.Text, w) {
				t.Errorf("%s: %q is not in %q", s.name, w, r.Text)
			}
		}
	}
	parts := mustTemplate(t, `{% for m in messages %}{% for p in m.content %}{% if p.type == 'text' %}[{{ p.text }}]{% endif %}{% endfor %}{% endfor %}`)
	r, err := parts.Render(Messages(User("hello")), RenderOptions{})
	if err != nil || r.Text != "[hello]" {
		t.Errorf("a template of parts: %v, %v", r, err)
	}
}

// TestDropped: a tool's result without a call is left out by some templates, and never silently.
func TestDropped(t *testing.T) {
	t.Parallel()
	p := Messages(User("hi"), ToolResult("nobody", "f", "orphaned result"), User("so?"))
	for _, s := range suites(t) {
		r, err := s.template.Render(p, RenderOptions{AddGenerationPrompt: true, Now: noon})
		if err != nil {
			continue
		}
		if shown := strings.Contains(r.Text, "orphaned"); shown == slices.Contains(r.Dropped, 1) {
			t.Errorf("%s: shown %v, dropped %v: %q", s.name, shown, r.Dropped, r.Text)
		}
	}
}

func TestSources(t *testing.T) {
	t.Parallel()
	tmpl := mustTemplate(t, `{% for m in messages %}<{{ m.role }}>{{ m.content | trim | upper }}{% endfor %}{{ tools | tojson }}`)
	r, err := tmpl.Render(Messages(User(" hi "), Message{Role: "odd>", Content: "x"}).WithTools(Tool{Name: "f"}), RenderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	type piece struct {
		text    string
		message int
		content bool
	}
	var got []piece
	start := 0
	for _, s := range r.Spans {
		m, ok := s.Source.Message()
		if !ok {
			m = -1
		}
		got = append(got, piece{r.Text[start:s.End], m, s.Source.Content()})
		start = s.End
	}
	want := []piece{{"<user>", -1, false}, {"HI", 0, true}, {"<", -1, false}, {"odd>", 1, false}, {">", -1, false}, {"X", 1, true}}
	if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
		t.Errorf("got %+v, want %+v and the tools", got, want)
	}
}

// TestSameTextOnEveryGoroutine: a template is shared.
func TestSameTextOnEveryGoroutine(t *testing.T) {
	t.Parallel()
	tmpl := mustTemplate(t, chatML)
	p := Messages(System("s"), User("u"))
	want, err := tmpl.Render(p, RenderOptions{AddGenerationPrompt: true})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan string)
	for range 8 {
		go func() {
			r, err := tmpl.Render(p, RenderOptions{AddGenerationPrompt: true})
			if err != nil {
				done <- err.Error()
				return
			}
			done <- r.Text
		}()
	}
	for range 8 {
		if got := <-done; got != want.Text {
			t.Errorf("got %q, want %q", got, want.Text)
		}
	}
}
