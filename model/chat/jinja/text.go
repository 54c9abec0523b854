package jinja

import (
	"strings"
	"unicode/utf8"
)

// Origin says where a byte of text comes from: 0 for the template's own text, and whatever number
// the caller gave to NewText or ParseJSON for text of the data.
type Origin int32

// Run is a stretch of a Text with one origin. It begins where the run before it ends.
type Run struct {
	End    int // byte offset
	Origin Origin
}

// Text is a string whose every byte knows its origin. Slicing, joining, splitting, trimming and
// changing case keep the origins byte by byte; a transformation that mixes bytes (escaping, wrapping)
// gives its whole result the first origin of the data in it. The zero Text is empty. Text is immutable.
type Text struct {
	s    string
	all  Origin // origin of every byte when runs is nil
	runs []Run
	safe bool // marked as safe HTML: adding an unmarked string to it escapes that string
}

// NewText returns s with every byte of the given origin.
func NewText(s string, o Origin) Text { return Text{s: s, all: o} }

func lit(s string) Text { return Text{s: s} }

// String returns the characters.
func (t Text) String() string { return t.s }

// Len returns the length in bytes.
func (t Text) Len() int { return len(t.s) }

// Runs returns the stretches of equal origin in order; they cover the text. An empty text has none.
func (t Text) Runs() []Run {
	switch {
	case t.s == "":
		return nil
	case t.runs == nil:
		return []Run{{len(t.s), t.all}}
	}
	return append([]Run(nil), t.runs...)
}

// Slice returns the bytes [i, j).
func (t Text) Slice(i, j int) Text {
	out := Text{s: t.s[i:j], all: t.all, safe: t.safe}
	if t.runs == nil || i == j {
		return out
	}
	lo := 0
	for t.runs[lo].End <= i {
		lo++
	}
	hi := lo
	for t.runs[hi].End < j {
		hi++
	}
	if lo == hi {
		out.all = t.runs[lo].Origin
		return out
	}
	out.runs = make([]Run, 0, hi-lo+1)
	for _, r := range t.runs[lo : hi+1] {
		out.runs = append(out.runs, Run{min(r.End, j) - i, r.Origin})
	}
	return out
}

// dataOrigin returns the first origin that is not the template's, or 0.
func (t Text) dataOrigin() Origin {
	if t.runs == nil {
		return t.all
	}
	for _, r := range t.runs {
		if r.Origin != 0 {
			return r.Origin
		}
	}
	return 0
}

// derive returns a text that was computed from t as a whole.
func (t Text) derive(s string) Text { return Text{s: s, all: t.dataOrigin(), safe: t.safe} }

// mapRuns applies f to each stretch of equal origin.
func (t Text) mapRuns(f func(string) string) Text {
	if t.runs == nil {
		return Text{s: f(t.s), all: t.all, safe: t.safe}
	}
	var b builder
	start := 0
	for _, r := range t.runs {
		b.str(f(t.s[start:r.End]), r.Origin)
		start = r.End
	}
	return b.text(t.safe)
}

// chars returns the length in code points.
func (t Text) chars() int { return utf8.RuneCountInString(t.s) }

// byteAt returns the byte offset of the i-th code point; i may be the length.
func byteAt(s string, i int) int {
	if i >= len(s) {
		return len(s)
	}
	off := 0
	for ; i > 0 && off < len(s); i-- {
		if s[off] < utf8.RuneSelf {
			off++
			continue
		}
		_, n := utf8.DecodeRuneInString(s[off:])
		off += n
	}
	return off
}

// each calls f for every code point as a text of its own.
func (t Text) each(f func(Text) error) error {
	for i := 0; i < len(t.s); {
		_, n := utf8.DecodeRuneInString(t.s[i:])
		if err := f(t.Slice(i, i+n)); err != nil {
			return err
		}
		i += n
	}
	return nil
}

func (t Text) trim(cut func(rune) bool, left, right bool) Text {
	i, j := 0, len(t.s)
	if left {
		i = len(t.s) - len(strings.TrimLeftFunc(t.s, cut))
	}
	if right {
		j = max(i, len(strings.TrimRightFunc(t.s, cut)))
	}
	return t.Slice(i, j)
}

// builder concatenates texts.
type builder struct {
	buf  []byte
	runs []Run
}

func (b *builder) str(s string, o Origin) {
	if s == "" {
		return
	}
	b.buf = append(b.buf, s...)
	if n := len(b.runs); n > 0 && b.runs[n-1].Origin == o {
		b.runs[n-1].End = len(b.buf)
	} else {
		b.runs = append(b.runs, Run{len(b.buf), o})
	}
}

func (b *builder) add(t Text) {
	if t.runs == nil {
		b.str(t.s, t.all)
		return
	}
	start := 0
	for _, r := range t.runs {
		b.str(t.s[start:r.End], r.Origin)
		start = r.End
	}
}

func (b *builder) text(safe bool) Text {
	t := Text{s: string(b.buf), safe: safe}
	switch len(b.runs) {
	case 0:
	case 1:
		t.all = b.runs[0].Origin
	default:
		t.runs = b.runs
	}
	return t
}

func concat(parts ...Text) Text {
	var b builder
	n := 0
	for _, p := range parts {
		n += len(p.s)
	}
	b.buf = make([]byte, 0, n)
	for _, p := range parts {
		b.add(p)
	}
	return b.text(false)
}
