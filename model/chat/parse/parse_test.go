package parse

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/model/chat"
)

var weather = chat.Tool{Name: "get_weather", Parameters: []byte(`{"type":"object","properties":{
	"city":{"type":"string"},"days":{"type":"integer"},"celsius":{"type":"boolean"},"at":{"$ref":"#/$defs/at"},
	"ratio":{"type":["number","null"]},"unit":{"enum":["c","f",1]},"tags":{"type":"array"},"either":{"anyOf":[{"type":"string"},{"type":"integer"}]}},
	"$defs":{"at":{"type":"object"}}}`)}

var shell = chat.Tool{Name: "run_shell", Parameters: []byte(`{"type":"object","properties":{"cmd":{"type":"string"},"timeout":{"type":"integer"}}}`)}

// result is what a reply comes to: events in words.
type result struct {
	events []string // "reasoning: …", "content: …", "call f {…} id"
	raw    string
}

func collect(events []Event, r *result) {
	for _, e := range events {
		r.raw += e.Raw
		line := ""
		switch e.Kind {
		case Call:
			line = fmt.Sprintf("call %s %s %s", e.Call.Name, e.Call.Arguments, e.Call.ID)
			if e.Unknown {
				line += " unknown"
			}
			r.events = append(r.events, line)
			continue
		case Reasoning:
			line = "reasoning: "
		case Content:
			line = "content: "
		}
		if n := len(r.events); n > 0 && strings.HasPrefix(r.events[n-1], line) {
			r.events[n-1] += e.Text
		} else if e.Text != "" {
			r.events = append(r.events, line+e.Text)
		}
	}
}

// read parses a text cut at random, or whole when rng is nil.
func read(t testing.TB, f Format, o Options, text string, rng *rand.Rand) result {
	t.Helper()
	p, err := New(f, o)
	if err != nil {
		t.Fatal(err)
	}
	var r result
	for rest := text; rest != ""; {
		n := len(rest)
		if rng != nil {
			n = 1 + rng.IntN(min(n, 12))
		}
		collect(p.Push(rest[:n]), &r)
		rest = rest[n:]
	}
	collect(p.Flush(), &r)
	return r
}

