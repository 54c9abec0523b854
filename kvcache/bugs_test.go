package kvcache

import (
	"slices"
	"testing"
	"time"
)

// The kinds of bugs that other engines' caches had, each as a test that would find it here.

// Predictable or truncated hashes: histories that collide under many hash functions stay apart,
// since tokens are compared.
func TestHistoriesThatHashAlikeStayApart(t *testing.T) {
	t.Parallel()
	c, m := newCache(t, Options{Blocks: 600, BlockSize: 2}), newMemory(600, 2, 0)
	var all [][]int32
	for a := range int32(8) { // permutations, sums and shifts of each other
		for b := range int32(8) {
			all = append(all, []int32{a, b, b, a}, []int32{b << 16, a << 16, 0, -1})
		}
	}
	for _, toks := range all {
		m.fill(t, c, Namespace{}, toks)
	}
	checked(t, c)
	for _, toks := range all {
		m.holds(t, c, Namespace{}, toks)
	}
}

// A token id is data of its position: blocks with equal tokens after different histories differ.
func TestEqualBlocksAfterDifferentHistoriesDiffer(t *testing.T) {
	t.Parallel()
	c, m := newCache(t, Options{Blocks: 32, BlockSize: 4}), newMemory(32, 4, 0)
	same := []int32{7, 7, 7, 7}
	m.fill(t, c, Namespace{}, append(count(0, 4), same...))
	m.fill(t, c, Namespace{}, append(count(4, 4), same...))
	m.fill(t, c, Namespace{}, same)
	m.holds(t, c, Namespace{}, append(count(4, 4), same...))
	if s := c.Stats(); s.Indexed != 5 {
		t.Errorf("%d blocks", s.Indexed)
	}
}

// Timing tells what is cached: another salt never hits, whatever the prompt.
func TestSaltHidesWhatIsCached(t *testing.T) {
	t.Parallel()
	c := newCache(t, Options{Blocks: 32, BlockSize: 4})
	cached(t, c, Namespace{Salt: "alice"}, count(0, 12))
	if n, idle := c.Peek(Namespace{Salt: "bob"}, count(0, 12), 12); n != 0 || idle != 0 {
		t.Errorf("bob sees %d tokens, %d blocks", n, idle)
	}
}

// Over-commit: a hit's blocks that nobody referred to count as taken once it is made.
func TestIdleHitBlocksCountAsNeeded(t *testing.T) {
	t.Parallel()
	c := newCache(t, Options{Blocks: 4, BlockSize: 4})
	cached(t, c, Namespace{}, count(0, 12))
	if _, idle := c.Peek(Namespace{}, count(0, 16), 16); idle != 3 {
		t.Fatalf("%d idle blocks in the hit", idle)
	}
	h := mustMatch(t, c, Namespace{}, count(0, 16), 16)
	if got := c.Available(); got != 1 {
		t.Errorf("%d blocks available beside the hit", got)
	}
	s := mustSequence(t, c, Namespace{}, h, count(0, 24))
	if _, _, err := s.Reserve(24); err == nil {
		t.Error("six blocks out of four")
	}
	compute(t, s, 16)
	s.Release()
	checked(t, c)
}

// Stale keys: a history that is rewritten does not leave its new rows under the old tokens, nor
// lose the old ones while others use them.
func TestRewrittenHistoryHasNoStaleKeys(t *testing.T) {
	t.Parallel()
	c := newCache(t, Options{Blocks: 32, BlockSize: 4})
	old := count(0, 11)
	s := mustSequence(t, c, Namespace{}, nil, old)
	compute(t, s, 11)
	reader := mustMatch(t, c, Namespace{}, old, 11)
	if err := s.Truncate(6); err != nil {
		t.Fatal(err)
	}
	s.Append(90, 91, 92, 93, 94)
	moves := compute(t, s, 11)
	if len(moves) != 1 || moves[0].Rows != 2 || slices.Contains(reader.Blocks, moves[0].To) {
		t.Fatalf("copies %v beside a reader of %v", moves, reader.Blocks)
	}
	checked(t, c)
	for _, b := range s.Blocks()[1:] {
		if slices.Contains(reader.Blocks, b) {
			t.Errorf("block %d is rewritten under its reader", b)
		}
	}
	for _, want := range []struct {
		toks []int32
		n    int
	}{{old, 11}, {append(count(0, 6), 90, 91, 92, 93, 94), 11}, {append(count(0, 6), 90, 7), 7}} {
		h := mustMatch(t, c, Namespace{}, want.toks, len(want.toks))
		if h.Len != want.n {
			t.Errorf("%v: covers %d", want.toks, h.Len)
		}
		h.Release()
	}
	reader.Release()
}

