package kvcache

import (
	"errors"
	"testing"
)

func TestRecurrentHitsEndAtCheckpoints(t *testing.T) {
	t.Parallel()
	c, m := newCache(t, Options{Blocks: 32, BlockSize: 4, States: 6}), newMemory(32, 4, 6)
	toks := count(0, 14)
	m.fill(t, c, Namespace{}, toks, 6, 13)
	checked(t, c)
	for _, want := range []struct{ max, len, shared int }{{14, 13, 14}, {13, 13, 13}, {12, 6, 12}, {6, 6, 6}, {5, 0, 5}} {
		h := mustMatch(t, c, Namespace{}, toks, want.max)
		if h.Len != want.len || h.Shared != want.shared || (h.State == 0) != (h.Len == 0) || len(h.Blocks) != BlocksFor(0, h.Len, 4) {
			t.Errorf("max %d: covers %d of %d shared, state %d", want.max, h.Len, h.Shared, h.State)
		}
		h.Release()
	}
	m.holds(t, c, Namespace{}, toks[:13])
	checked(t, c)
}

// TestJunctionIsKept: where a second prompt leaves the first one at a place without a checkpoint,
// computing it leaves one, and the third finds it.
func TestJunctionIsKept(t *testing.T) {
	t.Parallel()
	c, m := newCache(t, Options{Blocks: 32, BlockSize: 4, States: 6}), newMemory(32, 4, 6)
	first := count(0, 12)
	m.fill(t, c, Namespace{}, first, 12)
	branch := func(at int32) []int32 { return append(count(0, 9), at, at, at) }
	m.fill(t, c, Namespace{}, branch(50))
	h := mustMatch(t, c, Namespace{}, branch(60), 12)
	defer h.Release()
	if h.Len != 9 || m.states[h.State] != m.rows[h.Blocks[2]][0] {
		t.Errorf("covers %d tokens, state %d", h.Len, h.State)
	}
}

func TestCheckpointsAreEvictedByUse(t *testing.T) {
	t.Parallel()
	c, m := newCache(t, Options{Blocks: 64, BlockSize: 4, States: 4}), newMemory(64, 4, 4)
	for i := range 3 {
		m.fill(t, c, Namespace{}, count(100*i, 8), 8)
	}
	mustMatch(t, c, Namespace{}, count(0, 8), 8).Release() // the first is used again
	m.fill(t, c, Namespace{}, count(300, 8), 4, 8)         // needs three states: one is free
	checked(t, c)
	for i, want := range []int{8, 0, 0, 8} {
		h := mustMatch(t, c, Namespace{}, count(100*i, 8), 8)
		if h.Len != want {
			t.Errorf("prefix %d: covers %d tokens, want %d", i, h.Len, want)
		}
		h.Release()
	}
}

func TestNoStateLeft(t *testing.T) {
	t.Parallel()
	c := newCache(t, Options{Blocks: 16, BlockSize: 4, States: 2})
	a := mustSequence(t, c, Namespace{}, nil, count(0, 8))
	a.Mark(4)
	a.Reserve(4)
	_, save := a.States(4)
	b := mustSequence2(c, count(50, 4))
	var e *CapacityError
	if save == 0 || !errors.As(b, &e) || !errors.Is(b, ErrStates) {
		t.Fatalf("save to %d, second sequence: %v", save, b)
	}
	a.Reserve(8)
	if from, last := a.States(8); from != save || last == save || last == 0 {
		t.Errorf("from %d to %d", from, last)
	}
	a.Release()
	checked(t, c)
	if s := c.Stats(); s.StatesFree != 2 {
		t.Errorf("%d states free", s.StatesFree)
	}
}

func mustSequence2(c *Cache, toks []int32) error {
	_, err := c.NewSequence(Namespace{}, nil, toks)
	return err
}

// TestCheckpointsFollowTheirTokens: when another block comes to stand for a block's tokens, the
// checkpoints go with them.
func TestCheckpointsFollowTheirTokens(t *testing.T) {
	t.Parallel()
	run := func(name string, ends []int, want int) {
		c := newCache(t, Options{Blocks: 16, BlockSize: 8, States: 9})
		var seqs []*Sequence
		for i, n := range ends { // all start cold, and seal the same tokens at the same time
			s := mustSequence(t, c, Namespace{}, nil, count(0, 8))
			s.Mark(2+i, 5)
			seqs = append(seqs, s)
			for _, to := range []int{2 + i, 5, n} {
				if to > s.Reserved() {
					if _, _, err := s.Reserve(to); err != nil {
						t.Fatal(err)
					}
					s.States(to)
				}
			}
		}
		for i, s := range seqs {
			if err := s.Seal(ends[i]); err != nil {
				t.Fatal(err)
			}
			checked(t, c)
		}
		for _, s := range seqs {
			s.Release()
		}
		checked(t, c)
		for i := range ends {
			h := mustMatch(t, c, Namespace{}, count(0, 8), 2+i)
			if h.Len != 2+i {
				t.Errorf("%s: checkpoint at %d: covers %d", name, 2+i, h.Len)
			}
			h.Release()
		}
		if s := c.Stats(); s.Checkpoints != want || s.StatesFree+s.Checkpoints != s.States {
			t.Errorf("%s: %d checkpoints, %d states free of %d", name, s.Checkpoints, s.StatesFree, s.States)
		}
	}
	run("a longer block covers the second", []int{8, 6}, 3)
	run("the second outgrows the first", []int{6, 8}, 3)
	run("twins", []int{8, 8}, 3)
}

func TestForkCopiesTheState(t *testing.T) {
	t.Parallel()
	c := newCache(t, Options{Blocks: 16, BlockSize: 4, States: 8})
	s := mustSequence(t, c, Namespace{}, nil, count(0, 6))
	s.Reserve(6)
	if _, err := s.Fork(); !errors.Is(err, ErrRows) {
		t.Fatalf("fork beside a step: %v", err)
	}
	_, save := s.States(6)
	s.Seal(6)
	f, err := s.Fork()
	if err != nil {
		t.Fatal(err)
	}
	mv, ok := f.StateCopy()
	if !ok || mv.From != save || mv.To == save || mv.To != f.State() {
		t.Errorf("copy %+v, %v", mv, ok)
	}
	if _, again := f.StateCopy(); again {
		t.Error("copied twice")
	}
	f.Release()
	s.Release()
	checked(t, c)
}
