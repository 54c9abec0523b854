package kvcache

// Policy orders the blocks that are indexed but not referenced: who is evicted next. It is called
// with the cache's lock held, from one goroutine at a time, and may keep what it likes per block.
//
// Any order is safe. A policy that evicts a block before the blocks that continue it makes those
// unreachable, and the cache frees them too.
type Policy interface {
	Add(b BlockID, u Use)   // b lost its last reference; a sequence's tail arrives before its head
	Remove(b BlockID)       // b was hit, or dropped from the index
	Evict() (BlockID, bool) // takes out the block to give up next; false: there is none
}

// Use is what the cache knows about a block when it becomes evictable.
type Use struct {
	Depth int    // blocks before it in its sequence
	Hits  uint32 // matches that found it evictable since it was stored
}

// LRU evicts the block that has been unreferenced for longest.
type LRU struct {
	next, prev []BlockID // a ring through the sentinel, which is the last element
}

// NewLRU returns the policy for a pool of the given number of blocks.
func NewLRU(blocks int) *LRU {
	l := &LRU{next: make([]BlockID, blocks+1), prev: make([]BlockID, blocks+1)}
	s := BlockID(blocks)
	l.next[s], l.prev[s] = s, s
	return l
}

func (l *LRU) Add(b BlockID, _ Use) {
	s := BlockID(len(l.next) - 1)
	last := l.prev[s]
	l.next[last], l.prev[b] = b, last
	l.next[b], l.prev[s] = s, b
}

func (l *LRU) Remove(b BlockID) {
	l.next[l.prev[b]], l.prev[l.next[b]] = l.next[b], l.prev[b]
}

func (l *LRU) Evict() (BlockID, bool) {
	b, ok := l.oldest()
	if ok {
		l.Remove(b)
	}
	return b, ok
}

func (l *LRU) oldest() (BlockID, bool) {
	s := BlockID(len(l.next) - 1)
	b := l.next[s]
	return b, b != s
}
