package tokenizer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hotpath-go/hotpath/internal/race"
)

// naive merges a word by definition: the lowest rank, then the leftmost, until none is left.
func naive(symbols []int32, merges []merge) []int32 {
	rules := make(map[[2]int32]merge)
	for _, m := range merges {
		rules[[2]int32{m.left, m.right}] = m
	}
	symbols = slices.Clone(symbols)
	for {
		at, best := -1, merge{}
		for i := 0; i+1 < len(symbols); i++ {
			if m, ok := rules[[2]int32{symbols[i], symbols[i+1]}]; ok && (at < 0 || m.rank < best.rank) {
				at, best = i, m
			}
		}
		if at < 0 {
			return symbols
		}
		symbols = slices.Replace(symbols, at, at+2, best.result)
	}
}

func TestMergesEqualDefinition(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for range 60 {
		// A random grammar over a few letters: every new token joins two earlier ones.
		const letters = 3
		tok := &Tokenizer{}
		merges := []merge{}
		size := int32(letters)
		seen := make(map[[2]int32]bool)
		for range 30 {
			pair := [2]int32{r.Int32N(size), r.Int32N(size)}
			if seen[pair] {
				continue
			}
			seen[pair] = true
			merges = append(merges, merge{pair[0], pair[1], size, uint32(r.IntN(12))})
			size++
		}
		tok.pairs = newPairTable(len(merges))
		for _, m := range merges {
			tok.pairs.set(m.left, m.right, m.rank, m.result)
		}
		for range 20 {
			word := make([]int32, 1+r.IntN(200))
			for i := range word {
				word[i] = r.Int32N(letters)
			}
			want := naive(word, merges)
			for name, run := range map[string]func(*scratch){"short": tok.mergeShort, "long": tok.mergeLong} {
				s := &scratch{symbols: slices.Clone(word)}
				run(s)
				if !slices.Equal(s.symbols, want) {
					t.Fatalf("%s: %v:\n got %v\nwant %v", name, word, s.symbols, want)
				}
			}
		}
	}
}

func TestLongWords(t *testing.T) {
	t.Parallel()
	n := 1 << 18
	if race.Enabled {
		n = 1 << 15
	}
	for name, tok := range map[string]*Tokenizer{"bytes": build(t, smallFile()), "chars": stories(t), "gemma": gemmaLike(t)} {
		for _, unit := range []string{"ab", "a", "\u0301", "中", "▁", "\xff"} {
			text := strings.Repeat(unit, n/len(unit))
			ids := tok.Encode(nil, text, Text)
			want := strings.ReplaceAll(strings.ToValidUTF8(text, strings.Repeat("\uFFFD", len(text))), "▁", " ")
			if name == "bytes" {
				want = strings.ToValidUTF8(text, strings.Repeat("\uFFFD", len(text)))
			}
			if got := tok.Decode(ids, false); got != want {
				t.Errorf("%s: %d × %q does not come back: %d bytes, want %d", name, n/len(unit), unit, len(got), len(want))
			}
		}
	}
}

// Cutting a text where no merge can join changes no id.
func TestCutEqualsWhole(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	for name, tok := range map[string]*Tokenizer{"stories": stories(t), "gemma": gemmaLike(t)} {
		if !tok.cutSpaces {
			t.Fatalf("%s does not cut", name)
		}
		for range 1000 {
			var b strings.Builder
			for range 1 + r.IntN(40) {
				b.WriteString([]string{" ", "a", "b", "c", ">", "> ", "\n", "▁", "the", "é", "中", "😀", "\xff"}[r.IntN(13)])
			}
			text := b.String()
			s := newScratch()
			norm := strings.Clone(tok.norm.apply(&s.norm, text, false))
			whole := tok.merge(s, nil, norm)
			if got := tok.Encode(nil, text, Text); !slices.Equal(got, whole) {
				t.Fatalf("%s: %q: %v, whole %v", name, text, got, whole)
			}
		}
	}
	if tok := gemmaLike(t); !slices.Contains(tok.glue, '>') || !slices.Contains(tok.glue, '▁') || len(tok.glue) != 2 {
		t.Errorf("glue %q, want > and ▁", tok.glue)
	}
}

func TestEncodeAppends(t *testing.T) {
	t.Parallel()
	tok := build(t, smallFile())
	got := tok.Encode([]int32{7}, "hello", Text)
	want, _ := tok.ID("hello")
	if !slices.Equal(got, []int32{7, want}) {
		t.Errorf("got %v, want [7 %d]", got, want)
	}
	if got := tok.Encode(nil, "", Text); got != nil {
		t.Errorf("empty text: %v", got)
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	tok := stories(t)
	texts := make([]string, 64)
	want := make([][]int32, len(texts))
	r := rand.New(rand.NewPCG(9, 9))
	for i := range texts {
		texts[i] = "Once upon a time " + hardText(r, 50)
		want[i] = stories(t).Encode(nil, texts[i], Text)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				for i, text := range texts {
					if got := tok.Encode(nil, text, Text); !slices.Equal(got, want[i]) {
						t.Errorf("%q: %v, want %v", text, got, want[i])
						return
					}
				}
			}
		})
	}
	wg.Wait()
}
