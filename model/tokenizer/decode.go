package tokenizer

import (
	"strings"
	"unicode/utf8"
)

const replacement = "\uFFFD"

// decoder says what text tokens stand for.
type decoder struct {
	byteLevel    bool // characters stand for bytes, by GPT-2's mapping
	replace      []normalStep
	byteFallback bool // <0xXX> is a byte
	strip        int  // leading blanks that encoding added
	fromRunes    [0x144]int16
}

// render appends what one token decodes to and reports whether it is a byte of a run.
func (d *decoder) render(dst []byte, text string) ([]byte, bool) {
	if d.byteLevel {
		n := len(dst)
		for _, r := range text {
			if int(r) >= len(d.fromRunes) || d.fromRunes[r] < 0 {
				return append(dst[:n], text...), false // an added token that is not in the mapping
			}
			dst = append(dst, byte(d.fromRunes[r]))
		}
		return dst, false
	}
	for _, st := range d.replace {
		text = strings.ReplaceAll(text, st.from, st.to)
	}
	if d.byteFallback {
		if b, ok := byteToken(text); ok {
			return append(dst, b), true
		}
	}
	return append(dst, strings.ToValidUTF8(text, replacement)...), false
}

// Decode returns the text of ids. Ids outside the vocabulary are left out, and with skipSpecial
// the special tokens too. Bytes that are not valid UTF-8 become U+FFFD: one for each maximal
// invalid part in byte-level vocabularies; one for each byte of a run of byte tokens that is
// invalid anywhere in the others. Blanks that encoding puts before a text are taken off.
func (t *Tokenizer) Decode(ids []int32, skipSpecial bool) string {
	s := t.stream(skipSpecial)
	out := make([]byte, 0, 5*len(ids))
	for _, id := range ids {
		out = s.push(out, id)
	}
	return string(s.flush(out))
}

// Stream decodes ids as they come. The texts of all Push calls and the Flush, joined, equal Decode
// of all ids. A Stream is for one goroutine.
type Stream struct {
	t     *Tokenizer
	held  []byte // not text yet: part of a character, or a run of byte tokens
	strip int    // leading blanks still to take off
	skip  bool
}

// NewStream returns a Stream; skipSpecial is as for Decode.
func (t *Tokenizer) NewStream(skipSpecial bool) *Stream {
	s := t.stream(skipSpecial)
	return &s
}

// Continue returns a Stream of ids that follow others: the blanks at their start are text, not what
// encoding put before it. After Flush it is as NewStream made it.
func (t *Tokenizer) Continue(skipSpecial bool) *Stream {
	s := t.stream(skipSpecial)
	s.strip = 0
	return &s
}

func (t *Tokenizer) stream(skipSpecial bool) Stream {
	return Stream{t: t, skip: skipSpecial, strip: t.dec.strip}
}

// Push takes the next id and returns the text that became certain: whole characters, "" when all
// of it is held. A run of byte tokens is held until it ends, since one bad byte changes the text
// of the whole run.
func (s *Stream) Push(id int32) string {
	t := s.t
	if len(s.held) == 0 && s.strip == 0 && t.has(id) {
		f := t.flags[id]
		if s.skip && f&flagSpecial != 0 {
			return ""
		}
		if f&flagWhole != 0 {
			return t.piece(id)
		}
	}
	return string(s.push(nil, id))
}

// Flush returns the text of what is held and makes the Stream ready for a new text.
func (s *Stream) Flush() string {
	out := string(s.flush(nil))
	s.strip = s.t.dec.strip
	return out
}

func (s *Stream) push(dst []byte, id int32) []byte {
	t := s.t
	if !t.has(id) || s.skip && t.flags[id]&flagSpecial != 0 {
		return dst
	}
	piece := t.piece(id)
	if t.dec.byteLevel {
		if len(s.held) == 0 && t.flags[id]&flagWhole != 0 {
			return append(dst, piece...)
		}
		s.held = append(s.held, piece...)
		var used int
		dst, used = appendLossy(dst, s.held, false)
		s.held = append(s.held[:0], s.held[used:]...)
		return dst
	}
	if t.flags[id]&flagByte != 0 {
		s.held = append(s.held, piece...)
		return dst
	}
	dst = s.flush(dst)
	return s.stripped(dst, piece)
}

// flush appends the text of what is held.
func (s *Stream) flush(dst []byte) []byte {
	if len(s.held) == 0 {
		return dst
	}
	switch {
	case s.t.dec.byteLevel:
		dst, _ = appendLossy(dst, s.held, true)
	case utf8.Valid(s.held):
		dst = s.stripped(dst, view(s.held))
	default:
		s.strip = 0
		for range s.held {
			dst = append(dst, replacement...)
		}
	}
	s.held = s.held[:0]
	return dst
}

// stripped appends text without the leading blanks that are still to take off.
func (s *Stream) stripped(dst []byte, text string) []byte {
	for s.strip > 0 && text != "" {
		if text[0] != ' ' {
			s.strip = 0
			break
		}
		text = text[1:]
		s.strip--
	}
	return append(dst, text...)
}

// appendLossy appends b with U+FFFD for every maximal invalid part and returns how much of b it
// used: all but a trailing part of a character, and with final, all.
func appendLossy(dst, b []byte, final bool) ([]byte, int) {
	i := 0
	for i < len(b) {
		r, n := utf8.DecodeRune(b[i:])
		if r != utf8.RuneError || n > 1 {
			dst = append(dst, b[i:i+n]...)
			i += n
			continue
		}
		n = 1
		for n < len(b)-i && !utf8.FullRune(b[i:i+n]) && !utf8.FullRune(b[i:i+n+1]) {
			n++
		}
		if !final && i+n == len(b) && !utf8.FullRune(b[i:]) {
			break
		}
		dst = append(dst, replacement...)
		i += n
	}
	return dst, i
}

// complete reports whether b is valid UTF-8.
func complete(b []byte) bool { return utf8.Valid(b) }
