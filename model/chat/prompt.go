package chat

import (
	"encoding/json"
	"slices"
)

// Role says who speaks in a message. Templates may know further roles; they are passed as given.
type Role string

// The roles that every chat template knows, and the role of a tool's result.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one turn of a conversation. The zero fields are left out of the render.
type Message struct {
	Role       Role
	Content    string
	Parts      []Part     // content in parts, for templates that ask for a list; Content must then be empty
	Reasoning  string     // an assistant's reasoning, apart from its content
	ToolCalls  []ToolCall // an assistant's calls
	ToolCallID string     // in a tool result: which call it answers
	Name       string     // in a tool result: the tool's name
	// IDs are the exact tokens of an assistant turn that the engine generated, reasoning included, so
	// that a later prompt can splice them instead of encoding the text again. Empty: encode the text.
	IDs []int32
}

// Part is one piece of a content. Type is "text"; other kinds are refused until a model reads them.
type Part struct {
	Type string
	Text string
}

// ToolCall is a call that an assistant makes. Arguments is a JSON object, its key order kept.
type ToolCall struct {
	ID        string
	Name      string
	Arguments json.RawMessage
}

// Tool describes a function that the model may call. Parameters is a JSON Schema, its key order kept.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage
}

// System returns a system message.
func System(text string) Message { return Message{Role: RoleSystem, Content: text} }

// User returns a user message.
func User(text string) Message { return Message{Role: RoleUser, Content: text} }

// Assistant returns an assistant message.
func Assistant(text string) Message { return Message{Role: RoleAssistant, Content: text} }

// ToolResult returns the message that answers the call with the given id.
func ToolResult(id, name, text string) Message {
	return Message{Role: RoleTool, ToolCallID: id, Name: name, Content: text}
}

// Kind says which of its three forms a Prompt has.
type Kind uint8

// The forms of a Prompt.
const (
	KindNone     Kind = iota // the zero Prompt
	KindText                 // raw text: no template
	KindMessages             // messages with their tools, rendered by the model's template
	KindTokens               // token ids, used as they are
	KindMixed                // messages added to text or token ids: refused
)

// Prompt is what a model is asked to continue: raw text, chat messages with their tools, or token
// ids. It is a value: With methods return a changed copy, and the slices given are not modified.
// Tools belong to the Prompt because most templates render them first: two calls share the blocks
// of a prefix only over the same tools.
type Prompt struct {
	kind     Kind
	text     string
	messages []Message
	tools    []Tool
	args     []Arg
	tokens   []int32
}

// Arg is a variable that the template may read, such as enable_thinking. Value is JSON.
type Arg struct {
	Name  string
	Value json.RawMessage
}

// Text returns a prompt of raw text. Nothing in it becomes a control token.
func Text(s string) Prompt { return Prompt{kind: KindText, text: s} }

// Messages returns a prompt of chat messages.
func Messages(m ...Message) Prompt { return Prompt{kind: KindMessages, messages: slices.Clone(m)} }

// Tokens returns a prompt of token ids, used as they are: no BOS is added.
func Tokens(ids ...int32) Prompt { return Prompt{kind: KindTokens, tokens: slices.Clone(ids)} }

// WithTools returns the prompt with tools added. Tools on text or tokens are refused when the prompt is rendered.
func (p Prompt) WithTools(tools ...Tool) Prompt {
	p.tools = append(slices.Clip(p.tools), tools...)
	return p
}

// WithArg returns the prompt with a template variable set.
func (p Prompt) WithArg(name string, value json.RawMessage) Prompt {
	p.args = append(slices.Clip(p.args), Arg{name, value})
	return p
}

// With returns the prompt with messages appended. A prompt of text or token ids becomes one of no
// kind that is refused when it is rendered.
func (p Prompt) With(m ...Message) Prompt {
	switch p.kind {
	case KindNone:
		p.kind = KindMessages
	case KindText, KindTokens:
		p.kind = KindMixed
	}
	p.messages = append(slices.Clip(p.messages), m...)
	return p
}

// Kind returns the form of the prompt.
func (p Prompt) Kind() Kind { return p.kind }

// RawText returns the text of a KindText prompt.
func (p Prompt) RawText() string { return p.text }

// Turns returns the messages of a KindMessages prompt. The slice must not be changed.
func (p Prompt) Turns() []Message { return p.messages }

// Tools returns the tools. The slice must not be changed.
func (p Prompt) Tools() []Tool { return p.tools }

// Args returns the template variables. The slice must not be changed.
func (p Prompt) Args() []Arg { return p.args }

// IDs returns the ids of a KindTokens prompt. The slice must not be changed.
func (p Prompt) IDs() []int32 { return p.tokens }

// IsZero reports whether the prompt is the zero Prompt.
func (p Prompt) IsZero() bool {
	return p.kind == KindNone && len(p.tools) == 0 && len(p.args) == 0
}
