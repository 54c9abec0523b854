package parse

import (
	"bytes"
	"slices"

	"github.com/hotpath-go/hotpath/model/chat"
)

type call = chat.ToolCall

type verdict uint8

const (
	more verdict = iota // undecided
	yes                 // calls
	no                  // text
)

// syntax is one way to write calls.
type syntax struct {
	open string
	// scan looks at what follows the opener and says how many bytes of it belong to the calls, or are
	// text. It must give the same answer however much follows. With final nothing follows.
	scan func(p *Parser, body []byte, final bool) (int, []call, verdict)
}

// parseFunc reads a whole body: all of it is calls, or none.
type parseFunc func(t toolset, body string) ([]call, bool)

// tracker goes through a body once, however often more of it comes.
type tracker struct {
	i     int  // up to here
	depth int  // of brackets
	quote byte // of the string that i is in; 0: none
	esc   bool
	began bool // a bracket was seen
	// Of a harmony message alone: no marker begins before from, and the first bracket is closed.
	from   int
	closed bool
}

const (
	jsonQuotes = `"`
	pyQuotes   = `"'`
)

// advance goes on to end, or to after the bracket that closes the first, and reports whether it found that.
func (t *tracker) advance(b []byte, end int, quotes string) bool {
	for ; t.i < end; t.i++ {
		c := b[t.i]
		switch {
		case t.esc:
			t.esc = false
		case t.quote != 0:
			switch c {
			case '\\':
				t.esc = true
			case t.quote:
				t.quote = 0
			}
		case c == '{' || c == '[' || c == '(':
			t.depth++
			t.began = true
		case c == '}' || c == ']' || c == ')':
			if t.depth--; t.depth <= 0 && t.began {
				t.i++
				return true
			}
		case t.began && bytes.IndexByte([]byte(quotes), c) >= 0:
			t.quote = c
		}
	}
	return false
}

// closed is a syntax with a closing marker. The marker does not close where unfinished says that the body
// is inside a string or an argument.
func closed(open, closing string, parse parseFunc, unfinished func(body []byte) bool) *syntax {
	scan := func(p *Parser, body []byte, final bool) (int, []call, verdict) {
		end := []byte(closing)
		for {
			from := max(0, p.scan.i-len(end)+1)
			i := bytes.Index(body[from:], end)
			if i < 0 {
				if !final {
					p.scan.i = max(p.scan.i, len(body))
					return 0, nil, more
				}
				if calls, ok := parse(p.tools, string(body)); ok {
					return len(body), calls, yes
				}
				return len(body), nil, no
			}
			i += from
			if calls, ok := parse(p.tools, string(body[:i])); ok {
				return i + len(end), calls, yes
			}
			if !unfinished(body[:i]) {
				return i + len(end), nil, no
			}
			p.scan.i = i + 2*len(end) - 1 // go on behind it
		}
	}
	return &syntax{open, scan}
}

// openString reports whether a body of JSON or Python ends inside a string.
func openString(body []byte) bool {
	quotes := pyQuotes
	if lead := bytes.TrimLeft(body, " \n\t"); len(lead) > 0 && lead[0] == '{' {
		quotes = jsonQuotes
	}
	for len(body) > 0 { // values may follow one another
		var t tracker
		if !t.advance(body, len(body), quotes) {
			return t.quote != 0
		}
		body = body[t.i:]
	}
	return false
}

// balanced is a syntax whose body ends where its first bracket closes. plausible says early that a
// beginning can be no call, so that other text is not held back.
func balanced(open, quotes string, plausible func([]byte) bool, parse parseFunc) *syntax {
	scan := func(p *Parser, body []byte, final bool) (int, []call, verdict) {
		if !plausible(body) {
			return 0, nil, no
		}
		if p.scan.advance(body, len(body), quotes) {
			if calls, ok := parse(p.tools, string(body[:p.scan.i])); ok {
				return p.scan.i, calls, yes
			}
			return p.scan.i, nil, no
		}
		if final {
			return len(body), nil, no
		}
		return 0, nil, more
	}
	return &syntax{open, scan}
}

// knownCalls refuses calls of tools that the prompt does not offer.
func knownCalls(parse parseFunc) parseFunc {
	return func(t toolset, body string) ([]call, bool) {
		calls, ok := parse(t, body)
		return calls, ok && !slices.ContainsFunc(calls, func(c call) bool { _, known := t[c.Name]; return !known })
	}
}
