package constrain

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hotpath-go/hotpath/internal/race"
)

// Every code point, one by one, against the ranges' borders.
func TestRuneBytes(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	borders := []rune{0, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xD800, 0xDFFF, 0xE000, 0xFFFF, 0x10000, utf8.MaxRune}
	for range 300 {
		lo, hi := rune(r.IntN(utf8.MaxRune+1)), rune(r.IntN(utf8.MaxRune+1))
		if r.IntN(2) == 0 {
			lo = borders[r.IntN(len(borders))]
		}
		if r.IntN(2) == 0 {
			hi = borders[r.IntN(len(borders))]
		}
		seqs := runeBytes(nil, lo, hi)
		count := 0
		for _, seq := range seqs {
			n := 1
			for _, b := range seq {
				n *= int(b.hi) - int(b.lo) + 1
			}
			count += n
		}
		want := max(int(hi)-int(lo)+1, 0)
		if lo <= hi {
			want -= max(0, int(min(hi, 0xDFFF))-int(max(lo, 0xD800))+1)
		}
		if count != want {
			t.Fatalf("%x-%x: %d spellings, want %d", lo, hi, count, want)
		}
		for _, c := range []rune{lo, lo + 1, hi - 1, hi, lo - 1, hi + 1, (lo + hi) / 2} {
			if !utf8.ValidRune(c) {
				continue
			}
			text := string(c)
			found := 0
			for _, seq := range seqs {
				ok := len(seq) == len(text)
				for i := 0; ok && i < len(seq); i++ {
					ok = text[i] >= seq[i].lo && text[i] <= seq[i].hi
				}
				if ok {
					found++
				}
			}
			if in := lo <= c && c <= hi; found > 1 || in != (found == 1) {
				t.Fatalf("%x-%x: %x found %d times", lo, hi, c, found)
			}
		}
	}
}

var expressions = []string{`abc`, `a|bc|`, `[a-c]+d?`, `(ab){2,3}`, `.`, `(?s).`, `^ab$`, `a^b`, `^a|b$`, `(^a)?b`, `(a|^)b($|c)`, `$`, `^$`, `[^a]`, `\d{1,3}(\.\d+)?`,
	`(?i)strasse|k`, `é+|日?`, `\w+\s\S`, `(a*)*`, `(a|a)*b`, `[\x{10000}-\x{10FFFF}]`, `\pL\p{Greek}?`, `a{0}`, `x*?y+?`, `\Qa.b\E`, `[[:alpha:]]-`, `"\\`, "\n|\t", `\A.b\z`}

// Random texts, matched as a whole, and searched in JSON strings, against Go's regexp package.
func TestPatternsAgainstRegexp(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	alphabet := []rune("aaabbbcdkKſsStTrRxy.0123 \n\t\"\\é日α\U00010001-")
	texts := 3000
	if race.Enabled {
		texts = 300
	}
	for _, expr := range expressions {
		plain, err := pattern(expr, false, runeBytes, 1<<16)
		if err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		inside, err := pattern(expr, true, jsonBytes, 1<<16)
		if err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		all := regexp.MustCompile(`^(?:` + expr + `)$`)
		if strings.ContainsAny(expr, "^$") || strings.Contains(expr, `\z`) {
			all = nil // anchors inside anchors: compared with the leftmost-longest match below
		}
		search := regexp.MustCompile(expr)
		longest := regexp.MustCompile(expr)
		longest.Longest()
		for range texts {
			text := make([]rune, r.IntN(7))
			for i := range text {
				text[i] = alphabet[r.IntN(len(alphabet))]
			}
			s := string(text)
			if all != nil && plain.matches(s) != all.MatchString(s) {
				t.Fatalf("%s: %q as a whole: %v", expr, s, !all.MatchString(s))
			}
			if loc := longest.FindStringIndex(s); loc != nil && loc[0] == 0 && loc[1] == len(s) && !plain.matches(s) {
				t.Fatalf("%s: %q is refused", expr, s)
			}
			if got, want := inside.matches(jsonText(s)), search.MatchString(s); got != want {
				t.Fatalf("%s: in string %q: %v, want %v", expr, s, got, want)
			}
		}
	}
}

func TestJSONTextIsJSON(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for r := range rune(0x3000) {
		all.WriteRune(r)
	}
	var back string
	if err := json.Unmarshal([]byte(`"`+jsonText(all.String())+`"`), &back); err != nil || back != all.String() {
		t.Fatalf("%v, %d of %d bytes", err, len(back), all.Len())
	}
}

func TestPatternErrors(t *testing.T) {
	t.Parallel()
	c := newTestCompiler(t, Options{MaxStates: 5000})
	for expr, want := range map[string]error{
		`(`: ErrSpec, `a{1001}`: ErrSpec, `[b-a]`: ErrSpec, `(?=a)b`: ErrSpec, `\1`: ErrSpec,
		`\bword`: ErrUnsupported, `(?m)^a`: ErrUnsupported, `(?m)a$`: ErrUnsupported, `\B`: ErrUnsupported,
		`(a|b)*a(a|b){14}`: ErrLimit, `(((a{30}){30}){30}){30}`: ErrSpec, `[a&&b]{900}x{900}y{900}z{900}w{900}v{900}`: ErrLimit,
		strings.Repeat("a", maxPattern+1): ErrLimit, `a^b`: ErrEmpty, `[^\x00-\x{10FFFF}]`: ErrEmpty,
	} {
		if _, err := c.Compile(Regexp(expr)); !errors.Is(err, want) {
			t.Errorf("%.40s: %v, want %v", expr, err, want)
		} else if len(err.Error()) > 1000 {
			t.Errorf("%.40s: an error of %d bytes", expr, len(err.Error()))
		}
	}
}
