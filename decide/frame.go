package decide

import (
	"slices"
	"strings"
	"sync"

	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/tokenizer"
)

// frame is what stands around a question where a state ends. No token crosses into it from the
// state, so its tokens are the same after every state.
type frame struct {
	tok   *tokenizer.Tokenizer
	enc   *chat.Encoder
	open  string // scaffolding before the question's text
	lead  string // text before it
	tail  string // text after it
	close string // scaffolding after it, up to where the reply begins
	space bool   // a reply begins with a space
	after int32  // a token that may stand before the question: a control token, or one of text

	base []int32 // of tail and close alone

	mu      sync.Mutex
	schemes map[schemeKey]scheme // found so far; a few for each kind and number of options
}

// raw is the frame after raw text.
func rawFrame(tok *tokenizer.Tokenizer, enc *chat.Encoder) *frame {
	f := &frame{tok: tok, enc: enc, lead: "\n\n", tail: "\nAnswer:", space: true, after: neighbour(tok, false)}
	return f.ready()
}

// neighbour returns a control token, or one that is none.
func neighbour(tok *tokenizer.Tokenizer, control bool) int32 {
	for id := range int32(tok.Size()) {
		if tok.IsControl(id) == control {
			return id
		}
	}
	return 0
}

// frame returns the frame after a turn, or inside the last one.
func (s *scaffold) frame(tok *tokenizer.Tokenizer, enc *chat.Encoder, b Border) *frame {
	f := &frame{tok: tok, enc: enc, open: s.open, close: s.close + s.reply, after: neighbour(tok, b == turnAfterControl)}
	if b == BorderInside {
		f.open, f.lead = "", insideLead
	}
	return f.ready()
}

func (f *frame) ready() *frame {
	f.base = f.tokens(text(f.tail), scaffolding(f.close))
	f.schemes = map[schemeKey]scheme{}
	return f
}

// part is a stretch of what is encoded; control tokens are found in scaffolding alone.
type part struct {
	text     string
	scaffold bool
}

func text(s string) part { return part{s, false} }

func scaffolding(s string) part { return part{s, true} }

// tokens encodes parts as one text that continues a sequence.
func (f *frame) tokens(parts ...part) []int32 {
	var r chat.Rendered
	var b strings.Builder
	for _, p := range parts {
		if p.text == "" {
			continue
		}
		b.WriteString(p.text)
		source := chat.Scaffold
		if !p.scaffold {
			source = fromOutside
		}
		r.Spans = append(r.Spans, chat.Span{End: b.Len(), Source: source})
	}
	r.Text = b.String()
	ids, _ := f.enc.Encode([]int32{f.after}, &r)
	return slices.Clip(ids[1:])
}

// fromOutside is the source of text in which nothing becomes a control token.
const fromOutside chat.Source = 1

// question encodes a question's text, and a reply after it.
func (f *frame) question(s, reply string) []int32 {
	return f.tokens(scaffolding(f.open), text(f.lead+s+f.tail), scaffolding(f.close), text(reply))
}

// follows returns the tokens that a reply adds to the frame, and false when it changes those before.
func (f *frame) follows(reply string) ([]int32, bool) {
	ids := f.tokens(text(f.tail), scaffolding(f.close), text(reply))
	if len(ids) < len(f.base) || !slices.Equal(ids[:len(f.base)], f.base) {
		return nil, false
	}
	return ids[len(f.base):], true
}

// next returns the tokens of a reply. Where a reply would change the tokens of the scaffolding before
// it, it is encoded apart, as what a model generates there is. In text it has no place then.
func (f *frame) next(reply string) ([]int32, bool) {
	if ids, ok := f.follows(reply); ok || f.close == "" {
		return ids, ok
	}
	return f.tokens(text(reply)), true
}

// one returns the token that a reply is, and false when it is not exactly one.
func (f *frame) one(reply string) (int32, bool) {
	ids, ok := f.next(reply)
	if !ok || len(ids) != 1 {
		return 0, false
	}
	return ids[0], true
}

// words returns the tokens of a reply in an option's own words.
func (f *frame) words(s string) []int32 {
	if f.space {
		s = " " + s
	}
	if ids, ok := f.next(s); ok && len(ids) > 0 {
		return ids
	}
	return f.tokens(text(s))
}
