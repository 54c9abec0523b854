package tokenizer

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

var patterns = map[string]string{
	"gpt2": patternGPT2, "llama3": patternLlama3, "qwen2": patternQwen2, "qwen35": patternQwen35,
	"gpt4o": patternGPT4o, "tekken": patternTekken,
	"minicpm5": patternMiniCPM5, "cl100k": patternCL100K, "llada": patternLLaDA,
	"digit": patternDigit, "digits3": patternDigits3, "cjk": patternCJK, "deepseek": patternDeepSeek,
}

// regexSplit finds pieces as a backtracking engine would, with package regexp for everything but
// the look-ahead, which it does not have.
type regexSplit struct {
	before    *regexp.Regexp // the alternatives before \s+(?!\S)
	lookahead bool
}

func newRegexSplit(pattern string) regexSplit {
	const white = `\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}`
	// Package regexp has no possessive repeats. At these two places nothing could be given back.
	pattern = strings.NewReplacer("?+", "?", "]++", "]+").Replace(pattern)
	before, lookahead := strings.CutSuffix(pattern, `|\s+(?!\S)|\s+`)
	before = strings.ReplaceAll(before, `[^\s`, `[^`+white)
	before = strings.ReplaceAll(before, `\s`, `[`+white+`]`)
	return regexSplit{regexp.MustCompile(`^(?:` + before + `)`), lookahead}
}

func (r regexSplit) match(s string) int {
	if m := r.before.FindStringIndex(s); m != nil || !r.lookahead {
		if m == nil {
			return 0
		}
		return m[1]
	}
	// \s+(?!\S): the longest run of spaces that no other character follows; else \s+.
	var ends []int
	for i, c := range s {
		if !unicode.Is(unicode.White_Space, c) {
			break
		}
		ends = append(ends, i+utf8.RuneLen(c))
	}
	for _, end := range slices.Backward(ends) {
		if c, _ := utf8.DecodeRuneInString(s[end:]); end == len(s) || unicode.Is(unicode.White_Space, c) {
			return end
		}
	}
	if len(ends) > 0 {
		return ends[len(ends)-1]
	}
	return 0
}

// pieces returns all pieces, those between matches too.
func (r regexSplit) pieces(s string) (out []string) {
	gap := 0
	for i := 0; i < len(s); {
		n := r.match(s[i:])
		if n == 0 {
			_, w := utf8.DecodeRuneInString(s[i:])
			i += w
			continue
		}
		if i > gap {
			out = append(out, s[gap:i])
		}
		out = append(out, s[i:i+n])
		i += n
		gap = i
	}
	if gap < len(s) {
		out = append(out, s[gap:])
	}
	return out
}

func scanned(p splitter, s string) (out []string) {
	for pos := 0; pos < len(s); {
		start, end := p.next(s, pos)
		if start > pos {
			out = append(out, s[pos:start])
		}
		if end > start {
			out = append(out, s[start:end])
		}
		pos = end
	}
	return out
}

var hardRunes = []rune("aZßǅʰ中あア한ñ\u0301\u0903\u200d1٣½Ⅷ \t\n\r\u00a0\u0085\u2028\u3000'sStTlLmMdDrRvVeEſ./_$!`^~|。€😀\x00\u0378\ufffd<>")

func hardText(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		if r.IntN(40) == 0 {
			b.WriteByte(byte(0x80 + r.IntN(0x80))) // not UTF-8
			continue
		}
		c := hardRunes[r.IntN(len(hardRunes))]
		for range 1 + r.IntN(3)*r.IntN(2) {
			b.WriteRune(c)
		}
	}
	return b.String()
}

func TestScannersEqualPatterns(t *testing.T) {
	t.Parallel()
	for name, pattern := range patterns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scan, _, ok := knownPattern(pattern)
			if !ok {
				t.Fatal("unknown pattern")
			}
			want := newRegexSplit(pattern)
			r := rand.New(rand.NewPCG(1, uint64(len(name))))
			for range 4000 {
				s := hardText(r, 1+r.IntN(12))
				if got, want := scanned(scan, s), want.pieces(s); !slices.Equal(got, want) {
					t.Fatalf("%q:\n got %q\nwant %q", s, got, want)
				}
			}
		})
	}
}

func FuzzScanners(f *testing.F) {
	f.Add("I've  'LL don't\r\n\n 123456 ǅaB/\n日本1ア ſ'ſ")
	f.Add(" \t\n x\u00a0\u00a0")
	type both struct {
		scan splitter
		want regexSplit
	}
	all := make(map[string]both)
	for name, pattern := range patterns {
		scan, _, _ := knownPattern(pattern)
		all[name] = both{scan, newRegexSplit(pattern)}
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 500 {
			return
		}
		for name, b := range all {
			if got, want := scanned(b.scan, s), b.want.pieces(s); !slices.Equal(got, want) {
				t.Fatalf("%s: %q:\n got %q\nwant %q", name, s, got, want)
			}
		}
	})
}

func TestLines(t *testing.T) {
	t.Parallel()
	got := scanned(lines{}, "\n\na b\nc\n\n\n")
	if want := []string{"\n\n", "a b", "\n", "c", "\n\n\n"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLiteral(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p    literal
		want []string
	}{
		{literal{"ab", true}, []string{"xab", "ab", "y"}},
		{literal{"ab", false}, []string{"x", "ab", "ab", "y"}},
	} {
		if got := scanned(c.p, "xababy"); !slices.Equal(got, c.want) {
			t.Errorf("%+v: got %q, want %q", c.p, got, c.want)
		}
	}
}

// Files that hold line breaks instead of their escapes mean the same.
func TestPatternsWithLineBreaks(t *testing.T) {
	t.Parallel()
	for name, pattern := range patterns {
		raw := strings.NewReplacer(`\r`, "\r", `\n`, "\n").Replace(pattern)
		if _, _, ok := knownPattern(raw); !ok {
			t.Errorf("%s is not known with line breaks", name)
		}
	}
}
