package chat

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hotpath-go/hotpath/model/chat/jinja"
)

// Origins of rendered bytes: 0 is the template, then two numbers a message (its content, the rest of
// it), and one for the tools and arguments.
const otherData jinja.Origin = 1<<31 - 1

func contentOrigin(i int) jinja.Origin { return jinja.Origin(1 + 2*i) }

func restOrigin(i int) jinja.Origin { return jinja.Origin(2 + 2*i) }

const maxMessages = 1 << 20

// roleOrigin: templates spell control tokens with roles ('<|' + role + '|>'), so the known ones count
// as the template's text. Any other role is data, and never part of a control token.
func roleOrigin(r Role, i int) jinja.Origin {
	switch r {
	case RoleSystem, RoleUser, RoleAssistant, RoleTool, "developer", "model", "function", "ipython":
		return 0
	}
	return restOrigin(i)
}

// variables builds what the template reads.
func (t *Template) variables(ms []Message, tools []Tool, args []Arg, generate bool, s shape) (*jinja.Map, error) {
	if len(ms) > maxMessages {
		return nil, fmt.Errorf("%w: %d messages, limit %d", ErrPrompt, len(ms), maxMessages)
	}
	vars := &jinja.Map{}
	list := &jinja.List{Items: make([]jinja.Value, len(ms))}
	for i := range ms {
		m, err := messageValue(&ms[i], i, s)
		if err != nil {
			return nil, err
		}
		list.Items[i] = m
	}
	vars.Set("messages", list)
	vars.Set("add_generation_prompt", generate)
	vars.Set("bos_token", jinja.NewText(t.o.BOS, 0))
	vars.Set("eos_token", jinja.NewText(t.o.EOS, 0))
	if len(tools) > 0 {
		list := &jinja.List{Items: make([]jinja.Value, len(tools))}
		for i := range tools {
			v, err := toolValue(&tools[i], i)
			if err != nil {
				return nil, err
			}
			list.Items[i] = v
		}
		vars.Set("tools", list)
	}
	for _, a := range args {
		switch a.Name {
		case "messages", "tools", "add_generation_prompt", "bos_token", "eos_token":
			return nil, fmt.Errorf("%w: argument %q is set by the prompt itself", ErrPrompt, a.Name)
		}
		v, err := jinja.ParseJSON(a.Value, otherData)
		if err != nil {
			return nil, fmt.Errorf("%w: argument %q: %w", ErrPrompt, a.Name, err)
		}
		vars.Set(a.Name, v)
	}
	return vars, nil
}

func messageValue(m *Message, i int, s shape) (*jinja.Map, error) {
	out := &jinja.Map{}
	rest := restOrigin(i)
	out.Set("role", jinja.NewText(string(m.Role), roleOrigin(m.Role, i)))
	if m.Reasoning != "" {
		out.Set("reasoning_content", jinja.NewText(m.Reasoning, rest))
	}
	if m.ToolCallID != "" {
		out.Set("tool_call_id", jinja.NewText(m.ToolCallID, rest))
	}
	if m.Name != "" {
		out.Set("name", jinja.NewText(m.Name, rest))
	}
	content, err := contentValue(m, i, s)
	if err != nil {
		return nil, err
	}
	out.Set("content", content)
	if len(m.ToolCalls) > 0 {
		calls := &jinja.List{Items: make([]jinja.Value, len(m.ToolCalls))}
		for j := range m.ToolCalls {
			c := &m.ToolCalls[j]
			args, err := argumentsValue(c.Arguments, rest, s.textArguments)
			if err != nil {
				return nil, fmt.Errorf("%w: message %d: call %d (%s): arguments: %w", ErrPrompt, i, j, c.Name, err)
			}
			fn := &jinja.Map{}
			fn.Set("name", jinja.NewText(c.Name, rest))
			fn.Set("arguments", args)
			call := &jinja.Map{}
			if c.ID != "" {
				call.Set("id", jinja.NewText(c.ID, rest))
			}
			call.Set("type", jinja.NewText("function", 0))
			call.Set("function", fn)
			calls.Items[j] = call
		}
		out.Set("tool_calls", calls)
	}
	return out, nil
}

func contentValue(m *Message, i int, s shape) (jinja.Value, error) {
	from := contentOrigin(i)
	part := func(text string) jinja.Value {
		p := &jinja.Map{}
		p.Set("type", jinja.NewText("text", 0))
		p.Set("text", jinja.NewText(text, from))
		return p
	}
	switch {
	case len(m.Parts) > 0 && m.Content != "":
		return nil, fmt.Errorf("%w: message %d has both Content and Parts", ErrPrompt, i)
	case len(m.Parts) > 0:
		list := &jinja.List{}
		for j, p := range m.Parts {
			if p.Type != "text" {
				return nil, fmt.Errorf("%w: message %d: part %d of type %q, only text is read", ErrPrompt, i, j, p.Type)
			}
			list.Items = append(list.Items, part(p.Text))
		}
		return list, nil
	case m.Content == "" && len(m.ToolCalls) > 0 && s.nullContent:
		return nil, nil
	case s.partContent:
		return &jinja.List{Items: []jinja.Value{part(m.Content)}}, nil
	}
	return jinja.NewText(m.Content, from), nil
}

// argumentsValue reads a call's arguments. A JSON string is passed on as the text it holds: that is how
// a call whose arguments are no valid object is kept.
func argumentsValue(raw json.RawMessage, from jinja.Origin, asText bool) (jinja.Value, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	v, err := jinja.ParseJSON(raw, from)
	if err != nil {
		return nil, err
	}
	switch v.(type) {
	case jinja.Text:
		return v, nil
	case *jinja.Map:
		if asText {
			return jinja.NewText(string(raw), from), nil
		}
		return v, nil
	}
	return nil, fmt.Errorf("neither a JSON object nor a string")
}

func toolValue(t *Tool, i int) (*jinja.Map, error) {
	fn := &jinja.Map{}
	fn.Set("name", jinja.NewText(t.Name, otherData))
	if t.Description != "" {
		fn.Set("description", jinja.NewText(t.Description, otherData))
	}
	raw := t.Parameters
	if len(raw) == 0 {
		raw = []byte(`{"type": "object", "properties": {}}`)
	}
	v, err := jinja.ParseJSON(raw, otherData)
	if err != nil {
		return nil, fmt.Errorf("%w: tool %d (%s): parameters: %w", ErrPrompt, i, t.Name, err)
	}
	if _, ok := v.(*jinja.Map); !ok {
		return nil, fmt.Errorf("%w: tool %d (%s): parameters are not a JSON object", ErrPrompt, i, t.Name)
	}
	fn.Set("parameters", v)
	out := &jinja.Map{}
	out.Set("type", jinja.NewText("function", 0))
	out.Set("function", fn)
	return out, nil
}
