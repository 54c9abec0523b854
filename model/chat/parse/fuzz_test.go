package parse

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/internal/race"
	"github.com/hotpath-go/hotpath/model/chat"
)

// words are what replies are made of here: markers, pieces of them, and what stands between.
var words = []string{
	"<think>", "</think>", "<tool_call>", "</tool_call>", "<function=get_weather>", "</function>", "<parameter=city>", "</parameter>",
	"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>", "```json", "```",
	"<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "<|python_tag|>", "<|python_start|>", "<|python_end|>",
	"<|tool_call_start|>", "<|tool_call_end|>", "[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]",
	"<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>", "analysis", "commentary", "final", " to=functions.get_weather",
	"<|channel>thought", "<channel|>", "<|tool_call>", "<tool_call|>", gemmaQuote, "<|tool_call|>", "<|/tool_call|>",
	`{"name": "get_weather", "arguments": {"city": "Paris"}}`, `{"name": "get_weather", "parameters": {}}`, `{"city": "Paris"}`,
	`[get_weather(city="Paris", days=2)]`, "call:get_weather{city:", "get_weather", "city", "{", "}", "[", "]", "(", ")", ":", ",", ";",
	`"`, "'", `\`, "\n", "\n\n", " ", "Hello", "5", "true", "<", "<|", "é", "<｜", "[TOOL", "\xe2\x96",
}

// check holds a text against what every parse must keep.
func check(t *testing.T, f Format, opened, text string, seed uint64) {
	t.Helper()
	o := Options{Tools: []chat.Tool{weather, shell}, Opened: opened}
	whole := read(t, f, o, text, nil)
	if whole.raw != text {
		t.Fatalf("%s: %q: raws join to %q", f, text, whole.raw)
	}
	for i := range uint64(2) {
		cut := read(t, f, o, text, rand.New(rand.NewPCG(seed, i)))
		if fmt.Sprintf("%q", cut) != fmt.Sprintf("%q", whole) {
			t.Fatalf("%s after %q: %q, cut by seed %d, %d:\n got %q\nwhole %q", f, opened, text, seed, i, cut, whole)
		}
	}
	p, err := New(f, o)
	if err != nil {
		t.Fatal(err)
	}
	events := append([]Event(nil), p.Push(text)...)
	for _, e := range append(events, p.Flush()...) {
		if e.Kind == Call && (e.Call.Name == "" || e.Call.ID == "" || !json.Valid(e.Call.Arguments) || e.Call.Arguments[0] != '{') {
			t.Fatalf("%s: %q: call %+v", f, text, e.Call)
		}
		if e.Kind == Call && e.Text != "" {
			t.Fatalf("%s: %q: a call with text %q", f, text, e.Text)
		}
	}
}

var openings = []string{"", "<think>\n", "<think>\n\n</think>\n\n", "<|start|>assistant", "<|start|>assistant<|channel|>final<|message|>", "<|channel>thought\n"}

func TestAnyCutGivesTheSameParse(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 7))
	rounds := 3000
	if race.Enabled {
		rounds = 500
	}
	for range rounds {
		var b strings.Builder
		for range 1 + rng.IntN(14) {
			b.WriteString(words[rng.IntN(len(words))])
		}
		f := Formats()[rng.IntN(len(Formats()))]
		check(t, f, openings[rng.IntN(len(openings))], b.String(), rng.Uint64())
	}
}

func FuzzParse(f *testing.F) {
	for i, w := range words {
		f.Add(uint8(i), uint8(i), w+words[(i+3)%len(words)]+w, uint64(i))
	}
	f.Fuzz(func(t *testing.T, format, opened uint8, text string, seed uint64) {
		formats := Formats()
		check(t, formats[int(format)%len(formats)], openings[int(opened)%len(openings)], text, seed)
	})
}

// TestLongReplies: a marker in every word, and a call that never ends, in small deltas. With a parser
// that looks at every byte again for each delta this test would take hours.
func TestLongReplies(t *testing.T) {
	t.Parallel()
	n := 1 << 18
	if race.Enabled {
		n >>= 3
	}
	for _, f := range Formats() {
		for _, unit := range []string{"<think>", "x<|end|>", "<|tool_call_end|>", "[TOOL_CALLS]", "<|python_tag|>", "<", "\n", "<tool_call>{", "ab "} {
			text := "a" + strings.Repeat(unit, n/len(unit)/16)
			if r := read(t, f, Options{}, text, nil); r.raw != text {
				t.Errorf("%s: %q: raw differs", f, unit)
			}
		}
		text := "<tool_call>" + strings.Repeat("x", n)
		p, err := New(f, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(text); i += 4 {
			p.Push(text[i:min(i+4, len(text))])
		}
		p.Flush()
	}
}
