package kvcache

import (
	"fmt"
	"sync"
	"time"

	"github.com/hotpath-go/hotpath/internal/invariants"
)

// DefaultBlockSize is the number of token positions in a block.
const DefaultBlockSize = 16

// Options of New.
type Options struct {
	Blocks    int     // pool blocks, at least 1
	BlockSize int     // token positions in a block, 1 to 1024; 0: DefaultBlockSize
	Scratch   int     // scratch blocks
	States    int     // recurrent states; 0: the model has none, so a prefix may end anywhere
	HoldShare float64 // most of the pool that holds may pin, 0 to 1; 0: a quarter

	Policy Policy           // of eviction; nil: LRU
	Now    func() time.Time // nil: time.Now
	Events func(Event)      // called with the cache locked: must be quick and must not call back
}

// Cache ties pool, scratch and index together. Its methods, and those of the Hits and Holds it
// returns, may be called from several goroutines: one lock guards everything. A Sequence belongs to
// one goroutine at a time, beside which others may use theirs.
type Cache struct {
	mu      sync.Mutex
	size    int
	pool    *pool
	index   *index
	scratch *scratch
	states  *states // nil when the model has none
	holds   holds
	opt     Options
	epoch   uint64 // counts Clear
	lastID  uint64
	walk    []BlockID // reused by Match
	seqs    int
	stats   Stats // the counters only
	callers survivors
}

