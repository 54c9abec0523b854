package jinja

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

type kind uint8

const (
	tokEOF kind = iota
	tokData
	tokVarBegin
	tokVarEnd
	tokBlockBegin
	tokBlockEnd
	tokName
	tokString
	tokInt
	tokFloat
	tokOp
)

type token struct {
	kind kind
	pos  int32
	text string // of data and strings: the characters meant; otherwise as written
}

func (t token) String() string {
	switch t.kind {
	case tokEOF:
		return "end of template"
	case tokVarEnd, tokBlockEnd, tokVarBegin, tokBlockBegin:
		return "'" + t.text + "'"
	}
	return fmt.Sprintf("%q", t.text)
}

// lexer splits a template into tokens with trim_blocks and lstrip_blocks on: a newline right after a
// block or comment goes, and so does blank space between the line's start and a block or comment.
type lexer struct {
	src string
	pos int
	out []token
}

// normalise joins lines with "\n" and drops one newline at the end.
func normalise(src string) string {
	if strings.Contains(src, "\r") {
		src = strings.ReplaceAll(src, "\r\n", "\n")
		src = strings.ReplaceAll(src, "\r", "\n")
	}
	return strings.TrimSuffix(src, "\n")
}

func syntaxErr(src string, pos int, format string, a ...any) error {
	line, col := lineCol(src, pos)
	return &Error{Kind: ErrSyntax, Line: line, Col: col, Msg: fmt.Sprintf(format, a...)}
}

func (l *lexer) fail(pos int, format string, a ...any) error {
	return syntaxErr(l.src, pos, format, a...)
}

func (l *lexer) emit(k kind, pos int, text string) {
	l.out = append(l.out, token{k, int32(pos), text})
}

func lex(src string) ([]token, error) {
	l := &lexer{src: src}
	for l.pos < len(src) {
		start := l.pos
		at := l.nextTag()
		if at < 0 {
			l.emit(tokData, start, src[start:])
			break
		}
		sign := byte(0)
		if at+2 < len(src) && (src[at+2] == '-' || src[at+2] == '+') {
			sign = src[at+2]
		}
		if text := l.leading(start, at, sign); text != "" {
			l.emit(tokData, start, text)
		}
		open := at + 2
		if sign != 0 {
			open++
		}
		var err error
		switch src[at+1] {
		case '#':
			err = l.comment(at, open)
		case '{':
			l.emit(tokVarBegin, at, src[at:open])
			l.pos = open
			err = l.code(at, "}}", tokVarEnd)
		default:
			if end, ok := l.rawTag(open); ok {
				err = l.raw(at, end)
				break
			}
			l.emit(tokBlockBegin, at, src[at:open])
			l.pos = open
			err = l.code(at, "%}", tokBlockEnd)
		}
		if err != nil {
			return nil, err
		}
	}
	l.emit(tokEOF, len(src), "")
	return l.out, nil
}

// nextTag returns where the next {{, {% or {# begins, or -1.
func (l *lexer) nextTag() int {
	for i := l.pos; ; i++ {
		j := strings.IndexByte(l.src[i:], '{')
		if j < 0 || i+j+1 >= len(l.src) {
			return -1
		}
		i += j
		if c := l.src[i+1]; c == '{' || c == '%' || c == '#' {
			return i
		}
	}
}

// leading returns the data in [start, at) before a tag, stripped as the tag's sign and kind ask.
func (l *lexer) leading(start, at int, sign byte) string {
	text := l.src[start:at]
	if sign == '-' {
		return strings.TrimRightFunc(text, pySpace)
	}
	if sign == '+' || l.src[at+1] == '{' {
		return text
	}
	line := strings.LastIndexByte(text, '\n') + 1
	if (line > 0 || start == 0 || l.src[start-1] == '\n') && strings.TrimFunc(text[line:], pySpace) == "" {
		return text[:line]
	}
	return text
}

// closeTag moves past the end of a block or comment whose last two bytes are at end.
func (l *lexer) closeTag(end int, sign byte) {
	l.pos = end + 2
	switch {
	case sign == '-':
		l.skipSpace()
	case sign != '+' && strings.HasPrefix(l.src[l.pos:], "\n"):
		l.pos++
	}
}

func (l *lexer) skipSpace() {
	l.pos = len(l.src) - len(strings.TrimLeftFunc(l.src[l.pos:], pySpace))
}

func (l *lexer) comment(at, open int) error {
	end := strings.Index(l.src[open:], "#}")
	if end < 0 {
		return l.fail(at, "Missing end of comment tag")
	}
	end += open
	sign := byte(0)
	if end > open {
		sign = l.src[end-1]
	}
	l.closeTag(end, sign)
	return nil
}

