package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotpath-go/hotpath/internal/testdata"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/tokenizer"
)

// text returns what ids say, as plain leaves it.
func text(m *model.Model, ids []int32) string { return plain(m.Tokenizer.Decode(ids, false)) }

// plain takes out what the story model's vocabulary does to any text: a blank at its beginning and
// after a BOS, and one for each of the characters that stand for blanks.
func plain(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "<s> ", ""), "<s>", "")
	return strings.TrimPrefix(strings.ReplaceAll(s, "▁", " "), " ")
}

// written is a reply as a generation would leave it: the ids of a text inside others.
func written(m *model.Model, s string) *Generation {
	g := &Generation{Text: s, IDs: m.Tokenizer.EncodeInside(nil, s, tokenizer.Text)}
	g.Message = chat.Message{Role: chat.RoleAssistant, Content: s, IDs: g.IDs}
	return g
}

// opened says how three templates open a reply in an earlier turn, and how it was when it was written: the
// transcript keeps that.
var opened = map[string][2]string{
	"chatml":     {"assistant\nT", "assistant\n\nT"},
	"gemma4_31b": {"<|turn>model\nT", "<|turn>model\n<|channel>thought\n<channel|>T"},
	"nemotron35": {"<think></think>", "<think>\n"},
}

// TestTranscriptFollowsTheTemplate builds conversations turn by turn around generated replies, for
// twelve templates of real models, and compares the text with what the template renders of the whole.
func TestTranscriptFollowsTheTemplate(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(testdata.Path(t, "tokenizer-cases/templates"), "*.jinja"))
	if err != nil || len(files) != 12 {
		t.Fatalf("%d templates, %v", len(files), err)
	}
	base, err := model.Stories().Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer base.Close()
	clock := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".jinja")
		t.Run(name, func(t *testing.T) {
			m, err := model.New(name, base.Program, base.Tokenizer, string(testdata.Read(t, "tokenizer-cases/templates/"+name+".jinja")))
			if err != nil {
				t.Fatal(err)
			}
			whole := func(p chat.Prompt) string {
				t.Helper()
				r, err := m.Render(p, clock)
				if err != nil {
					t.Fatal(err)
				}
				return r.Text
			}
			turns := []chat.Message{chat.User("What is the tallest tree?")}
			tr, err := newTranscript(m, chat.Messages(turns...), clock)
			if err != nil {
				t.Fatal(err)
			}
			for _, step := range []struct{ reply, next string }{
				{"The coast redwood.", "And the oldest?"},
				{"That is a pine.", "How old is it?"},
				{"Two thousand years.", "Thanks."},
			} {
				in, err := tr.reply()
				if err != nil {
					t.Fatal(err)
				}
				// The prompt's text is the template's own.
				if got, want := text(m, in.tokens), whole(chat.Messages(turns...)); got != plain(strings.ReplaceAll(want, opened[name][0], opened[name][1])) {
					t.Fatalf("prompt %q\nwant   %q", got, want)
				}
				before := len(in.tokens)
				if err := tr.keep(written(m, step.reply)); err != nil {
					t.Fatal(err)
				}
				if len(tr.tokens) <= before || !equalIDs(tr.tokens[:before], in.tokens) {
					t.Fatalf("the reply's prompt is not kept: %d tokens, then %d", before, len(tr.tokens))
				}
				turns = append(turns, chat.Assistant(step.reply), chat.User(step.next))
				if err := tr.append(chat.User(step.next)); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := tr.reply(); err != nil {
				t.Error(err)
			}
		})
	}
}

func equalIDs(a, b []int32) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

// untooled are the templates that know no turn of a tool, or none of two results.
var untooled = map[string]int{"chatml": 0, "gemma3": 0, "llama3_2_official": 1}

// recalled says how templates write in an earlier turn what opened the reply when it was written.
var recalled = map[string]*strings.Replacer{
	"gemma4_31b": strings.NewReplacer("<|turn>model\n<|tool_call>", "<|turn>model\n<|channel>thought\n<channel|><|tool_call>"),
	"nemotron35": strings.NewReplacer("<think></think>\n<tool_call>", "<think>\n<tool_call>", "<think></think>It", "<think>\nIt"),
}

// TestTranscriptOfTools answers generated calls, with all results at once and one by one, goes on
// after them, and compares the text with what the template renders of the whole.
func TestTranscriptOfTools(t *testing.T) {
	t.Parallel()
	base, err := model.Stories().Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer base.Close()
	files, err := filepath.Glob(filepath.Join(testdata.Path(t, "tokenizer-cases/templates"), "*.jinja"))
	if err != nil || len(files) != 12 {
		t.Fatalf("%d templates, %v", len(files), err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".jinja")
		t.Run(name, func(t *testing.T) {
			m, err := model.New(name, base.Program, base.Tokenizer, string(testdata.Read(t, "tokenizer-cases/templates/"+name+".jinja")))
			if err != nil {
				t.Fatal(err)
			}
			for calls := 1; calls <= 2; calls++ {
				answerCalls(t, m, name, calls)
			}
		})
	}
}

