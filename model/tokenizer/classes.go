package tokenizer

import (
	"unicode"
	"unicode/utf8"
)

// class is a set of character properties.
type class uint16

const (
	isLetter   class = 1 << iota // \p{L}
	isNumber                     // \p{N}
	isMark                       // \p{M}
	isSpace                      // \s: White_Space
	isNewline                    // CR and LF
	isUpper                      // \p{Lu} \p{Lt}
	isLower                      // \p{Ll}
	isCaseless                   // \p{Lm} \p{Lo}
	isPunct                      // \p{P} \p{S}
)

// classes gives the properties of every character in the Unicode version of package unicode.
// A byte that is not valid UTF-8 counts as U+FFFD, a symbol.
type classes struct {
	ascii [utf8.RuneSelf]class
	pages [0x1100]*[256]class
}

func newClasses() *classes {
	c := new(classes)
	empty := new([256]class)
	for i := range c.pages {
		c.pages[i] = empty
	}
	for _, t := range []struct {
		table *unicode.RangeTable
		bits  class
	}{
		{unicode.Lu, isLetter | isUpper}, {unicode.Lt, isLetter | isUpper}, {unicode.Ll, isLetter | isLower},
		{unicode.Lm, isLetter | isCaseless}, {unicode.Lo, isLetter | isCaseless},
		{unicode.N, isNumber}, {unicode.M, isMark}, {unicode.White_Space, isSpace},
		{unicode.P, isPunct}, {unicode.S, isPunct},
	} {
		for _, r := range t.table.R16 {
			c.fill(empty, uint32(r.Lo), uint32(r.Hi), uint32(r.Stride), t.bits)
		}
		for _, r := range t.table.R32 {
			c.fill(empty, r.Lo, r.Hi, r.Stride, t.bits)
		}
	}
	c.fill(empty, '\n', '\n', 1, isNewline)
	c.fill(empty, '\r', '\r', 1, isNewline)
	copy(c.ascii[:], c.pages[0][:])
	return c
}

func (c *classes) fill(empty *[256]class, lo, hi, stride uint32, bits class) {
	for r := lo; r <= hi; r += stride {
		p := &c.pages[r>>8]
		if *p == empty {
			*p = new([256]class)
		}
		(*p)[r&0xFF] |= bits
	}
}

// at returns the properties and width of the character at i, which must be inside s.
func (c *classes) at(s string, i int) (class, int) {
	if b := s[i]; b < utf8.RuneSelf {
		return c.ascii[b], 1
	}
	r, w := utf8.DecodeRuneInString(s[i:])
	return c.pages[r>>8][r&0xFF], w
}

// run returns the end of the longest run from i of characters that have one of the properties.
func (c *classes) run(s string, i int, any class) int {
	for i < len(s) {
		k, w := c.at(s, i)
		if k&any == 0 {
			break
		}
		i += w
	}
	return i
}

// runNot returns the end of the longest run from i of characters that have none of the properties.
func (c *classes) runNot(s string, i int, none class) int {
	for i < len(s) {
		k, w := c.at(s, i)
		if k&none != 0 {
			break
		}
		i += w
	}
	return i
}
