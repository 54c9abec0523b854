package share_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hotpath-go/hotpath/internal/share"
)

func TestMadeOnceReleasedByTheLast(t *testing.T) {
	t.Parallel()
	var c share.Cache[int]
	var made, released atomic.Int32
	make := func() (int, func() error, error) {
		made.Add(1)
		return 7, func() error { released.Add(1); return nil }, nil
	}
	var wg sync.WaitGroup
	releases := [64]func() error{}
	for i := range releases {
		wg.Add(1)
		go func() {
			defer wg.Done()
			v, release, err := c.Get("k", make)
			if v != 7 || err != nil {
				t.Errorf("Get: %d, %v", v, err)
			}
			releases[i] = release
		}()
	}
	wg.Wait()
	for i, release := range releases {
		if released.Load() != 0 {
			t.Fatalf("released while %d users hold it", len(releases)-i)
		}
		for range 2 {
			if err := release(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if made.Load() != 1 || released.Load() != 1 || c.Len() != 0 {
		t.Fatalf("made %d, released %d, %d left; want 1, 1, 0", made.Load(), released.Load(), c.Len())
	}
}

func TestErrorIsNotKept(t *testing.T) {
	t.Parallel()
	var c share.Cache[int]
	bad := errors.New("bad")
	if _, _, err := c.Get("k", func() (int, func() error, error) { return 0, nil, bad }); err != bad {
		t.Fatalf("got %v", err)
	}
	v, release, err := c.Get("k", func() (int, func() error, error) { return 3, nil, nil })
	if v != 3 || err != nil || release() != nil {
		t.Fatalf("second Get: %d, %v", v, err)
	}
}
