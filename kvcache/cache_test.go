package kvcache

import (
	"errors"
	"slices"
	"testing"
)

// count returns the tokens first, first+1, … n of them.
func count(first, n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(first + i)
	}
	return out
}

func newCache(t testing.TB, o Options) *Cache {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func checked(t testing.TB, c *Cache) {
	t.Helper()
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
}

func mustMatch(t testing.TB, c *Cache, ns Namespace, toks []int32, max int) *Hit {
	t.Helper()
	h, err := c.Match(ns, toks, max)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func mustSequence(t testing.TB, c *Cache, ns Namespace, h *Hit, toks []int32) *Sequence {
	t.Helper()
	s, err := c.NewSequence(ns, h, toks)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// compute reserves and seals the rows up to n, as a finished step would.
func compute(t testing.TB, s *Sequence, n int) (moves []Copy) {
	t.Helper()
	m, moved, err := s.Reserve(n)
	if err != nil {
		t.Fatal(err)
	}
	if moved {
		moves = append(moves, m)
	}
	if err := s.Seal(n); err != nil {
		t.Fatal(err)
	}
	return moves
}

// cached computes the tokens in a sequence of their own and releases it.
func cached(t testing.TB, c *Cache, ns Namespace, toks []int32) {
	t.Helper()
	h := mustMatch(t, c, ns, toks, len(toks))
	s := mustSequence(t, c, ns, h, toks)
	compute(t, s, len(toks))
	s.Release()
}

func TestHitEndsAtTheExactToken(t *testing.T) {
	t.Parallel()
	c := newCache(t, Options{Blocks: 16, BlockSize: 4})
	toks := count(100, 11)
	cached(t, c, Namespace{}, toks)
	checked(t, c)
	for max := range 12 {
		h := mustMatch(t, c, Namespace{}, toks, max)
		if h.Len != max || len(h.Blocks) != BlocksFor(0, max, 4) {
			t.Errorf("max %d: covers %d tokens with %d blocks", max, h.Len, len(h.Blocks))
		}
		h.Release()
	}
	// the leading part of a full block, and of a partial one
	for _, cut := range []int{2, 6, 9} {
		other := slices.Clone(toks)
		other[cut] = 7
		h := mustMatch(t, c, Namespace{}, other, len(other))
		if h.Len != cut {
			t.Errorf("differs at %d: covers %d", cut, h.Len)
		}
		h.Release()
	}
	checked(t, c)
}

func TestAppendingToAnIndexedTailCopiesNothing(t *testing.T) {
	t.Parallel()
	c := newCache(t, Options{Blocks: 16, BlockSize: 4})
	toks := count(0, 6)
	cached(t, c, Namespace{}, toks)
	long := count(0, 10)
	a := mustSequence(t, c, Namespace{}, mustMatch(t, c, Namespace{}, long, 9), long)
	b := mustSequence(t, c, Namespace{}, mustMatch(t, c, Namespace{}, toks, 6), append(count(0, 6), 99, 98))
	if a.Sealed() != 6 || b.Sealed() != 6 {
		t.Fatalf("hits of %d and %d tokens", a.Sealed(), b.Sealed())
	}
	if m := compute(t, a, 10); len(m) != 0 {
		t.Errorf("the single writer copied %v", m)
	}
	m := compute(t, b, 8)
	if len(m) != 1 || m[0].Rows != 2 || m[0].From != a.Blocks()[1] || m[0].To != b.Blocks()[1] {
		t.Errorf("the second writer copied %v", m)
	}
	checked(t, c)
	a.Release()
	b.Release()
	checked(t, c)
	if h := mustMatch(t, c, Namespace{}, append(count(0, 6), 99, 98, 97), 9); h.Len != 8 {
		t.Errorf("the branch covers %d tokens", h.Len)
	}
}

func TestNamespacesNeverMeet(t *testing.T) {
	t.Parallel()
	c := newCache(t, Options{Blocks: 16, BlockSize: 4})
	toks := count(0, 8)
	cached(t, c, Namespace{Salt: "a"}, toks)
	for _, ns := range []Namespace{{}, {Adapter: "a"}, {Salt: "a", Adapter: "a"}, {Salt: "b"}} {
		if h := mustMatch(t, c, ns, toks, 8); h.Len != 0 {
			t.Errorf("%+v finds %d tokens of another namespace", ns, h.Len)
		}
	}
	long := make([]byte, MaxNamespace+1)
	for _, ns := range []Namespace{{Salt: string(long)}, {Adapter: "a\nb"}, {Salt: "\xff"}} {
		if _, err := c.Match(ns, toks, 8); !errors.Is(err, ErrNamespace) {
			t.Errorf("%.10q: %v", ns, err)
		}
	}
}