// rawTag reports whether the block that opens before pos is {% raw %}, and where it ends.
func (l *lexer) rawTag(pos int) (int, bool) {
	rest := strings.TrimLeftFunc(l.src[pos:], pySpace)
	rest, ok := strings.CutPrefix(rest, "raw")
	if !ok {
		return 0, false
	}
	rest = strings.TrimLeftFunc(rest, pySpace)
	if r, ok := strings.CutPrefix(rest, "-%}"); ok {
		return len(l.src) - len(strings.TrimLeftFunc(r, pySpace)), true
	}
	if r, ok := strings.CutPrefix(rest, "%}"); ok {
		return len(l.src) - len(r), true
	}
	return 0, false
}

func (l *lexer) raw(at, start int) error {
	for i := start; ; i++ {
		j := strings.Index(l.src[i:], "{%")
		if j < 0 {
			return l.fail(at, "Missing end of raw directive")
		}
		i += j
		open := i + 2
		sign := byte(0)
		if open < len(l.src) && (l.src[open] == '-' || l.src[open] == '+') {
			sign = l.src[open]
			open++
		}
		rest := strings.TrimLeftFunc(l.src[open:], pySpace)
		rest, ok := strings.CutPrefix(rest, "endraw")
		if !ok {
			continue
		}
		rest = strings.TrimLeftFunc(rest, pySpace)
		end := byte(0)
		if rest != "" && (rest[0] == '-' || rest[0] == '+') {
			end, rest = rest[0], rest[1:]
		}
		if !strings.HasPrefix(rest, "%}") {
			continue
		}
		if text := l.leading(start, i, sign); text != "" {
			l.emit(tokData, start, text)
		}
		l.closeTag(len(l.src)-len(rest), end)
		return nil
	}
}

// code reads the tokens of an expression or statement up to its end tag.
func (l *lexer) code(at int, closing string, end kind) error {
	var open []byte
	for {
		l.skipSpace()
		if l.pos >= len(l.src) {
			return l.fail(at, "unexpected end of template: the tag is not closed")
		}
		rest := l.src[l.pos:]
		if len(open) == 0 {
			sign := byte(0)
			tail := rest
			if rest[0] == '-' || rest[0] == '+' {
				sign, tail = rest[0], rest[1:]
			}
			if strings.HasPrefix(tail, closing) && (sign != '+' || end == tokBlockEnd) {
				l.emit(end, l.pos, closing)
				if end == tokBlockEnd {
					l.closeTag(len(l.src)-len(tail), sign)
				} else if l.pos = len(l.src) - len(tail) + 2; sign == '-' {
					l.skipSpace()
				}
				return nil
			}
		}
		c := rest[0]
		switch {
		case c == '\'' || c == '"':
			if err := l.str(c); err != nil {
				return err
			}
		case c >= '0' && c <= '9':
			l.number()
		case nameStart(rest):
			n := nameLen(rest)
			l.emit(tokName, l.pos, rest[:n])
			l.pos += n
		default:
			op := operator(rest)
			if op == "" {
				r, _ := utf8.DecodeRuneInString(rest)
				return l.fail(l.pos, "unexpected char %q", r)
			}
			switch c {
			case '(', '[', '{':
				open = append(open, c)
			case ')', ']', '}':
				want := map[byte]byte{')': '(', ']': '[', '}': '{'}[c]
				if len(open) == 0 || open[len(open)-1] != want {
					return l.fail(l.pos, "unexpected '%c'", c)
				}
				open = open[:len(open)-1]
			}
			l.emit(tokOp, l.pos, op)
			l.pos += len(op)
		}
	}
}

func operator(s string) string {
	if len(s) >= 2 {
		switch s[:2] {
		case "//", "**", "==", "!=", ">=", "<=":
			return s[:2]
		}
	}
	if strings.IndexByte("+-/*%~[](){}><=.:|,;", s[0]) >= 0 {
		return s[:1]
	}
	return ""
}

func nameStart(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return r == '_' || unicode.IsLetter(r)
}

func nameLen(s string) int {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) && !unicode.Is(unicode.Mc, r) {
			return i
		}
	}
	return len(s)
}

