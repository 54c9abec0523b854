package kvcache

import (
	"fmt"
	"slices"
)

// Sequence is one token history and its block table. Rows go through three marks:
//
//	Sealed ≤ Reserved: finished rows, which never change again and are in the prefix index;
//	then rows that have a place but whose step is still to finish; then tokens without a place.
//
// A sequence belongs to one request, and to one goroutine at a time. Its blocks may be shared with
// others by reference.
type Sequence struct {
	cache    *Cache
	id       uint64
	ns       Namespace
	tokens   []int32
	table    []BlockID
	sealed   int
	reserved int
	keyed    int    // leading full blocks that are in the index
	epoch    uint64 // of keyed
	fence    BlockID
	fenceRow int
	private  bool
	run      running
}

// NewSequence starts a sequence of the hit's blocks, whose references it takes over, with the
// given history, which must begin with the tokens the hit was found for. A nil hit starts cold.
// The sequence keeps its own copy of tokens.
func (c *Cache) NewSequence(ns Namespace, hit *Hit, tokens []int32) (*Sequence, error) {
	if err := ns.Check(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastID++
	s := &Sequence{cache: c, id: c.lastID, ns: ns, epoch: c.epoch, fence: NoBlock}
	if hit != nil {
		switch {
		case hit.cache == nil:
			return nil, fmt.Errorf("%w: hit", ErrReleased)
		case hit.cache != c || hit.Namespace != ns:
			return nil, fmt.Errorf("%w: hit of another cache or namespace", ErrOptions)
		case hit.Len > len(tokens):
			return nil, fmt.Errorf("%w: hit of %d tokens, history of %d", ErrRows, hit.Len, len(tokens))
		}
	}
	if c.states != nil {
		from := StateID(0)
		if hit != nil {
			from = hit.State
		}
		if err := s.startStates(from); err != nil {
			return nil, err
		}
	}
	if hit != nil {
		hit.cache = nil
		if hit.Shared > hit.Len && c.states != nil {
			s.run.marks = append(s.run.marks, hit.Shared)
		}
		s.table, s.sealed, s.reserved = hit.Blocks, hit.Len, hit.Len
		hit.Blocks = nil
	}
	s.tokens = append(make([]int32, 0, len(tokens)+64), tokens...)
	c.seqs++
	return s, nil
}

// Len returns how many tokens the history has.
func (s *Sequence) Len() int { return len(s.tokens) }

// Sealed returns how many rows are finished.
func (s *Sequence) Sealed() int { return s.sealed }

// Reserved returns how many rows have a place.
func (s *Sequence) Reserved() int { return s.reserved }

// Tokens is the history, a view that is valid until the next Append or Truncate.
func (s *Sequence) Tokens() []int32 { return s.tokens }

// Namespace is where the sequence's blocks are indexed.
func (s *Sequence) Namespace() Namespace { return s.ns }

// Blocks is the block table, a view that later calls do not change. Block i holds the rows of
// positions i·BlockSize and up.
func (s *Sequence) Blocks() []BlockID { return s.table }

// Append adds tokens to the history; it takes no block.
func (s *Sequence) Append(tokens ...int32) { s.tokens = append(s.tokens, tokens...) }

// Need returns how many blocks Reserve(n) would take from the pool.
func (s *Sequence) Need(n int) int {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	need, _ := s.need(n)
	return need
}

func (s *Sequence) need(n int) (blocks int, copies bool) {
	if n <= s.reserved {
		return 0, false
	}
	size := s.cache.size
	if slot := s.reserved % size; slot != 0 {
		copies = !s.cache.pool.Writable(s.table[s.reserved/size], slot, s.id)
	}
	blocks = BlocksFor(0, n, size) - len(s.table)
	if copies {
		blocks++
	}
	return blocks, copies
}

// Reserve gives the rows up to n a place that only this sequence writes. Where the last block is
// shared and someone else may write it, or its rows from here on are sealed, the sequence gets a
// block of its own and the returned Copy must run before the step. ErrFull, inside a
// *CapacityError, leaves everything as it was.
func (s *Sequence) Reserve(n int) (move Copy, moved bool, err error) {
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.id == 0 {
		return Copy{}, false, fmt.Errorf("%w: sequence", ErrReleased)
	}
	if n <= s.reserved {
		return Copy{}, false, nil
	}
	blocks, copies := s.need(n)
	if have := c.pool.Available(); blocks > have {
		c.expire()
		if have = c.pool.Available(); blocks > have {
			return Copy{}, false, &CapacityError{Err: ErrFull, Need: blocks, Have: have, Holders: c.holds.list()}
		}
	}
	if slot := s.reserved % c.size; slot != 0 {
		at := s.reserved / c.size
		if copies {
			to, _ := c.take(s.id)
			c.pool.Seal(to, slot)
			move, moved = Copy{From: s.table[at], To: to, Rows: slot}, true
			s.unfence()
			s.fence, s.fenceRow = s.table[at], s.reserved
			s.table = slices.Clone(s.table) // views of it stay as they were
			s.table[at] = to
			c.stats.Copied++
		} else {
			c.pool.Claim(s.table[at], slot, s.id)
		}
	}
	for len(s.table) < BlocksFor(0, n, c.size) {
		b, _ := c.take(s.id)
		s.table = append(s.table, b)
	}
	s.reserved = n
	c.check()
	return move, moved, nil
}

// unfence lets the source of a copy go: it had to outlive the step that ran after the copy.
func (s *Sequence) unfence() {
	if s.fence != NoBlock {
		s.cache.pool.Unref(s.fence)
		s.fence = NoBlock
	}
}

// Seal says that the steps of the rows below n have finished. Their blocks enter the prefix
// index, full ones merged with any twin already there. Rows of a failed step are never sealed.
func (s *Sequence) Seal(n int) error {
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case s.id == 0:
		return fmt.Errorf("%w: sequence", ErrReleased)
	case n > s.reserved || n > len(s.tokens):
		return fmt.Errorf("%w: seal %d of %d reserved, %d tokens", ErrRows, n, s.reserved, len(s.tokens))
	case n <= s.sealed:
		return nil
	}
	if s.epoch != c.epoch {
		s.epoch, s.keyed = c.epoch, 0
	}
	for i := s.sealed / c.size; i*c.size < n; i++ {
		c.pool.Seal(s.table[i], min(c.size, n-i*c.size))
	}
	if s.fence != NoBlock && n > s.fenceRow {
		s.unfence()
	}
	s.sealed = n
	last := s.table[(n-1)/c.size]
	if !s.private {
		last = s.register()
	}
	if c.states != nil {
		s.sealStates(last)
	}
	c.check()
	return nil
}

