package kvcache

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hotpath-go/hotpath/internal/race"
)

// world drives a cache with random operations and keeps a plain model beside it: what each row of
// each block holds (a digest of the whole history up to that row, so a row that belongs to another
// history cannot pass), what the events say is indexed, and when each block became idle.
type world struct {
	t       *testing.T
	r       *rand.Rand
	c       *Cache
	size    int
	rows    [][]uint64           // block, slot: digest
	indexed map[BlockID]modelKey // from events alone
	idleAt  map[BlockID]int      // order in which blocks lost their last reference
	clock   int
	now     time.Time
	seqs    []*modelSeq
	hits    []*modelHit
	holds   []*modelHold
	scratch [][]BlockID
	evicted []BlockID
	taking  bool
}

type modelKey struct {
	ns     Namespace
	parent BlockID
	tokens []int32
}

type modelSeq struct {
	s       *Sequence
	tokens  []int32
	private bool
}

type modelHit struct {
	h      *Hit
	tokens []int32
}

type modelHold struct {
	h      *Hold
	blocks []BlockID
	ends   time.Time
}

// start and mix digest a history token by token.
func start(ns Namespace) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range []byte(ns.Salt + "\x00" + ns.Adapter) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}

func mix(h uint64, token int32) uint64 {
	h = (h ^ uint64(uint32(token))) * 1099511628211
	return h ^ h>>29
}

// anyone evicts in no order at all: heads before tails, too.
type anyone struct {
	idle []BlockID
	r    *rand.Rand
}

func (a *anyone) Add(b BlockID, _ Use) { a.idle = append(a.idle, b) }

func (a *anyone) Remove(b BlockID) {
	i := slices.Index(a.idle, b)
	a.idle = slices.Delete(a.idle, i, i+1)
}

func (a *anyone) Evict() (BlockID, bool) {
	if len(a.idle) == 0 {
		return NoBlock, false
	}
	b := a.idle[a.r.IntN(len(a.idle))]
	a.Remove(b)
	return b, true
}

func newWorld(t *testing.T, seed uint64, blocks, size int, policy Policy) *world {
	w := &world{
		t: t, r: rand.New(rand.NewPCG(seed, 1)), size: size, now: time.Unix(1e9, 0),
		indexed: map[BlockID]modelKey{}, idleAt: map[BlockID]int{},
		rows: make([][]uint64, blocks),
	}
	for i := range w.rows {
		w.rows[i] = make([]uint64, size)
	}
	w.c = newCache(t, Options{
		Blocks: blocks, BlockSize: size, Scratch: 8, HoldShare: 0.4, Policy: policy,
		Now: func() time.Time { return w.now }, Events: w.event,
	})
	return w
}

func (w *world) event(e Event) {
	switch e.Kind {
	case Stored:
		w.indexed[e.Block] = modelKey{e.Namespace, e.Parent, slices.Clone(e.Tokens)}
	case Removed:
		if _, ok := w.indexed[e.Block]; !ok {
			w.t.Fatalf("block %d removed twice", e.Block)
		}
		delete(w.indexed, e.Block)
		if w.taking {
			w.evicted = append(w.evicted, e.Block)
		}
	case Cleared:
		clear(w.indexed)
	}
}

// expect is the plain prefix search: a scan over all that events said is indexed.
func (w *world) expect(ns Namespace, tokens []int32) int {
	at, covered := NoBlock, 0
	for covered < len(tokens) {
		best, n := NoBlock, 0
		for b, k := range w.indexed {
			if k.ns != ns || k.parent != at {
				continue
			}
			m := 0
			for m < len(k.tokens) && covered+m < len(tokens) && k.tokens[m] == tokens[covered+m] {
				m++
			}
			if m > n {
				best, n = b, m
			}
		}
		covered += n
		if n < w.size {
			break
		}
		at = best
	}
	return covered
}

// verify compares the rows of a prefix with what its tokens say they must hold.
func (w *world) verify(what string, ns Namespace, tokens []int32, blocks []BlockID) {
	if len(blocks) != BlocksFor(0, len(tokens), w.size) {
		w.t.Fatalf("%s: %d blocks for %d tokens", what, len(blocks), len(tokens))
	}
	h := start(ns)
	for i, t := range tokens {
		h = mix(h, t)
		if got := w.rows[blocks[i/w.size]][i%w.size]; got != h {
			w.t.Fatalf("%s: row %d in block %d holds another history", what, i, blocks[i/w.size])
		}
	}
}

// tokens returns a history that often shares a prefix with others.
func (w *world) tokens() []int32 {
	n := 1 + w.r.IntN(5*w.size)
	out := make([]int32, n)
	for i := range out {
		if w.r.IntN(12) == 0 {
			out[i] = int32(w.r.IntN(3))
		}
	}
	return out
}

func (w *world) ns() Namespace {
	if w.r.IntN(6) == 0 {
		return Namespace{Salt: "s"}
	}
	return Namespace{}
}

