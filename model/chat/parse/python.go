package parse

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pythonCalls reads "[f(a=1), g(b='x')]", or the calls without the brackets. Arguments without a name
// take the names of the tool's schema in order.
func pythonCalls(t toolset, body string) ([]call, bool) {
	p := python{s: strings.TrimSpace(body)}
	list := p.take('[')
	var out []call
	for {
		p.space()
		if list && p.peek() == ']' {
			break
		}
		c, ok := p.call(t)
		if !ok {
			return nil, false
		}
		out = append(out, c)
		p.space()
		if !p.take(',') {
			break
		}
	}
	if list && !p.take(']') {
		return nil, false
	}
	return out, p.end() && len(out) > 0
}

// lfm2Calls takes Python calls, and the JSON that the model's template shows it.
func lfm2Calls(t toolset, body string) ([]call, bool) {
	if calls, ok := pythonCalls(t, body); ok {
		return calls, true
	}
	return jsonCalls(t, body)
}

// plausiblePython reports whether a list may be one of calls: it begins with a name and a parenthesis.
func plausiblePython(body []byte) bool {
	s := strings.TrimLeft(string(body[:min(len(body), 512)]), " \t\n")
	if s == "" {
		return true
	}
	if s[0] != '[' {
		return false
	}
	s = strings.TrimLeft(s[1:], " \t\n")
	n := nameEnd(s)
	if n == len(s) {
		return len(body) < 512
	}
	return n > 0 && s[n] == '('
}

func nameEnd(s string) int {
	for i, r := range s {
		if r != '_' && r != '.' && r != '-' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return i
		}
	}
	return len(s)
}

// python reads literals into JSON. It takes true, false and null as well, numbers with leading zeros,
// and raw line ends in strings.
type python struct {
	s string
	i int
}

func (p *python) space() {
	for p.i < len(p.s) && strings.IndexByte(" \t\r\n", p.s[p.i]) >= 0 {
		p.i++
	}
}

