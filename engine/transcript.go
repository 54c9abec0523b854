package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
)

// transcript is a conversation in tokens. Turns that came from outside are rendered; once a reply was
// generated nothing before it is rendered again: later turns are put after its exact tokens, in the
// scaffolding that the template writes around such turns elsewhere. They are rendered together, since
// templates put several tools' results in one turn.
type transcript struct {
	model *model.Model
	clock time.Time

	prompt  chat.Prompt // the turns so far, with tools and template variables
	tokens  []int32     // of them, up to the end of the last turn
	exact   bool        // a reply was generated: tokens say more than a render would
	kept    int         // how many of the tokens are up to the end of the last generated reply
	since   int         // how many of the turns are
	opening string      // opens a reply after the last turn
	opened  []int32     // its tokens
}

// newTranscript starts from a prompt of messages, of which there may be none yet, or of raw text or
// tokens, which goes on without turns.
func newTranscript(m *model.Model, p chat.Prompt, clock time.Time) (*transcript, error) {
	t := &transcript{model: m, clock: clock, prompt: p}
	switch {
	case p.Kind() == chat.KindMessages || p.Kind() == chat.KindNone:
		if _, _, err := m.Chat(); err != nil {
			return nil, err
		}
		if len(p.Turns()) == 0 {
			return t, nil
		}
		// Some templates want a user's turn first: what is wrong is said when one is needed.
		_ = t.render()
		return t, nil
	}
	tokens, err := m.Encode(p, clock)
	t.tokens = tokens
	return t, err
}

// turns reports whether the transcript is one of messages.
func (t *transcript) turns() bool {
	return t.prompt.Kind() == chat.KindMessages || t.prompt.Kind() == chat.KindNone
}

// ready says why nothing can be asked of the conversation as it is.
func (t *transcript) ready() error {
	switch {
	case len(t.tokens) > 0:
		return nil
	case !t.turns() || len(t.prompt.Turns()) == 0:
		return fmt.Errorf("%w: the conversation is empty", ErrRequest)
	}
	return t.render()
}

// render encodes all turns anew.
func (t *transcript) render() error {
	r, err := t.model.Render(t.prompt, t.clock)
	if err != nil {
		return err
	}
	end, ok := r.Last(chat.TurnEnd)
	if !ok {
		return fmt.Errorf("%w: the template marks no end of the last turn", ErrRequest)
	}
	_, enc, err := t.model.Chat()
	if err != nil {
		return err
	}
	ids, at := enc.Encode(nil, r, end.Offset)
	t.set(ids[:at[0]:at[0]], ids[at[0]:], r.Text[end.Offset:])
	return nil
}

func (t *transcript) set(tokens, opened []int32, opening string) {
	t.tokens, t.opened, t.opening = tokens, slices.Clone(opened), opening
}

// append adds turns.
func (t *transcript) append(ms ...chat.Message) error {
	if !t.turns() {
		return fmt.Errorf("%w: messages after a conversation of raw text or tokens", ErrRequest)
	}
	if len(ms) == 0 {
		return nil
	}
	if !t.exact {
		// Still what the template would render: it may look at all turns.
		old := *t
		t.prompt = t.prompt.With(ms...)
		if err := t.render(); err != nil && len(old.tokens) > 0 {
			*t = old
			return err
		}
		return nil
	}
	turns := t.prompt.Turns()
	before := neighbours(turns[t.since-1])
	later := slices.Concat(turns[t.since:], ms)
	around := chat.Messages(before...).With(later...)
	for _, a := range t.prompt.Args() {
		around = around.WithArg(a.Name, a.Value)
	}
	template, enc, err := t.model.Chat()
	if err != nil {
		return err
	}
	r, err := template.Render(around, chat.RenderOptions{AddGenerationPrompt: true, EveryTurn: true, Now: t.clock})
	if err != nil {
		return err
	}
	from, ok := t.endOf(before, r)
	to, also := turnEnd(r, len(before)+len(later)-1)
	if !ok || !also || to < from {
		return fmt.Errorf("%w: the template marks no end of the turns around the new ones", ErrRequest)
	}
	ids, at := enc.Encode(nil, r, from, to)
	t.set(append(slices.Clip(t.tokens[:t.kept]), ids[at[0]:at[1]]...), ids[at[1]:], r.Text[to:])
	t.prompt = t.prompt.With(ms...)
	return nil
}

// neutral is the content of turns that stand in for others: a word that no template looks for.
const neutral = "Orchard"

// neighbours is a short conversation that ends as one does with a reply: in its calls, if it has any.
func neighbours(reply chat.Message) []chat.Message {
	reply.Content, reply.Parts, reply.Reasoning, reply.IDs = neutral, nil, "", nil
	if len(reply.ToolCalls) > 0 { // some templates put a content after the results
		reply.Content = ""
	}
	return []chat.Message{chat.User(neutral), reply}
}

