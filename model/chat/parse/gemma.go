package parse

import (
	"bytes"
	"encoding/json"
	"strings"
)

const gemmaQuote = `<|"|>`

// gemmaCalls reads call:name{key:value,…}, where strings stand in <|"|> and keys may.
func gemmaCalls(t toolset, body string) ([]call, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(body), "call:")
	if !ok {
		return nil, false
	}
	i := strings.IndexByte(rest, '{')
	if i < 0 {
		return nil, false
	}
	name := strings.TrimSpace(rest[:i])
	g := gemma{s: rest, i: i, tools: t, name: name}
	args, ok := g.dict(0)
	if !ok || strings.TrimSpace(g.s[g.i:]) != "" || !isName(name) {
		return nil, false
	}
	return []call{{Name: name, Arguments: args}}, true
}

func openGemma(body []byte) bool { return bytes.Count(body, []byte(gemmaQuote))%2 == 1 }

type gemma struct {
	s     string
	i     int
	tools toolset
	name  string
}

func (g *gemma) space() {
	for g.i < len(g.s) && strings.IndexByte(" \t\n", g.s[g.i]) >= 0 {
		g.i++
	}
}

func (g *gemma) take(s string) bool {
	g.space()
	if strings.HasPrefix(g.s[g.i:], s) {
		g.i += len(s)
		return true
	}
	return false
}

func (g *gemma) quoted() (string, bool) {
	s, _, ok := strings.Cut(g.s[g.i:], gemmaQuote)
	g.i += len(s) + len(gemmaQuote)
	return s, ok
}

// bare reads up to one of the ends.
func (g *gemma) bare(ends string) (string, bool) {
	n := strings.IndexAny(g.s[g.i:], ends)
	if n < 0 {
		return "", false
	}
	s := g.s[g.i : g.i+n]
	g.i += n
	return strings.TrimSpace(s), true
}

func (g *gemma) dict(depth int) (json.RawMessage, bool) {
	var out members
	g.i++
	for n := 0; !g.take("}"); n++ {
		if n > 0 && !g.take(",") {
			return nil, false
		}
		var key string
		var ok bool
		if g.take(gemmaQuote) {
			key, ok = g.quoted()
		} else {
			key, ok = g.bare(":{}[],")
			ok = ok && key != ""
		}
		if !ok || !g.take(":") {
			return nil, false
		}
		arg := ""
		if depth == 0 {
			arg = key
		}
		v, ok := g.value(depth, arg)
		if !ok {
			return nil, false
		}
		out.set(key, v)
	}
	return out.object(), true
}

// value reads a value; arg is the argument it is for, when it is one as a whole.
func (g *gemma) value(depth int, arg string) (json.RawMessage, bool) {
	if depth > maxDepth {
		return nil, false
	}
	if g.take(gemmaQuote) {
		s, ok := g.quoted()
		return quote(s), ok
	}
	if g.i == len(g.s) {
		return nil, false
	}
	switch g.s[g.i] {
	case '{':
		return g.dict(depth + 1)
	case '[':
		g.i++
		out := []byte{'['}
		for n := 0; !g.take("]"); n++ {
			if n > 0 && !g.take(",") {
				return nil, false
			}
			v, ok := g.value(depth+1, "")
			if !ok {
				return nil, false
			}
			if n > 0 {
				out = append(out, ", "...)
			}
			out = append(out, v...)
		}
		return append(out, ']'), true
	}
	s, ok := g.bare(",}]")
	if !ok {
		return nil, false
	}
	if json.Valid([]byte(s)) && s[0] != '"' { // number, true, false, null
		return json.RawMessage(s), true
	}
	return g.tools.typed(g.name, arg, strings.Trim(s, `"`)), true
}
