package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// addedToken is a token that is looked for in the text before anything else.
type addedToken struct {
	id           int32
	content      string
	singleWord   bool // only where no word character touches it
	trimL, trimR bool // takes the white space on its left, on its right
	normalized   bool // looked for in the normalised text, by its own normalised content
}

// addedSet finds the added tokens of one mode, in the text as given and in the normalised text.
type addedSet struct{ raw, normalized matcher }

// matcher finds the leftmost, then longest, of its tokens.
type matcher struct {
	tokens []addedToken
	first  [256]bool
	only   int // the only first byte; -1 when there are several
	roots  [256]int32
	edges  pairTable // (node, byte) to node
	accept []int32   // by node: index of a token, or -1
}

func newMatcher(tokens []addedToken) matcher {
	m := matcher{tokens: tokens, only: -1}
	size := 0
	for _, t := range tokens {
		size += len(t.content)
	}
	m.edges = newPairTable(size)
	for i := range m.roots {
		m.roots[i] = -1
	}
	for i, t := range tokens {
		b := t.content[0]
		node := m.roots[b]
		if node < 0 {
			node = m.node()
			m.roots[b], m.first[b] = node, true
			m.only = int(b)
		}
		for j := 1; j < len(t.content); j++ {
			_, next := m.edges.find(node, int32(t.content[j]))
			if next < 0 {
				next = m.node()
				m.edges.set(node, int32(t.content[j]), 0, next)
			}
			node = next
		}
		m.accept[node] = int32(i)
	}
	n := 0
	for _, is := range m.first {
		if is {
			n++
		}
	}
	if n != 1 {
		m.only = -1
	}
	return m
}

func (m *matcher) node() int32 {
	m.accept = append(m.accept, -1)
	return int32(len(m.accept) - 1)
}

// find returns the first occurrence at or after from: the text that it takes, with the white space
// that its token strips, never before from.
func (m *matcher) find(s string, from int) (start, end int, id int32, ok bool) {
	if len(m.tokens) == 0 {
		return len(s), len(s), -1, false
	}
	for i := from; i < len(s); {
		if m.only >= 0 {
			n := strings.IndexByte(s[i:], byte(m.only))
			if n < 0 {
				break
			}
			i += n
		} else if !m.first[s[i]] {
			i++
			continue
		}
		t, w := m.longest(s[i:])
		if w == 0 {
			i++
			continue
		}
		start, end = i, i+w
		if t.singleWord && (endsWithWord(s[:start]) || startsWithWord(s[end:])) {
			i = end
			continue
		}
		if t.trimL {
			start = max(from, len(strings.TrimRightFunc(s[:start], unicode.IsSpace)))
		}
		if t.trimR {
			end = len(s) - len(strings.TrimLeftFunc(s[end:], unicode.IsSpace))
		}
		return start, end, t.id, true
	}
	return len(s), len(s), -1, false
}

func (m *matcher) longest(s string) (t *addedToken, w int) {
	node := m.roots[s[0]]
	for i := 1; ; i++ {
		if a := m.accept[node]; a >= 0 {
			t, w = &m.tokens[a], i
		}
		if i == len(s) {
			return t, w
		}
		if _, node = m.edges.find(node, int32(s[i])); node < 0 {
			return t, w
		}
	}
}

func endsWithWord(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return isWord(r)
}

func startsWithWord(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return isWord(r)
}

// isWord is \w with Unicode's meaning. The error character is none.
func isWord(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic, unicode.Join_Control)
}
