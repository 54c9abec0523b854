package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"unicode"

	"github.com/hotpath-go/hotpath/engine/constrain"
	"github.com/hotpath-go/hotpath/engine/sample"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/chat/parse"
	"github.com/hotpath-go/hotpath/model/tokenizer"
)

// grammar is an engine's compiler of constraints, made when first needed.
type grammar struct {
	once     sync.Once
	compiler *constrain.Compiler
	err      error
}

// compiler returns a compiler over the engine's vocabulary, in which the named control tokens count
// as their text.
func (e *Engine) compiler(g *grammar, markers ...string) (*constrain.Compiler, error) {
	g.once.Do(func() {
		t := e.model.Tokenizer
		v := constrain.Vocab{Tokens: make([][]byte, t.Size()), End: t.EOG()}
		for id := range v.Tokens {
			if tok, ok := t.Token(int32(id)); ok && !t.IsControl(int32(id)) {
				v.Tokens[id] = tok.Bytes
			}
		}
		for _, m := range markers {
			if id, ok := t.ID(m); ok {
				v.Tokens[id] = []byte(m)
			}
		}
		g.compiler, g.err = constrain.NewCompiler(v, constrain.Options{})
	})
	return g.compiler, g.err
}

// guideOf returns what the constraint or the tool choice of a request means for its reply; nil for
// nothing.
func (e *Engine) guideOf(r *GenerateRequest, format parse.Format, in *input) (*guide, error) {
	choice := r.ToolChoice
	if choice == ToolAuto || choice == ToolNone {
		choice = ""
	}
	if r.Constraint == nil && choice == "" {
		return nil, nil
	}
	if r.Constraint != nil && choice != "" {
		return nil, fmt.Errorf("%w: Constraint: given together with ToolChoice %q", ErrRequest, choice)
	}
	g := &guide{tok: e.model.Tokenizer, ends: e.model.Tokenizer.EOG(), jump: !r.LogProbs && r.TopLogProbs == 0, mode: tokenizer.Text}
	if r.Constraint != nil {
		c, err := e.compiler(&e.grammar)
		if err != nil {
			return nil, err
		}
		grammar, err := c.Compile(*r.Constraint)
		if err != nil {
			return nil, fmt.Errorf("%w: Constraint: %w", ErrRequest, err)
		}
		g.stages = []stage{{grammar: grammar}}
		if format.Channels() {
			err = e.inChannels(g, in.opening, "final", "Constraint")
		}
		return g, err
	}
	g.mode = tokenizer.Special
	err := e.callStages(g, in.tools, choice, format)
	if err == nil && format.Channels() {
		err = e.inChannels(g, in.opening, "commentary", "ToolChoice")
	}
	return g, err
}

// scaffold is text with its control tokens.
func (e *Engine) scaffold(s string) stage {
	return stage{tokens: e.model.Tokenizer.EncodeInside(nil, s, tokenizer.Special)}
}

// inChannels puts the stages of a guide into a message of a channel, before which the model may reason
// in one of its own.
func (e *Engine) inChannels(g *guide, opening, channel, field string) error {
	const start, message, end = "<|start|>", "<|message|>", "<|end|>"
	header := opening
	if i := strings.LastIndex(opening, start); i >= 0 {
		header = opening[i:]
	}
	switch {
	case strings.HasSuffix(opening, channel+message) && channel == "final": // the prompt has begun the message
		return nil
	case header != start+"assistant":
		return fmt.Errorf("%w: %s: not supported for a reply that the prompt opens with %q", ErrRequest, field, opening)
	}
	c, err := e.compiler(&e.grammar)
	if err != nil {
		return err
	}
	pick, err := c.Compile(constrain.Choice("analysis", channel))
	if err != nil {
		return err
	}
	body := g.stages
	if channel == "final" {
		body = append([]stage{e.scaffold(message)}, body...)
	}
	g.free = e.plainTokens(end)
	g.stages = []stage{e.scaffold("<|channel|>"), {grammar: pick, then: func(picked string) []stage {
		if picked == channel {
			return body
		}
		again := e.scaffold(start + "assistant<|channel|>" + channel)
		return append([]stage{e.scaffold(message), {until: end}, again}, body...)
	}}}
	return nil
}

// plainTokens is the mask of the tokens that are text, and of a marker.
func (e *Engine) plainTokens(marker string) sample.Mask {
	t := e.model.Tokenizer
	mask := sample.NewMask(e.info.Vocab)
	for id := range int32(min(e.info.Vocab, t.Size())) {
		if !t.IsControl(id) {
			mask.Set(id)
		}
	}
	for _, id := range t.EOG() {
		mask.Clear(id)
	}
	if id, ok := t.ID(marker); ok {
		mask.Set(id)
	}
	return mask
}

