package kvcache

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func holding(t *testing.T, c *Cache, toks []int32, name string, ttl time.Duration) (*Hold, error) {
	t.Helper()
	return c.Hold(mustMatch(t, c, Namespace{}, toks, len(toks)), name, ttl)
}

func TestHoldPinsUntilItEnds(t *testing.T) {
	t.Parallel()
	now := time.Unix(100, 0)
	c := newCache(t, Options{Blocks: 8, BlockSize: 4, HoldShare: 0.5, Now: func() time.Time { return now }})
	cached(t, c, Namespace{}, count(0, 6))
	cached(t, c, Namespace{}, count(100, 8))
	forever, err := holding(t, c, count(0, 6), "system", 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holding(t, c, count(100, 8), "tenant", time.Minute); err != nil {
		t.Fatal(err)
	}
	st := c.Stats()
	if st.Held != 4 || len(st.Holders) != 2 || forever.Tokens() != 6 {
		t.Fatalf("%+v", st)
	}

	s := mustSequence(t, c, Namespace{}, nil, count(500, 32))
	_, _, err = s.Reserve(32)
	var full *CapacityError
	if !errors.As(err, &full) || full.Need != 8 || full.Have != 4 || len(full.Holders) != 2 {
		t.Fatalf("%v", err)
	}
	for _, part := range []string{"8 needed", "4 available", `2 by "system"`, `2 by "tenant"`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %q", part, err)
		}
	}
	if err := c.Fits(Namespace{}, count(500, 32), 32); !errors.Is(err, ErrHeld) {
		t.Errorf("a request that holds leave no room for: %v", err)
	}
	if err := c.Fits(Namespace{}, count(0, 24), 24); err != nil { // two of its blocks are held for it
		t.Errorf("a request on the held prefix: %v", err)
	}
	if err := c.Fits(Namespace{}, nil, 33); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a request larger than the pool: %v", err)
	}

	now = now.Add(time.Minute) // the tenant's hold ends by itself, when someone needs the room
	if _, _, err := s.Reserve(24); err != nil {
		t.Fatal(err)
	}
	forever.Release()
	forever.Release()
	if _, _, err := s.Reserve(32); err != nil {
		t.Fatal(err)
	}
	if st := c.Stats(); st.Held != 0 || len(st.Holders) != 0 {
		t.Errorf("%+v", st)
	}
	s.Release()
	checked(t, c)
}

func TestHoldsAreCapped(t *testing.T) {
	t.Parallel()
	c := newCache(t, Options{Blocks: 8, BlockSize: 4, HoldShare: 0.5})
	cached(t, c, Namespace{}, count(0, 24))
	if _, err := holding(t, c, count(0, 16), "a", 0); err != nil {
		t.Fatal(err)
	}
	hit := mustMatch(t, c, Namespace{}, count(0, 20), 20)
	_, err := c.Hold(hit, "b", 0)
	var e *CapacityError
	if !errors.As(err, &e) || !errors.Is(err, ErrHoldCap) || e.Need != 5 || e.Have != 4 {
		t.Fatal(err)
	}
	hit.Release() // still the caller's
	if _, err := holding(t, c, count(0, 12), "b", 0); err != nil {
		t.Errorf("blocks that are held already cost nothing: %v", err)
	}
	if s := c.Stats(); s.Held != 4 {
		t.Errorf("%d blocks held", s.Held)
	}
	checked(t, c)
}
