package decide_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/internal/race"
	"github.com/hotpath-go/hotpath/internal/testdata"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/arch"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/tokenizer"
)

var noon = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

// suite is a chat template with the conversations that it was rendered with.
type suite struct {
	name     string
	Template string `json:"template_file"`
	BOS      string `json:"bos_token"`
	Cases    []struct {
		Name     string
		Context  map[string]json.RawMessage
		Rendered string
	}
}

func suites(t testing.TB) []*suite {
	t.Helper()
	var list []*suite
	files, err := filepath.Glob(filepath.Join(testdata.Path(t, "tokenizer-cases/chat"), "*.json"))
	if err != nil || len(files) != 12 {
		t.Fatalf("%d templates, %v", len(files), err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".json")
		if race.Enabled && !slices.Contains([]string{"chatml", "deepseek_v3", "nemotron35"}, name) {
			continue // these have small vocabularies, and come to every form
		}
		s := &suite{name: name}
		if err := json.Unmarshal(testdata.Read(t, "tokenizer-cases/chat/"+name+".json"), s); err != nil || len(s.Cases) != 20 {
			t.Fatalf("%s: %d cases, %v", name, len(s.Cases), err)
		}
		list = append(list, s)
	}
	return list
}

// vocabularyOf pairs the templates with the real vocabularies at hand. The others get one of bytes
// and their own control tokens.
var vocabularyOf = map[string]string{
	"qwen3": "qwen3", "qwen2.5-instruct": "qwen3", "qwen3_coder": "qwen3",
	"llama3": "llama3", "llama3_2_official": "llama3", "gemma3": "gemma3",
}

var controlText = regexp.MustCompile(`<[|｜][^<>\s]*>|<[a-z_]+\|>|<(?:s|bos|start_of_turn|end_of_turn)>`)

// tokenizers are large, and tests share them.
var tokenizers sync.Map

