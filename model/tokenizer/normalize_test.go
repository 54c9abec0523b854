package tokenizer

import (
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
)

// Up to thirty marks in a row package norm is an oracle for composing by definition.
func TestComposeEqualsNFC(t *testing.T) {
	t.Parallel()
	marks := []rune("\u0301\u0302\u0323\u0327\u0345\u0653\u093c\u3099\u1161\u11a8\u0308\u0300")
	starters := []rune("aeoqcAÅΩﬁ한ㄱ\u1100\u0928か\u0958\u2126x \u0f73é")
	r := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		var b strings.Builder
		for range 1 + r.IntN(3) {
			if r.IntN(8) > 0 {
				b.WriteRune(starters[r.IntN(len(starters))])
			}
			for range r.IntN(7) {
				b.WriteRune(marks[r.IntN(len(marks))])
			}
		}
		s := b.String()
		if got, want := string(appendComposed(nil, s)), norm.NFC.String(s); got != want {
			t.Fatalf("%+q: got %+q, want %+q", s, got, want)
		}
	}
}

// Unicode's NFC knows no limit on marks; package norm's stream-safe format does.
func TestLongMarks(t *testing.T) {
	t.Parallel()
	acute, below := "\u0301", "\u0323"
	many := strings.Repeat
	for _, c := range []struct{ in, want string }{
		{"a" + many(acute, 100), "á" + many(acute, 99)},
		{"xa" + many(acute, 50) + "b", "xá" + many(acute, 49) + "b"},
		{"q" + many(acute, 40) + many(below, 40) + "z", "q" + many(below, 40) + many(acute, 40) + "z"},
		{"e\u0301 " + many("a"+acute, 60), "é " + many("á", 60)},
		{many(acute, 40) + "a", many(acute, 40) + "a"},
		{"e\u0301" + many(acute, 15) + "e\u0301", "é" + many(acute, 15) + "é"},
	} {
		n := normalizer{steps: []normalStep{{kind: normalNFC}}}
		var bufs [2][]byte
		if got := n.apply(&bufs, c.in, false); got != c.want {
			t.Errorf("%+q:\n got %+q\nwant %+q", c.in, got, c.want)
		}
	}
}

func TestNormalizerSteps(t *testing.T) {
	t.Parallel()
	n := normalizer{steps: []normalStep{
		{kind: normalPrepend, to: "▁"},
		{kind: normalReplace, from: " ", to: "▁"},
		{kind: normalReplace, from: "▁▁", to: "+"},
	}}
	var bufs [2][]byte
	for _, c := range [][2]string{{"", ""}, {"a", "▁a"}, {" a  b", "+a+b"}} {
		if got := n.apply(&bufs, c[0], false); got != c[1] {
			t.Errorf("%q: got %q, want %q", c[0], got, c[1])
		}
	}
}
