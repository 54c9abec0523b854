package tokenizer

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// bytesOf returns the ids of the single bytes of s.
func bytesOf(tok *Tokenizer, s string) (ids []int32) {
	for _, b := range []byte(s) {
		ids = append(ids, tok.bytes[b])
	}
	return ids
}

// Byte-level vocabularies replace each maximal invalid part, as the Unicode standard recommends
// (its table 3-8 gives these).
func TestInvalidBytesByteLevel(t *testing.T) {
	t.Parallel()
	tok := build(t, smallFile())
	for _, c := range []struct{ in, want string }{
		{"\xf0\x9f\x98", "\ufffd"},
		{"\xf0\x9f\x98x", "\ufffdx"},
		{"\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffdA"},
		{"\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffdA"},
		{"\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", "\ufffd\ufffd\ufffd\ufffd\ufffdA\ufffd\ufffdB"},
		{"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", "\ufffd\ufffd\ufffd\ufffdA"},
		{"\xe2\x82\xac\xe2\x82", "€\ufffd"},
	} {
		ids := bytesOf(tok, c.in)
		if got := tok.Decode(ids, false); got != c.want {
			t.Errorf("%+q: decoded %+q, want %+q", c.in, got, c.want)
		}
		if got := streamed(tok, ids, false); got != c.want {
			t.Errorf("%+q: streamed %+q, want %+q", c.in, got, c.want)
		}
	}
}

// A run of byte tokens that is invalid anywhere becomes one U+FFFD per byte.
func TestInvalidBytesFallback(t *testing.T) {
	t.Parallel()
	tok := stories(t)
	one := func(text string) int32 {
		id, ok := tok.ID(text)
		if !ok {
			t.Fatalf("no token %q", text)
		}
		return id
	}
	for _, c := range []struct {
		ids  []int32
		want string
	}{
		{bytesOf(tok, "é€"), "é€"},
		{bytesOf(tok, "é\xe2"), "\ufffd\ufffd\ufffd"},
		{append(bytesOf(tok, "é"), append([]int32{one("a")}, bytesOf(tok, "\xe2")...)...), "éa\ufffd"},
		{append(bytesOf(tok, "\xc3"), append([]int32{one("</s>")}, bytesOf(tok, "\xa9")...)...), "\ufffd</s>\ufffd"},
	} {
		if got := tok.Decode(c.ids, false); got != c.want {
			t.Errorf("%v: decoded %+q, want %+q", c.ids, got, c.want)
		}
		if got := streamed(tok, c.ids, false); got != c.want {
			t.Errorf("%v: streamed %+q, want %+q", c.ids, got, c.want)
		}
	}
	// Left out, a special token does not end the run.
	ids := append(bytesOf(tok, "\xc3"), append([]int32{one("</s>")}, bytesOf(tok, "\xa9")...)...)
	if got := tok.Decode(ids, true); got != "é" {
		t.Errorf("without specials %q, want é", got)
	}
}

func TestLeadingBlankIsTakenOffOnce(t *testing.T) {
	t.Parallel()
	tok := stories(t)
	for _, text := range []string{"a", " a", "  a", "", " ", "a b"} {
		ids := tok.Encode(nil, text, Text)
		if got := tok.Decode(ids, false); got != text {
			t.Errorf("%q came back as %q", text, got)
		}
		withBOS := append(tok.Template().Prefix, ids...)
		if got := tok.Decode(withBOS, true); got != text {
			t.Errorf("%q after BOS came back as %q", text, got)
		}
	}
}

func TestUnknownIDsAreLeftOut(t *testing.T) {
	t.Parallel()
	for name, tok := range map[string]*Tokenizer{"bytes": build(t, smallFile()), "chars": stories(t)} {
		ids := tok.Encode(nil, "hello", Text)
		bad := append([]int32{-1, 1 << 30, int32(tok.Size())}, append(ids, -1<<31)...)
		if got := tok.Decode(bad, true); got != "hello" {
			t.Errorf("%s: %q, want hello", name, got)
		}
		if got := streamed(tok, bad, false); got != "hello" {
			t.Errorf("%s: streamed %q, want hello", name, got)
		}
		for _, id := range bad[:3] {
			if _, ok := tok.Token(id); ok || tok.IsControl(id) {
				t.Errorf("%s: id %d exists", name, id)
			}
		}
	}
}

func TestStreamGivesWholeCharacters(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(13, 14))
	for name, tok := range map[string]*Tokenizer{"bytes": build(t, smallFile()), "chars": stories(t), "gemma": gemmaLike(t)} {
		s := tok.NewStream(true)
		for range 2000 {
			ids := make([]int32, r.IntN(12))
			for i := range ids {
				ids[i] = r.Int32N(int32(tok.Size())+4) - 2
			}
			var b strings.Builder
			for _, id := range ids {
				out := s.Push(id)
				if !utf8.ValidString(out) {
					t.Fatalf("%s: %v: %+q is not UTF-8", name, ids, out)
				}
				b.WriteString(out)
			}
			b.WriteString(s.Flush()) // and the stream is used again
			if got, want := b.String(), tok.Decode(ids, true); got != want {
				t.Fatalf("%s: %v: streamed %+q, decoded %+q", name, ids, got, want)
			}
		}
	}
}

// Text is not held longer than needed.
func TestStreamIsPrompt(t *testing.T) {
	t.Parallel()
	tok := build(t, smallFile())
	s := tok.NewStream(false)
	want := []string{"a", "", "", "", "😀", "b"}
	for i, id := range bytesOf(tok, "a😀b") {
		if got := s.Push(id); got != want[i] {
			t.Errorf("push %d: %q, want %q", i, got, want[i])
		}
	}
	chars := stories(t)
	a, _ := chars.ID("a")
	s = chars.NewStream(false)
	for i, id := range append(append([]int32{a}, bytesOf(chars, "😀")...), a) {
		want := []string{"a", "", "", "", "", "😀a"}[i]
		if got := s.Push(id); got != want {
			t.Errorf("push %d: %q, want %q", i, got, want)
		}
	}
}
