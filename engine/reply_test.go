package engine

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/chat/parse"
	"github.com/hotpath-go/hotpath/model/tokenizer"
)

// spell is a text in tokens of the story model: whole words, or a byte each.
func spell(tok *tokenizer.Tokenizer, text string, bytes bool) []int32 {
	if !bytes {
		return tok.EncodeInside(nil, text, tokenizer.Text)
	}
	ids := make([]int32, len(text))
	for i := range ids {
		ids[i] = 3 + int32(text[i])
	}
	return ids
}

func readReply(t *testing.T, tok *tokenizer.Tokenizer, f parse.Format, stops []string, ids []int32) (r *reply, streamed string, stopped bool) {
	t.Helper()
	r = &reply{stream: tok.Continue(false), stop: stopper{stops: stops}}
	if f != "" {
		p, err := parse.New(f, parse.Options{Tools: []chat.Tool{{Name: "f"}}, Opened: "<|start|>assistant"})
		if err != nil {
			t.Fatal(err)
		}
		r.parser = p
	}
	var ev Event
	for _, id := range ids {
		ev = Event{}
		stopped = r.push(id, &ev)
		streamed += ev.Text
		if stopped {
			return r, streamed, true
		}
	}
	ev = Event{}
	stopped = r.flush(&ev)
	return r, streamed + ev.Text, stopped
}

// TestStopTextsAreContent: reasoning and the markup and arguments of calls do not end a reply, and what is
// shown does, wherever tokens and markers cut it.
func TestStopTextsAreContent(t *testing.T) {
	t.Parallel()
	m, err := model.Stories().Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	const call = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"q\": \"STOP\"}}\n</tool_call>"
	for _, c := range []struct {
		format    parse.Format
		stops     []string
		text      string
		want      string
		reasoning string
		calls     int
		stopped   bool
	}{
		{"", []string{"STOP"}, "one STOP two", "one ", "", 0, true},
		{"", []string{"STOP"}, "one STO", "one STO", "", 0, false},
		{parse.Qwen3, []string{"STOP"}, "<think>\nmay I STOP?\n</think>\n\nNo STOP now", "No ", "may I STOP?", 0, true},
		{parse.Qwen3, []string{"Question:", "think"}, "<think>Question: what</think>Answer", "Answer", "Question: what", 0, false},
		{parse.Qwen3, []string{"\n\n"}, "<think>a\n\nb</think>\n\nc\n\nd", "c", "a\n\nb", 0, true},
		{parse.Qwen3, []string{"STOP", "tool_call", "name"}, "look " + call, "look ", "", 1, false},
		{parse.Qwen3, []string{"STOP"}, "look " + call + "and STOP here", "look and ", "", 1, true},
		{parse.Qwen3, []string{"ok an"}, "o" + call + "k and", "", "", 1, true},
		{parse.Qwen3, []string{"STOP"}, "<tool_call>{\"name\": STOP", "<tool_call>{\"name\": ", "", 0, true}, // a call that is none is content
		{parse.GPTOSS, []string{"final", "STOP"}, "<|channel|>analysis<|message|>STOP<|end|><|start|>assistant<|channel|>final<|message|>so STOP.", "so ", "STOP", 0, true},
		{parse.Llama3JSON, []string{"name"}, `{"name": "f", "parameters": {}}`, "", "", 1, false},
		{parse.Llama3JSON, []string{"born"}, `{"name": "Ada", "parameters": {"born": 1}}`, `{"name": "Ada", "parameters": {"`, "", 0, true},
		{parse.Plain, []string{"tool"}, "a <tool_call>", "a <", "", 0, true},
	} {
		for _, bytes := range []bool{true, false} {
			r, streamed, stopped := readReply(t, m.Tokenizer, c.format, c.stops, spell(m.Tokenizer, c.text, bytes))
			if r.text.String() != c.want || streamed != c.want || r.reasoning.String() != c.reasoning || len(r.calls) != c.calls || stopped != c.stopped {
				t.Errorf("%s: %q until %q: text %q, streamed %q, reasoning %q, %d calls, stopped %v", c.format, c.text, c.stops,
					r.text.String(), streamed, r.reasoning.String(), len(r.calls), stopped)
			}
		}
	}
}

// TestStopTextsAnywhere: with random texts, the reply is what it is without stop texts, cut at the first.
func TestStopTextsAnywhere(t *testing.T) {
	t.Parallel()
	m, err := model.Stories().Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(8, 8))
	words := []string{"<think>", "</think>", "<tool_call>", "</tool_call>", `{"name": "f", "arguments": {}}`, "\n", "a", "b", "ab", " ", "<", "é", "a<to"}
	for range 3000 {
		var b strings.Builder
		for range 1 + rng.IntN(12) {
			b.WriteString(words[rng.IntN(len(words))])
		}
		ids := spell(m.Tokenizer, b.String(), rng.IntN(2) == 0)
		stops := []string{[]string{"ab", "aa", "\n\n", "b<", "é", "<to", "aba", "}"}[rng.IntN(8)], "ba"}
		free, _, _ := readReply(t, m.Tokenizer, parse.Qwen3, nil, ids)
		got, streamed, stopped := readReply(t, m.Tokenizer, parse.Qwen3, stops, ids)
		want := free.text.String()
		at := len(want)
		for _, s := range stops {
			if i := strings.Index(want, s); i >= 0 {
				at = min(at, i)
			}
		}
		if got.text.String() != want[:at] || streamed != want[:at] || stopped != (at < len(want)) {
			t.Fatalf("%q until %q: %q, streamed %q, want %q", b.String(), stops, got.text.String(), streamed, want[:at])
		}
	}
}
