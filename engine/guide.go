package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/hotpath-go/hotpath/engine/constrain"
	"github.com/hotpath-go/hotpath/engine/sample"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/chat/parse"
	"github.com/hotpath-go/hotpath/model/tokenizer"
)

// guide says which tokens a generation under a constraint may choose: stages one after the other,
// each a run of forced tokens or a grammar.
type guide struct {
	tok     *tokenizer.Tokenizer
	stages  []stage
	started bool // the first stage is a grammar under way
	state   constrain.State
	text    []byte // what that grammar wrote
	ends    []int32
	jump    bool // forced text is taken in one step
	mask    sample.Mask
	forced  []byte
}

// stage is a run of forced tokens, or a grammar and what follows from the text it wrote.
type stage struct {
	tokens  []int32
	grammar *constrain.Grammar
	then    func(text string) []stage
}

// next returns the tokens that must come now, and then the mask of the one to choose after them. A
// nil mask says that the constraint is over: nothing may follow.
func (g *guide) next() (forced []int32, mask sample.Mask) {
	for len(g.stages) > 0 {
		p := &g.stages[0]
		if p.grammar == nil {
			forced = append(forced, p.tokens...)
			g.stages = g.stages[1:]
			continue
		}
		if !g.started {
			g.state, g.text, g.started = p.grammar.Start(), g.text[:0], true
		}
		if g.jump {
			forced = append(forced, g.leap()...)
		}
		g.mask = g.state.Mask(g.mask)
		if !g.state.Done() || g.goesOn() {
			return forced, g.mask
		}
		g.close()
	}
	return forced, nil
}

// leap accepts the text that the grammar forces, in whole tokens but for the last one, whose end
// may be the start of another.
func (g *guide) leap() []int32 {
	g.forced = g.state.Forced(g.forced[:0])
	if len(g.forced) == 0 {
		return nil
	}
	ids := g.tok.EncodeInside(nil, string(g.forced), tokenizer.Text)
	taken := ids[:0]
	for _, id := range ids[:max(len(ids)-1, 0)] {
		t, _ := g.tok.Token(id)
		if !slices.Equal(t.Bytes, g.forced[:min(len(t.Bytes), len(g.forced))]) || g.state.Accept(id) != nil {
			break // the tokenizer writes the text in another way than byte for byte
		}
		g.text = append(g.text, t.Bytes...)
		g.forced = g.forced[len(t.Bytes):]
		taken = append(taken, id)
	}
	return taken
}

// goesOn reports whether a complete text may still go on.
func (g *guide) goesOn() bool {
	for _, id := range g.ends {
		if g.mask.Has(id) {
			g.mask.Clear(id)
			defer g.mask.Set(id)
		}
	}
	return slices.ContainsFunc(g.mask, func(w uint32) bool { return w != 0 })
}

// accept moves on by a chosen token. keep is false for an end token that ends a grammar with stages
// after it: it is no part of the reply.
func (g *guide) accept(id int32) (keep bool, err error) {
	if slices.Contains(g.ends, id) {
		if last := len(g.stages) == 1 && g.stages[0].then == nil; last {
			return true, nil
		}
		g.close()
		return false, nil
	}
	if err := g.state.Accept(id); err != nil {
		return false, err
	}
	t, _ := g.tok.Token(id)
	g.text = append(g.text, t.Bytes...)
	return true, nil
}

// close ends the grammar under way.
func (g *guide) close() {
	p := g.stages[0]
	g.stages, g.started = g.stages[1:], false
	if p.then != nil {
		g.stages = append(p.then(string(g.text)), g.stages...)
	}
}

// grammar is an engine's compiler of constraints.
type grammar struct {
	once     sync.Once
	compiler *constrain.Compiler
	err      error
}

