package sched

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSplitGuaranteesShares(t *testing.T) {
	t.Parallel()
	shares := Shares{Decode: 0.5, Decide: 0.25, Prefill: 0.25}
	for _, c := range []struct{ demand, want [classes]int }{
		{[classes]int{10, 0, 1000}, [classes]int{10, 0, 90}},
		{[classes]int{1000, 1000, 1000}, [classes]int{50, 25, 25}},
		{[classes]int{1000, 0, 5}, [classes]int{95, 0, 5}},
		{[classes]int{1000, 10, 0}, [classes]int{90, 10, 0}},
		{[classes]int{0, 1000, 1000}, [classes]int{0, 75, 25}},
		{[classes]int{0, 0, 7}, [classes]int{0, 0, 7}},
		{[classes]int{60, 30, 30}, [classes]int{50, 25, 25}},
	} {
		if got := split(c.demand, limits{rows: 100, shares: shares}); got != c.want {
			t.Errorf("demand %v: %v, want %v", c.demand, got, c.want)
		}
	}
}

// one makes a candidate that needs no block.
func one(c class, account, want int) candidate {
	return candidate{turn: turn{account: account}, class: c, want: want, owned: want}
}

func base(cs ...candidate) input {
	for i := range cs {
		cs[i].arrival = uint64(i)
	}
	return input{
		candidates: cs, served: make([]float64, 8), blocks: 100, size: 4,
		limits: limits{rows: 64, shares: Shares{0.5, 0.25, 0.25}, stretch: 4, minPrefill: 8},
	}
}

func TestStepIsBoundedByItsDecodes(t *testing.T) {
	t.Parallel()
	in := base(one(decode, 0, 1), one(prefill, 0, 1000), one(decide, 0, 1000))
	in.limits.rows = 512
	in.cost = Cost{10e-3, 1e-3, 1e-3, 0, 0} // 11 ms for the decode, 44 in all: 33 further rows
	out := choose(in)
	if got := in.cost.seconds(out.shape); got > 0.0441+8*1e-3 || out.rows[0] != 1 || out.rows[2] == 0 || out.rows[1] < 8 {
		t.Errorf("%v rows, %v s", out.rows, got)
	}
	in.candidates = in.candidates[1:]
	if out := choose(in); out.rows[0]+out.rows[1] != 512 {
		t.Errorf("without a decode: %v", out.rows)
	}
}

// TestLimitCountsContext: rows deep in a long prompt cost more, so fewer fit.
func TestLimitCountsContext(t *testing.T) {
	t.Parallel()
	rows := func(context int) int {
		c := one(prefill, 0, 1000)
		c.context = context
		in := base(one(decode, 0, 1), c)
		in.limits.rows, in.cost = 512, Cost{10e-3, 1e-4, 1e-4, 1e-8, 0}
		return choose(in).rows[1]
	}
	if a, b := rows(0), rows(50_000); a <= b || b < 8 {
		t.Errorf("%d rows at the start, %d deep in the prompt", a, b)
	}
}

// TestMergedDecisionsReadTheirBlocksOnce: those on the same blocks run together, ahead of the one
// whose turn it would have been, and the context is counted once.
func TestMergedDecisionsReadTheirBlocksOnce(t *testing.T) {
	t.Parallel()
	cs := []candidate{one(decide, 0, 10), one(decide, 1, 10), one(decide, 2, 10), one(decide, 3, 10)}
	for i, g := range []int{7, 8, 7, 7} {
		cs[i].group, cs[i].context = g, 1000
	}
	in := base(cs...)
	in.limits.rows = 30
	out := choose(in)
	if !slices.Equal(out.rows, []int{10, 0, 10, 10}) || out.shape.Stream != 1010 {
		t.Errorf("%v, %+v", out.rows, out.shape)
	}
}

func TestBlocksBoundTheRows(t *testing.T) {
	t.Parallel()
	first := candidate{class: prefill, want: 40, owned: 2, first: 1}
	second := candidate{class: prefill, want: 40}
	in := base(first, second)
	in.blocks = 6
	if out := choose(in); !slices.Equal(out.rows, []int{22, 0}) || out.blocks != 6 || out.preempt != -1 {
		t.Errorf("%+v", out)
	}
	d := candidate{class: decode, want: 1, victim: true}
	in = base(d, d, d)
	in.blocks = 2
	in.candidates[1].priority = -1
	if out := choose(in); out.preempt != 1 {
		t.Errorf("preempts %d, the lowest priority is 1", out.preempt)
	}
	in.candidates[1].priority = 0
	if out := choose(in); out.preempt != 2 {
		t.Errorf("preempts %d, the latest is 2", out.preempt)
	}
}

// TestChoiceKeepsItsLimits: for any input, rows, blocks and demands are respected, and nothing that
// could run is left out while there is room for it.
func TestChoiceKeepsItsLimits(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 9))
	for range 20_000 {
		in := base()
		in.limits.rows, in.blocks = 1+r.IntN(60), r.IntN(12)
		if r.IntN(2) == 0 {
			in.cost = Cost{1e-3, 1e-3, 1e-4, 1e-6, 1e-7}
		}
		for i := range 1 + r.IntN(8) {
			c := candidate{turn: turn{account: r.IntN(4), priority: r.IntN(2), arrival: uint64(i)}, class: class(r.IntN(3)), context: r.IntN(100), victim: r.IntN(2) == 0}
			if c.want = 1; c.class != decode {
				c.want += r.IntN(40)
			}
			c.owned, c.first = r.IntN(5), r.IntN(2)
			if c.class == decide {
				c.owned, c.first, c.group = c.want, 0, r.IntN(3)
			}
			in.candidates = append(in.candidates, c)
		}
		out := choose(in)
		rows, blocks := 0, 0
		for i, n := range out.rows {
			c := in.candidates[i]
			if n < 0 || n > c.want {
				t.Fatalf("%d rows of %d", n, c.want)
			}
			rows += n
			if n > 0 {
				blocks += c.blocks(n, in.size)
			}
		}
		if rows > in.limits.rows || blocks > in.blocks || blocks != out.blocks && out.preempt < 0 || rows != out.shape.Rows {
			t.Fatalf("%d rows of %d, %d blocks of %d (counted %d): %+v", rows, in.limits.rows, blocks, in.blocks, out.blocks, in)
		}
		if out.preempt < 0 && out.starved < 0 && rows == 0 {
			t.Fatalf("nothing runs: %+v", in)
		}
		again := choose(in)
		if fmt.Sprint(again) != fmt.Sprint(out) {
			t.Fatal("not a function of its input")
		}
	}
}

func TestFairOrder(t *testing.T) {
	t.Parallel()
	turns := []turn{
		{index: 0, account: 0, arrival: 1, weight: 1}, {index: 1, account: 0, arrival: 2, weight: 1},
		{index: 2, account: 0, arrival: 3, deadline: 5, weight: 1}, {index: 3, account: 1, arrival: 4, weight: 1},
		{index: 4, account: 1, arrival: 5, weight: 2}, {index: 5, account: 2, priority: 1, arrival: 6, weight: 1},
	}
	served := []float64{10, 0, 99}
	var got []int
	fairly(turns, served, func(i int) (int, bool) {
		got = append(got, i)
		return 6, true
	})
	if want := []int{5, 3, 4, 2, 0, 1}; !slices.Equal(got, want) || !slices.Equal(served, []float64{28, 18, 105}) {
		t.Errorf("order %v, want %v; served %v", got, want, served)
	}
}
