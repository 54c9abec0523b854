package constrain

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/internal/race"
)

// Numbers near the bounds, in many spellings, against exact arithmetic.
func TestNumbersAgainstArithmetic(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	randomDecimal := func() string {
		s := ""
		if r.IntN(2) == 0 {
			s = "-"
		}
		s += fmt.Sprint([]int{0, r.IntN(10), r.IntN(120), r.IntN(100_000)}[r.IntN(4)])
		if r.IntN(2) == 0 {
			s += "."
			for range 1 + r.IntN(4) {
				s += string("0012599"[r.IntN(7)])
			}
		}
		return s
	}
	rat := func(s string) *big.Rat {
		x, ok := new(big.Rat).SetString(s)
		if !ok {
			t.Fatalf("number %q", s)
		}
		return x
	}
	accepted, refused := 0, 0
	sets := 400
	if race.Enabled {
		sets = 30
	}
	for range sets {
		set := numbers{integer: r.IntN(2) == 0}
		if r.IntN(4) > 0 {
			set.low = &bound{rat(randomDecimal()), r.IntN(2) == 0}
		}
		if r.IntN(4) > 0 {
			set.high = &bound{rat(randomDecimal()), r.IntN(2) == 0}
			if set.low != nil && r.IntN(2) == 0 {
				set.high.value = new(big.Rat).Add(set.low.value, big.NewRat(int64(r.IntN(300)), int64([]int{1, 2, 10, 1000}[r.IntN(4)])))
			}
		}
		if r.IntN(4) == 0 {
			set.multiples = append(set.multiples, rat([]string{"1", "2", "3", "7", "100", "0.5", "0.01", "0.25", "1.5"}[r.IntN(9)]))
		}
		if set.low == nil && set.high == nil && set.multiples == nil {
			continue // has exponents
		}
		d, err := set.automaton(1 << 16)
		if err != nil {
			t.Fatal(err)
		}
		for range 300 {
			text := randomDecimal()
			if b := set.low; b != nil && r.IntN(3) == 0 {
				text = b.value.FloatString(r.IntN(5)) // at and around the bound
			}
			if b := set.high; b != nil && r.IntN(4) == 0 {
				text = b.value.FloatString(r.IntN(5))
			}
			if strings.Contains(text, ".") && r.IntN(4) == 0 {
				text += "0"
			}
			x := rat(text)
			want := !set.integer || !strings.Contains(text, ".")
			if text == "-0" {
				want = false
			}
			if b := set.low; b != nil && (x.Cmp(b.value) < 0 || b.strict && x.Cmp(b.value) == 0) {
				want = false
			}
			if b := set.high; b != nil && (x.Cmp(b.value) > 0 || b.strict && x.Cmp(b.value) == 0) {
				want = false
			}
			for _, m := range set.multiples {
				want = want && new(big.Rat).Quo(x, m).IsInt()
			}
			if got := d.matches(text); got != want {
				t.Fatalf("%s: %s is accepted: %v, want %v", set.key(), text, got, want)
			}
			if want {
				accepted++
			} else {
				refused++
			}
		}
		for _, text := range []string{"", "-", "00", "01", "1.", ".5", "-.5", "1e5", "+1", "0x1", "1 ", "--1"} {
			if d.matches(text) {
				t.Fatalf("%s: %q is accepted", set.key(), text)
			}
		}
	}
	if accepted < 25*sets || refused < 25*sets {
		t.Fatalf("%d accepted, %d refused: the test says little", accepted, refused)
	}
}

func TestFreeNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		integer  bool
		yes, not string
	}{
		{true, "0 1 -1 10 123456789012345678901234567890 -999", "-0 01 1.0 1e3 1234567890123456789012345678901 1. -"},
		{false, "0 -0.0 1 1.5 -12.25e10 1E+5 0e-99 1e9", "1e100 01 .5 1. 1e 1e+ -"},
	} {
		d, err := numbers{integer: c.integer}.automaton(1 << 16)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range strings.Fields(c.yes) {
			if !d.matches(s) {
				t.Errorf("integer %v: %s is refused", c.integer, s)
			}
		}
		for _, s := range strings.Fields(c.not) {
			if d.matches(s) {
				t.Errorf("integer %v: %s is accepted", c.integer, s)
			}
		}
	}
}
