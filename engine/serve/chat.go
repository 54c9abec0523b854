package serve

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/constrain"
	"github.com/hotpath-go/hotpath/model/chat"
)

// Limits of a chat.
const (
	maxTurns    = 1 << 17
	maxTools    = 512
	maxTopProbs = 20 // as OpenAI's
)

// chatRequest is the body of /v1/chat/completions.
type chatRequest struct {
	settings
	Messages     []chatMessage              `json:"messages"`
	Tools        []chatTool                 `json:"tools"`
	ToolChoice   json.RawMessage            `json:"tool_choice"`
	Format       *responseFormat            `json:"response_format"`
	MaxNew       *int                       `json:"max_completion_tokens"`
	LogProbs     bool                       `json:"logprobs"`
	TopLogProbs  *int                       `json:"top_logprobs"`
	Effort       string                     `json:"reasoning_effort"`
	TemplateArgs map[string]json.RawMessage `json:"chat_template_kwargs"`
	// Fields that would change the reply and that are not known here.
	Functions  json.RawMessage `json:"functions"`
	Call       json.RawMessage `json:"function_call"`
	Audio      json.RawMessage `json:"audio"`
	Modalities []string        `json:"modalities"`
}

type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	Reasoning  string          `json:"reasoning_content"`
	Thought    string          `json:"reasoning"`
	Name       string          `json:"name"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []chatCall      `json:"tool_calls"`
}

type chatCall struct {
	Index    *int         `json:"index,omitempty"` // in streams
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON as text
}

type chatTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

type responseFormat struct {
	Type   string `json:"type"`
	Schema *struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

// present reports whether an optional field says something.
func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// request is the generation that a chat asks for.
func (c *chatRequest) request(x *exchange) (engine.GenerateRequest, error) {
	if c.MaxNew != nil {
		if c.MaxTokens != nil && *c.MaxTokens != *c.MaxNew {
			return engine.GenerateRequest{}, bad("max_completion_tokens", "%d, max_tokens says %d", *c.MaxNew, *c.MaxTokens)
		}
		c.MaxTokens = c.MaxNew
	}
	r, err := c.settings.request(x)
	if err != nil {
		return r, err
	}
	for name, raw := range map[string]json.RawMessage{"functions": c.Functions, "function_call": c.Call, "audio": c.Audio} {
		if present(raw) {
			return r, bad(name, "not supported")
		}
	}
	for _, m := range c.Modalities {
		if m != "text" {
			return r, bad("modalities", "%.20q, there is text alone", m)
		}
	}
	if r.LogProbs = c.LogProbs; c.TopLogProbs != nil {
		if *c.TopLogProbs < 0 || *c.TopLogProbs > maxTopProbs {
			return r, bad("top_logprobs", "%d, must be 0 to %d", *c.TopLogProbs, maxTopProbs)
		}
		if !c.LogProbs && *c.TopLogProbs > 0 {
			return r, bad("top_logprobs", "%d, given without logprobs", *c.TopLogProbs)
		}
		r.TopLogProbs = *c.TopLogProbs
	}
	if r.Prompt, err = prompt(c.Messages, c.Tools, c.TemplateArgs, c.Effort); err != nil {
		return r, err
	}
	if r.ToolChoice, err = toolChoice(c.ToolChoice); err != nil {
		return r, err
	}
	r.Constraint, err = c.constraint(r.ToolChoice)
	return r, err
}

// prompt makes a prompt of messages and tools.
func prompt(messages []chatMessage, tools []chatTool, args map[string]json.RawMessage, effort string) (chat.Prompt, error) {
	var none chat.Prompt
	if len(messages) == 0 {
		return none, bad("messages", "none, want at least one")
	}
	if len(messages) > maxTurns {
		return none, bad("messages", "%d, limit %d", len(messages), maxTurns)
	}
	turns := make([]chat.Message, len(messages))
	names := map[string]string{} // of the tools that were called, by call
	for i := range messages {
		var err error
		if turns[i], err = messages[i].turn(fmt.Sprintf("messages[%d]", i), names); err != nil {
			return none, err
		}
	}
	p := chat.Messages(turns...)
	if len(tools) > maxTools {
		return none, bad("tools", "%d, limit %d", len(tools), maxTools)
	}
	seen := map[string]bool{}
	for i, t := range tools {
		where := fmt.Sprintf("tools[%d]", i)
		switch {
		case t.Type != "function":
			return none, bad(where+".type", "%.40q, want function", t.Type)
		case t.Function.Name == "":
			return none, bad(where+".function.name", "empty")
		case seen[t.Function.Name]:
			return none, bad(where+".function.name", "%.100q is there twice", t.Function.Name)
		}
		seen[t.Function.Name] = true
		tool := chat.Tool{Name: t.Function.Name, Description: t.Function.Description}
		if present(t.Function.Parameters) {
			tool.Parameters = t.Function.Parameters
		}
		p = p.WithTools(tool)
	}
	switch effort {
	case "":
	case "none":
		p = p.WithArg("enable_thinking", json.RawMessage("false"))
	case "minimal", "low", "medium", "high", "xhigh":
		p = p.WithArg("reasoning_effort", json.RawMessage(`"`+effort+`"`))
	default:
		return none, bad("reasoning_effort", "%.20q, want none, minimal, low, medium, high or xhigh", effort)
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		p = p.WithArg(name, args[name])
	}
	return p, nil
}

// turn reads a message. names knows the tools of the calls before it.
func (m *chatMessage) turn(where string, names map[string]string) (chat.Message, error) {
	out := chat.Message{Reasoning: m.Reasoning}
	if out.Reasoning == "" {
		out.Reasoning = m.Thought
	}
	switch m.Role {
	case "system", "developer":
		out.Role = chat.RoleSystem
	case "user":
		out.Role = chat.RoleUser
	case "assistant":
		out.Role = chat.RoleAssistant
	case "tool":
		out.Role, out.ToolCallID, out.Name = chat.RoleTool, m.ToolCallID, m.Name
		if out.Name == "" {
			out.Name = names[m.ToolCallID]
		}
	default:
		return out, bad(where+".role", "%.40q, want system, developer, user, assistant or tool", m.Role)
	}
	var err error
	if out.Content, err = content(m.Content, where+".content"); err != nil {
		return out, err
	}
	if !present(m.Content) && (m.Role != "assistant" || len(m.ToolCalls) == 0 && out.Reasoning == "") {
		return out, bad(where+".content", "missing")
	}
	if len(m.ToolCalls) > 0 && out.Role != chat.RoleAssistant {
		return out, bad(where+".tool_calls", "in a message of the role %s", m.Role)
	}
	for i, c := range m.ToolCalls {
		at := fmt.Sprintf("%s.tool_calls[%d]", where, i)
		if c.Type != "function" && c.Type != "" {
			return out, bad(at+".type", "%.40q, want function", c.Type)
		}
		if c.Function.Name == "" {
			return out, bad(at+".function.name", "empty")
		}
		arguments := json.RawMessage(c.Function.Arguments)
		if strings.TrimSpace(c.Function.Arguments) == "" {
			arguments = json.RawMessage("{}")
		}
		if err := strict(arguments); err != nil {
			return out, bad(at+".function.arguments", "no JSON: %v", err)
		}
		names[c.ID] = c.Function.Name
		out.ToolCalls = append(out.ToolCalls, chat.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: arguments})
	}
	return out, nil
}

// content reads a text, or the texts of parts one after the other: the same prompt either way.
func content(raw json.RawMessage, where string) (string, error) {
	if !present(raw) {
		return "", nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var parts []struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", bad(where, "want a string or an array of parts")
	}
	var b strings.Builder
	for i, p := range parts {
		if p.Type != "text" || p.Text == nil {
			return "", bad(fmt.Sprintf("%s[%d]", where, i), "a part of type %.40q, text alone is read", p.Type)
		}
		b.WriteString(*p.Text)
	}
	return b.String(), nil
}

// toolChoice reads none, auto, required, or the function to call.
func toolChoice(raw json.RawMessage) (string, error) {
	if !present(raw) {
		return "", nil
	}
	var word string
	if json.Unmarshal(raw, &word) == nil {
		switch word {
		case engine.ToolNone, engine.ToolAuto, engine.ToolRequired:
			return word, nil
		}
		return "", bad("tool_choice", "%.40q, want none, auto, required or a function", word)
	}
	var named struct {
		Type     string `json:"type"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(raw, &named) != nil || named.Type != "function" || named.Function.Name == "" {
		return "", bad("tool_choice", "want none, auto, required or a function with a name")
	}
	switch n := named.Function.Name; n {
	case engine.ToolNone, engine.ToolAuto, engine.ToolRequired:
		return "", bad("tool_choice", "a function cannot be called %s here", n)
	default:
		return n, nil
	}
}

// constraint is what the response format demands of the reply.
func (c *chatRequest) constraint(choice string) (*constrain.Spec, error) {
	if c.Format == nil || c.Format.Type == "text" {
		return nil, nil
	}
	if len(c.Tools) > 0 && choice != engine.ToolNone {
		return nil, bad("response_format", "%.20q together with tools, which the reply could then not call: set tool_choice to none, or leave one out", c.Format.Type)
	}
	schema := []byte(`{"type":"object"}`)
	switch c.Format.Type {
	case "json_object":
	case "json_schema":
		if c.Format.Schema == nil || !present(c.Format.Schema.Schema) {
			return nil, bad("response_format.json_schema.schema", "missing")
		}
		schema = c.Format.Schema.Schema
	default:
		return nil, bad("response_format.type", "%.40q, want text, json_object or json_schema", c.Format.Type)
	}
	spec := constrain.JSONSchema(schema, constrain.WhitespaceSpaces)
	return &spec, nil
}