func (p *python) peek() byte {
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

func (p *python) take(c byte) bool {
	p.space()
	if p.peek() == c {
		p.i++
		return true
	}
	return false
}

func (p *python) end() bool {
	p.space()
	return p.i == len(p.s)
}

func (p *python) name() string {
	p.space()
	n := nameEnd(p.s[p.i:])
	name := p.s[p.i : p.i+n]
	p.i += n
	return name
}

func (p *python) call(t toolset) (call, bool) {
	c := call{Name: p.name()}
	if c.Name == "" || !p.take('(') {
		return c, false
	}
	var args members
	order := t[c.Name].order
	for n := 0; !p.take(')'); n++ {
		if n > 0 && !p.take(',') {
			return c, false
		}
		if p.take(')') {
			break
		}
		start := p.i
		key := p.name()
		if key == "" || !p.take('=') {
			p.i = start
			if n >= len(order) {
				return c, false
			}
			key = order[n]
		}
		v, ok := p.value(0)
		if !ok {
			return c, false
		}
		args.set(key, v)
	}
	c.Arguments = args.object()
	return c, true
}

const maxDepth = 100

func (p *python) value(depth int) (json.RawMessage, bool) {
	p.space()
	if depth > maxDepth {
		return nil, false
	}
	switch c := p.peek(); {
	case c == '\'' || c == '"':
		s, ok := p.str()
		for ok { // neighbours are one string
			start := p.i
			p.space()
			if c := p.peek(); c != '\'' && c != '"' {
				p.i = start
				break
			}
			var next string
			next, ok = p.str()
			s += next
		}
		return quote(s), ok
	case c == '[' || c == '(':
		return p.list(depth, map[byte]byte{'[': ']', '(': ')'}[c])
	case c == '{':
		return p.dict(depth)
	case c == '-' || c == '+' || c == '.' || c >= '0' && c <= '9':
		return p.number()
	}
	switch p.name() {
	case "True", "true":
		return json.RawMessage("true"), true
	case "False", "false":
		return json.RawMessage("false"), true
	case "None", "null", "none":
		return json.RawMessage("null"), true
	}
	return nil, false
}

func (p *python) list(depth int, end byte) (json.RawMessage, bool) {
	p.i++
	out := []byte{'['}
	for n := 0; !p.take(end); n++ {
		if n > 0 && !p.take(',') {
			return nil, false
		}
		if p.take(end) {
			break
		}
		v, ok := p.value(depth + 1)
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

func (p *python) dict(depth int) (json.RawMessage, bool) {
	p.i++
	var out members
	for n := 0; !p.take('}'); n++ {
		if n > 0 && !p.take(',') {
			return nil, false
		}
		if p.take('}') {
			break
		}
		k, ok := p.value(depth + 1)
		if !ok || !p.take(':') {
			return nil, false
		}
		v, ok := p.value(depth + 1)
		if !ok {
			return nil, false
		}
		name := string(k)
		if k[0] == '"' && json.Unmarshal(k, &name) != nil {
			return nil, false
		}
		out.set(name, v)
	}
	return out.object(), true
}

func (p *python) number() (json.RawMessage, bool) {
	start := p.i
	for p.i < len(p.s) && strings.IndexByte("+-.0123456789eE_xXabcdfABCDF", p.s[p.i]) >= 0 {
		p.i++
	}
	s := strings.ReplaceAll(p.s[start:p.i], "_", "")
	sign := ""
	if s[0] == '-' || s[0] == '+' {
		sign, s = strings.Trim(s[:1], "+"), s[1:]
	}
	if !strings.ContainsAny(s, ".eExX") {
		s = strings.TrimLeft(s, "0")
		if s == "" && p.s[p.i-1] == '0' {
			s = "0"
		}
		return json.RawMessage(sign + s), isInteger(s)
	}
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return json.RawMessage(sign + strconv.FormatInt(n, 10)), true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || strings.ContainsAny(s, "xX") {
		return nil, false
	}
	if json.Valid([]byte(s)) {
		return json.RawMessage(sign + s), true
	}
	b, err := json.Marshal(f)
	return append([]byte(sign), b...), err == nil
}

// str reads a quoted string, with one or three quotes.
func (p *python) str() (string, bool) {
	q := p.s[p.i : p.i+1]
	if strings.HasPrefix(p.s[p.i:], q+q+q) {
		q = q + q + q
	}
	p.i += len(q)
	var b strings.Builder
	for p.i < len(p.s) {
		if strings.HasPrefix(p.s[p.i:], q) {
			p.i += len(q)
			return b.String(), true
		}
		c := p.s[p.i]
		p.i++
		if c != '\\' || p.i == len(p.s) {
			b.WriteByte(c)
			continue
		}
		p.escape(&b)
	}
	return "", false
}

func (p *python) escape(b *strings.Builder) {
	c := p.s[p.i]
	p.i++
	hex := 0
	switch c {
	case 'n':
		b.WriteByte('\n')
	case 't':
		b.WriteByte('\t')
	case 'r':
		b.WriteByte('\r')
	case 'b':
		b.WriteByte('\b')
	case 'f':
		b.WriteByte('\f')
	case '\\', '\'', '"', '/':
		b.WriteByte(c)
	case '\n':
	case 'x':
		hex = 2
	case 'u':
		hex = 4
	case 'U':
		hex = 8
	default:
		b.WriteByte('\\')
		b.WriteByte(c)
	}
	if hex == 0 {
		return
	}
	if p.i+hex <= len(p.s) {
		if n, err := strconv.ParseUint(p.s[p.i:p.i+hex], 16, 32); err == nil && n <= unicode.MaxRune {
			p.i += hex
			r := rune(n)
			if r >= 0xd800 && r < 0xdc00 && p.i+6 <= len(p.s) && p.s[p.i:p.i+2] == `\u` {
				if lo, err := strconv.ParseUint(p.s[p.i+2:p.i+6], 16, 32); err == nil && lo >= 0xdc00 && lo < 0xe000 {
					r = 0x10000 + (r-0xd800)<<10 + rune(lo) - 0xdc00
					p.i += 6
				}
			}
			if !utf8.ValidRune(r) {
				r = unicode.ReplacementChar
			}
			b.WriteRune(r)
			return
		}
	}
	b.WriteByte('\\')
	b.WriteByte(c)
}