// A step that failed, or was given up, leaves no key for rows that did not finish.
func TestFailedStepLeavesNoKey(t *testing.T) {
	t.Parallel()
	c := newCache(t, Options{Blocks: 16, BlockSize: 4})
	toks := count(0, 16)
	s := mustSequence(t, c, Namespace{}, nil, toks)
	compute(t, s, 6)
	if _, _, err := s.Reserve(16); err != nil {
		t.Fatal(err)
	}
	if n, _ := c.Peek(Namespace{}, toks, 16); n != 6 {
		t.Errorf("%d tokens are found beside the step", n)
	}
	s.Release()
	checked(t, c)
	if n, _ := c.Peek(Namespace{}, toks, 16); n != 6 {
		t.Errorf("%d tokens are found after it failed", n)
	}
	if st := c.Stats(); st.Cached != 2 || st.Free != 14 {
		t.Errorf("%+v", st)
	}
}

// The source of a copy outlives the copy: nobody gets its block before the step has ended.
func TestSourceOfACopyIsFenced(t *testing.T) {
	t.Parallel()
	c := newCache(t, Options{Blocks: 3, BlockSize: 4})
	cached(t, c, Namespace{}, count(0, 4))
	toks := []int32{0, 1, 90}
	s := mustSequence(t, c, Namespace{}, mustMatch(t, c, Namespace{}, toks, 3), toks)
	mv, moved, err := s.Reserve(3)
	if err != nil || !moved {
		t.Fatal(moved, err)
	}
	c.Clear() // not even the index keeps it now
	other := mustSequence(t, c, Namespace{}, nil, count(50, 8))
	if _, _, err := other.Reserve(8); err == nil {
		t.Fatalf("somebody else writes block %d or %d beside the copy", mv.From, mv.To)
	}
	if err := s.Seal(3); err != nil {
		t.Fatal(err)
	}
	if _, _, err := other.Reserve(8); err != nil {
		t.Fatal(err)
	}
	other.Release()
	s.Release()
	checked(t, c)
}

// Transient blocks flush nothing: what no one will find again goes before cached prefixes, and of
// a prefix the tail goes before the head.
func TestEvictionOrder(t *testing.T) {
	t.Parallel()
	var gone []BlockID
	c := newCache(t, Options{Blocks: 6, BlockSize: 4, Events: func(e Event) {
		if e.Kind == Removed {
			gone = append(gone, e.Block)
		}
	}})
	s := mustSequence(t, c, Namespace{}, nil, count(0, 12))
	compute(t, s, 12)
	blocks := slices.Clone(s.Blocks())
	s.Release()
	private := mustSequence(t, c, Namespace{}, nil, count(100, 12))
	private.SetPrivate()
	compute(t, private, 12)
	private.Release()
	next := mustSequence(t, c, Namespace{}, nil, count(200, 24))
	compute(t, next, 12)
	if len(gone) != 0 {
		t.Errorf("%v evicted while unindexed blocks were free", gone)
	}
	compute(t, next, 16)
	compute(t, next, 24)
	if want := []BlockID{blocks[2], blocks[1], blocks[0]}; !slices.Equal(gone, want) {
		t.Errorf("evicted %v, want %v", gone, want)
	}
	checked(t, c)
}

