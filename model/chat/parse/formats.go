package parse

import (
	"errors"
	"slices"
	"strings"
)

// ErrFormat is returned for the name of a format that is not known.
var ErrFormat = errors.New("parse: unknown format")

// Format names the way a family of models writes reasoning and calls.
type Format string

// The formats.
const (
	Plain      Format = "plain"       // content alone
	Hermes     Format = "hermes"      // <tool_call>{JSON}</tool_call>
	Qwen3      Format = "qwen3"       // hermes, with <think> sections
	Qwen3Coder Format = "qwen3-coder" // <tool_call><function=f><parameter=k>v, with <think> sections
	DeepSeekR1 Format = "deepseek-r1" // a <think> section first, whether its opening is written or not
	DeepSeekV3 Format = "deepseek-v3" // <｜tool▁calls▁begin｜>…, with <think> sections
	GLM45      Format = "glm45"       // <tool_call>f <arg_key>k</arg_key><arg_value>v</arg_value>, with <think> sections
	Llama3JSON Format = "llama3-json" // a bare {"name": …, "parameters": {…}}, several with ; between
	Pythonic   Format = "pythonic"    // a bare [f(a=1), g(b="x")]
	LFM2       Format = "lfm2"        // <|tool_call_start|>[f(a=1)]<|tool_call_end|>
	Mistral    Format = "mistral"     // [TOOL_CALLS][{JSON}], or [TOOL_CALLS]f{JSON}; [THINK] sections
	GPTOSS     Format = "gpt-oss"     // harmony channels
	Gemma      Format = "gemma"       // <|tool_call>call:f{…}<tool_call|>, with <|channel>thought sections
	Phi4       Format = "phi4"        // <|tool_call|>{JSON}<|/tool_call|>
)

// Formats returns all formats.
func Formats() []Format {
	return []Format{Plain, Hermes, Qwen3, Qwen3Coder, DeepSeekR1, DeepSeekV3, GLM45, Llama3JSON, Pythonic, LFM2, Mistral, GPTOSS, Gemma, Phi4}
}

// ForTemplate tells the format from the source of a model's chat template; Plain when it shows none.
func ForTemplate(source string) Format {
	has := func(s ...string) bool {
		return slices.ContainsFunc(s, func(s string) bool { return strings.Contains(source, s) })
	}
	switch {
	case has("<|channel|>") && has("<|message|>"):
		return GPTOSS
	case has("<|tool_call>", "<|channel>"):
		return Gemma
	case has("<|tool_call_start|>", "<|tool_list_start|>"):
		return LFM2
	case has("<｜tool▁calls▁begin｜>") && has("</think>") && !has("thinking"):
		return DeepSeekR1
	case has("<｜tool▁calls▁begin｜>"):
		return DeepSeekV3
	case has("<function="):
		return Qwen3Coder
	case has("<arg_key>"):
		return GLM45
	case has("[TOOL_CALLS]"):
		return Mistral
	case has("<|tool_call|>"):
		return Phi4
	case has("<tool_call>") && !has("think>"):
		return Hermes
	case has("<tool_call>", "<think>", "</think>"):
		return Qwen3
	case has("<|python_start|>"):
		return Pythonic
	case has("<|python_tag|>", `"parameters": `) && has("<|start_header_id|>"):
		return Llama3JSON
	}
	return Plain
}

// format is a row of the table below, completed.
type format struct {
	thinkOpen, thinkClose string
	thinksFirst           bool // reasoning comes first, even when nothing opens it
	calls                 []*syntax
	stray                 []string // markers without meaning of their own
	bare                  *syntax  // calls without a marker, at the start of a content
	bareStart             byte
	echoes                bool
	harmony               bool

	markers  []string  // all that content may hold
	syntaxes []*syntax // of each marker, nil for the others
}

// dropCalls leaves a format that knows no calls.
func (f *format) dropCalls() {
	var markers []string
	for i, m := range f.markers {
		if f.syntaxes[i] == nil {
			markers = append(markers, m)
		}
	}
	f.calls, f.bare, f.markers, f.syntaxes = nil, nil, markers, make([]*syntax, len(markers))
}

func formatNamed(f Format) *format {
	think := format{thinkOpen: "<think>", thinkClose: "</think>"}
	var out format
	switch f {
	case Plain:
	case Hermes:
		out.calls = []*syntax{closed("<tool_call>", "</tool_call>", jsonCalls, openString)}
	case Qwen3:
		out = think
		out.calls = []*syntax{closed("<tool_call>", "</tool_call>", jsonCalls, openString)}
	case Qwen3Coder:
		out = think
		bare := closed("<function=", "</function>", func(t toolset, body string) ([]call, bool) {
			return functionCalls(t, "<function="+body+"</function>")
		}, openFunction)
		out.calls = []*syntax{closed("<tool_call>", "</tool_call>", functionCalls, openFunction), bare}
	case DeepSeekR1, DeepSeekV3:
		out = think
		out.thinksFirst = f == DeepSeekR1
		out.calls = []*syntax{closed("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", deepSeekCalls, openDeepSeek)}
	case GLM45:
		out = think
		out.calls = []*syntax{closed("<tool_call>", "</tool_call>", glmCalls, openGLM)}
	case Llama3JSON:
		out.bare, out.bareStart = balanced("", jsonQuotes, plausibleJSON, knownCalls(jsonCalls)), '{'
		out.calls = []*syntax{balanced("<|python_tag|>", jsonQuotes, plausibleJSON, jsonCalls)}
	case Pythonic:
		out.bare, out.bareStart = balanced("", pyQuotes, plausiblePython, knownCalls(pythonCalls)), '['
		out.calls = []*syntax{closed("<|python_start|>", "<|python_end|>", pythonCalls, openString)}
	case LFM2:
		out = think
		out.calls = []*syntax{closed("<|tool_call_start|>", "<|tool_call_end|>", lfm2Calls, openString)}
		out.stray = []string{"<|tool_call_end|>"}
		out.echoes = true
	case Mistral:
		out.thinkOpen, out.thinkClose = "[THINK]", "[/THINK]"
		out.calls = []*syntax{{open: "[TOOL_CALLS]", scan: scanMistral}}
	case GPTOSS:
		out.harmony = true
	case Gemma:
		out.thinkOpen, out.thinkClose = "<|channel>thought", "<channel|>"
		out.calls = []*syntax{closed("<|tool_call>", "<tool_call|>", gemmaCalls, openGemma)}
		out.stray = []string{"<channel|>"}
	case Phi4:
		out.calls = []*syntax{closed("<|tool_call|>", "<|/tool_call|>", jsonCalls, openString)}
	default:
		return nil
	}
	for _, s := range out.calls {
		out.markers, out.syntaxes = append(out.markers, s.open), append(out.syntaxes, s)
	}
	if out.thinkOpen != "" {
		out.markers = append(out.markers, out.thinkOpen)
	}
	out.markers = append(out.markers, out.stray...)
	out.syntaxes = append(out.syntaxes, make([]*syntax, len(out.markers)-len(out.syntaxes))...)
	return &out
}
