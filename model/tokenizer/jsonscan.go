package tokenizer

import (
	"encoding/json"
	"unicode/utf8"
)

// jsonScanner walks JSON that is known to be valid. Vocabularies and merges are most of a file, and
// package json takes some ten times as long for them.
type jsonScanner struct {
	b []byte
	i int
}

// peek returns the first byte of the next token, 0 at the end.
func (s *jsonScanner) peek() byte {
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\r', '\n', ',', ':':
		default:
			return c
		}
	}
	return 0
}

// take passes over the next token when it begins with c; for brackets and braces that is all of it.
func (s *jsonScanner) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.i++
	return true
}

// text reads a string, as a view of the file where it holds no escapes.
func (s *jsonScanner) text() ([]byte, bool) {
	if s.peek() != '"' {
		return nil, false
	}
	start := s.i
	plain := true
	for s.i++; s.i < len(s.b) && s.b[s.i] != '"'; s.i++ {
		if s.b[s.i] == '\\' {
			plain = false
			s.i++
		}
	}
	if s.i >= len(s.b) {
		return nil, false
	}
	s.i++
	raw := s.b[start+1 : s.i-1]
	if plain && utf8.Valid(raw) {
		return raw, true
	}
	var text string
	err := json.Unmarshal(s.b[start:s.i], &text)
	return []byte(text), err == nil
}

// number reads a whole number of at most nine digits.
func (s *jsonScanner) number() (n int, ok bool) {
	s.peek()
	start := s.i
	for ; s.i < len(s.b) && '0' <= s.b[s.i] && s.b[s.i] <= '9'; s.i++ {
		if s.i-start >= 9 {
			return 0, false
		}
		n = 10*n + int(s.b[s.i]-'0')
	}
	if s.i < len(s.b) && (s.b[s.i] == '.' || s.b[s.i] == 'e' || s.b[s.i] == 'E') {
		return 0, false
	}
	return n, s.i > start
}