// register files the sealed rows in the index, from the first block that is not there yet. It
// returns the block that stands for the last one's tokens.
func (s *Sequence) register() (last BlockID) {
	c := s.cache
	cloned := false
	for i := s.keyed; i*c.size < s.sealed; i++ {
		before := NoBlock
		if i > 0 {
			before = s.table[i-1]
		}
		b := s.table[i]
		end := min((i+1)*c.size, s.sealed)
		toks := s.tokens[i*c.size : end]
		had := c.index.Has(b)
		last = b
		if had && len(c.index.Tokens(b)) >= len(toks) {
			s.keep(i, end)
			continue
		}
		stands, shorter := c.index.Put(s.ns, before, b, toks)
		if shorter != NoBlock {
			c.moveMarks(shorter, b)
			c.gone(shorter)
		}
		if stands == b {
			c.pool.Keep(b, i)
			if !had {
				c.stats.Stored++
			}
			if c.opt.Events != nil {
				c.opt.Events(Event{Kind: Stored, Namespace: s.ns, Block: b, Parent: before, Tokens: toks})
			}
		} else if len(toks) == c.size { // the same rows, twice: share the older ones
			c.pool.Ref(stands)
			c.pool.Yield(b, s.id)
			c.pool.Unref(b)
			if !cloned {
				s.table, cloned = slices.Clone(s.table), true // views of it stay as they were
			}
			s.table[i] = stands
			c.stats.Deduplicated++
		}
		last = stands
		s.keep(i, end)
	}
	return last
}

// keep notes that block i is full and in the index.
func (s *Sequence) keep(i, end int) {
	if end == (i+1)*s.cache.size {
		s.keyed = i + 1
	}
}

// Unreserve takes back the places of rows that no step will finish, from n on; sealed rows stay.
func (s *Sequence) Unreserve(n int) {
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.id != 0 {
		c.tick()
		s.unreserve(max(n, s.sealed))
		c.check()
	}
}

func (s *Sequence) unreserve(n int) {
	c := s.cache
	if n >= s.reserved {
		return
	}
	keep := BlocksFor(0, n, c.size)
	for _, b := range s.table[keep:] {
		c.pool.Yield(b, s.id)
	}
	c.unrefAll(s.table[keep:])
	s.table = s.table[:keep]
	s.reserved = n
}