func TestReplies(t *testing.T) {
	t.Parallel()
	const call = `call get_weather {"city": "Paris", "days": 2} call00000`
	for _, c := range []struct {
		format Format
		opened string
		text   string
		want   []string
	}{
		{Plain, "", "<think>a</think>b<tool_call>", []string{"content: <think>a</think>b<tool_call>"}},
		{Qwen3, "", "<think>\nhm\n</think>\n\nYes.", []string{"reasoning: hm", "content: Yes."}},
		{Qwen3, "<|im_start|>assistant\n<think>\n", "hm\n</think>\n\nYes.\n", []string{"reasoning: hm", "content: Yes.\n"}},
		{Qwen3, "<|im_start|>assistant\n<think>\n", "<think>\nhm</think>Yes", []string{"reasoning: hm", "content: Yes"}},
		{Qwen3, "<|im_start|>assistant\n<think>\n\n</think>\n\n", "Yes.", []string{"content: Yes."}},
		{Qwen3, "", "Write <think> and </think>.", []string{"content: Write <think> and </think>."}},
		{Qwen3, "<think>", "never closed", []string{"reasoning: never closed"}},
		{Qwen3, "", "I look.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\", \"days\": 2}}\n</tool_call>",
			[]string{"content: I look.", call}},
		{Hermes, "", `<tool_call>{"name": "get_weather", "arguments": {"city": "Paris", "days": 2}}</tool_call><tool_call>{"name":"nope","arguments":null}</tool_call>`,
			[]string{call, "call nope {} call00001 unknown"}},
		{Hermes, "", `<tool_call>{"name": "run_shell", "arguments": {"cmd": "echo '</tool_call>' {"}}</tool_call>ok`,
			[]string{`call run_shell {"cmd": "echo '</tool_call>' {"} call00000`, "content: ok"}},
		{Hermes, "", `<tool_call>{"name": "run_shell", "arguments": {"cmd": broken}}</tool_call> then`,
			[]string{`content: <tool_call>{"name": "run_shell", "arguments": {"cmd": broken}}</tool_call> then`}},
		{Hermes, "", "a\n\n<tool_call>\n{\"name\": ", []string{"content: a\n\n<tool_call>\n{\"name\": "}},
		{Hermes, "", `<tool_call>{"name": "f", "arguments": {}}`, []string{`call f {} call00000 unknown`}},
		{Hermes, "", "<tool_call>{\"name\": \"run_shell\", \"arguments\": {\"cmd\": \"a\nb\"}}</tool_call>", []string{`call run_shell {"cmd": "a\nb"} call00000`}},
		{Hermes, "", "half a <tool_c", []string{"content: half a <tool_c"}},
		{Qwen3Coder, "", "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>", []string{call}},
		{Qwen3Coder, "", "<function=get_weather>\n<parameter=city>\n5\n</parameter>\n<parameter=days>\n5\n</parameter>\n<parameter=celsius>True</parameter><parameter=at>\n{\"x\": 1}\n</parameter>" +
			"<parameter=ratio>null</parameter><parameter=unit>1</parameter><parameter=tags>['a', 2]</parameter><parameter=either>7</parameter><parameter=other>7</parameter></function>",
			[]string{`call get_weather {"city": "5", "days": 5, "celsius": true, "at": {"x": 1}, "ratio": null, "unit": 1, "tags": ["a", 2], "either": 7, "other": "7"} call00000`}},
		{Qwen3Coder, "", "<tool_call>\n<function=run_shell>\n<parameter=cmd>\ncat <<E\n</tool_call>\nE\n</parameter>\n</function>\n</tool_call>", []string{`call run_shell {"cmd": "cat <<E\n</tool_call>\nE"} call00000`}},
		{Qwen3Coder, "", "<tool_call>\n<function=get_weather>\n<parameter=days>\ntwo\n</parameter>\n</function>\n</tool_call>", []string{`call get_weather {"days": "two"} call00000`}},
		{DeepSeekR1, "<｜Assistant｜>", "hm\n</think>\nYes", []string{"reasoning: hm", "content: Yes"}},
		{DeepSeekR1, "<｜Assistant｜>", "<think>\nhm</think>Yes", []string{"reasoning: hm", "content: Yes"}},
		{DeepSeekR1, "<｜Assistant｜></think>", "Yes", []string{"content: Yes"}},
		{DeepSeekV3, "<｜Assistant｜>", "No</think>", []string{"content: No</think>"}},
		{DeepSeekV3, "", "Look.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{\"city\": \"Paris\", \"days\": 2}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>run_shell\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
			[]string{"content: Look.", call, "call run_shell {} call00001"}},
		{DeepSeekV3, "", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{\"city\": \"Paris\", \"days\": 2}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", []string{call}},
		{GLM45, "", "\n<think>hm</think>\n<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call>", []string{"reasoning: hm", call}},
		{GLM45, "", "<tool_call>run_shell</tool_call>", []string{"call run_shell {} call00000"}},
		{Llama3JSON, "", `{"name": "get_weather", "parameters": {"city": "Paris", "days": 2}}`, []string{call}},
		{Llama3JSON, "", `<|python_tag|>{"name": "get_weather", "parameters": {"city": "Paris", "days": 2}}; {"name": "run_shell", "parameters": {}}`, []string{call, "call run_shell {} call00001"}},
		{Llama3JSON, "", `{"name": "Ada", "parameters": {"born": 1815}}`, []string{`content: {"name": "Ada", "parameters": {"born": 1815}}`}},
		{Llama3JSON, "", `{"answer": {"name": 1}}`, []string{`content: {"answer": {"name": 1}}`}},
		{Llama3JSON, "", `{"type": "function", "function": "get_weather", "parameters": {"city": "Paris", "days": 2}}`, []string{call}},
		{Llama3JSON, "", `So: {"name": "get_weather", "parameters": {}}`, []string{`content: So: {"name": "get_weather", "parameters": {}}`}},
		{Pythonic, "", `[get_weather(city="Paris", days=2), run_shell(cmd='it\'s')]`, []string{call, `call run_shell {"cmd": "it's"} call00001`}},
		{Pythonic, "", `[1, 2, 3]`, []string{`content: [1, 2, 3]`}},
		{Pythonic, "", `[see(the docs)] for more`, []string{`content: [see(the docs)] for more`}},
		{Pythonic, "", `<|python_start|>[get_weather("Paris", 2)]<|python_end|>`, []string{call}},
		{LFM2, "", `<|tool_call_start|>[get_weather(city="Paris", days=02)]<|tool_call_end|>I am checking.`, []string{call, "content: I am checking."}},
		{LFM2, "", `<|tool_call_start|>[get_weather(city="Paris", days=2)]<|tool_call_end|>[get_weather(city="Paris", days=2)]<|tool_call_end|>Done`, []string{call, "content: Done"}},
		{LFM2, "", `<|tool_call_start|>[get_weather(city="Paris", days=2)]<|tool_call_end|>[get_weather is done]`, []string{call, "content: [get_weather is done]"}},
		{LFM2, "", `<|tool_call_start|>[run_shell(cmd="a]b", from=True)]<|tool_call_end|>`, []string{`call run_shell {"cmd": "a]b", "from": true} call00000`}},
		{LFM2, "", `<|tool_call_start|>[{"name": "get_weather", "arguments": {"city": "Paris", "days": 2}, "id": "x"}]<|tool_call_end|>`, []string{`call get_weather {"city": "Paris", "days": 2} x`}},
		{LFM2, "", `<|tool_call_start|>[]<|tool_call_end|>`, []string{`content: <|tool_call_start|>[]<|tool_call_end|>`}},
		{Mistral, "", `[TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Paris", "days": 2}}, {"name": "run_shell", "arguments": {}, "id": "abcdefghi"}]`, []string{call, "call run_shell {} abcdefghi"}},
		{Mistral, "", `[TOOL_CALLS]get_weather{"city": "Paris", "days": 2}[TOOL_CALLS]run_shell[CALL_ID]abcdefghi[ARGS]{"cmd": "}"}`, []string{call, `call run_shell {"cmd": "}"} abcdefghi`}},
		{Mistral, "", `[THINK]hm[/THINK]Yes`, []string{"reasoning: hm", "content: Yes"}},
		{Mistral, "", `[TOOL_CALLS] is a token`, []string{"content: [TOOL_CALLS] is a token"}},
		{GPTOSS, "<|start|>assistant", "<|channel|>analysis<|message|>hm\n<|end|><|start|>assistant<|channel|>final<|message|>Yes.\n<|return|>", []string{"reasoning: hm\n", "content: Yes.\n"}},
		{GPTOSS, "<|start|>assistant", `<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Paris", "days": 2}<|call|>`, []string{"reasoning: hm", call}},
		{GPTOSS, "<|start|>assistant", ` to=functions.get_weather<|channel|>commentary json<|message|>{"city": "Paris", "days": 2}`, []string{call}},
		{GPTOSS, "<|start|>assistant", `<|channel|>commentary<|message|>First I look.<|end|><|start|>assistant<|channel|>commentary to=python<|message|>print(1)<|call|>`, []string{"content: First I look.print(1)"}},
		{GPTOSS, "<|start|>assistant<|channel|>final<|message|>", "Yes", []string{"content: Yes"}},
		{Gemma, "", `<|channel>thought
hm
<channel|>Yes`, []string{"reasoning: hm", "content: Yes"}},
		{Gemma, "<|turn>model\n<|channel>thought\n<channel|>", "Yes", []string{"content: Yes"}},
		{Gemma, "", `<|tool_call>call:get_weather{city:<|"|>Paris<|"|>,days:2}<tool_call|>`, []string{call}},
		{Gemma, "", `<|tool_call>call:run_shell{cmd:<|"|>a {b} <tool_call|>, c<|"|>,env:{<|"|>k<|"|>:[1,true,null,<|"|>x<|"|>]}}<tool_call|>`, []string{`call run_shell {"cmd": "a {b} <tool_call|>, c", "env": {"k": [1, true, null, "x"]}} call00000`}},
		{Phi4, "", `<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Paris", "days": 2}}]<|/tool_call|>`, []string{call}},
	} {
		o := Options{Tools: []chat.Tool{weather, shell}, Opened: c.opened}
		whole := read(t, c.format, o, c.text, nil)
		if got, want := strings.Join(whole.events, "\n"), strings.Join(c.want, "\n"); got != want {
			t.Errorf("%s: %q after %q:\n got %q\nwant %q", c.format, c.text, c.opened, whole.events, c.want)
		}
		if whole.raw != c.text {
			t.Errorf("%s: %q: raws join to %q", c.format, c.text, whole.raw)
		}
		for seed := range uint64(50) {
			cut := read(t, c.format, o, c.text, rand.New(rand.NewPCG(seed, 1)))
			if fmt.Sprint(cut) != fmt.Sprint(whole) {
				t.Errorf("%s: %q: cut by seed %d:\n got %q\nwant %q", c.format, c.text, seed, cut, whole)
				break
			}
		}
	}
}

func TestNoToolsNoBareCalls(t *testing.T) {
	t.Parallel()
	text := `{"name": "get_weather", "parameters": {}}`
	if r := read(t, Llama3JSON, Options{}, text, nil); len(r.events) != 1 || r.events[0] != "content: "+text {
		t.Errorf("got %q", r.events)
	}
}

func TestUnknownFormat(t *testing.T) {
	t.Parallel()
	if _, err := New("klingon", Options{}); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "klingon") {
		t.Errorf("got %v", err)
	}
	for _, f := range Formats() {
		if _, err := New(f, Options{}); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
}

func TestCallNumbers(t *testing.T) {
	t.Parallel()
	r := read(t, Hermes, Options{FirstCall: 41}, `<tool_call>{"name":"f"}</tool_call>`, nil)
	if len(r.events) != 1 || r.events[0] != "call f {} call00041 unknown" {
		t.Errorf("got %q", r.events)
	}
}

// TestContentIsNotHeld: text that no marker can begin with goes out at once.
func TestContentIsNotHeld(t *testing.T) {
	t.Parallel()
	for _, f := range Formats() {
		p, err := New(f, Options{Tools: []chat.Tool{weather}, Opened: "<|start|>assistant<|channel|>final<|message|></think>"})
		if err != nil {
			t.Fatal(err)
		}
		for _, delta := range []string{"Hello", " there", ", x < y", " {", "[1]"} {
			var r result
			collect(p.Push(delta), &r)
			if r.raw != delta {
				t.Errorf("%s: %q gave %q", f, delta, r.raw)
			}
		}
	}
}
