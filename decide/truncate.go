package decide

import (
	"slices"
	"unicode/utf8"

	"github.com/hotpath-go/hotpath/model/chat"
)

// Truncation says what of a state is kept that does not fit the context. The zero Truncation keeps
// all: such a state is refused. It cuts the longest content of a state, never scaffolding and never
// inside a character; a JSON state that was cut is JSON no more.
type Truncation struct {
	keep   keep
	marker string
}

type keep uint8

const (
	keepAll keep = iota
	keepHead
	keepTail
	keepEnds
)

// KeepHead cuts the end of the content.
func KeepHead() Truncation { return Truncation{keep: keepHead} }

// KeepTail cuts the beginning of the content.
func KeepTail() Truncation { return Truncation{keep: keepTail} }

// KeepEnds cuts the middle of the content and puts the marker there.
func KeepEnds(marker string) Truncation { return Truncation{keepEnds, marker} }

// Cut is what was left out of a state.
type Cut struct {
	Message  int // of a chat state, the one whose content was cut; 0 for others
	From, To int // bytes of the content, or of a state of token ids the ids, that were left out
}

// EncodeWithin is Encode for a state that must not have more tokens than room: it cuts as the
// truncation says. Where that does not help, the tokens are more than room and nothing was cut. A nil
// Cut says that all is there.
func (c *Compiler) EncodeWithin(s State, want Border, t Truncation, room int) (Encoded, *Cut, error) {
	e, err := c.Encode(s, want)
	if err != nil || len(e.Tokens) <= room || t.keep == keepAll {
		return e, nil, err
	}
	if s.Prompt().Kind() == chat.KindTokens {
		return c.cutTokens(e, t, room)
	}
	content, message, with := longest(s)
	// The most bytes that fit: more bytes are more tokens, but for a few at the cut.
	var best Encoded
	var cut *Cut
	for low, high := 1, len(content)-1; low <= high; {
		n := low + (high-low)/2
		from, to := t.span(content, n)
		kept, err := c.Encode(with(content[:from]+t.marker+content[to:]), want)
		if err != nil || len(kept.Tokens) > room {
			high = n - 1
			continue
		}
		best, cut = kept, &Cut{message, from, to}
		low = n + 1
	}
	if cut == nil {
		return e, nil, nil
	}
	return best, cut, nil
}

// span returns which bytes go when n of them are kept, characters whole.
func (t Truncation) span(s string, n int) (from, to int) {
	switch t.keep {
	case keepHead:
		from, to = n, len(s)
	case keepTail:
		from, to = 0, len(s)-n
	default:
		from, to = n-n/2, len(s)-n/2
	}
	for from > 0 && from < len(s) && !utf8.RuneStart(s[from]) {
		from--
	}
	for to < len(s) && !utf8.RuneStart(s[to]) {
		to++
	}
	return from, to
}

// cutTokens cuts a state of token ids.
func (c *Compiler) cutTokens(e Encoded, t Truncation, room int) (Encoded, *Cut, error) {
	f, err := c.frame(BorderRaw)
	if err != nil {
		return e, nil, err
	}
	marker := f.tokens(text(t.marker))
	n := room - len(marker)
	if n < 1 {
		return e, nil, nil
	}
	var from, to int
	switch size := len(e.Tokens); t.keep {
	case keepHead:
		from, to = n, size
	case keepTail:
		from, to = 0, size-n
	default:
		from, to = n-n/2, size-n/2
	}
	e.Tokens = slices.Concat(e.Tokens[:from], marker, e.Tokens[to:])
	return e, &Cut{0, from, to}, nil
}

// longest returns the longest content of a state, the message it belongs to, and how to make the
// state with another content there.
func longest(s State) (content string, message int, with func(string) State) {
	p := s.Prompt()
	if p.Kind() != chat.KindMessages {
		return s.text, 0, func(text string) State {
			return State{prompt: chat.Text(text), text: text, raw: s.raw}
		}
	}
	part := -1
	for i, m := range p.Turns() {
		if len(m.Content) > len(content) {
			content, message, part = m.Content, i, -1
		}
		for j := range m.Parts {
			if len(m.Parts[j].Text) > len(content) {
				content, message, part = m.Parts[j].Text, i, j
			}
		}
	}
	return content, message, func(text string) State {
		turns := slices.Clone(p.Turns())
		m := &turns[message]
		m.IDs = nil // they stand for the whole
		if part < 0 {
			m.Content = text
		} else {
			m.Parts = slices.Clone(m.Parts)
			m.Parts[part].Text = text
		}
		return Chat(replaced(p, turns))
	}
}

// replaced returns the prompt with other messages.
func replaced(p chat.Prompt, turns []chat.Message) chat.Prompt {
	q := chat.Messages(turns...).WithTools(p.Tools()...)
	for _, a := range p.Args() {
		q = q.WithArg(a.Name, a.Value)
	}
	return q
}
