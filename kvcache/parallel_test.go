package kvcache

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/hotpath-go/hotpath/internal/race"
)

// TestGoroutinesNeverCross: 64 goroutines compute, fork, read and release on a pool that holds a
// few of their histories. Rows are plain memory, so that the race detector sees two writers of a
// row, or a row that changes under its readers; each row carries the digest of its history.
func TestGoroutinesNeverCross(t *testing.T) {
	t.Parallel()
	const blocks, size = 96, 4
	c := newCache(t, Options{Blocks: blocks, BlockSize: size, HoldShare: 0.2})
	rows := make([][size]uint64, blocks)
	rounds := 400
	if race.Enabled {
		rounds = 60
	}
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 3))
			for range rounds {
				if err := oneRequest(c, rows, r, g); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	checked(t, c)
	if s := c.Stats(); s.Referenced != 0 || s.HitTokens == 0 || s.Evicted == 0 || s.Copied == 0 {
		t.Errorf("%+v", s)
	}
}

func oneRequest(c *Cache, rows [][4]uint64, r *rand.Rand, g int) error {
	ns := Namespace{}
	if g%8 == 0 {
		ns.Salt = fmt.Sprint(g)
	}
	toks := make([]int32, 1+r.IntN(24))
	for i := range toks {
		if r.IntN(9) == 0 {
			toks[i] = int32(r.IntN(2))
		}
	}
	h, err := c.Match(ns, toks, r.IntN(len(toks)+1))
	if err != nil {
		return err
	}
	s, err := c.NewSequence(ns, h, toks)
	if err != nil {
		return err
	}
	defer s.Release()
	check := func(s *Sequence) error {
		d := start(ns)
		for i, tok := range toks[:s.Sealed()] {
			d = mix(d, tok)
			if got := rows[s.Blocks()[i/4]][i%4]; got != d {
				return fmt.Errorf("goroutine %d: row %d holds another history", g, i)
			}
		}
		return nil
	}
	for s.Sealed() < len(toks) {
		n := min(len(toks), s.Sealed()+1+r.IntN(7))
		from := s.Reserved()
		mv, moved, err := s.Reserve(n)
		if errors.Is(err, ErrFull) {
			return nil
		}
		if err != nil {
			return err
		}
		if moved {
			copy(rows[mv.To][:mv.Rows], rows[mv.From][:mv.Rows])
		}
		d := start(ns)
		for i, tok := range toks[:n] {
			if d = mix(d, tok); i >= from {
				rows[s.Blocks()[i/4]][i%4] = d
			}
		}
		if r.IntN(9) == 0 {
			return nil // given up in the middle of a step
		}
		if err := s.Seal(n); err != nil {
			return err
		}
		if err := check(s); err != nil {
			return err
		}
		if r.IntN(5) == 0 {
			f, err := s.Fork()
			if err != nil {
				return err
			}
			defer f.Release()
			if s, f = f, s; r.IntN(2) == 0 {
				f.Release()
			}
		}
	}
	return check(s)
}
