package wire

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// scanner checks that a text is one JSON value in the one way that all readers agree on. It keeps
// no tree: what it holds is the keys of the objects that are open.
type scanner struct {
	s     string
	i     int
	depth int
	limit int
	keys  []string
}

// scan checks a body against the limits on its size and depth and returns it as a node.
func scan(body []byte, l Limits) (node, error) {
	if l.Body > 0 && len(body) > l.Body {
		return node{}, node{}.limit("bytes", len(body), 0, l.Body)
	}
	if i := badUTF8(body); i >= 0 {
		return node{}, node{}.fail(CodeSyntax, "byte %d: not UTF-8", i)
	}
	c := scanner{s: string(body), limit: l.Depth}
	c.space()
	start := c.i
	if err := c.value(); err != nil {
		return node{}, err
	}
	end := c.i
	if c.space(); c.i < len(c.s) {
		return node{}, c.bad("more after the value")
	}
	return node{text: c.s[start:end]}, nil
}

// badUTF8 returns the offset of the first byte that is not UTF-8, or -1.
func badUTF8(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for i := 0; ; {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n < 2 {
			return i
		}
		i += n
	}
}

func (c *scanner) bad(format string, args ...any) error {
	text := fmt.Sprintf("byte %d: ", c.i) + fmt.Sprintf(format, args...)
	return &Error{Code: CodeSyntax, Text: text}
}

// under puts a step before the path of an error on its way out.
func under(step any, err error) error {
	var e *Error
	if errors.As(err, &e) {
		e.Path = slices.Insert(e.Path, 0, step)
	}
	return err
}

func (c *scanner) peek() byte {
	if c.i < len(c.s) {
		return c.s[c.i]
	}
	return 0
}

func (c *scanner) space() {
	for c.i < len(c.s) && strings.IndexByte(" \t\r\n", c.s[c.i]) >= 0 {
		c.i++
	}
}

func (c *scanner) value() error {
	switch b := c.peek(); {
	case b == '{' || b == '[':
		c.depth++
		if c.limit > 0 && c.depth > c.limit {
			return node{}.limit("nested levels", c.depth, 0, c.limit)
		}
		c.i++
		defer func() { c.depth-- }()
		if b == '{' {
			return c.object()
		}
		return c.array()
	case b == '"':
		_, err := c.str()
		return err
	case b == '-' || b >= '0' && b <= '9':
		return c.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if strings.HasPrefix(c.s[c.i:], word) {
			c.i += len(word)
			return nil
		}
	}
	if c.i == len(c.s) {
		return c.bad("unexpected end")
	}
	return c.bad("no JSON value begins here")
}

func (c *scanner) object() error {
	first := len(c.keys)
	for {
		c.space()
		if c.peek() == '}' && len(c.keys) == first {
			break
		}
		if c.peek() != '"' {
			return c.bad("an object wants a key in quotes")
		}
		key, err := c.str()
		if err != nil {
			return err
		}
		c.keys = append(c.keys, key)
		if c.space(); c.peek() != ':' {
			return c.bad("no colon after a key")
		}
		c.i++
		c.space()
		if err := c.value(); err != nil {
			return under(key, err)
		}
		if c.space(); c.peek() == '}' {
			break
		}
		if c.peek() != ',' {
			return c.bad("an object wants a comma or its end")
		}
		c.i++
	}
	c.i++
	if key, ok := repeated(c.keys[first:]); ok {
		return under(key, c.bad("the key %q is there twice", key))
	}
	c.keys = c.keys[:first]
	return nil
}

// repeated finds a key that is there twice. It reorders the keys.
func repeated(keys []string) (string, bool) {
	slices.Sort(keys)
	for i := 1; i < len(keys); i++ {
		if keys[i] == keys[i-1] {
			return keys[i], true
		}
	}
	return "", false
}

func (c *scanner) array() error {
	for n := 0; ; n++ {
		c.space()
		if c.peek() == ']' && n == 0 {
			break
		}
		if err := c.value(); err != nil {
			return under(n, err)
		}
		if c.space(); c.peek() == ']' {
			break
		}
		if c.peek() != ',' {
			return c.bad("an array wants a comma or its end")
		}
		c.i++
	}
	c.i++
	return nil
}

// str reads a string and returns what it means.
func (c *scanner) str() (string, error) {
	start := c.i + 1
	c.i++
	plain := true
	for {
		switch b := c.peek(); {
		case c.i >= len(c.s):
			return "", c.bad("a string without an end")
		case b == '"':
			raw := c.s[start:c.i]
			c.i++
			if plain {
				return raw, nil
			}
			return unescape(raw), nil
		case b < ' ':
			return "", c.bad("a control character in a string")
		case b == '\\':
			plain = false
			if err := c.escape(); err != nil {
				return "", err
			}
		default:
			c.i++
		}
	}
}

// escape passes over one escape; halves of surrogate pairs alone are refused.
func (c *scanner) escape() error {
	rest := c.s[c.i:]
	if len(rest) > 1 && strings.IndexByte(`"\/bfnrt`, rest[1]) >= 0 {
		c.i += 2
		return nil
	}
	u, ok := hex4(rest)
	switch {
	case !ok:
		return c.bad("no such escape")
	case u >= 0xdc00 && u < 0xe000:
		return c.bad("half of a surrogate pair")
	case u >= 0xd800 && u < 0xdc00:
		if v, ok := hex4(rest[6:]); !ok || v < 0xdc00 || v >= 0xe000 {
			return c.bad("half of a surrogate pair")
		}
		c.i += 6
	}
	c.i += 6
	return nil
}

// hex4 reads an escape of the form \u12ab.
func hex4(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	u := rune(0)
	for _, b := range []byte(s[2:6]) {
		d := strings.IndexByte("0123456789abcdef", b|0x20)
		if d < 0 || (d < 10 && b < '0') {
			return 0, false
		}
		u = u<<4 | rune(d)
	}
	return u, true
}

func (c *scanner) number() error {
	start := c.i
	if c.peek() == '-' {
		c.i++
	}
	whole := c.digits()
	if whole == 0 || (whole > 1 && c.s[c.i-whole] == '0') {
		return c.bad("not a number")
	}
	if c.peek() == '.' {
		c.i++
		if c.digits() == 0 {
			return c.bad("not a number")
		}
	}
	if c.peek()|0x20 == 'e' {
		c.i++
		if b := c.peek(); b == '+' || b == '-' {
			c.i++
		}
		if c.digits() == 0 {
			return c.bad("not a number")
		}
	}
	if x, _ := strconv.ParseFloat(c.s[start:c.i], 64); math.IsInf(x, 0) {
		c.i = start
		return c.bad("a number beyond what a float64 holds")
	}
	return nil
}

func (c *scanner) digits() int {
	start := c.i
	for b := c.peek(); b >= '0' && b <= '9'; b = c.peek() {
		c.i++
	}
	return c.i - start
}
