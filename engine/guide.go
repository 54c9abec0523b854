package engine

import (
	"bytes"
	"slices"

	"github.com/hotpath-go/hotpath/engine/constrain"
	"github.com/hotpath-go/hotpath/engine/sample"
	"github.com/hotpath-go/hotpath/model/tokenizer"
)

// guide says which tokens a generation under a constraint may choose: stages one after the other,
// each a run of forced tokens or a grammar.
type guide struct {
	tok     *tokenizer.Tokenizer
	stages  []stage
	started bool // the first stage is a grammar, or free text, under way
	state   constrain.State
	text    []byte // what was written in it
	ends    []int32
	jump    bool // forced text is taken in one step
	mask    sample.Mask
	free    sample.Mask // of free text
	mode    tokenizer.Mode
	forced  []byte
}

// stage is a run of forced tokens, or free text up to a marker, or a grammar and what follows from the
// text it wrote.
type stage struct {
	tokens  []int32
	until   string
	grammar *constrain.Grammar
	then    func(text string) []stage
}

// next returns the tokens that must come now, and then the mask of the one to choose after them. A
// nil mask says that the constraint is over: nothing may follow.
func (g *guide) next() (forced []int32, mask sample.Mask) {
	for len(g.stages) > 0 {
		p := &g.stages[0]
		if p.until != "" {
			if g.started && bytes.HasSuffix(g.text, []byte(p.until)) {
				g.close()
				continue
			}
			if !g.started {
				g.text, g.started = g.text[:0], true
			}
			return forced, g.free
		}
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
	ids := g.tok.EncodeInside(nil, string(g.forced), g.mode)
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
	t, _ := g.tok.Token(id)
	if len(g.stages) > 0 && g.stages[0].until != "" {
		g.text = append(g.text, t.Bytes...)
		return true, nil
	}
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
	g.text = append(g.text, t.Bytes...)
	return true, nil
}

// close ends the stage under way.
func (g *guide) close() {
	p := g.stages[0]
	g.stages, g.started = g.stages[1:], false
	if p.then != nil {
		g.stages = append(p.then(string(g.text)), g.stages...)
	}
}
