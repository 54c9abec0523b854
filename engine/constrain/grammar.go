package constrain

import (
	"fmt"
	"slices"
)

// Grammar is a compiled constraint for one vocabulary. It is immutable to its users and safe for
// concurrent use; what it learns about tokens is cached inside, up to 16 MiB.
type Grammar struct {
	trie   *trie
	text   *textOutcomes
	vocab  [][]byte
	states []state
	rules  []rule
	start  int32 // rule
	depth  int32 // rules that may be under way at once
	cache  outcomes
}

// State is a place in a constraint: what has been accepted so far. Copying a State forks it.
// The zero State is not valid; one comes from Grammar.Start. It is for one goroutine at a time.
type State struct {
	g     *Grammar
	at    config
	ended bool
}

// Start returns the state before the first token.
func (g *Grammar) Start() State {
	s := State{g: g}
	r := g.rules[g.start]
	g.enter(&s.at, head{q: r.start, left: r.left, need: r.need})
	return s
}

// Mask returns the allowed tokens: bit id%32 of word id/32, one bit for each token of the
// vocabulary. It writes over dst and returns it, or a new slice if dst is too short. The tokens
// that end a text are among them exactly when the text is complete. The mask is empty after such
// a token, and where the vocabulary has no token for what must follow.
func (s *State) Mask(dst []uint32) []uint32 {
	words := (s.g.trie.tokens + 31) / 32
	dst = slices.Grow(dst[:0], words)[:words]
	clear(dst)
	if s.ended {
		return dst
	}
	if s.at.done {
		for _, id := range s.g.trie.end {
			dst[id>>5] |= 1 << (id & 31)
		}
	}
	for _, h := range s.at.heads {
		s.g.allow(dst, h)
	}
	return dst
}

// Accept moves over a token. One that is not allowed is ErrToken and leaves the state as it was.
func (s *State) Accept(token int32) error {
	if token < 0 || int(token) >= len(s.g.vocab) {
		return fmt.Errorf("%w: id %d of %d tokens", ErrToken, token, len(s.g.vocab))
	}
	for _, id := range s.g.trie.end {
		if id == token {
			if !s.at.done || s.ended {
				return fmt.Errorf("%w: id %d ends the text before it is complete", ErrToken, token)
			}
			s.ended, s.at = true, config{}
			return nil
		}
	}
	b := s.g.vocab[token]
	if len(b) == 0 {
		return fmt.Errorf("%w: id %d stands for no text", ErrToken, token)
	}
	if !s.AcceptBytes(b) {
		return fmt.Errorf("%w: id %d, %q", ErrToken, token, b)
	}
	return nil
}

// AcceptBytes moves over text, if it is allowed, and reports whether it was.
func (s *State) AcceptBytes(text []byte) bool {
	from, to := s.at, config{}
	for i, b := range text {
		s.g.step(&to, &from, b)
		if to.dead() {
			return false
		}
		if i == 0 {
			from.heads = nil // shared with forks: not to be written
		}
		from, to = to, from
	}
	s.at = from
	return true
}

// Done reports whether the text is complete as it stands. More may be allowed.
func (s *State) Done() bool { return s.at.done || s.ended }

// Ended reports whether nothing more can come: after an end token, or when a complete text
// cannot go on.
func (s *State) Ended() bool { return len(s.at.heads) == 0 }

// maxForced bounds the text that Forced returns, in bytes.
const maxForced = 1 << 12

// Forced appends to dst the text that must come next, which is empty where there is a choice or
// where the text may end. Of its tokens the last may be wrong: a longer one, which goes beyond
// the forced text, may be what the tokenizer makes of the whole. The state does not move.
func (s *State) Forced(dst []byte) []byte {
	at, next := config{heads: s.at.heads, done: s.at.done}, config{}
	for first := true; !at.done && len(at.heads) > 0; first = false {
		e := s.g.states[at.heads[0].q].edges
		b := e[0].lo
		for _, h := range at.heads {
			e := s.g.states[h.q].edges
			if len(e) != 1 || e[0].lo != e[0].hi || e[0].lo != b {
				return dst
			}
		}
		s.g.step(&next, &at, b)
		if next.dead() {
			return dst
		}
		if dst = append(dst, b); len(dst) >= maxForced {
			return dst
		}
		if first {
			at.heads = nil
		}
		at, next = next, at
	}
	return dst
}