// endOf returns where the last of the turns before ends in a render that goes on after them. The
// template may have rewritten that turn, so that no mark stands there: then its end is known by the
// scaffolding that closes it when it is the last one.
func (t *transcript) endOf(before []chat.Message, r *chat.Rendered) (int, bool) {
	last := len(before) - 1
	if end, ok := turnEnd(r, last); ok {
		return end, true
	}
	template, _, err := t.model.Chat()
	if err != nil {
		return 0, false
	}
	alone, err := template.Render(chat.Messages(before...), chat.RenderOptions{Now: t.clock})
	if err != nil {
		return 0, false
	}
	end, ok := turnEnd(alone, last)
	data, also := dataEnd(alone, last)
	from, there := dataEnd(r, last)
	if !ok || !also || !there || data > end {
		return 0, false
	}
	closing := alone.Text[data:end]
	return from + len(closing), strings.HasPrefix(r.Text[from:], closing)
}

// dataEnd returns the end of what a message itself gave to the text.
func dataEnd(r *chat.Rendered, message int) (end int, ok bool) {
	for _, s := range r.Spans {
		if i, of := s.Source.Message(); of && i == message {
			end, ok = s.End, true
		}
	}
	return end, ok
}

func turnEnd(r *chat.Rendered, message int) (int, bool) {
	for _, m := range r.Marks {
		if m.Kind == chat.TurnEnd && m.Message == message {
			return m.Offset, true
		}
	}
	return 0, false
}

// reply returns the prompt of the next reply.
func (t *transcript) reply() (input, error) {
	if err := t.ready(); err != nil {
		return input{}, err
	}
	if turns := t.prompt.Turns(); len(turns) > 0 && turns[len(turns)-1].Role == chat.RoleAssistant {
		return input{}, fmt.Errorf("%w: the last turn is an assistant's already: append another before the next reply", ErrRequest)
	}
	return input{
		tokens: append(slices.Clip(t.tokens), t.opened...), chat: t.turns(), opening: t.opening, tools: t.prompt.Tools(),
	}, nil
}

// replied returns the tokens of the conversation after a reply, as far as it was generated, and with
// the calls that it made.
func (t *transcript) replied(ids []int32, calls ...chat.ToolCall) ([]int32, error) {
	tokens := slices.Concat(t.tokens, t.opened, ids)
	if !t.turns() {
		return tokens, nil
	}
	closing, err := t.closing(calls...)
	if err != nil {
		return nil, err
	}
	// The generated end token is the first of those that close a turn.
	if n := len(ids); n > 0 && len(closing) > 0 && ids[n-1] == closing[0] {
		closing = closing[1:]
	} else if n > 0 && slices.Contains(t.model.Tokenizer.EOG(), ids[n-1]) {
		tokens = tokens[:len(tokens)-1] // another end than the template writes
	}
	return append(tokens, closing...), nil
}

// closing returns the tokens between a reply, as it is generated, and the end of its turn.
func (t *transcript) closing(calls ...chat.ToolCall) ([]int32, error) {
	template, enc, err := t.model.Chat()
	if err != nil {
		return nil, err
	}
	o := chat.RenderOptions{EveryTurn: true, Now: t.clock}
	before := neighbours(chat.Assistant(""))
	r, err := template.Render(chat.Messages(before...).With(chat.User(neutral)), o)
	if err != nil {
		return nil, err
	}
	from, ok := dataEnd(r, 1)
	to, also := t.endOf(before, r)
	if !ok || !also || to < from {
		return nil, nil // the template shows no end of a reply
	}
	if len(calls) > 0 {
		// Some templates leave a turn open for the results of its calls.
		before = neighbours(chat.Message{Role: chat.RoleAssistant, ToolCalls: calls})
		answered := chat.Messages(before...)
		for _, c := range calls {
			answered = answered.With(chat.ToolResult(c.ID, c.Name, neutral))
		}
		if called, err := template.Render(answered, o); err == nil {
			if end, ok := t.endOf(before, called); ok && !strings.HasSuffix(called.Text[:end], r.Text[from:to]) {
				return nil, nil
			}
		}
	}
	ids, at := enc.Encode(nil, r, from, to)
	return ids[at[0]:at[1]], nil
}

// keep makes a generated reply the last turn.
func (t *transcript) keep(g *Generation) error {
	tokens, err := t.replied(g.IDs, g.Message.ToolCalls...)
	if err != nil {
		return err
	}
	t.tokens, t.exact = tokens, true
	if !t.turns() {
		return nil
	}
	t.prompt = t.prompt.With(g.Message)
	t.opening, t.opened = "", nil
	t.kept, t.since = len(tokens), len(t.prompt.Turns())
	return nil
}

// dropReasoning renders all turns anew, without the reasoning of the replies.
func (t *transcript) dropReasoning() error {
	if !t.turns() || !t.exact {
		return nil
	}
	turns := slices.Clone(t.prompt.Turns())
	for i := range turns {
		if turns[i].Reasoning != "" {
			turns[i].Reasoning, turns[i].IDs = "", nil
		}
	}
	p := chat.Messages(turns...).WithTools(t.prompt.Tools()...)
	for _, a := range t.prompt.Args() {
		p = p.WithArg(a.Name, a.Value)
	}
	old := *t
	t.prompt = p
	if err := t.render(); err != nil {
		*t = old
		return err
	}
	t.exact = false
	return nil
}

// clone returns a transcript that goes its own way.
func (t *transcript) clone() *transcript {
	c := *t
	c.tokens = slices.Clip(c.tokens)
	return &c
}
