package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// splitter finds the next piece of a text. Text between pieces is a piece of its own.
type splitter interface {
	// next returns the first piece that starts at or after from; start == len(s) when there is none.
	// A piece is never empty.
	next(s string, from int) (start, end int)
}

// contraction returns the length of one of 's 't 're 've 'm 'll 'd at i, or 0. With fold, case
// does not matter; by Unicode's folding ſ is an s.
func contraction(s string, i int, fold bool) int {
	if i+1 >= len(s) || s[i] != '\'' {
		return 0
	}
	a, b := s[i+1], byte(0)
	if i+2 < len(s) {
		b = s[i+2]
	}
	if fold {
		if a == 0xC5 && b == 0xBF {
			return 3
		}
		a, b = lowerASCII(a), lowerASCII(b)
	}
	switch {
	case a == 's' || a == 't' || a == 'm' || a == 'd':
		return 2
	case (a == 'r' || a == 'v') && b == 'e', a == 'l' && b == 'l':
		return 3
	}
	return 0
}

func lowerASCII(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// space returns the end of the piece at the whitespace run at i: through its last newline where
// newlines count and there is one; else all of it at the end of the text; else all but its last
// character, which goes with what follows; but at least one character.
func (c *classes) space(s string, i int, newlines bool) int {
	end, last, lastNewline := i, i, -1
	for end < len(s) {
		k, w := c.at(s, end)
		if k&isSpace == 0 {
			break
		}
		last = end
		end += w
		if k&isNewline != 0 {
			lastNewline = end
		}
	}
	switch {
	case newlines && lastNewline >= 0:
		return lastNewline
	case end == len(s) || last == i:
		return end
	}
	return last
}

// gpt2Words is GPT-2's pattern:
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
type gpt2Words struct{ c *classes }

func (p gpt2Words) next(s string, i int) (int, int) {
	if i == len(s) {
		return i, i
	}
	if n := contraction(s, i, false); n > 0 {
		return i, i + n
	}
	j := i
	if s[i] == ' ' && i+1 < len(s) {
		j++
	}
	switch k, w := p.c.at(s, j); {
	case k&isLetter != 0:
		return i, p.c.run(s, j+w, isLetter)
	case k&isNumber != 0:
		return i, p.c.run(s, j+w, isNumber)
	case k&isSpace == 0:
		return i, p.c.runNot(s, j+w, isSpace|isLetter|isNumber)
	}
	return i, p.c.space(s, i, false)
}

// words is the pattern of GPT-4 and its descendants:
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}|
//	 ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//
// With marks, \p{M} counts as a letter in the second and is excluded from the fourth alternative.
type words struct {
	c      *classes
	letter class // what the second alternative repeats
	digits int
}

func (p words) next(s string, i int) (int, int) {
	if i == len(s) {
		return i, i
	}
	if n := contraction(s, i, true); n > 0 {
		return i, i + n
	}
	k, w := p.c.at(s, i)
	if k&p.letter != 0 {
		return i, p.c.run(s, i+w, p.letter)
	}
	if k&(isNewline|isNumber) == 0 && i+w < len(s) {
		if k2, w2 := p.c.at(s, i+w); k2&p.letter != 0 {
			return i, p.c.run(s, i+w+w2, p.letter)
		}
	}
	if k&isNumber != 0 {
		return i, p.c.digits(s, i, p.digits)
	}
	if end := p.c.symbols(s, i, isSpace|isNumber|p.letter); end > i {
		for end < len(s) && (s[end] == '\r' || s[end] == '\n') {
			end++
		}
		return i, end
	}
	return i, p.c.space(s, i, true)
}

// digits returns the end of up to limit numbers at i.
func (c *classes) digits(s string, i, limit int) int {
	for n := 0; n < limit && i < len(s); n++ {
		k, w := c.at(s, i)
		if k&isNumber == 0 {
			break
		}
		i += w
	}
	return i
}

// symbols returns the end of an optional blank and at least one character without the given
// properties at i, or i.
func (c *classes) symbols(s string, i int, none class) int {
	j := i
	if s[i] == ' ' {
		j++
	}
	if end := c.runNot(s, j, none); end > j {
		return end
	}
	return i
}

// casedWords is GPT-4o's pattern, which splits words where case rises. U is [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}],
// L is [\p{Ll}\p{Lm}\p{Lo}\p{M}], C the contractions (?i:'s|'t|'re|'ve|'m|'ll|'d):
//
//	[^\r\n\p{L}\p{N}]?U*L+C?|[^\r\n\p{L}\p{N}]?U+L*C?|\p{N}{1,digits}|
//	 ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
type casedWords struct {
	c           *classes
	digits      int
	contraction bool
}