// objectSchema returns the schema of a call's arguments, which are an object whether it says so or not.
func objectSchema(parameters []byte) []byte {
	body := bytes.TrimSpace(parameters)
	if len(body) == 0 {
		return []byte(`{"type":"object","additionalProperties":false}`)
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil || fields["type"] != nil {
		return body // refused by the compiler, or complete
	}
	if len(fields) == 0 {
		return []byte(`{"type":"object"}`)
	}
	return append([]byte(`{"type":"object",`), body[1:]...)
}

// argumentsOf is the constraint of the arguments of a call.
func argumentsOf(a parse.Arguments, parameters []byte) constrain.Spec {
	n := constrain.Notation{
		Before: a.Before, Between: a.Between, After: a.After, Join: a.Join, Close: a.Close, Mark: a.Mark, Names: a.Names,
	}
	switch a.Values {
	case parse.Python:
		n.Values = constrain.ValuesPython
	case parse.Text:
		n.Values = constrain.ValuesText
	case parse.Marked:
		n.Values = constrain.ValuesMarked
	default:
		return constrain.JSONSchema(objectSchema(parameters), constrain.WhitespaceNone)
	}
	return constrain.Arguments(objectSchema(parameters), n)
}

// callStages writes one call of a tool: the one chosen, or any where one is required.
func (e *Engine) callStages(g *guide, tools []chat.Tool, choice string, format parse.Format) error {
	shape, ok := format.CallShape()
	if !ok {
		return fmt.Errorf("%w: ToolChoice: %q, the template shows no way to write calls", ErrRequest, choice)
	}
	c, err := e.compiler(&e.grammar)
	if len(shape.Markers) > 0 {
		c, err = e.compiler(&e.calls, shape.Markers...)
	}
	if err != nil {
		return err
	}
	var chosen []chat.Tool
	for _, t := range tools {
		if choice != ToolRequired && t.Name != choice {
			continue
		}
		if !callable(format, shape, t.Name) {
			return fmt.Errorf("%w: tool %q: Name: not one that a call in the format %s can have", ErrRequest, t.Name, format)
		}
		chosen = append(chosen, t)
	}
	open := shape.Open
	if format.Channels() { // the channel is chosen before
		open = strings.TrimPrefix(open, "<|channel|>commentary")
	}
	if len(chosen) == 0 {
		return fmt.Errorf("%w: ToolChoice: %q, the prompt has %d tools and none of that name", ErrRequest, choice, len(tools))
	}
	if len(chosen) > 1 {
		grammar, err := c.Compile(anyCall(shape, chosen))
		if err == nil {
			g.stages = []stage{e.scaffold(open), {grammar: grammar}, e.scaffold(shape.Close)}
			return nil
		}
		for _, t := range chosen { // say which it is
			if _, err := c.Compile(argumentsOf(shape.Arguments, t.Parameters)); err != nil {
				return fmt.Errorf("%w: tool %q: Parameters: %w", ErrRequest, t.Name, err)
			}
		}
		return fmt.Errorf("%w: ToolChoice: %d tools together: %w", ErrRequest, len(chosen), err)
	}
	t := chosen[0]
	grammar, err := c.Compile(argumentsOf(shape.Arguments, t.Parameters))
	if err != nil {
		return fmt.Errorf("%w: tool %q: Parameters: %w", ErrRequest, t.Name, err)
	}
	// The name is text: nothing in it is a control token.
	name := stage{tokens: e.model.Tokenizer.EncodeInside(nil, t.Name, tokenizer.Text)}
	g.stages = []stage{e.scaffold(open), name, e.scaffold(shape.Middle), {grammar: grammar}, e.scaffold(shape.Close)}
	return nil
}

// anyCall is a call of one of several tools, from the name to the end of the arguments.
func anyCall(shape parse.Shape, tools []chat.Tool) constrain.Spec {
	calls := make([]constrain.Spec, 0, len(tools))
	for _, t := range tools {
		calls = append(calls, constrain.Sequence(constrain.Literal(t.Name+shape.Middle), argumentsOf(shape.Arguments, t.Parameters)))
	}
	return constrain.OneOf(calls...)
}

// callable reports whether a format reads a call of a tool of this name back.
func callable(format parse.Format, shape parse.Shape, name string) bool {
	if strings.ContainsFunc(name, func(r rune) bool { return strings.ContainsRune("\"\\<>|", r) || unicode.IsControl(r) }) {
		return false
	}
	open, closing := format.Reasoning()
	o := parse.Options{Tools: []chat.Tool{{Name: name}}, Opened: open + closing}
	if format.Channels() {
		o.Opened = "<|start|>assistant"
	}
	p, err := parse.New(format, o)
	if err != nil {
		return false
	}
	arguments := "{}"
	if shape.Arguments.Between != "" {
		arguments = shape.Arguments.Close
	}
	events := append([]parse.Event(nil), p.Push(shape.Open+name+shape.Middle+arguments+shape.Close)...)
	events = append(events, p.Flush()...)
	return len(events) > 0 && events[0].Kind == parse.Call && events[0].Call.Name == name
}
