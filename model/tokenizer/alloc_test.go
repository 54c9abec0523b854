//go:build !race

package tokenizer

import (
	"strings"
	"testing"
)

// The race detector's pools drop what they hold at random, hence the build tag.
func TestEncodeDoesNotAllocate(t *testing.T) {
	text := strings.Repeat("hello world, ab 12 é中😀 \n", 40) + strings.Repeat("q\u0323\u0307", 20)
	for name, tok := range map[string]*Tokenizer{"bytes": build(t, smallFile()), "chars": stories(t)} {
		dst := make([]int32, 0, 1<<14)
		tok.Encode(dst, text, Special)
		// A collection may empty the pool in the middle, hence not zero.
		if n := testing.AllocsPerRun(50, func() { tok.Encode(dst, text, Special) }); n >= 1 {
			t.Errorf("%s: %v allocations a call", name, n)
		}
	}
}