func (w *world) references() []int {
	refs := make([]int, len(w.rows))
	for _, m := range w.seqs {
		for _, b := range m.s.Blocks() {
			refs[b]++
		}
		if m.s.fence != NoBlock {
			refs[m.s.fence]++
		}
	}
	for _, m := range w.hits {
		for _, b := range m.h.Blocks {
			refs[b]++
		}
	}
	for _, m := range w.holds {
		for _, b := range m.blocks {
			refs[b]++
		}
	}
	return refs
}

func (w *world) step() {
	op := w.r.IntN(100)
	switch {
	case op < 16: // match, and often start a sequence
		ns, toks := w.ns(), w.tokens()
		limit := w.r.IntN(len(toks) + 1)
		peek, _ := w.c.Peek(ns, toks, limit)
		want := w.expect(ns, toks[:limit])
		h, err := w.c.Match(ns, toks, limit)
		if err != nil {
			w.t.Fatal(err)
		}
		if h.Len != want || peek != want {
			w.t.Fatalf("match covers %d, peek %d, the model %d of %v", h.Len, peek, want, toks[:limit])
		}
		w.verify("hit", ns, toks[:h.Len], h.Blocks)
		if w.r.IntN(4) == 0 || len(w.seqs) > 6 {
			w.hits = append(w.hits, &modelHit{h, toks[:h.Len]})
			return
		}
		s := mustSequence(w.t, w.c, ns, h, toks)
		m := &modelSeq{s: s, tokens: slices.Clone(toks)}
		if w.r.IntN(10) == 0 {
			s.SetPrivate()
			m.private = true
		}
		w.seqs = append(w.seqs, m)
	case op < 24: // give a hit back, or hold it
		if len(w.hits) == 0 {
			return
		}
		i := w.r.IntN(len(w.hits))
		m := w.hits[i]
		w.verify("kept hit", m.h.Namespace, m.tokens, m.h.Blocks)
		if w.r.IntN(3) == 0 {
			blocks, ttl := m.h.Blocks, time.Duration(w.r.IntN(20))*time.Second
			hold, err := w.c.Hold(m.h, "h", ttl)
			if err == nil {
				mh := &modelHold{h: hold, blocks: blocks}
				if ttl > 0 {
					mh.ends = w.now.Add(ttl)
				}
				w.holds = append(w.holds, mh)
				w.hits = slices.Delete(w.hits, i, i+1)
				return
			}
			if !errors.Is(err, ErrHoldCap) {
				w.t.Fatal(err)
			}
		}
		m.h.Release()
		w.hits = slices.Delete(w.hits, i, i+1)
	case op < 27:
		if len(w.holds) > 0 {
			i := w.r.IntN(len(w.holds))
			w.holds[i].h.Release()
			w.holds = slices.Delete(w.holds, i, i+1)
		}
	case op < 30:
		w.now = w.now.Add(time.Duration(w.r.IntN(4)) * time.Second)
		w.c.Available() // lets holds expire
		w.holds = slices.DeleteFunc(w.holds, func(m *modelHold) bool { return !m.ends.IsZero() && !w.now.Before(m.ends) })
	case op < 34: // scratch
		if n := w.r.IntN(5); w.r.IntN(2) == 0 {
			bs, err := w.c.TakeScratch(n)
			if err == nil {
				w.scratch = append(w.scratch, bs)
			} else if !errors.Is(err, ErrBusy) {
				w.t.Fatal(err)
			}
		} else if len(w.scratch) > 0 {
			i := w.r.IntN(len(w.scratch))
			w.c.GiveScratch(w.scratch[i])
			w.scratch = slices.Delete(w.scratch, i, i+1)
		}
	case op == 34 && w.r.IntN(40) == 0:
		w.c.Clear()
		if len(w.indexed) != 0 {
			w.t.Fatal("cleared, and something is indexed")
		}
	default:
		if len(w.seqs) > 0 {
			w.sequence(w.r.IntN(len(w.seqs)), op)
		}
	}
}

