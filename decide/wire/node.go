package wire

import (
	"bytes"
	"encoding/json"
	"iter"
	"strconv"
	"strings"
)

// node is a value inside a scanned body. Its text is valid JSON, so that walking it cannot fail.
type node struct {
	at   *trail
	text string // without space around it; empty: absent
}

// kind returns the first byte, with 0 for digits and signs and ' ' for an absent value.
func (n node) kind() byte {
	if n.text == "" {
		return ' '
	}
	switch b := n.text[0]; b {
	case '{', '[', '"', 't', 'f', 'n':
		return b
	}
	return '0'
}

// null reports whether the value is absent or null.
func (n node) null() bool { k := n.kind(); return k == ' ' || k == 'n' }

// want refuses a value whose kind is not among those of list.
func (n node) want(list, words string) error {
	if n.kind() == ' ' {
		return n.fail(CodeMissing, "missing, must be %s", words)
	}
	if strings.IndexByte(list, n.kind()) < 0 {
		return n.fail(CodeType, "must be %s", words)
	}
	return nil
}

// members yields the keys and values of an object in order, and nothing for other values.
func (n node) members() iter.Seq2[string, node] {
	return func(yield func(string, node) bool) {
		if n.kind() != '{' {
			return
		}
		c := scanner{s: n.text, i: 1}
		for c.space(); c.peek() == '"' || c.peek() == ','; c.space() {
			if c.peek() == ',' {
				c.i++
				c.space()
			}
			key, _ := c.str()
			c.space()
			c.i++
			c.space()
			start := c.i
			c.skip()
			if !yield(key, node{n.at.then(key), n.text[start:c.i]}) {
				return
			}
		}
	}
}

// elements yields the values of an array in order, and nothing for other values.
func (n node) elements() iter.Seq2[int, node] {
	return func(yield func(int, node) bool) {
		if n.kind() != '[' {
			return
		}
		c := scanner{s: n.text, i: 1}
		c.space()
		for i := 0; c.peek() != ']'; i++ {
			start := c.i
			c.skip()
			if !yield(i, node{n.at.then(i), n.text[start:c.i]}) {
				return
			}
			if c.space(); c.peek() == ',' {
				c.i++
				c.space()
			}
		}
	}
}

// skip passes over one value of valid JSON.
func (c *scanner) skip() {
	depth := 0
	for c.i < len(c.s) {
		switch b := c.s[c.i]; b {
		case '"':
			for c.i++; c.s[c.i] != '"'; c.i++ {
				if c.s[c.i] == '\\' {
					c.i++
				}
			}
			c.i++
		case '{', '[':
			depth++
			c.i++
		case '}', ']':
			depth--
			c.i++
		case ',', ':', ' ', '\t', '\r', '\n':
			c.i++
			continue
		default:
			for c.i < len(c.s) && strings.IndexByte(",:]} \t\r\n", c.s[c.i]) < 0 {
				c.i++
			}
		}
		if depth == 0 {
			return
		}
	}
}

// count returns how many members or elements there are.
func (n node) count() int {
	total := 0
	for range n.members() {
		total++
	}
	for range n.elements() {
		total++
	}
	return total
}

// str returns what a string means.
func (n node) str() string {
	raw := n.text[1 : len(n.text)-1]
	if strings.IndexByte(raw, '\\') < 0 {
		return raw
	}
	return unescape(raw)
}

// unescape returns what the inside of a valid JSON string means.
func unescape(raw string) string {
	var s string
	_ = json.Unmarshal([]byte(`"`+raw+`"`), &s)
	return s
}

// float returns a number's value.
func (n node) float() float64 {
	x, _ := strconv.ParseFloat(n.text, 64)
	return x
}

// raw returns the value compact and as a copy.
func (n node) raw() json.RawMessage {
	var b bytes.Buffer
	b.Grow(len(n.text))
	_ = json.Compact(&b, []byte(n.text))
	return b.Bytes()
}

// words returns a value as text for the model: a string as it is, anything else as compact JSON,
// null and an absent value as nothing.
func (n node) words() string {
	switch {
	case n.null():
		return ""
	case n.kind() == '"':
		return n.str()
	}
	return string(n.raw())
}

// fields spreads an object over the nodes of the given names and leaves those that are not there
// absent, with their path. A member that has no name goes to other, which may refuse it.
func (n node) fields(into map[string]*node, other func(key string, v node) error) error {
	if err := n.want("{", "an object"); err != nil {
		return err
	}
	for key, dst := range into {
		*dst = node{at: n.at.then(key)}
	}
	for key, v := range n.members() {
		if dst := into[key]; dst != nil {
			*dst = v
		} else if err := other(key, v); err != nil {
			return err
		}
	}
	return nil
}

func ignore(string, node) error { return nil }

func refuse(_ string, v node) error { return v.fail(CodeUnknown, "unknown field") }
