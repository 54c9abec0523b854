package tokenizer

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

const (
	maxTokens     = 1 << 20 // ids; the largest published vocabularies have 2^18
	maxTokenBytes = 1024    // bytes of one token's text
	maxMerges     = 1 << 21
	maxAddedBytes = 1 << 20 // texts of all added tokens together; each byte takes about a hundred in memory
)

const (
	flagPresent uint8 = 1 << iota // the id is not a hole
	flagSpecial                   // left out of decoded text when the caller asks for it
	flagControl                   // never produced from text
	flagByte                      // decodes to a single byte of a run
	flagWhole                     // piece is complete, valid UTF-8
)

// vocab is the table of tokens by id.
type vocab struct {
	text   []string
	kind   []Kind
	flags  []uint8
	id     map[string]int32
	pieces string // what the tokens decode to, end to end
	ends   []uint32
}

func (v *vocab) has(id int32) bool {
	return uint32(id) < uint32(len(v.flags)) && v.flags[id]&flagPresent != 0
}

func (v *vocab) piece(id int32) string {
	start := uint32(0)
	if id > 0 {
		start = v.ends[id-1]
	}
	return v.pieces[start:v.ends[id]]
}

// reserve makes room for n ids.
func (v *vocab) reserve(n int) {
	v.text = slices.Grow(v.text, n)
	v.kind = slices.Grow(v.kind, n)
	v.flags = slices.Grow(v.flags, n)
}

// add stores a token. special says whether decoding may leave it out.
func (v *vocab) add(id int, text string, kind Kind, special bool) {
	for len(v.text) <= id {
		v.text = append(v.text, "")
		v.kind = append(v.kind, Unused)
		v.flags = append(v.flags, 0)
	}
	v.text[id], v.kind[id], v.flags[id] = text, kind, flagPresent
	if special {
		v.flags[id] |= flagSpecial
	}
	if kind == Control || kind == UserDefined && isMarker(text) {
		v.flags[id] |= flagControl
	}
	v.id[text] = int32(id)
}

// mergeable reports whether characters may start as, and merge into, id.
func (v *vocab) mergeable(id int32) bool {
	return v.flags[id]&flagControl == 0 && v.kind[id] != Unused && v.kind[id] != Unknown
}

// fillPieces computes what each token decodes to.
func (v *vocab) fillPieces(d *decoder) error {
	var all strings.Builder
	v.ends = make([]uint32, len(v.text))
	buf := make([]byte, 0, 64)
	for i, text := range v.text {
		if v.flags[i]&flagPresent != 0 {
			var isByte bool
			buf, isByte = d.render(buf[:0], text)
			if isByte {
				v.flags[i] |= flagByte
			} else if complete(buf) {
				v.flags[i] |= flagWhole
			}
			all.Write(buf)
		}
		if all.Len() > math.MaxInt32 {
			return overLimit("bytes of all tokens", all.Len(), math.MaxInt32)
		}
		v.ends[i] = uint32(all.Len())
	}
	v.pieces = all.String()
	return nil
}

// byteToken returns the byte that a name such as <0x0A> stands for.
func byteToken(text string) (byte, bool) {
	if len(text) != 6 || text[:3] != "<0x" || text[5] != '>' {
		return 0, false
	}
	hi, ok1 := hexDigit(text[3])
	lo, ok2 := hexDigit(text[4])
	return hi<<4 | lo, ok1 && ok2
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

func byteTokenName(b byte) string { return fmt.Sprintf("<0x%02X>", b) }

// byteRunes is GPT-2's mapping of bytes to printable characters: printable Latin-1 stands for
// itself, the other 68 bytes for U+0100 and up.
func byteRunes() (of [256]rune) {
	next := rune(0x100)
	for b := range of {
		if b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE {
			of[b] = rune(b)
		} else {
			of[b] = next
			next++
		}
	}
	return of
}

// runeBytes is the inverse of byteRunes; -1 where a character stands for no byte.
func runeBytes() (of [0x144]int16) {
	for i := range of {
		of[i] = -1
	}
	for b, r := range byteRunes() {
		of[r] = int16(b)
	}
	return of
}
