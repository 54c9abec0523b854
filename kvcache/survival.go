package kvcache

// maxCallers bounds how many callers' last decisions are remembered; the oldest is forgotten.
const maxCallers = 4096

// survivors remembers, for each caller, which blocks its last decision read, to count what the
// caller's next call finds again. Blocks that were evicted and filed anew since have another
// stamp, so they do not count.
type survivors struct {
	last  map[string]footprint
	order []string // a ring of callers, oldest at next
	next  int
}

type footprint struct {
	blocks []BlockID
	stored []uint32
	tokens int
}

// Decided remembers the state a caller's decision read. A state that the caller decided on before,
// with no call between, counts as one call following another: see Called.
func (c *Cache) Decided(caller string, state *Hit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state.cache == nil || state.Len == 0 {
		return
	}
	v := &c.callers
	if v.last == nil {
		v.last = map[string]footprint{}
	}
	if _, ok := v.last[caller]; !ok {
		if len(v.order) < maxCallers {
			v.order = append(v.order, caller)
		} else {
			delete(v.last, v.order[v.next])
			v.order[v.next] = caller
			v.next = (v.next + 1) % maxCallers
		}
	}
	f := footprint{blocks: append([]BlockID(nil), state.Blocks...), tokens: state.Len, stored: make([]uint32, len(state.Blocks))}
	for i, b := range f.blocks {
		f.stored[i] = c.pool.stamp[b]
	}
	v.last[caller] = f
}

// Called counts, for a caller that made a decision before, how many tokens of that decision's
// state the hit of its next call covers. Call it for each call, a decision too, before Decided.
func (c *Cache) Called(caller string, hit *Hit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, ok := c.callers.last[caller]
	if !ok || f.tokens == 0 || hit.cache == nil {
		return
	}
	reused := 0
	for i, b := range f.blocks {
		if i >= len(hit.Blocks) || hit.Blocks[i] != b || c.pool.stamp[b] != f.stored[i] {
			break
		}
		reused = min((i+1)*c.size, f.tokens, hit.Len)
	}
	c.stats.Survival.Decided += uint64(f.tokens)
	c.stats.Survival.Reused += uint64(reused)
	c.callers.last[caller] = footprint{} // the name keeps its place in the ring
}