func answerCalls(t *testing.T, m *model.Model, name string, calls int) {
	t.Helper()
	clock := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	tool := chat.Tool{Name: "weather", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)}
	p := chat.Messages(chat.System("Be brief."), chat.User("Weather in Oslo?")).WithTools(tool)
	call := chat.Message{Role: chat.RoleAssistant}
	var results []chat.Message
	for i := range calls {
		c := chat.ToolCall{ID: fmt.Sprintf("call0000%d", i), Name: "weather", Arguments: json.RawMessage(`{"city":"Oslo"}`)}
		call.ToolCalls = append(call.ToolCalls, c)
		results = append(results, chat.ToolResult(c.ID, c.Name, fmt.Sprintf("rain, %d degrees", i)))
	}
	whole := p.With(call).With(results...)
	want, err := m.Render(whole, clock)
	if most, refuses := untooled[name]; refuses && calls > most {
		if err == nil {
			t.Errorf("%d results: the template takes them", calls)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	tr, err := newTranscript(m, p, clock)
	if err != nil {
		t.Fatal(err)
	}
	in, err := tr.reply()
	if err != nil {
		t.Fatal(err)
	}
	// What the template writes of the calls stands for what the model does, up to where a model ends.
	_, reply, ok := strings.Cut(want.Text, "Weather in Oslo?")
	if !ok {
		t.Fatal(want.Text)
	}
	for _, mark := range []string{"<tool_call>", "<|tool_call>", "<|tool_call_start|>", "<|tool_call|>", "<｜tool▁calls▁begin｜>", "{\"name\""} {
		if at := strings.Index(reply, mark); at >= 0 {
			reply = reply[at:]
			break
		}
	}
	for _, mark := range []string{"<|im_end|>", "<|eot_id|>", "<|end|>", "<|tool_response>", "<｜end▁of▁sentence｜>", "<｜tool▁outputs▁begin｜>"} {
		reply, _, _ = strings.Cut(reply, mark)
	}
	g := written(m, reply)
	g.Message = chat.Message{Role: chat.RoleAssistant, ToolCalls: call.ToolCalls, IDs: g.IDs}
	g.IDs = append(g.IDs, m.Tokenizer.EOG()[0]) // a model ends its turn in whatever way it learned
	if err := tr.keep(g); err != nil {
		t.Fatal(err)
	}
	if !equalIDs(tr.tokens[:len(in.tokens)+len(g.IDs)-1], append(in.tokens, g.IDs[:len(g.IDs)-1]...)) {
		t.Error("the reply's tokens are not kept")
	}
	expect := func(what string, tr *transcript, want string) {
		t.Helper()
		in, err := tr.reply()
		if err != nil {
			t.Fatalf("%d calls, %s: %v", calls, what, err)
		}
		if then := recalled[name]; then != nil {
			want = then.Replace(want)
		}
		if got, want := text(m, in.tokens), plain(want); got != want {
			t.Errorf("%d calls, %s\ngot  %q\nwant %q", calls, what, got, want)
		}
	}
	together, single := tr.clone(), tr
	if err := together.append(results...); err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if err := single.append(r); err != nil {
			t.Fatal(err)
		}
	}
	expect("at once", together, want.Text)
	expect("one by one", single, want.Text)

	// A user who speaks before the reply, and a reply with a user after it.
	spoken := single.clone()
	if err := spoken.append(chat.User("And in Bergen?")); err != nil {
		t.Fatal(err)
	}
	if want, err = m.Render(whole.With(chat.User("And in Bergen?")), clock); err != nil {
		t.Fatal(err)
	}
	expect("a user's turn", spoken, want.Text)
	if err := single.keep(written(m, "It rains.")); err != nil {
		t.Fatal(err)
	}
	if err := single.append(chat.User("And in Bergen?")); err != nil {
		t.Fatal(err)
	}
	if want, err = m.Render(whole.With(chat.Assistant("It rains."), chat.User("And in Bergen?")), clock); err != nil {
		t.Fatal(err)
	}
	expect("a reply", single, want.Text)
}

// TestTranscriptKeepsReasoning, which the template would take out of an earlier turn, until it is
// told to drop it.
func TestTranscriptKeepsReasoning(t *testing.T) {
	t.Parallel()
	base, err := model.Stories().Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer base.Close()
	m, err := model.New("qwen3", base.Program, base.Tokenizer, string(testdata.Read(t, "tokenizer-cases/templates/qwen3.jinja")))
	if err != nil {
		t.Fatal(err)
	}
	tr, err := newTranscript(m, chat.Messages(chat.User("One and one?")), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	g := written(m, "<think>\nEasy.\n</think>\n\nTwo.")
	g.Message = chat.Message{Role: chat.RoleAssistant, Content: "Two.", Reasoning: "Easy.", IDs: g.IDs}
	if err := tr.keep(g); err != nil {
		t.Fatal(err)
	}
	if err := tr.append(chat.User("And three?")); err != nil {
		t.Fatal(err)
	}
	if s := text(m, tr.tokens); !strings.Contains(s, "Easy.") || !strings.HasSuffix(s, "Two.<|im_end|>\n<|im_start|>user\nAnd three?<|im_end|>\n") {
		t.Errorf("%q", s)
	}
	if err := tr.dropReasoning(); err != nil {
		t.Fatal(err)
	}
	if s := text(m, tr.tokens); strings.Contains(s, "Easy.") || !strings.Contains(s, "Two.") {
		t.Errorf("after dropping: %q", s)
	}
}
