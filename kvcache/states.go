package kvcache

import "slices"

// states is the second resource: recurrent states at exact positions. A state is free, or
// referenced, or filed as a checkpoint of the prefix that ends at a row of an indexed block.
type states struct {
	refs  []int32
	free  []StateID
	at    map[BlockID][]mark
	where []BlockID // by state: the block it is filed at, or NoBlock
	lru   *LRU      // filed and not referenced
	idle  int
	kept  int // filed
}

// mark is a checkpoint after the first rows rows of a block.
type mark struct {
	rows  int
	state StateID
}

func newStates(n int) *states {
	s := &states{
		refs: make([]int32, n+1), where: make([]BlockID, n+1), free: make([]StateID, n),
		at: map[BlockID][]mark{}, lru: NewLRU(n + 1),
	}
	for i := range s.free {
		s.free[i] = StateID(n - i)
	}
	for i := range s.where {
		s.where[i] = NoBlock
	}
	return s
}

func (s *states) total() int { return len(s.refs) - 1 }

// take hands out a state with one reference, the least recently used checkpoint's if none is free.
func (s *states) take() (StateID, error) {
	if n := len(s.free); n > 0 {
		id := s.free[n-1]
		s.free = s.free[:n-1]
		s.refs[id] = 1
		return id, nil
	}
	b, ok := s.lru.oldest()
	if !ok {
		return 0, &CapacityError{Err: ErrStates, Need: 1}
	}
	id := StateID(b)
	s.unfile(id) // becomes free
	s.free = s.free[:len(s.free)-1]
	s.refs[id] = 1
	return id, nil
}

func (s *states) ref(id StateID) {
	if s.refs[id] == 0 {
		s.lru.Remove(BlockID(id))
		s.idle--
	}
	s.refs[id]++
}

func (s *states) unref(id StateID) {
	if s.refs[id]--; s.refs[id] > 0 {
		return
	}
	if s.where[id] != NoBlock {
		s.lru.Add(BlockID(id), Use{})
		s.idle++
	} else {
		s.free = append(s.free, id)
	}
}

// file makes the state the checkpoint after rows rows of b, unless there is one.
func (s *states) file(b BlockID, rows int, id StateID) {
	marks := s.at[b]
	i, ok := slices.BinarySearchFunc(marks, rows, func(m mark, rows int) int { return m.rows - rows })
	if ok || s.where[id] != NoBlock {
		return
	}
	s.at[b] = slices.Insert(marks, i, mark{rows, id})
	s.where[id] = b
	s.kept++
}

func (s *states) unfile(id StateID) {
	b := s.where[id]
	marks := slices.DeleteFunc(s.at[b], func(m mark) bool { return m.state == id })
	if len(marks) == 0 {
		delete(s.at, b)
	} else {
		s.at[b] = marks
	}
	s.lose(id)
}

// lose ends a filing whose mark is already gone.
func (s *states) lose(id StateID) {
	s.where[id] = NoBlock
	s.kept--
	if s.refs[id] == 0 {
		s.lru.Remove(BlockID(id))
		s.idle--
		s.free = append(s.free, id)
	}
}

// drop ends all checkpoints of a block that left the index.
func (s *states) drop(b BlockID) {
	for _, m := range s.at[b] {
		s.lose(m.state)
	}
	delete(s.at, b)
}

// deepest returns the longest prefix of the n tokens in blocks that ends at a checkpoint.
func (c *Cache) deepest(blocks []BlockID, n int) (int, StateID) {
	if len(c.states.at) == 0 {
		return 0, 0
	}
	for i := BlocksFor(0, n, c.size) - 1; i >= 0; i-- {
		best := mark{}
		c.index.alike(blocks[i], min(c.size, n-i*c.size), func(b BlockID, rows int) bool {
			for _, m := range c.states.at[b] {
				if m.rows <= rows && m.rows > best.rows {
					best = m
				}
			}
			return best.rows < rows
		})
		if best.rows > 0 {
			return i*c.size + best.rows, best.state
		}
	}
	return 0, 0
}

// moveMarks refiles the checkpoints of a block whose tokens another block now stands for.
func (c *Cache) moveMarks(from, to BlockID) {
	if c.states == nil {
		return
	}
	marks := c.states.at[from]
	delete(c.states.at, from)
	for _, m := range marks {
		c.states.where[m.state] = NoBlock
		c.states.kept--
		c.states.file(to, m.rows, m.state)
		if c.states.where[m.state] == NoBlock { // to has its own
			c.states.kept++
			c.states.lose(m.state)
		}
	}
}