func (p casedWords) next(s string, i int) (int, int) {
	if i == len(s) {
		return i, i
	}
	k, w := p.c.at(s, i)
	// The four ways to match a word, in the pattern's order: each alternative first takes its
	// optional leading character, then goes without.
	lead := i
	if k&(isNewline|isLetter|isNumber) == 0 {
		lead = i + w
	}
	rise1, fall1 := p.word(s, lead)
	rise2, fall2 := rise1, fall1
	if lead > i {
		rise2, fall2 = p.word(s, i)
	}
	for _, end := range [...]int{rise1, rise2, fall1, fall2} {
		if end >= 0 {
			if p.contraction {
				end += contraction(s, end, true)
			}
			return i, end
		}
	}
	if k&isNumber != 0 {
		return i, p.c.digits(s, i, p.digits)
	}
	if end := p.c.symbols(s, i, isSpace|isLetter|isNumber); end > i {
		for end < len(s) && (s[end] == '\r' || s[end] == '\n' || s[end] == '/') {
			end++
		}
		return i, end
	}
	return i, p.c.space(s, i, true)
}

// word matches U*L+ and U+L* at i and returns where they end, -1 where they fail. U and L share
// the caseless letters and marks, so U* may have to give back down to its last one.
func (p casedWords) word(s string, i int) (rise, fall int) {
	shared := -1 // end of the last character that is both U and L
	u := i
	for u < len(s) {
		k, w := p.c.at(s, u)
		if k&(isUpper|isCaseless|isMark) == 0 {
			break
		}
		u += w
		if k&isUpper == 0 {
			shared = u
		}
	}
	end := p.c.run(s, u, isLower|isCaseless|isMark)
	rise, fall = shared, -1
	if end > u {
		rise = end
	}
	if u > i {
		fall = end
	}
	return rise, fall
}

// deepSeekWords is the last of DeepSeek-V3's three patterns, where P is ASCII punctuation:
//
//	P[A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
type deepSeekWords struct{ c *classes }

func (p deepSeekWords) next(s string, from int) (int, int) {
	for i := from; i < len(s); {
		if end := p.match(s, i); end > i {
			return i, end
		}
		_, w := p.c.at(s, i)
		i += w
	}
	return len(s), len(s)
}

func (p deepSeekWords) match(s string, i int) int {
	const letter = isLetter | isMark
	k, w := p.c.at(s, i)
	if s[i] < utf8.RuneSelf && k&isPunct != 0 {
		j := i + 1
		for j < len(s) && 'a' <= s[j]|0x20 && s[j]|0x20 <= 'z' {
			j++
		}
		if j > i+1 {
			return j
		}
	}
	if k&letter != 0 {
		return p.c.run(s, i+w, letter)
	}
	if k&(isNewline|isPunct) == 0 && i+w < len(s) {
		if k2, w2 := p.c.at(s, i+w); k2&letter != 0 {
			return p.c.run(s, i+w+w2, letter)
		}
	}
	j := i
	if s[i] == ' ' {
		j++
	}
	if end := p.c.run(s, j, isPunct); end > j {
		for end < len(s) && (s[end] == '\r' || s[end] == '\n') {
			end++
		}
		return end
	}
	if k&isSpace != 0 {
		return p.c.space(s, i, true)
	}
	return i
}

// numbers is \p{N}{1,digits}.
type numbers struct {
	c      *classes
	digits int
}

func (p numbers) next(s string, i int) (int, int) {
	start := p.c.runNot(s, i, isNumber)
	return start, p.c.digits(s, start, p.digits)
}

// cjk is [一-龥぀-ゟ゠-ヿ]+.
type cjk struct{}

func (cjk) next(s string, i int) (int, int) {
	for start := i; start < len(s); {
		if s[start] < 0xE3 { // below U+3000
			start++
			continue
		}
		end := cjkRun(s, start)
		if end > start {
			return start, end
		}
		_, w := utf8.DecodeRuneInString(s[start:])
		start += w
	}
	return len(s), len(s)
}

func cjkRun(s string, i int) int {
	for i < len(s) {
		r, w := utf8.DecodeRuneInString(s[i:])
		if (r < 0x4E00 || r > 0x9FA5) && (r < 0x3040 || r > 0x30FF) {
			break
		}
		i += w
	}
	return i
}

// lines is [^\n]+|[\n]+.
type lines struct{}

func (lines) next(s string, i int) (int, int) {
	if i == len(s) {
		return i, i
	}
	if s[i] == '\n' {
		end := i + 1
		for end < len(s) && s[end] == '\n' {
			end++
		}
		return i, end
	}
	if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
		return i, i + n
	}
	return i, len(s)
}

// literal splits at every occurrence of a fixed text.
type literal struct {
	pattern string
	merge   bool // the occurrence ends the piece before it; otherwise it is a piece of its own
}

func (p literal) next(s string, i int) (int, int) {
	n := strings.Index(s[i:], p.pattern)
	switch {
	case n < 0 && p.merge:
		return i, len(s)
	case n < 0:
		return len(s), len(s)
	case p.merge:
		return i, i + n + len(p.pattern)
	}
	return i + n, i + n + len(p.pattern)
}

// beforeBlank starts a new piece at every ▁.
type beforeBlank struct{}

func (beforeBlank) next(s string, i int) (int, int) {
	if i == len(s) {
		return i, i
	}
	if n := strings.Index(s[i+1:], blank); n >= 0 {
		return i, i + 1 + n
	}
	return i, len(s)
}
