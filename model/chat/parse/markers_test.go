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

// writers spell a call of run_shell with one string argument, as each format does.
var writers = map[Format]func(value string) string{
	Hermes: func(v string) string {
		return "<tool_call>\n{\"name\": \"run_shell\", \"arguments\": {\"cmd\": " + raw(v) + "}}\n</tool_call>"
	},
	Qwen3: func(v string) string {
		return "<tool_call>\n{\"name\": \"run_shell\", \"arguments\": {\"cmd\": " + raw(v) + "}}\n</tool_call>"
	},
	Qwen3Coder: func(v string) string {
		return "<tool_call>\n<function=run_shell>\n<parameter=cmd>\n" + v + "\n</parameter>\n</function>\n</tool_call>"
	},
	DeepSeekR1: deepSeekText,
	DeepSeekV3: deepSeekText,
	GLM45: func(v string) string {
		return "<tool_call>run_shell\n<arg_key>cmd</arg_key>\n<arg_value>" + v + "</arg_value>\n</tool_call>"
	},
	Llama3JSON: func(v string) string {
		return `<|python_tag|>{"name": "run_shell", "parameters": {"cmd": ` + raw(v) + "}}"
	},
	Pythonic: func(v string) string { return "<|python_start|>[run_shell(cmd=" + raw(v) + ")]<|python_end|>" },
	LFM2:     func(v string) string { return "<|tool_call_start|>[run_shell(cmd=" + raw(v) + ")]<|tool_call_end|>" },
	Mistral:  func(v string) string { return `[TOOL_CALLS]run_shell{"cmd": ` + raw(v) + "}" },
	GPTOSS: func(v string) string {
		return "<|channel|>commentary to=functions.run_shell <|constrain|>json<|message|>{\"cmd\": " + raw(v) + "}<|call|>"
	},
	Gemma: func(v string) string {
		return "<|tool_call>call:run_shell{cmd:" + gemmaQuote + v + gemmaQuote + "}<tool_call|>"
	},
	Phi4: func(v string) string {
		return `<|tool_call|>[{"name": "run_shell", "arguments": {"cmd": ` + raw(v) + "}}]<|/tool_call|>"
	},
}

// raw is a JSON string in which markers stand as they are.
func raw(v string) string { return string(quote(v)) }

func deepSeekText(v string) string {
	return "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>run_shell\n```json\n{\"cmd\": " + raw(v) + "}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
}

// unwritable reports whether a format that writes strings as they are has no way to write one: it
// would end where the string is to go on.
func unwritable(f Format, v string) bool {
	switch f {
	case Gemma:
		return strings.Contains(v, gemmaQuote)
	case Qwen3Coder: // the tag, and then one that may follow it
		return valueEnd(v+"\n"+paramClose, paramClose, paramOpen, funcClose, "</tool_call>") < len(v)+1
	case GLM45:
		return valueEnd(v+valueClose, valueClose, keyOpen, "</tool_call>") < len(v)
	}
	return false
}

