package decide

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/hotpath-go/hotpath/model/chat"
)

// Encoded is a state in tokens. Those of a chat state are the first of those that Generate computes
// for the same prompt. The slices must not be changed.
type Encoded struct {
	Tokens []int32
	Border Border // as the result names it
	Form   Border // whose spans continue the tokens: Border, or the one that Canonical came to
	Hidden []int  // messages with a content of which the template shows nothing
}

// Encode returns the tokens of a state and the border that follows them. Text and JSON are written as
// the model declares its states, else as one user message on a model with a template, and raw on one
// without. want is BorderNone for the border
// that shares most, or BorderCanonical.
//
// The error is ErrState, ErrReasoning, or chat.ErrNoTemplate for messages on a model without one.
func (c *Compiler) Encode(s State, want Border) (Encoded, error) {
	if err := s.Err(); err != nil {
		return Encoded{}, err
	}
	e, err := c.encodeState(s, want)
	if err != nil && !errors.Is(err, ErrState) && !errors.Is(err, ErrReasoning) {
		err = fmt.Errorf("%w: State: %w", ErrState, err)
	}
	return e, err
}

func (c *Compiler) encodeState(s State, want Border) (e Encoded, err error) {
	d, err := c.declared()
	if err != nil {
		return e, err
	}
	p := s.Prompt()
	template := c.model.Template != ""
	message := p.Kind() == chat.KindText && !s.raw // of a user, where there are messages
	switch {
	case message && s.text == "":
		return e, fmt.Errorf("%w: State: empty", ErrState)
	case message && d != nil:
		var f *frame
		if f, err = c.frame(BorderDeclared); err == nil {
			e = Encoded{Tokens: f.tokens(d.before(s.text)...), Border: BorderDeclared}
		}
	case message && template:
		e, err = c.encodeMessages(chat.Messages(chat.User(s.text)), want, d)
	case p.Kind() == chat.KindMessages:
		e, err = c.encodeMessages(p, want, d)
	default:
		e = Encoded{Border: BorderRaw, Form: BorderRaw}
		if p.Kind() == chat.KindTokens && template {
			e = Encoded{Border: BorderAppended, Form: BorderAppended}
		}
		e.Tokens, err = c.model.Encode(p, c.options.Clock)
	}
	if d != nil {
		e.Form = BorderDeclared
	}
	if err == nil {
		e.Form = c.after(e)
	}
	return e, err
}

// after returns the form whose spans follow the very token that the state ends with. A question right
// after a control token begins a text to the tokenizer, as it does in the template's own render.
func (c *Compiler) after(e Encoded) Border {
	turn := e.Form == BorderTurn || e.Form == BorderAppended
	if turn && len(e.Tokens) > 0 && c.model.Tokenizer.IsControl(e.Tokens[len(e.Tokens)-1]) && c.blank() {
		return turnAfterControl
	}
	return e.Form
}

// encodeMessages encodes messages, or finds them among those encoded lately.
func (c *Compiler) encodeMessages(p chat.Prompt, want Border, d *declared) (Encoded, error) {
	key := stateKey(p, want)
	if e, ok := c.states.get(key); ok {
		return e, nil
	}
	e, err := c.meet(p, want, d)
	if err == nil {
		c.states.put(key, e, len(e.Tokens)+16)
	}
	return e, err
}

// meet finds the form in which a question meets the messages.
func (c *Compiler) meet(p chat.Prompt, want Border, d *declared) (Encoded, error) {
	history, err := c.model.Render(p, c.options.Clock)
	if err != nil {
		return Encoded{}, err
	}
	last := len(p.Turns()) - 1
	end, ok := markOf(history, chat.TurnEnd, last)
	if !ok || end == 0 {
		return Encoded{}, fmt.Errorf("%w: the template marks no end of the last turn", ErrState)
	}
	if d != nil { // its questions take the place of a turn
		return Encoded{Tokens: c.head(history, end), Border: BorderAppended, Hidden: history.Dropped}, nil
	}
	s, err := c.scaffold()
	if err != nil {
		return Encoded{}, err
	}
	inside := s.alternate && p.Turns()[last].Role == chat.RoleUser
	if want == BorderCanonical {
		return c.canonical(p, history, s, inside)
	}
	content, shown := markOf(history, chat.ContentEnd, last)
	form := BorderAppended
	switch {
	case inside:
		if r, err := c.extended(p, history); err == nil && shown && content <= end &&
			strings.HasPrefix(r.Text, history.Text[:content]+insideLead+neutralQuestion+s.close) {
			form = BorderInside
		}
	default:
		if r, err := c.model.Render(p.With(chat.User(neutralQuestion)), c.options.Clock); err == nil &&
			strings.HasPrefix(r.Text, history.Text[:end]+s.open+neutralQuestion+s.close) {
			form = BorderTurn
		}
	}
	cuts := []int{end}
	if form == BorderInside && content < end {
		cuts = []int{content, end}
	}
	return Encoded{c.head(history, cuts...), form, form, history.Dropped}, nil
}

// insideLead separates a question from the content that it is put to the end of.
const insideLead = "\n\n"

// canonical encodes what the template itself renders before one more question.
func (c *Compiler) canonical(p chat.Prompt, history *chat.Rendered, s scaffold, inside bool) (Encoded, error) {
	form, open, message := BorderTurn, s.open, len(p.Turns())
	var r *chat.Rendered
	var err error
	if inside {
		form, open, message = BorderInside, insideLead, message-1
		r, err = c.extended(p, history)
	} else {
		r, err = c.model.Render(p.With(chat.User(neutralQuestion)), c.options.Clock)
	}
	if err != nil {
		return Encoded{}, err
	}
	from, to, ok := contentOf(r, message, neutralQuestion)
	if !ok || !strings.HasSuffix(r.Text[:from], open) || !strings.HasPrefix(r.Text[to:], s.close) {
		return Encoded{}, fmt.Errorf("%w: after these messages the template writes a user turn of another form: no canonical border", ErrState)
	}
	return Encoded{c.head(r, from-len(open)), BorderCanonical, form, history.Dropped}, nil
}

// head returns the tokens before the first cut.
func (c *Compiler) head(r *chat.Rendered, cuts ...int) []int32 {
	_, enc, _ := c.model.Chat()
	ids, at := enc.Encode(nil, r, cuts...)
	return slices.Clip(ids[:at[0]])
}

// extended renders the prompt with the neutral question at the end of its last content. White space
// at the end of that content goes where the history does not show it either.
func (c *Compiler) extended(p chat.Prompt, history *chat.Rendered) (*chat.Rendered, error) {
	turns := slices.Clone(p.Turns())
	last := len(turns) - 1
	m := &turns[last]
	end := &m.Content
	if n := len(m.Parts); n > 0 {
		m.Parts = slices.Clone(m.Parts)
		end = &m.Parts[n-1].Text
	}
	if at, ok := markOf(history, chat.ContentEnd, last); ok && !strings.HasSuffix(history.Text[:at], trailing(*end)) {
		*end = strings.TrimRightFunc(*end, unicode.IsSpace)
	}
	*end += insideLead + neutralQuestion
	return c.model.Render(replaced(p, turns), c.options.Clock)
}

// trailing returns the white space at the end of s.
func trailing(s string) string { return s[len(strings.TrimRightFunc(s, unicode.IsSpace)):] }