// Duplicates: two requests that computed the same at the same time end on the same blocks.
func TestTwinsShareOneBlock(t *testing.T) {
	t.Parallel()
	c := newCache(t, Options{Blocks: 16, BlockSize: 4})
	toks := count(0, 10)
	a, b := mustSequence(t, c, Namespace{}, nil, toks), mustSequence(t, c, Namespace{}, nil, toks)
	for _, s := range []*Sequence{a, b} {
		if _, _, err := s.Reserve(10); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []*Sequence{a, b} {
		if err := s.Seal(10); err != nil {
			t.Fatal(err)
		}
		checked(t, c)
	}
	if !slices.Equal(a.Blocks()[:2], b.Blocks()[:2]) || a.Blocks()[2] == b.Blocks()[2] {
		t.Errorf("tables %v and %v: full blocks shared, the growing ones not", a.Blocks(), b.Blocks())
	}
	if s := c.Stats(); s.Deduplicated != 2 || s.Referenced != 4 {
		t.Errorf("%+v", s)
	}
	a.Append(1, 2)
	b.Append(1, 2)
	compute(t, a, 12)
	if m := compute(t, b, 12); len(m) != 0 || a.Blocks()[2] != b.Blocks()[2] {
		t.Errorf("copies %v, tables %v and %v", m, a.Blocks(), b.Blocks())
	}
	a.Release()
	b.Release()
	checked(t, c)
}

// Deciding on a running generation with a half-full tail takes no block and makes it copy nothing.
func TestReadBesideAWriter(t *testing.T) {
	t.Parallel()
	c := newCache(t, Options{Blocks: 4, BlockSize: 4, Scratch: 2})
	s := mustSequence(t, c, Namespace{}, nil, count(0, 6))
	compute(t, s, 6)
	before := c.Stats()
	h := mustMatch(t, c, Namespace{}, count(0, 6), 6)
	bs, err := c.TakeScratch(2)
	if err != nil {
		t.Fatal(err)
	}
	if during := c.Stats(); h.Len != 6 || during.Free != before.Free || during.Referenced != before.Referenced {
		t.Errorf("covers %d; %+v, before %+v", h.Len, during, before)
	}
	s.Append(7)
	if m := compute(t, s, 7); len(m) != 0 {
		t.Errorf("the writer copies %v", m)
	}
	c.GiveScratch(bs)
	h.Release()
	after := c.Stats()
	if after.Evicted != 0 || after.Copied != 0 || after.Free != before.Free {
		t.Errorf("%+v", after)
	}
	s.Release()
	checked(t, c)
}

func TestEventsTellWhatTheIndexHolds(t *testing.T) {
	t.Parallel()
	var got []Event
	c := newCache(t, Options{Blocks: 3, BlockSize: 4, Events: func(e Event) {
		e.Tokens = slices.Clone(e.Tokens)
		got = append(got, e)
	}})
	ns := Namespace{Salt: "s"}
	s := mustSequence(t, c, ns, nil, count(0, 6))
	compute(t, s, 3)
	compute(t, s, 6)
	b := slices.Clone(s.Blocks())
	s.Release()
	cached(t, c, Namespace{}, count(50, 8))
	c.Clear()
	n := mustMatch(t, c, Namespace{}, count(50, 8), 8)
	want := []Event{
		{Stored, ns, b[0], NoBlock, count(0, 3)},
		{Stored, ns, b[0], NoBlock, count(0, 4)},
		{Stored, ns, b[1], b[0], count(4, 2)},
		{Removed, Namespace{}, b[1], 0, nil},
		{Stored, Namespace{}, 2, NoBlock, count(50, 4)},
		{Stored, Namespace{}, b[1], 2, count(54, 4)},
		{Cleared, Namespace{}, NoBlock, NoBlock, nil},
	}
	same := func(a, b Event) bool {
		return a.Kind == b.Kind && a.Namespace == b.Namespace && a.Block == b.Block && a.Parent == b.Parent && slices.Equal(a.Tokens, b.Tokens)
	}
	if !slices.EqualFunc(got, want, same) || n.Len != 0 {
		t.Errorf("got  %v\nwant %v; hit of %d", got, want, n.Len)
	}
	checked(t, c)
}

func TestClearWhileSequencesRun(t *testing.T) {
	t.Parallel()
	c := newCache(t, Options{Blocks: 16, BlockSize: 4})
	s := mustSequence(t, c, Namespace{}, nil, count(0, 10))
	compute(t, s, 8)
	c.Clear()
	checked(t, c)
	compute(t, s, 10)
	checked(t, c)
	if h := mustMatch(t, c, Namespace{}, count(0, 10), 10); h.Len != 10 {
		t.Errorf("covers %d tokens of what was sealed anew", h.Len)
	}
}

func TestPrefixSurvival(t *testing.T) {
	t.Parallel()
	c := newCache(t, Options{Blocks: 16, BlockSize: 4})
	call := func(caller string, toks []int32, decides bool) {
		h := mustMatch(t, c, Namespace{}, toks, len(toks))
		c.Called(caller, h)
		s := mustSequence(t, c, Namespace{}, h, toks)
		compute(t, s, len(toks))
		if decides {
			h, err := s.Hit(len(toks))
			if err != nil {
				t.Fatal(err)
			}
			c.Decided(caller, h)
			h.Release()
		}
		s.Release()
	}
	call("a", count(0, 10), true)
	call("b", count(0, 10), false) // somebody else's call is not a's next one
	if _, ok := c.Stats().Survival.Share(); ok {
		t.Error("a share before a called again")
	}
	call("a", append(count(0, 10), 50, 51), false)
	call("a", count(0, 10), false) // counted once
	if s := c.Stats().Survival; s != (Survival{Decided: 10, Reused: 10}) {
		t.Errorf("%+v", s)
	}
	call("a", count(0, 10), true)
	call("a", append(count(0, 6), 90, 91, 92), false) // leaves the state in the middle
	if s := c.Stats().Survival; s != (Survival{Decided: 20, Reused: 16}) {
		t.Errorf("%+v", s)
	}
	call("a", count(0, 10), true)
	call("x", count(500, 64), false) // evicts it all
	call("a", count(0, 10), false)
	s := c.Stats().Survival
	if share, ok := s.Share(); s != (Survival{Decided: 30, Reused: 16}) || !ok || share < 0.53 || share > 0.54 {
		t.Errorf("%+v", s)
	}
}

func TestAgeAtEviction(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	c := newCache(t, Options{Blocks: 2, BlockSize: 4, Now: func() time.Time { return now }})
	cached(t, c, Namespace{}, count(0, 8))
	now = now.Add(3 * time.Second)
	c.Available() // once a step
	s := mustSequence(t, c, Namespace{}, nil, count(50, 8))
	compute(t, s, 8)
	if a := c.Stats().EvictedAge; a.Count != 2 || a.Mean != 3*time.Second || a.Max != 3*time.Second || a.Median != 3*time.Second {
		t.Errorf("%+v", a)
	}
}