// Truncate drops the tokens from n on and the places of their rows: rejected draft rows, or a
// session that goes back. No step may be under way on those rows. Going back below Sealed leaves
// the index as it is; what is written next goes to blocks of its own.
func (s *Sequence) Truncate(n int) error {
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick()
	if s.id == 0 {
		return fmt.Errorf("%w: sequence", ErrReleased)
	}
	if n < 0 || n > len(s.tokens) {
		return fmt.Errorf("%w: truncate to %d of %d tokens", ErrRows, n, len(s.tokens))
	}
	if c.states != nil && n < s.sealed {
		return fmt.Errorf("%w: truncate to %d of %d finished rows: a recurrent state cannot go back", ErrRows, n, s.sealed)
	}
	if n < s.sealed {
		s.sealed = n
		s.keyed = min(s.keyed, n/c.size)
	}
	s.unreserve(n)
	s.tokens = s.tokens[:n]
	c.check()
	return nil
}

// Fork returns a second sequence with the same history, sharing the blocks of all finished rows
// by reference. Rows of steps under way stay with s. Where the model has recurrent state, no step
// may be under way, and the fork's StateCopy must run before the next step of s.
func (s *Sequence) Fork() (*Sequence, error) {
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.id == 0 {
		return nil, fmt.Errorf("%w: sequence", ErrReleased)
	}
	if c.states != nil && s.reserved != s.sealed {
		return nil, fmt.Errorf("%w: fork at %d of %d rows under way: the recurrent state between is not kept", ErrRows, s.sealed, s.reserved)
	}
	c.lastID++
	f := &Sequence{
		cache: c, id: c.lastID, ns: s.ns, epoch: s.epoch, keyed: s.keyed, private: s.private,
		sealed: s.sealed, reserved: s.sealed, fence: NoBlock,
	}
	if c.states != nil {
		if err := f.forkStates(s); err != nil {
			return nil, err
		}
	}
	f.table = append(f.table, s.table[:BlocksFor(0, s.sealed, c.size)]...)
	for _, b := range f.table {
		c.pool.Ref(b)
	}
	f.tokens = append(make([]int32, 0, len(s.tokens)+64), s.tokens...)
	c.seqs++
	c.check()
	return f, nil
}

// Hit returns the finished rows up to n as a hit of its own, for a decision about a running
// sequence. Models with recurrent state need a checkpoint at n.
func (s *Sequence) Hit(n int) (*Hit, error) {
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.id == 0 {
		return nil, fmt.Errorf("%w: sequence", ErrReleased)
	}
	if n < 0 || n > s.sealed {
		return nil, fmt.Errorf("%w: hit of %d of %d finished rows", ErrRows, n, s.sealed)
	}
	h := &Hit{Len: n, Namespace: s.ns, cache: c}
	h.Blocks = append(h.Blocks, s.table[:BlocksFor(0, n, c.size)]...)
	if c.states != nil && n > 0 {
		m, state := c.deepest(h.Blocks, n)
		if m != n {
			return nil, fmt.Errorf("%w: no checkpoint at %d, the last is at %d", ErrStates, n, m)
		}
		h.State = state
		c.states.ref(state)
	}
	for _, b := range h.Blocks {
		c.pool.Ref(b)
	}
	return h, nil
}

// Release ends the sequence. No step may be under way on it. Rows that were not sealed leave
// nothing behind; sealed ones stay in the index until evicted. Releasing twice does nothing.
func (s *Sequence) Release() {
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.id == 0 {
		return
	}
	c.tick()
	s.unfence()
	for _, b := range s.table[s.sealed/c.size:] {
		c.pool.Yield(b, s.id)
	}
	c.unrefAll(s.table)
	if c.states != nil {
		s.dropStates()
	}
	s.table, s.id, s.reserved = nil, 0, 0
	c.seqs--
	c.check()
}

// Frees returns how many blocks Release would make available.
func (s *Sequence) Frees() int {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	n := 0
	for _, b := range s.table {
		if s.cache.pool.ref[b] == 1 {
			n++
		}
	}
	return n
}

// SetPrivate keeps what the sequence seals from now on out of the prefix index.
func (s *Sequence) SetPrivate() {
	s.cache.mu.Lock()
	s.private = true
	s.cache.mu.Unlock()
}
