package parse

// Shape is how a format writes a call whose arguments are one JSON object:
// Open, the name, Middle, the arguments, Close.
type Shape struct{ Open, Middle, Close string }

// CallShape returns how a call is written, and false for formats that write arguments in another
// way than as one JSON object.
func (f Format) CallShape() (Shape, bool) {
	switch f {
	case Hermes, Qwen3:
		return Shape{"<tool_call>\n{\"name\": \"", "\", \"arguments\": ", "}\n</tool_call>"}, true
	case DeepSeekR1, DeepSeekV3:
		return Shape{"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>", "\n```json\n", "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"}, true
	case Llama3JSON:
		return Shape{"{\"name\": \"", "\", \"parameters\": ", "}"}, true
	case Mistral:
		return Shape{"[TOOL_CALLS][{\"name\": \"", "\", \"arguments\": ", "}]"}, true
	case Phi4:
		return Shape{"<|tool_call|>[{\"name\": \"", "\", \"arguments\": ", "}]<|/tool_call|>"}, true
	}
	return Shape{}, false
}

// Reasoning returns the markers of a reasoning section, empty where the format has none that stand
// alone.
func (f Format) Reasoning() (open, close string) {
	if spec := formatNamed(f); spec != nil {
		return spec.thinkOpen, spec.thinkClose
	}
	return "", ""
}

// Channels reports whether replies are written in channels with headers of their own, so that
// content cannot simply begin.
func (f Format) Channels() bool { return f == GPTOSS }

// Thinking reports whether the text so far stands in a reasoning section.
func (p *Parser) Thinking() bool { return p.kind == Reasoning }