// number reads an integer (with 0x, 0o, 0b and underscores) or a float.
func (l *lexer) number() {
	s := l.src[l.pos:]
	if len(s) > 2 && s[0] == '0' {
		digits := ""
		switch s[1] | 0x20 {
		case 'x':
			digits = "0123456789abcdefABCDEF"
		case 'o':
			digits = "01234567"
		case 'b':
			digits = "01"
		}
		if n := digitRun(s[2:], digits); digits != "" && n > 0 {
			l.emit(tokInt, l.pos, strings.ReplaceAll(s[:2+n], "_", ""))
			l.pos += 2 + n
			return
		}
	}
	const decimal = "0123456789"
	n := digitRun(s, decimal)
	k := tokInt
	zeros := digitRun(s, "0")
	afterDot := l.pos > 0 && l.src[l.pos-1] == '.' // in a.0.1 the numbers are indexes
	if !afterDot {
		if n < len(s) && s[n] == '.' {
			if m := digitRun(s[n+1:], decimal); m > 0 {
				n, k = n+1+m, tokFloat
			}
		}
		if n < len(s) && s[n]|0x20 == 'e' {
			e := n + 1
			if e < len(s) && (s[e] == '+' || s[e] == '-') {
				e++
			}
			if m := digitRun(s[e:], decimal); m > 0 {
				n, k = e+m, tokFloat
			}
		}
	}
	if k == tokInt && zeros > 0 {
		n = zeros // 01 is two numbers, and so an error
	}
	l.emit(k, l.pos, strings.ReplaceAll(s[:n], "_", ""))
	l.pos += n
}

// digitRun returns the length of leading digits, with single underscores between them.
func digitRun(s, digits string) int {
	n := 0
	for n < len(s) {
		if strings.IndexByte(digits, s[n]) >= 0 {
			n++
		} else if s[n] == '_' && n > 0 && s[n-1] != '_' && n+1 < len(s) && strings.IndexByte(digits, s[n+1]) >= 0 {
			n++
		} else {
			break
		}
	}
	return n
}

func (l *lexer) str(quote byte) error {
	start := l.pos
	i := start + 1
	plain := true
	for ; i < len(l.src) && l.src[i] != quote; i++ {
		if l.src[i] == '\\' {
			plain = false
			i++
		}
	}
	if i >= len(l.src) {
		return l.fail(start, "the string is not closed")
	}
	text := l.src[start+1 : i]
	if !plain {
		var bad int
		if text, bad = unescape(text); bad >= 0 {
			return l.fail(start+1+bad, "malformed escape in a string")
		}
	}
	l.emit(tokString, start, text)
	l.pos = i + 1
	return nil
}

// unescape resolves Python's escapes; an unknown one stays as written. bad is where one is malformed, or -1.
func unescape(s string) (out string, bad int) {
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '\\' || i+1 >= len(s) {
			b.WriteByte(s[i])
			i++
			continue
		}
		c := s[i+1]
		i += 2
		hexLen := 0
		switch c {
		case '\n':
		case '\\', '\'', '"':
			b.WriteByte(c)
		case 'a':
			b.WriteByte(7)
		case 'b':
			b.WriteByte(8)
		case 'f':
			b.WriteByte(12)
		case 'n':
			b.WriteByte(10)
		case 'r':
			b.WriteByte(13)
		case 't':
			b.WriteByte(9)
		case 'v':
			b.WriteByte(11)
		case 'x':
			hexLen = 2
		case 'u':
			hexLen = 4
		case 'U':
			hexLen = 8
		case '0', '1', '2', '3', '4', '5', '6', '7':
			n, v := 0, rune(0)
			for i--; n < 3 && i < len(s) && s[i] >= '0' && s[i] <= '7'; n++ {
				v = v*8 + rune(s[i]-'0')
				i++
			}
			b.WriteRune(v)
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
		if hexLen > 0 {
			r, ok := hexRune(s, i, hexLen)
			if !ok {
				return "", i - 2
			}
			i += hexLen
			if r >= 0xd800 && r < 0xdc00 && strings.HasPrefix(s[i:], `\u`) {
				if lo, ok := hexRune(s, i+2, 4); ok && lo >= 0xdc00 && lo < 0xe000 {
					r = 0x10000 + (r-0xd800)<<10 + (lo - 0xdc00)
					i += 6
				}
			}
			b.WriteRune(r)
		}
	}
	return b.String(), -1
}

func hexRune(s string, i, n int) (rune, bool) {
	if i+n > len(s) {
		return 0, false
	}
	var v rune
	for _, c := range []byte(s[i : i+n]) {
		d := strings.IndexByte("0123456789abcdef", c|0x20)
		if c < '0' || d < 0 {
			return 0, false
		}
		v = v<<4 | rune(d)
		if v > unicode.MaxRune {
			return 0, false
		}
	}
	return v, true
}

// pySpace is Python's str.isspace: Unicode space, and the four information separators.
func pySpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }
