package model

import (
	"fmt"
	"sync"
	"time"

	"github.com/hotpath-go/hotpath/model/arch"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/tokenizer"
)

// New puts a model together from its parts: for tests, and for programs that read weights in a way
// of their own. An empty template means that there is none. The parts must not be changed afterwards.
func New(name string, p *arch.Program, t *tokenizer.Tokenizer, template string) (*Model, error) {
	m := &Model{Name: name, Program: p, Tokenizer: t, Template: template}
	return m, m.finish()
}

// chatting renders and encodes the prompts of messages. It is made when it is first needed: a model
// with a malformed template still continues raw text.
type chatting struct {
	once     sync.Once
	template *chat.Template
	encoder  *chat.Encoder
	err      error
}

func (c *chatting) make(m *Model) {
	text := func(id int32, ok bool) string {
		t, _ := m.Tokenizer.Token(id)
		if !ok {
			return ""
		}
		return t.Text
	}
	c.encoder = chat.NewEncoder(m.Tokenizer)
	c.template, c.err = chat.NewTemplate(m.Template, chat.TemplateOptions{BOS: text(m.Tokenizer.BOS()), EOS: text(m.Tokenizer.EOS())})
	if c.err != nil {
		c.err = fmt.Errorf("%s: %w", m.Name, c.err)
	}
}

// Chat returns the model's compiled template, and the encoder of what it renders. The error is
// chat.ErrNoTemplate or chat.ErrTemplate.
func (m *Model) Chat() (*chat.Template, *chat.Encoder, error) {
	if m.Template == "" {
		return nil, nil, fmt.Errorf("%w: %s", chat.ErrNoTemplate, m.Name)
	}
	c := m.chatting
	if c == nil {
		c = &chatting{} // a Model that was not made by this package: nothing is kept
	}
	c.once.Do(func() { c.make(m) })
	return c.template, c.encoder, c.err
}

// Render returns a prompt of messages as text, up to where the reply begins. clock is the time that
// the template may ask for.
func (m *Model) Render(p chat.Prompt, clock time.Time) (*chat.Rendered, error) {
	t, _, err := m.Chat()
	if err != nil {
		return nil, err
	}
	if len(p.Turns()) == 0 {
		return nil, fmt.Errorf("%w: no messages", ErrPrompt)
	}
	return t.Render(p, chat.RenderOptions{AddGenerationPrompt: true, Now: clock})
}

// encodeMessages renders messages and encodes them. No token crosses the end of the last turn, so
// that what a decision or the next turn puts there instead of the reply shares all tokens before it.
func (m *Model) encodeMessages(p chat.Prompt, clock time.Time) (Encoded, error) {
	r, err := m.Render(p, clock)
	if err != nil {
		return Encoded{}, err
	}
	_, e, err := m.Chat()
	if err != nil {
		return Encoded{}, err
	}
	var cuts []int
	if end, ok := r.Last(chat.TurnEnd); ok {
		cuts = append(cuts, end.Offset)
	}
	ids, _ := e.Encode(nil, r, cuts...)
	for i, id := range ids { // ids of earlier turns come from the caller
		if id < 0 || int(id) >= m.Program.Vocab {
			return Encoded{}, fmt.Errorf("%w: token %d of %d: id %d, the vocabulary has %d", ErrToken, i, len(ids), id, m.Program.Vocab)
		}
	}
	out := Encoded{IDs: ids, Dropped: r.Dropped}
	if start, ok := r.Last(chat.ReplyStart); ok {
		out.Opening = r.Text[start.Offset:]
	}
	return out, nil
}