// grammars returns the engine's compiler of constraints, made when first needed.
func (e *Engine) grammars() (*constrain.Compiler, error) {
	e.grammar.once.Do(func() {
		t := e.model.Tokenizer
		v := constrain.Vocab{Tokens: make([][]byte, t.Size()), End: t.EOG()}
		for id := range v.Tokens {
			if tok, ok := t.Token(int32(id)); ok && !t.IsControl(int32(id)) {
				v.Tokens[id] = tok.Bytes
			}
		}
		e.grammar.compiler, e.grammar.err = constrain.NewCompiler(v, constrain.Options{})
	})
	return e.grammar.compiler, e.grammar.err
}

// guideOf returns what the constraint or the tool choice of a request means for its reply; nil for
// nothing.
func (e *Engine) guideOf(r *GenerateRequest, format parse.Format, tools []chat.Tool) (*guide, error) {
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
	if format.Channels() {
		return nil, fmt.Errorf("%w: Constraint, ToolChoice: not supported for replies in the format %s", ErrRequest, format)
	}
	c, err := e.grammars()
	if err != nil {
		return nil, err
	}
	g := &guide{tok: e.model.Tokenizer, ends: e.model.Tokenizer.EOG(), jump: !r.LogProbs && r.TopLogProbs == 0}
	if r.Constraint != nil {
		grammar, err := c.Compile(*r.Constraint)
		if err != nil {
			return nil, fmt.Errorf("%w: Constraint: %w", ErrRequest, err)
		}
		g.stages = []stage{{grammar: grammar}}
		return g, nil
	}
	g.stages, err = e.callStages(c, tools, choice, format)
	return g, err
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

// callStages writes one call of a tool: the one chosen, or any where one is required.
func (e *Engine) callStages(c *constrain.Compiler, tools []chat.Tool, choice string, format parse.Format) ([]stage, error) {
	shape, ok := format.CallShape()
	if !ok {
		return nil, fmt.Errorf("%w: ToolChoice: %q, not supported for calls in the format %s", ErrRequest, choice, format)
	}
	// Names are text: nothing in them is a control token.
	name := func(s string) stage { return stage{tokens: e.model.Tokenizer.EncodeInside(nil, s, tokenizer.Text)} }
	text := func(s string) stage { return stage{tokens: e.model.Tokenizer.EncodeInside(nil, s, tokenizer.Special)} }
	arguments := map[string]*constrain.Grammar{}
	var names []string
	for _, t := range tools {
		if choice != ToolRequired && t.Name != choice {
			continue
		}
		if strings.ContainsFunc(t.Name, func(r rune) bool { return strings.ContainsRune("\"\\<>|", r) || unicode.IsControl(r) }) || t.Name == "" {
			return nil, fmt.Errorf("%w: tool %q: Name: empty, or with a quote, backslash, angle, bar or control character", ErrRequest, t.Name)
		}
		grammar, err := c.Compile(constrain.JSONSchema(objectSchema(t.Parameters), constrain.WhitespaceNone))
		if err != nil {
			return nil, fmt.Errorf("%w: tool %q: Parameters: %w", ErrRequest, t.Name, err)
		}
		arguments[t.Name] = grammar
		names = append(names, t.Name)
	}
	switch len(names) {
	case 0:
		return nil, fmt.Errorf("%w: ToolChoice: %q, the prompt has %d tools and none of that name", ErrRequest, choice, len(tools))
	case 1:
		return []stage{text(shape.Open), name(names[0]), text(shape.Middle), {grammar: arguments[names[0]]}, text(shape.Close)}, nil
	}
	pick, err := c.Compile(constrain.Choice(names...))
	if err != nil {
		return nil, fmt.Errorf("%w: ToolChoice: %w", ErrRequest, err)
	}
	middle, closing := text(shape.Middle), text(shape.Close)
	return []stage{text(shape.Open), {grammar: pick, then: func(name string) []stage {
		return []stage{middle, {grammar: arguments[name]}, closing}
	}}}, nil
}
