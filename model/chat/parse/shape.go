package parse

// Shape is how a format writes a call: Open, the name, Middle, the arguments, Close.
type Shape struct {
	Open, Middle, Close string
	Arguments           Arguments
	// Markers are what the arguments hold that may be tokens of their own.
	Markers []string
}

// Arguments is how a format writes the arguments of a call; its zero value is one JSON object.
type Arguments struct {
	Values Values
	// What stands before a name, between it and its value, and after that; Join stands between two
	// arguments, Close after the last. With Between empty the arguments are one object.
	Before, Between, After, Join, Close string
	Mark                                string // around strings (Marked), or ends a value (Text)
	Names                               string // an expression for the names that can be written; empty: all
}

// Values says how a format writes values.
type Values uint8

// The ways.
const (
	JSON   Values = iota
	Python        // literals: JSON but for None, True and False
	Text          // a string as it stands, everything else as JSON
	Marked        // JSON, where strings stand as they are between marks, and names without quotes
)

// CallShape returns how a call is written, and false for a format without calls.
func (f Format) CallShape() (Shape, bool) {
	python := Arguments{Values: Python, Between: "=", Join: ", ", Close: ")", Names: `[\pL_][\pL\p{Nd}_.-]*`}
	switch f {
	case Hermes, Qwen3:
		return Shape{Open: "<tool_call>\n{\"name\": \"", Middle: "\", \"arguments\": ", Close: "}\n</tool_call>"}, true
	case Qwen3Coder:
		return Shape{Open: "<tool_call>\n<function=", Middle: ">\n", Close: "\n</tool_call>", Arguments: Arguments{
			Values: Text, Before: paramOpen, Between: ">\n", After: "\n" + paramClose + "\n", Close: funcClose, Mark: paramClose, Names: `[^>\n]+`,
		}}, true
	case DeepSeekR1, DeepSeekV3:
		return Shape{Open: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>", Middle: "\n```json\n", Close: "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"}, true
	case GLM45:
		return Shape{Open: "<tool_call>", Middle: "\n", Arguments: Arguments{
			Values: Text, Before: keyOpen, Between: keyClose + "\n" + valueOpen, After: valueClose + "\n", Close: "</tool_call>", Mark: valueClose,
			Names: `[^<\s\pZ]+(?: +[^<\s\pZ]+)*`,
		}, Markers: []string{keyOpen, keyClose, valueOpen, valueClose, "</tool_call>"}}, true
	case Llama3JSON:
		return Shape{Open: "{\"name\": \"", Middle: "\", \"parameters\": ", Close: "}"}, true
	case Pythonic:
		return Shape{Open: "[", Middle: "(", Close: "]", Arguments: python}, true
	case LFM2:
		return Shape{Open: "<|tool_call_start|>[", Middle: "(", Close: "]<|tool_call_end|>", Arguments: python}, true
	case Mistral:
		return Shape{Open: "[TOOL_CALLS][{\"name\": \"", Middle: "\", \"arguments\": ", Close: "}]"}, true
	case GPTOSS:
		return Shape{Open: hChannel + "commentary to=functions.", Middle: " <|constrain|>json" + hMessage, Close: hCall, Markers: []string{"<|constrain|>", hMessage}}, true
	case Gemma:
		return Shape{Open: "<|tool_call>call:", Close: "<tool_call|>", Arguments: Arguments{Values: Marked, Mark: gemmaQuote}, Markers: []string{gemmaQuote}}, true
	case Phi4:
		return Shape{Open: "<|tool_call|>[{\"name\": \"", Middle: "\", \"arguments\": ", Close: "}]<|/tool_call|>"}, true
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
