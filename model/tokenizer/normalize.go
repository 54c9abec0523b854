package tokenizer

import (
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/text/unicode/norm"
)

// normalizer is what happens to a stretch of text between special tokens before it is split.
type normalizer struct{ steps []normalStep }

type normalStep struct {
	kind     normalKind
	from, to string
}

type normalKind uint8

const (
	normalNFC     normalKind = iota
	normalPrepend            // to, before a text that is not empty
	normalReplace            // every from by to
)

// apply returns the normalised text: text itself, or a view of one of the buffers, good until the
// next call with them. Inside other text nothing is put before it.
func (n *normalizer) apply(bufs *[2][]byte, text string, inside bool) string {
	which := 0
	for _, st := range n.steps {
		buf := bufs[which][:0]
		switch {
		case text == "":
			return text
		case st.kind == normalPrepend && inside:
			continue
		case st.kind == normalPrepend:
			buf = append(append(buf, st.to...), text...)
		case st.kind == normalReplace:
			if !strings.Contains(text, st.from) {
				continue
			}
			buf = appendReplaced(buf, text, st.from, st.to)
		default:
			n := norm.NFC.QuickSpanString(text)
			if n == len(text) {
				continue
			}
			buf = appendNFC(append(buf, text[:n]...), text[n:])
		}
		bufs[which] = buf
		text = view(buf)
		which = 1 - which
	}
	return text
}

// blanks is SentencePiece's escaping of spaces done after normalisation, on each stretch between
// added tokens.
type blanks struct {
	on        bool
	prepend   bool // put a ▁ before a stretch that does not begin with one
	firstOnly bool // only at the beginning of the text
}

// apply returns the escaped text in a view of buf, good until its next use.
func (b blanks) apply(buf *[]byte, text string, first, inside bool) string {
	out := (*buf)[:0]
	if b.prepend && !inside && (first || !b.firstOnly) && text != "" && text[0] != ' ' && !strings.HasPrefix(text, blank) {
		out = append(out, blank...)
	}
	out = appendReplaced(out, text, " ", blank)
	*buf = out
	return view(out)
}

// view reads b as a string without a copy; b must not change while the string is in use.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func appendReplaced(dst []byte, text, from, to string) []byte {
	for {
		i := strings.Index(text, from)
		if i < 0 {
			return append(dst, text...)
		}
		dst = append(append(dst, text[:i]...), to...)
		text = text[i+len(from):]
	}
}

// maxMarks is how many combining characters in a row package norm handles as Unicode's plain NFC
// does; beyond that it inserts joiners (the stream-safe format), which no tokenizer does.
const maxMarks = 30

// appendNFC appends text in normalisation form C.
func appendNFC(dst []byte, text string) []byte {
	for text != "" {
		start, end := longMarks(text)
		dst = norm.NFC.AppendString(dst, text[:start])
		if start < end {
			dst = appendComposed(dst, text[start:end])
		}
		text = text[end:]
	}
	return dst
}

// longMarks finds the first stretch that package norm would break: from the starter before the run
// of combining characters to the end of the run. Without one, it is empty and at the text's end.
func longMarks(text string) (start, end int) {
	count := 0
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			if count > maxMarks/2 {
				return start, i
			}
			start, count = i, 0
			i++
			continue
		}
		p := norm.NFC.PropertiesString(text[i:])
		w := max(p.Size(), 1)
		if p.CCC() == 0 && p.BoundaryBefore() {
			if count > maxMarks/2 {
				return start, i
			}
			start, count = i, 0
		} else {
			count++
		}
		i += w
	}
	if count > maxMarks/2 {
		return start, len(text)
	}
	return len(text), len(text)
}

// appendComposed is NFC by its definition: decompose, order the marks, compose.
func appendComposed(dst []byte, text string) []byte {
	type char struct {
		r   rune
		ccc uint8
	}
	var chars []char
	for len(text) > 0 {
		p := norm.NFD.PropertiesString(text)
		w := max(p.Size(), 1)
		d := p.Decomposition()
		if d == nil {
			d = []byte(text[:w])
		}
		for len(d) > 0 {
			r, n := utf8.DecodeRune(d)
			chars = append(chars, char{r, norm.NFD.Properties(d).CCC()})
			d = d[n:]
		}
		text = text[w:]
	}
	for i := 0; i < len(chars); {
		j := i + 1
		for chars[i].ccc != 0 && j < len(chars) && chars[j].ccc != 0 {
			j++
		}
		slices.SortStableFunc(chars[i:j], func(a, b char) int { return int(a.ccc) - int(b.ccc) })
		i = j
	}
	out := chars[:0]
	starter := -1
	for _, c := range chars {
		if starter >= 0 {
			// A mark composes unless one of its own class or above stands between.
			last := out[len(out)-1]
			blocked := len(out)-1 > starter && (last.ccc == 0 || last.ccc >= c.ccc)
			if r, ok := compose(out[starter].r, c.r); ok && !blocked {
				out[starter].r = r
				continue
			}
		}
		out = append(out, c)
		if c.ccc == 0 {
			starter = len(out) - 1
		}
	}
	for _, c := range out {
		dst = utf8.AppendRune(dst, c.r)
	}
	return dst
}

// compose returns the primary composite of a pair.
func compose(a, b rune) (rune, bool) {
	var in, out [2 * utf8.UTFMax]byte
	pair := utf8.AppendRune(utf8.AppendRune(in[:0], a), b)
	both := norm.NFC.Append(out[:0], pair...)
	r, n := utf8.DecodeRune(both)
	return r, n == len(both)
}