func (w *world) sequence(i, op int) {
	m := w.seqs[i]
	s := m.s
	switch {
	case op < 50:
		n := 1 + w.r.IntN(3)
		for range n {
			t := int32(w.r.IntN(2))
			m.tokens = append(m.tokens, t)
			s.Append(t)
		}
	case op < 80: // a step: reserve, run the copy, write the rows; it may fail
		n := min(len(m.tokens), s.Reserved()+1+w.r.IntN(2*w.size))
		if n <= s.Reserved() && s.Reserved() == s.Sealed() {
			return
		}
		from, need := s.Reserved(), s.Need(n)
		have := w.c.Available()
		w.taking, w.evicted = true, nil
		move, moved, err := s.Reserve(n)
		w.taking = false
		if need > have {
			var full *CapacityError
			if !errors.As(err, &full) || full.Need != need || !errors.Is(err, ErrFull) {
				w.t.Fatalf("%d blocks needed of %d: %v", need, have, err)
			}
			return
		}
		if err != nil {
			w.t.Fatal(err)
		}
		w.oldestFirst()
		if moved {
			copy(w.rows[move.To][:move.Rows], w.rows[move.From][:move.Rows])
		}
		h := start(s.ns)
		for row, t := range m.tokens[:n] {
			if h = mix(h, t); row >= from {
				w.rows[s.Blocks()[row/w.size]][row%w.size] = h
			}
		}
		if w.r.IntN(8) == 0 {
			for row := s.Sealed(); row < s.Reserved(); row++ { // the step failed: garbage in its rows
				w.rows[s.Blocks()[row/w.size]][row%w.size] = 13
			}
			s.Unreserve(0)
			return
		}
		if w.r.IntN(4) > 0 {
			if err := s.Seal(s.Sealed() + 1 + w.r.IntN(s.Reserved()-s.Sealed())); err != nil {
				w.t.Fatal(err)
			}
		}
	case op < 85:
		if n := w.r.IntN(len(m.tokens) + 1); n > 0 {
			if err := s.Truncate(n); err != nil {
				w.t.Fatal(err)
			}
			m.tokens = m.tokens[:n]
		}
	case op < 90:
		if len(w.seqs) < 8 {
			f, err := s.Fork()
			if err != nil {
				w.t.Fatal(err)
			}
			w.seqs = append(w.seqs, &modelSeq{s: f, tokens: slices.Clone(m.tokens), private: m.private})
		}
	default:
		want := map[BlockID]bool{}
		refs := w.references()
		for _, b := range s.Blocks() {
			if refs[b] == 1 {
				want[b] = true
			}
		}
		if s.Frees() != len(want) {
			w.t.Fatalf("release would free %d blocks, the model says %d", s.Frees(), len(want))
		}
		s.Release()
		w.seqs = slices.Delete(w.seqs, i, i+1)
	}
}

// oldestFirst: each evicted block had been idle for longer than every idle block that stayed,
// save those that only left because the block they continue did.
func (w *world) oldestFirst() {
	if _, ok := w.c.opt.Policy.(*LRU); !ok {
		return
	}
	for _, b := range w.evicted {
		for other, at := range w.idleAt {
			if _, still := w.indexed[other]; still && w.c.pool.ref[other] == 0 && at < w.idleAt[b] {
				w.t.Fatalf("block %d was evicted before block %d, idle for longer", b, other)
			}
		}
	}
}

func (w *world) invariants() {
	if err := w.c.Check(); err != nil {
		w.t.Fatal(err)
	}
	refs := w.references()
	for b := range w.rows {
		id := BlockID(b)
		if int(w.c.pool.ref[b]) != refs[b] {
			w.t.Fatalf("block %d: %d references, the model says %d", b, w.c.pool.ref[b], refs[b])
		}
		key, ok := w.indexed[id]
		if ok != w.c.index.Has(id) || ok && !slices.Equal(key.tokens, w.c.index.Tokens(id)) {
			w.t.Fatalf("block %d: index and events disagree", b)
		}
	}
	for _, m := range w.seqs {
		w.verify("sequence", m.s.ns, m.tokens[:m.s.Sealed()], m.s.Blocks()[:BlocksFor(0, m.s.Sealed(), w.size)])
	}
}

// idleOrder notes which blocks lost their last reference in this operation, in the policy's order.
func (w *world) idleOrder() {
	l, ok := w.c.opt.Policy.(*LRU)
	if !ok {
		return
	}
	end := BlockID(len(l.next) - 1)
	for b := range w.idleAt {
		if w.c.pool.ref[b] > 0 || !w.c.index.Has(b) {
			delete(w.idleAt, b)
		}
	}
	for b := l.next[end]; b != end; b = l.next[b] {
		if _, ok := w.idleAt[b]; !ok {
			w.clock++
			w.idleAt[b] = w.clock
		}
	}
}

// TestRandomOperations is a million operations against the model, with every invariant after each.
func TestRandomOperations(t *testing.T) {
	t.Parallel()
	operations := 1_000_000
	if race.Enabled || testing.Short() {
		operations = 40_000
	}
	const shards = 4
	for shard := range shards {
		blocks, size := []int{12, 20, 9, 16}[shard], []int{4, 3, 1, 5}[shard]
		policy := []Policy{NewLRU(blocks), NewLRU(blocks), NewLRU(blocks), &anyone{r: rand.New(rand.NewPCG(4, 4))}}[shard]
		t.Run(fmt.Sprintf("%d blocks of %d, %T", blocks, size, policy), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, uint64(shard), blocks, size, policy)
			for i := range operations / shards {
				w.step()
				w.idleOrder()
				w.invariants()
				if t.Failed() {
					t.Fatalf("operation %d", i)
				}
			}
			for _, m := range w.seqs {
				m.s.Release()
			}
			for _, m := range w.hits {
				m.h.Release()
			}
			for _, m := range w.holds {
				m.h.Release()
			}
			for _, b := range w.scratch {
				w.c.GiveScratch(b)
			}
			if s := w.c.Stats(); s.Free+s.Cached != s.Blocks || s.ScratchFree != s.Scratch || s.Held != 0 {
				t.Fatalf("something is lost: %+v", s)
			}
		})
	}
}