// running is what a sequence of a model with recurrent state keeps besides its blocks.
type running struct {
	working StateID // its own, overwritten by every step that does not end at a mark
	last    StateID // what the next span starts from
	held    []saved // checkpoints it still refers to, in order of position
	marks   []int   // positions whose state is worth keeping, sorted
	copy    StateCopy
}

type saved struct {
	pos   int
	state StateID
}

// StateCopy asks the backend to copy a recurrent state before the sequence's next step.
type StateCopy struct{ From, To StateID }

func (s *Sequence) startStates(from StateID) (err error) {
	if s.run.working, err = s.cache.states.take(); err != nil {
		return err
	}
	if s.run.last = from; from != 0 { // the hit's reference becomes the sequence's
		s.run.held = append(s.run.held, saved{-1, from})
	}
	return nil
}

func (f *Sequence) forkStates(s *Sequence) error {
	st := f.cache.states
	w, err := st.take()
	if err != nil {
		return err
	}
	f.run.working, f.run.marks = w, slices.Clone(s.run.marks)
	f.run.last = s.run.last
	switch {
	case s.run.last == 0:
	case s.run.last == s.run.working:
		f.run.last, f.run.copy = w, StateCopy{From: s.run.working, To: w}
	default:
		st.ref(s.run.last)
		f.run.held = append(f.run.held, saved{-1, s.run.last})
	}
	return nil
}

// Mark names positions at which the recurrent state is worth keeping as a checkpoint: turn marks
// where a decision may branch off, and prompt ends. A no-op for models without recurrent state.
func (s *Sequence) Mark(positions ...int) {
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.states == nil {
		return
	}
	s.run.marks = append(s.run.marks, positions...)
	slices.Sort(s.run.marks)
	s.run.marks = slices.Compact(s.run.marks)
}

// NextStop returns where a chunk of rows from the first position on, and to at most, must end so
// that the state at the next mark can be saved.
func (s *Sequence) NextStop(from, to int) int {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	if i, _ := slices.BinarySearch(s.run.marks, from+1); i < len(s.run.marks) && s.run.marks[i] < to {
		return s.run.marks[i]
	}
	return to
}

// States returns where the span that ends before position to starts from and saves its state to.
// Call it once for each span, in order. Both are 0 for models without recurrent state. A mark for
// which no state is free gets no checkpoint.
func (s *Sequence) States(to int) (from, save StateID) {
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.states == nil || s.id == 0 {
		return 0, 0
	}
	from, save = s.run.last, s.run.working
	if _, ok := slices.BinarySearch(s.run.marks, to); ok && !s.private {
		if id, err := c.states.take(); err == nil {
			s.run.held = append(s.run.held, saved{to, id})
			save = id
		}
	}
	s.run.last = save
	c.check()
	return from, save
}

// State returns the state that the next span starts from; see States.
func (s *Sequence) State() StateID {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	return s.run.last
}

// HasStates says whether the model has recurrent state.
func (c *Cache) HasStates() bool { return c.states != nil }

// TakeState hands out a state for a read's own use, never filed; GiveState returns it.
func (c *Cache) TakeState() (StateID, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.states == nil {
		return 0, &CapacityError{Err: ErrStates, Need: 1}
	}
	return c.states.take()
}

// GiveState returns a state that TakeState handed out.
func (c *Cache) GiveState(id StateID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.states.unref(id)
}

// StateCopy returns, once, the copy that a fork needs before its first step.
func (s *Sequence) StateCopy() (m StateCopy, needed bool) {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	m, s.run.copy = s.run.copy, StateCopy{}
	return m, m.To != 0
}

// sealStates files the checkpoints of finished rows and lets those go that no later span needs.
// last is the block that stands for the last one's tokens in the index.
func (s *Sequence) sealStates(last BlockID) {
	c := s.cache
	keep := s.run.held[:0]
	for _, h := range s.run.held {
		if h.pos > 0 && h.pos <= s.sealed {
			b := last
			if i := (h.pos - 1) / c.size; i < (s.sealed-1)/c.size {
				b = s.table[i]
			}
			if c.index.Has(b) {
				c.states.file(b, (h.pos-1)%c.size+1, h.state)
			}
		}
		if h.pos >= s.sealed {
			keep = append(keep, h)
		} else {
			c.states.unref(h.state)
		}
	}
	s.run.held = keep
}

func (s *Sequence) dropStates() {
	st := s.cache.states
	for _, h := range s.run.held {
		st.unref(h.state)
	}
	st.unref(s.run.working)
	s.run = running{}
}