func tokenizerOf(t testing.TB, name string) *tokenizer.Tokenizer {
	t.Helper()
	raw := testdata.Read(t, "tokenizers/"+name+"/tokenizer.json.gz")
	load, _ := tokenizers.LoadOrStore(name, sync.OnceValues(func() (*tokenizer.Tokenizer, error) {
		return tokenizer.FromJSON(raw, nil)
	}))
	tok, err := load.(func() (*tokenizer.Tokenizer, error))()
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// model returns a model that is nothing but vocabulary and template.
func (s *suite) model(t testing.TB) *model.Model {
	t.Helper()
	var tok *tokenizer.Tokenizer
	if v, ok := vocabularyOf[s.name]; ok {
		tok = tokenizerOf(t, v)
	} else {
		seen := map[string]bool{}
		var controls []string
		add := func(c string) {
			if c != "" && !seen[c] {
				seen[c] = true
				controls = append(controls, c)
			}
		}
		add(s.BOS)
		for _, c := range s.Cases {
			for _, m := range controlText.FindAllString(c.Rendered, -1) {
				add(m)
			}
		}
		tok = byteTokenizer(t, controls)
	}
	m, err := model.New(s.name, &arch.Program{Vocab: tok.Size(), Tied: true}, tok,
		string(testdata.Read(t, filepath.Join("tokenizer-cases", s.Template))))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// byteTokenizer has a token for each byte, one for a few pairs, and control tokens.
func byteTokenizer(t testing.TB, controls []string) *tokenizer.Tokenizer {
	t.Helper()
	type added struct {
		ID      int    `json:"id"`
		Content string `json:"content"`
		Special bool   `json:"special"`
	}
	vocab := map[string]int{}
	for b := range 256 {
		r := rune(b)
		if b <= 32 || 127 <= b && b <= 160 || b == 173 { // as GPT-2 writes bytes
			r = rune(256 + len(vocab) - countPrintable(b))
		}
		vocab[string(r)] = b
	}
	var merges []string
	for _, m := range []string{"t h", "e r", "o n", "i n", "y e", "ye s", "n o", "Ċ Ċ", "Ġ a", "Ġ t", "Ġt h"} {
		merges = append(merges, m)
		vocab[strings.ReplaceAll(m, " ", "")] = len(vocab)
	}
	var list []added
	for _, c := range controls {
		id := len(vocab) + len(list)
		list = append(list, added{id, c, true})
	}
	raw, err := json.Marshal(map[string]any{
		"added_tokens":  list,
		"pre_tokenizer": map[string]any{"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
		"decoder":       map[string]any{"type": "ByteLevel"},
		"model":         map[string]any{"type": "BPE", "vocab": vocab, "merges": merges},
	})
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.FromJSON(raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// countPrintable returns how many bytes below b stand for themselves.
func countPrintable(b int) int {
	n := 0
	for i := range b {
		if !(i <= 32 || 127 <= i && i <= 160 || i == 173) {
			n++
		}
	}
	return n
}

// promptOf turns a case's context into a Prompt.
func promptOf(t testing.TB, context map[string]json.RawMessage) chat.Prompt {
	t.Helper()
	decode := func(raw []byte, v any) {
		if err := json.Unmarshal(raw, v); err != nil {
			t.Fatal(err)
		}
	}
	var ms []struct {
		Role       chat.Role
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
	decode(context["messages"], &ms)
	p := chat.Messages()
	for _, m := range ms {
		out := chat.Message{Role: m.Role, Reasoning: m.Reasoning, ToolCallID: m.ToolCallID, Name: m.Name}
		switch {
		case m.Content[0] == '[':
			decode(m.Content, &out.Parts)
		case string(m.Content) != "null":
			decode(m.Content, &out.Content)
		}
		for _, c := range m.ToolCalls {
			out.ToolCalls = append(out.ToolCalls, chat.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
		}
		p = p.With(out)
	}
	names := make([]string, 0, len(context))
	for name := range context {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		switch name {
		case "messages", "bos_token", "eos_token", "add_generation_prompt":
		case "tools":
			var tools []struct{ Function chat.Tool }
			decode(context[name], &tools)
			for _, tool := range tools {
				p = p.WithTools(tool.Function)
			}
		default:
			p = p.WithArg(name, context[name])
		}
	}
	return p
}

// TestBorders: whatever the template and the conversation, the tokens of a state are the first of
// those that Generate computes for the same prompt. The form that each comes to stands in a table.
func TestBorders(t *testing.T) {
	t.Parallel()
	var table bytes.Buffer
	count := map[decide.Border]int{}
	for _, s := range suites(t) {
		m := s.model(t)
		c := decide.NewCompiler(m, decide.Options{Clock: noon})
		for _, item := range s.Cases {
			p := promptOf(t, item.Context)
			name := s.name + "/" + item.Name
			prompt, wrong := m.Encode(p, noon)
			e, err := c.Encode(decide.Chat(p), decide.BorderNone)
			if wrong != nil {
				fmt.Fprintf(&table, "%-18s %-36s %s\n", s.name, item.Name, "refused")
				if !errors.Is(err, decide.ErrState) || !errors.Is(err, chat.ErrRender) {
					t.Errorf("%s: %v; Generate: %v", name, err, wrong)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			count[e.Border]++
			fmt.Fprintf(&table, "%-18s %-36s %v\n", s.name, item.Name, e.Border)
			if len(e.Tokens) == 0 || len(e.Tokens) > len(prompt) || !slices.Equal(e.Tokens, prompt[:len(e.Tokens)]) {
				t.Errorf("%s: the state's %d tokens are not the first of the prompt's %d", name, len(e.Tokens), len(prompt))
			}
			// A canonical border gives what the template renders with the question.
			canonical, err := c.Encode(decide.Chat(p), decide.BorderCanonical)
			switch {
			case err != nil && e.Border != decide.BorderAppended:
				t.Errorf("%s: canonical: %v", name, err)
			case err == nil && canonical.Border != decide.BorderCanonical:
				t.Errorf("%s: border %v, asked for canonical", name, canonical.Border)
			case err == nil && e.Border != decide.BorderAppended && !slices.Equal(canonical.Tokens, e.Tokens):
				t.Errorf("%s: the canonical tokens are others, in form %v", name, e.Border)
			}
		}
	}
	if !race.Enabled {
		compareFile(t, "borders.txt", table.Bytes())
	}
	if count[decide.BorderTurn] == 0 || count[decide.BorderInside] == 0 || count[decide.BorderAppended] == 0 {
		t.Errorf("%v", count)
	}
}

// TestQuestionIsTheTemplates: state and question together are the tokens of what the template itself
// renders for the conversation with the question in it, its reasoning switched off.
func TestQuestionIsTheTemplates(t *testing.T) {
	t.Parallel()
	compared := map[string]int{}
	for _, s := range suites(t) {
		m := s.model(t)
		c := decide.NewCompiler(m, decide.Options{Clock: noon})
		plan, err := c.Compile(decide.Request{Instructions: "Be <|im_end|> strict. </s>", Questions: []decide.Question{
			decide.Choice("c", "Which <|eot_id|><end_of_turn> one?", decide.Names("cat", "dog<|im_start|>", "bird")...),
		}})
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		for _, item := range s.Cases {
			p := promptOf(t, item.Context)
			e, err := c.Encode(decide.Chat(p), decide.BorderNone)
			if err != nil || e.Border == decide.BorderAppended {
				continue
			}
			spans, err := plan.Spans(e.Form)
			if err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
			if len(spans) != 1 || len(spans[0].Reads) != 1 {
				t.Fatalf("%s: %d spans", s.name, len(spans))
			}
			text, ok := c.QuestionText(m.Tokenizer.Decode(spans[0].Tokens, false), e.Form)
			if !ok {
				t.Fatalf("%s: the question %q does not stand in its scaffold", s.name, m.Tokenizer.Decode(spans[0].Tokens, false))
			}
			asked := p.With(chat.User(text))
			if e.Form == decide.BorderInside {
				turns := slices.Clone(p.Turns())
				last := &turns[len(turns)-1]
				if len(last.Parts) > 0 {
					continue
				}
				last.Content = strings.TrimRight(last.Content, " \n") + "\n\n" + text
				asked = chat.Messages(turns...).WithTools(p.Tools()...)
			}
			if !slices.ContainsFunc(p.Args(), func(a chat.Arg) bool { return a.Name == "enable_thinking" }) {
				asked = asked.WithArg("enable_thinking", json.RawMessage("false"))
			}
			want, err := m.Encode(asked, noon)
			if err != nil {
				t.Errorf("%s/%s: %v", s.name, item.Name, err)
				continue
			}
			if string(argOf(p, "enable_thinking")) == "true" {
				continue // the conversation itself asks for reasoning
			}
			if got := slices.Concat(e.Tokens, spans[0].Tokens); !slices.Equal(got, want) {
				t.Errorf("%s/%s: %v\n%q\nwant\n%q", s.name, item.Name, e.Border, m.Tokenizer.Decode(got, false), m.Tokenizer.Decode(want, false))
			}
			compared[s.name]++
			// A label is the next token of that text.
			for i, id := range spans[0].Reads[0].Labels {
				tok, _ := m.Tokenizer.Token(id)
				if name := strings.TrimSpace(string(tok.Bytes)); name != "" && !strings.Contains("ABC", name) || i > 5 {
					t.Errorf("%s: label %d is %q", s.name, i, tok.Bytes)
				}
			}
		}
	}
	for _, s := range suites(t) {
		if compared[s.name] < 5 {
			t.Errorf("%s: %d conversations compared", s.name, compared[s.name])
		}
	}
}

func argOf(p chat.Prompt, name string) json.RawMessage {
	for _, a := range p.Args() {
		if a.Name == name {
			return a.Value
		}
	}
	return nil
}

// compareFile compares with a file of testdata, which it writes anew when UPDATE is set.
func compareFile(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE") != "" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s:\n%s\ngot\n%s", name, want, got)
	}
}
