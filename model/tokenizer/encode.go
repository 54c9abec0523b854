package tokenizer

import (
	"strings"
	"unicode/utf8"
)

const blank = "▁" // U+2581, which stands for a space in SentencePiece vocabularies

// Encode appends the ids of text to dst and returns the extended slice. It adds nothing around the
// text (see Template). The time grows linearly with the text, times a logarithm for words beyond
// some fifty characters, and the memory is some forty bytes for each byte of the longest word;
// nothing is allocated when dst has room, save for unusually long words and texts.
// Text that is not valid UTF-8 is encoded by its bytes where the vocabulary has them.
func (t *Tokenizer) Encode(dst []int32, text string, mode Mode) []int32 {
	return t.encode(dst, text, mode, atStart)
}

// EncodeAfter is Encode of a text that follows a control token: the blank before it is left out by the
// vocabularies that put one before the first text alone.
func (t *Tokenizer) EncodeAfter(dst []int32, text string, mode Mode) []int32 {
	return t.encode(dst, text, mode, afterControl)
}

// EncodeInside is Encode of a text that follows other text: the blank that some vocabularies put
// before what begins a text is left out.
func (t *Tokenizer) EncodeInside(dst []int32, text string, mode Mode) []int32 {
	return t.encode(dst, text, mode, insideText)
}

// place is where a text stands.
type place uint8

const (
	atStart place = iota
	afterControl
	insideText
)

func (t *Tokenizer) encode(dst []int32, text string, mode Mode, at place) []int32 {
	s, _ := t.scratches.Get().(*scratch)
	if s == nil {
		s = newScratch()
	}
	added := &t.tree[Special]
	if mode == Text {
		added = &t.tree[Text]
	}
	for pos := 0; pos < len(text); {
		start, end, id, ok := added.raw.find(text, pos)
		dst = t.stretch(s, dst, text[pos:start], &added.normalized, at == atStart && pos == 0, at == insideText && pos == 0)
		if ok {
			dst = append(dst, id)
		}
		pos = end
	}
	s.trim()
	t.scratches.Put(s)
	return dst
}

// stretch encodes text between added tokens; first says whether it begins the whole text, inside
// whether it goes on from other text.
func (t *Tokenizer) stretch(s *scratch, dst []int32, text string, added *matcher, first, inside bool) []int32 {
	text = t.norm.apply(&s.norm, text, inside)
	for pos := 0; pos < len(text); {
		start, end, id, ok := added.find(text, pos)
		part := text[pos:start]
		if t.blanks.on {
			part = t.blanks.apply(&s.blanks, part, first && pos == 0, inside && pos == 0)
		}
		dst = t.split(s, dst, part, 0)
		if ok {
			dst = append(dst, id)
		}
		pos = end
	}
	return dst
}

// split applies the splitters from level on, each to the pieces of the one before.
func (t *Tokenizer) split(s *scratch, dst []int32, text string, level int) []int32 {
	if level == len(t.pre) {
		return t.cut(s, dst, text)
	}
	for pos := 0; pos < len(text); {
		start, end := t.pre[level].next(text, pos)
		if start > pos {
			dst = t.split(s, dst, text[pos:start], level+1)
		}
		if end > start {
			dst = t.split(s, dst, text[start:end], level+1)
		}
		pos = end
	}
	return dst
}

// cut divides text where no merge can join: before a ▁ after a character that is never the last of
// a piece that merges with one. Whole texts are one word to SentencePiece; this makes them many.
func (t *Tokenizer) cut(s *scratch, dst []int32, text string) []int32 {
	if !t.cutSpaces {
		return t.word(s, dst, text)
	}
	for from, pos := 0, 0; ; {
		n := strings.Index(text[pos:], blank)
		if n < 0 {
			return t.word(s, dst, text[from:])
		}
		at := pos + n
		if at > from && !t.glued(text[:at]) {
			dst = t.word(s, dst, text[from:at])
			from = at
		}
		pos = at + len(blank)
	}
}

// glued reports whether a piece that ends as text does may merge with a following ▁.
func (t *Tokenizer) glued(text string) bool {
	last, _ := utf8.DecodeLastRuneInString(text)
	for _, r := range t.glue {
		if r == last {
			return true
		}
	}
	return false
}