// TestMarkersInArguments: an argument may hold every marker of its own format and of the others, and
// words that look like the end of the call.
func TestMarkersInArguments(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 5))
	var values []string
	for _, w := range words {
		if w = strings.ToValidUTF8(w, ""); w != "" {
			values = append(values, w, w+w, "a"+w, w+"b\n", "\""+w+"'", "{\""+w, `\`+w)
		}
	}
	values = append(values, "", "\n", "\n\n", `\`, `\"`, `"`, `'`, `"""`, "```\n", "a\x01b\r\t", "\u2028", "</parameter>", "x</parameter>y", "</parameter>\n<b>",
		"</arg_value>", "x</arg_value> y", "<parameter=cmd>\nx", "<arg_value>", "}</tool_call>", "\"}}\n</tool_call>", "}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
		`"}<|call|>`, ")]<|tool_call_end|>", "}<tool_call|>", "}]<|/tool_call|>", ")]<|python_end|>")
	rounds := 600
	if race.Enabled {
		rounds, values = 60, values[len(values)/2:]
	}
	for range rounds {
		var b strings.Builder
		for range 1 + rng.IntN(5) {
			b.WriteString(strings.ToValidUTF8(words[rng.IntN(len(words))], ""))
		}
		values = append(values, b.String())
	}
	for _, f := range Formats() {
		write := writers[f]
		if write == nil {
			if f != Plain {
				t.Errorf("%s is not written", f)
			}
			continue
		}
		o := Options{Tools: []chat.Tool{shell}, Opened: "<think>\n\n</think>\n\n"}
		if f == GPTOSS {
			o.Opened = "<|start|>assistant"
		}
		skipped := 0
		for _, v := range values {
			if unwritable(f, v) {
				skipped++
				continue
			}
			text := write(v)
			whole := read(t, f, o, text, nil)
			var got struct{ Cmd string }
			if len(whole.events) != 1 || !strings.HasPrefix(whole.events[0], "call run_shell {") {
				t.Errorf("%s: %q: %q", f, text, whole.events)
				continue
			}
			arguments := strings.TrimSuffix(strings.TrimPrefix(whole.events[0], "call run_shell "), " call00000")
			if err := json.Unmarshal([]byte(arguments), &got); err != nil || got.Cmd != v {
				t.Errorf("%s: %q: %q, %v", f, text, got.Cmd, err)
			}
			for _, cut := range []result{read(t, f, o, text, rng), bytewise(t, f, o, text)} {
				if fmt.Sprint(cut) != fmt.Sprint(whole) || cut.raw != text {
					t.Errorf("%s: %q:\n  cut %q\nwhole %q", f, text, cut, whole)
				}
			}
		}
		if skipped > len(values)/3 {
			t.Errorf("%s: %d of %d values cannot be written", f, skipped, len(values))
		}
	}
}

// TestSecondCallOfMarkers: what the first call holds does not hide the second, nor the text behind.
func TestSecondCallOfMarkers(t *testing.T) {
	t.Parallel()
	for f, write := range writers {
		if f == Llama3JSON || f == GPTOSS { // the next call has no marker, or a header of its own
			continue
		}
		value := "</tool_call>'<｜tool▁call▁end｜><|tool_call_end|></parameter>x</arg_value>x<|/tool_call|><tool_call|><|python_end|>[TOOL_CALLS]"
		r := read(t, f, Options{Tools: []chat.Tool{shell}, Opened: "<think></think>"}, write("a")+write(value)+"behind", nil)
		if len(r.events) != 3 || !strings.HasPrefix(r.events[1], "call run_shell ") || !strings.HasSuffix(r.events[2], "behind") {
			t.Errorf("%s: %q", f, r.events)
		}
	}
}

// TestBrokenHarmonyCallEnds: a string that never closes does not take the messages after it along.
func TestBrokenHarmonyCallEnds(t *testing.T) {
	t.Parallel()
	text := `<|channel|>commentary to=functions.run_shell<|message|>{"cmd": "x<|call|><|start|>assistant<|channel|>final<|message|>Sorry.`
	r := read(t, GPTOSS, Options{Opened: "<|start|>assistant"}, text, nil)
	if len(r.events) != 1 || r.events[0] != `content: {"cmd": "xSorry.` || r.raw != text {
		t.Errorf("%q", r)
	}
}

// TestSchemaBomb: references that multiply cost a bounded time.
func TestSchemaBomb(t *testing.T) {
	t.Parallel()
	many := strings.TrimSuffix(strings.Repeat(`{"$ref":"#/$defs/a"},`, 60), ",")
	tool := chat.Tool{Name: "run_shell", Parameters: []byte(`{"properties":{"cmd":{"$ref":"#/$defs/a"}},"anyOf":[` + many + `],"$defs":{"a":{"anyOf":[` + many + `]}}}`)}
	r := read(t, Qwen3Coder, Options{Tools: []chat.Tool{tool}}, writers[Qwen3Coder]("5"), nil)
	if len(r.events) != 1 || r.events[0] != `call run_shell {"cmd": "5"} call00000` {
		t.Errorf("%q", r.events)
	}
}

func bytewise(t *testing.T, f Format, o Options, text string) (r result) {
	t.Helper()
	p, err := New(f, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(text) {
		collect(p.Push(text[i:i+1]), &r)
	}
	collect(p.Flush(), &r)
	return r
}
