package engine_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model/chat"
)

// What is warm is shared by Generate and Decide, and stays while others fill the pool.
func TestWarmIsPinned(t *testing.T) {
	t.Parallel()
	e := openFake(t, &backendtest.Fake{}, blocks(32, 24))
	ids := sequence(1, 40)
	hold, err := e.Warm(t.Context(), chat.Tokens(ids...), 0)
	if err != nil {
		t.Fatal(err)
	}
	if hold.Tokens() != 40 || !hold.Expires().IsZero() {
		t.Errorf("%d tokens held until %v", hold.Tokens(), hold.Expires())
	}
	s := e.Stats().Cache
	if s.Held != 3 || len(s.Holders) != 1 || s.Holders[0].Tokens != 40 || s.Holders[0].Blocks != 3 || s.Holders[0].Name == "" {
		t.Errorf("held %d, holders %+v", s.Held, s.Holders)
	}
	churn := func() {
		for i := range 10 {
			generate(t, e, write(sequence(100+i, 100), 30))
		}
	}
	churn()
	if n := covered(e, "", ids); n != 40 {
		t.Errorf("%d of 40 held tokens are left", n)
	}
	g := generate(t, e, write(concat(ids, sequence(2, 5)), 1))
	d := decideOn(t, e, ask(decide.Tokens(ids...)))
	if g.Usage.CachedTokens != 40 || d.Usage.CachedTokens != 40 {
		t.Errorf("cached: %d for a generation, %d for a decision", g.Usage.CachedTokens, d.Usage.CachedTokens)
	}
	// Warming what is hot computes nothing.
	rows := e.Stats().Rows
	again, err := e.Warm(t.Context(), chat.Tokens(ids[:30]...), 0)
	if err != nil {
		t.Fatal(err)
	}
	if n := e.Stats().Rows - rows; n != 0 {
		t.Errorf("%d rows computed for a hot prefix", n)
	}
	hold.Release()
	hold.Release()
	if s := e.Stats().Cache; s.Held != 2 || len(s.Holders) != 1 {
		t.Errorf("after one release: held %d, holders %+v", s.Held, s.Holders)
	}
	again.Release()
	if s := e.Stats().Cache; s.Held != 0 || len(s.Holders) != 0 || s.Referenced != 0 {
		t.Errorf("after both: held %d, referenced %d", s.Held, s.Referenced)
	}
	churn()
	if n := covered(e, "", ids); n != 0 {
		t.Errorf("%d tokens are left after the release", n)
	}
}

func TestWarmExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := openFake(t, &backendtest.Fake{}, blocks(32, 24))
		hold, err := e.Warm(t.Context(), chat.Tokens(sequence(1, 40)...), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if want := time.Now().Add(time.Hour); !hold.Expires().Equal(want) {
			t.Errorf("expires %v, want %v", hold.Expires(), want)
		}
		time.Sleep(time.Hour - time.Second)
		if n := e.Stats().Cache.Held; n != 3 {
			t.Errorf("%d blocks held a second before the end", n)
		}
		time.Sleep(time.Second)
		if s := e.Stats().Cache; s.Held != 0 || s.Referenced != 0 {
			t.Errorf("at the end %d blocks are held, %d referenced", s.Held, s.Referenced)
		}
		hold.Release()
		checkIdle(t, e)
	})
}

// Holds are capped at a quarter of the pool; beyond it the prefix is cached and not pinned.
func TestWarmCap(t *testing.T) {
	t.Parallel()
	e := openFake(t, &backendtest.Fake{}, blocks(16, 24))
	first, err := e.Warm(t.Context(), chat.Tokens(sequence(1, 48)...), 0)
	if err != nil {
		t.Fatal(err)
	}
	ids := sequence(2, 32)
	_, err = e.Warm(t.Context(), chat.Tokens(ids...), 0)
	var room *kvcache.CapacityError
	if !errors.Is(err, kvcache.ErrHoldCap) || !errors.As(err, &room) || room.Need != 5 || room.Have != 4 || len(room.Holders) != 1 {
		t.Errorf("error %v, %+v", err, room)
	}
	if err != nil && !strings.Contains(err.Error(), `3 by "Warm"`) {
		t.Errorf("error %q does not name the holder", err)
	}
	if n := covered(e, "", ids); n != 32 {
		t.Errorf("%d of 32 tokens are cached", n)
	}
	first.Release()
	second, err := e.Warm(t.Context(), chat.Tokens(ids...), 0)
	if err != nil {
		t.Fatal(err)
	}
	second.Release()
}

// A request that only holds keep from running fails at once and names them.
func TestHoldersAreNamed(t *testing.T) {
	t.Parallel()
	e := openFake(t, &backendtest.Fake{}, blocks(16, 24))
	ids := sequence(1, 64)
	hold, err := e.Warm(t.Context(), chat.Tokens(ids...), 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Generate(t.Context(), write(sequence(2, 200), 1)) // 13 blocks of the 12 that are left
	var room *kvcache.CapacityError
	if !errors.Is(err, kvcache.ErrHeld) || !errors.As(err, &room) || room.Need != 13 || room.Have != 12 {
		t.Errorf("error %v", err)
	}
	if err != nil && !strings.Contains(err.Error(), `4 by "Warm"`) {
		t.Errorf("error %q does not name the holder", err)
	}
	generate(t, e, write(concat(ids, sequence(2, 136)), 1)) // the held ones are its own
	hold.Release()
	generate(t, e, write(sequence(2, 200), 1))
}

// Many warm the same prefix at once: it is computed once, and each has a hold of its own.
func TestWarmTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &backendtest.Fake{InFlight: 1}
		g := gated(t, f)
		e := openFake(t, f, engine.WithStepRows(32))
		t.Cleanup(g.free)
		ids := sequence(1, 100)
		var calls []<-chan result[*engine.Hold]
		for range 5 {
			calls = append(calls, begin(func() (*engine.Hold, error) { return e.Warm(t.Context(), chat.Tokens(ids...), time.Hour) }))
		}
		g.step()
		g.free()
		for i, c := range calls {
			r := <-c
			if r.err != nil {
				t.Fatal(r.err)
			}
			if s := e.Stats(); s.Rows != 100 {
				t.Errorf("%d rows computed for 100 tokens", s.Rows)
			}
			if i == 0 {
				synctest.Wait()
			}
			r.value.Release()
		}
	})
}

// Calls that need no row are all served, though one plan looks at a part of the queue alone.
func TestWarmManyHot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &backendtest.Fake{InFlight: 1}
		e := openFake(t, f)
		ids := sequence(1, 100)
		generate(t, e, write(ids, 1))
		g := gated(t, f)
		t.Cleanup(g.free)
		busy := begin(func() (*engine.Generation, error) { return e.Generate(t.Context(), write(sequence(2, 20), 1)) })
		g.step()
		var calls []<-chan result[*engine.Hold]
		for i := range 300 {
			calls = append(calls, begin(func() (*engine.Hold, error) { return e.Warm(t.Context(), chat.Tokens(ids[:1+i%100]...), time.Hour) }))
		}
		synctest.Wait()
		g.free()
		synctest.Wait()
		if r := <-busy; r.err != nil {
			t.Error(r.err)
		}
		waiting := 0
		for _, c := range calls {
			select {
			case r := <-c:
				if r.err != nil {
					t.Error(r.err)
				}
			default:
				waiting++
			}
		}
		if waiting > 0 {
			t.Errorf("%d of 300 calls wait on while nothing runs", waiting)
		}
	})
}