// New returns an empty cache. It allocates bookkeeping, not keys and values: those are the backend's.
func New(o Options) (*Cache, error) {
	if o.BlockSize == 0 {
		o.BlockSize = DefaultBlockSize
	}
	if o.HoldShare == 0 {
		o.HoldShare = 0.25
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	const most = 1 << 30
	switch {
	case o.Blocks < 1 || o.Blocks > most:
		return nil, fmt.Errorf("%w: Blocks: %d, range 1 to %d", ErrOptions, o.Blocks, most)
	case o.BlockSize < 1 || o.BlockSize > 1024:
		return nil, fmt.Errorf("%w: BlockSize: %d, range 1 to 1024", ErrOptions, o.BlockSize)
	case o.Scratch < 0 || o.Scratch > most-o.Blocks:
		return nil, fmt.Errorf("%w: Scratch: %d, range 0 to %d", ErrOptions, o.Scratch, most-o.Blocks)
	case o.States < 0 || o.States > most:
		return nil, fmt.Errorf("%w: States: %d, range 0 to %d", ErrOptions, o.States, most)
	case !(o.HoldShare >= 0 && o.HoldShare <= 1):
		return nil, fmt.Errorf("%w: HoldShare: %v, range 0 to 1", ErrOptions, o.HoldShare)
	}
	if o.Policy == nil {
		o.Policy = NewLRU(o.Blocks)
	}
	c := &Cache{
		size: o.BlockSize, opt: o,
		pool:    newPool(o.Blocks, o.BlockSize, o.Policy),
		index:   newIndex(o.Blocks, o.BlockSize),
		scratch: newScratch(BlockID(o.Blocks), o.Scratch),
		holds:   holds{count: make([]int32, o.Blocks)},
	}
	if o.States > 0 {
		c.states = newStates(o.States)
	}
	return c, nil
}

// BlockSize returns the number of token positions in a block.
func (c *Cache) BlockSize() int { return c.size }

// Blocks returns how many pool blocks there are.
func (c *Cache) Blocks() int { return c.opt.Blocks }

// ScratchBlocks returns how many scratch blocks there are.
func (c *Cache) ScratchBlocks() int { return c.opt.Scratch }

// Hit is a prefix found in the cache, with a reference on each of its blocks. Give it to
// NewSequence or Hold, or Release it.
type Hit struct {
	// Blocks cover positions 0 to Len-1: full blocks, then at most the leading part of one more.
	Blocks []BlockID
	Len    int
	// Shared is how far the index shares the tokens: more than Len where the recurrent state at
	// that junction was not kept. NewSequence marks it.
	Shared int
	// State is the recurrent state after Len tokens; 0 where the model has none or Len is 0.
	State StateID
	// Namespace is the one it was found in.
	Namespace Namespace

	cache *Cache
}

// Match finds the longest cached prefix of tokens[:max] and takes references on its blocks.
// max is len(tokens) for a decision's state, and len(tokens)-1 where the last token must be
// computed because its logits are wanted. Models with recurrent state hit at checkpoints only.
func (c *Cache) Match(ns Namespace, tokens []int32, max int) (*Hit, error) {
	if err := ns.Check(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick()
	blocks, n, shared, state := c.lookup(ns, tokens, max)
	h := &Hit{Len: n, Shared: shared, State: state, Namespace: ns, cache: c, Blocks: append([]BlockID(nil), blocks...)}
	for _, b := range h.Blocks {
		c.pool.Hit(b)
	}
	if state != 0 {
		c.states.ref(state)
	}
	c.stats.Queries++
	c.stats.QueryTokens += uint64(clamp(max, len(tokens)))
	c.stats.HitTokens += uint64(n)
	c.check()
	return h, nil
}

// Peek says what Match would cover, and how many of those blocks nobody refers to: a hit takes
// them out of what Available counts. It changes nothing, not even the order of eviction.
func (c *Cache) Peek(ns Namespace, tokens []int32, max int) (covered, idle int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	blocks, n, _, _ := c.lookup(ns, tokens, max)
	for _, b := range blocks {
		if c.pool.ref[b] == 0 {
			idle++
		}
	}
	return n, idle
}

// lookup returns a view that the next lookup overwrites.
func (c *Cache) lookup(ns Namespace, tokens []int32, max int) (blocks []BlockID, n, shared int, state StateID) {
	blocks, shared = c.index.Match(ns, tokens[:clamp(max, len(tokens))], c.walk[:0])
	c.walk = blocks
	if c.states == nil {
		return blocks, shared, shared, 0
	}
	n, state = c.deepest(blocks, shared)
	return blocks[:BlocksFor(0, n, c.size)], n, shared, state
}

func clamp(n, most int) int { return max(0, min(n, most)) }

// Release gives the references back. Releasing twice, or after NewSequence took them, does nothing.
func (h *Hit) Release() {
	c := h.cache
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.cache == nil {
		return
	}
	c.tick()
	h.cache = nil
	c.unrefAll(h.Blocks)
	if h.State != 0 {
		c.states.unref(h.State)
	}
	c.check()
}

// unrefAll drops a sequence's references, the tail's first, so that the tail is evicted first.
func (c *Cache) unrefAll(blocks []BlockID) {
	for i := len(blocks) - 1; i >= 0; i-- {
		c.pool.Unref(blocks[i])
	}
}

// take hands out a block and drops the key of the one it evicts.
func (c *Cache) take(writer uint64) (BlockID, bool) {
	b, evicted, ok := c.pool.Take(writer)
	if evicted {
		c.stats.Evicted++
		c.forget(b)
	}
	return b, ok
}

// forget takes the block and what continues it out of the index.
func (c *Cache) forget(b BlockID) {
	c.index.Remove(b, c.gone)
}

func (c *Cache) gone(b BlockID) {
	c.pool.Forget(b)
	if c.states != nil {
		c.states.drop(b)
	}
	if c.opt.Events != nil {
		c.opt.Events(Event{Kind: Removed, Block: b})
	}
}

// Available is how many pool blocks could be handed out now, by eviction if need be.
func (c *Cache) Available() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick() // once a step is often enough for the age of what is evicted
	c.expire()
	return c.pool.Available()
}

// Fits returns nil when a request that grows tokens to the given number of rows could run once
// all others have finished: ErrTooLarge when it exceeds the pool, ErrHeld when it exceeds what
// holds on anything but its own prefix leave. The error is a *CapacityError.
func (c *Cache) Fits(ns Namespace, tokens []int32, rows int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	need := BlocksFor(0, rows, c.size)
	if need > c.opt.Blocks {
		return &CapacityError{Err: ErrTooLarge, Need: need, Have: c.opt.Blocks}
	}
	have := c.opt.Blocks - c.holds.blocks
	if need <= have {
		return nil
	}
	blocks, _, _, _ := c.lookup(ns, tokens, len(tokens))
	for _, b := range blocks {
		if c.holds.count[b] > 0 {
			have++
		}
	}
	if need > have {
		return &CapacityError{Err: ErrHeld, Need: need, Have: have, Holders: c.holds.list()}
	}
	return nil
}

// TakeScratch reserves n scratch blocks for one request; GiveScratch returns them once its answer
// is out. The error is a *CapacityError: ErrScratch when they can never be had, ErrBusy when
// others have them now.
func (c *Cache) TakeScratch(n int) ([]BlockID, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.scratch.Take(n)
}

// GiveScratch returns blocks that TakeScratch handed out.
func (c *Cache) GiveScratch(blocks []BlockID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.scratch.Give(blocks)
	c.check()
}

// Clear empties the prefix index. Running sequences keep their blocks and file what they seal anew.
func (c *Cache) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	events := c.opt.Events
	c.opt.Events = nil
	for b := range c.index.nodes {
		if c.index.Has(BlockID(b)) {
			c.forget(BlockID(b))
		}
	}
	c.epoch++
	if c.opt.Events = events; events != nil {
		events(Event{Kind: Cleared, Block: NoBlock, Parent: NoBlock})
	}
	c.check()
}

// Stats returns the counters as they are now.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	s := c.stats
	s.Blocks, s.Free, s.Cached = c.opt.Blocks, len(c.pool.free), c.pool.idle
	s.Referenced = s.Blocks - s.Free - s.Cached
	s.Indexed = c.index.count
	s.Held, s.Holders = c.holds.blocks, c.holds.list()
	s.Scratch, s.ScratchFree = c.scratch.total, len(c.scratch.free)
	if c.states != nil {
		s.States, s.StatesFree, s.Checkpoints = c.states.total(), len(c.states.free), c.states.kept
	}
	s.EvictedAge = c.pool.ages.stats()
	return s
}

func (c *Cache) tick() { c.pool.clock = c.opt.Now().UnixNano() }

func (c *Cache) check() {
	if invariants.Enabled {
		invariants.Check(c.quickCheck)
	}
}
