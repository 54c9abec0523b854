package decide

import (
	"fmt"

	"github.com/hotpath-go/hotpath/model/chat"
)

// Prior is the probabilities that an empty state gives to the options of each question.
type Prior [][]float64

// Empty returns the tokens of an empty state before a form of question: a user turn without content,
// or where there are no turns the BOS token alone, or nothing.
func (c *Compiler) Empty(form Border) (Encoded, error) {
	e := Encoded{Border: form, Form: form}
	d, err := c.declared()
	if err != nil {
		return e, err
	}
	if d != nil && (form == BorderDeclared || form == BorderRaw) {
		f, err := c.frame(form)
		if err == nil {
			e.Tokens = f.tokens(d.before("")...)
		}
		return e, err
	}
	if form == BorderRaw {
		if bos, ok := c.model.Tokenizer.BOS(); ok && c.model.Tokenizer.AddBOS() {
			e.Tokens = []int32{bos}
		}
		return e, nil
	}
	turn := chat.User("")
	if form == BorderInside {
		turn.Content = neutralUser // cut away again: it shows where the content is
	}
	r, err := c.model.Render(chat.Messages(turn), c.options.Clock)
	if err != nil {
		return e, fmt.Errorf("%w: an empty one: %w", ErrState, err)
	}
	at, ok := markOf(r, chat.TurnEnd, 0)
	if form == BorderInside {
		at, _, ok = contentOf(r, 0, neutralUser)
	}
	if !ok {
		return e, fmt.Errorf("%w: the template shows no empty turn", ErrState)
	}
	e.Tokens = c.head(r, at)
	return e, nil
}

// Prior returns the prior of a plan's questions before a form, and false unless KeepPrior was called
// for each of them lately.
func (c *Compiler) Prior(p *Plan, b Border) (Prior, bool) {
	f, err := p.form(b)
	if err != nil {
		return nil, false
	}
	prior := make(Prior, len(f.asked))
	for i, a := range f.asked {
		var ok bool
		if prior[i], ok = c.priors.get(a.key); !ok {
			return nil, false
		}
	}
	return prior, true
}

// KeepPrior turns the readings of a plan's spans behind an empty state into a prior and keeps it.
func (c *Compiler) KeepPrior(p *Plan, empty Encoded, readings []Reading) (Prior, error) {
	f, err := p.form(empty.Form)
	if err != nil {
		return nil, err
	}
	all, err := p.distributions(empty, readings, true)
	if err != nil {
		return nil, err
	}
	prior := make(Prior, len(all))
	for i := range all {
		prior[i] = all[i].p
		c.priors.put(f.asked[i].key, prior[i], len(prior[i])+8)
	}
	return prior, nil
}
