package kvcache

import "fmt"

// Check verifies every invariant that ties pool, index, scratch, states and holds together. It
// visits every block; it is for tests.
func (c *Cache) Check() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.quickCheck(); err != nil {
		return err
	}
	free := make([]bool, c.opt.Blocks)
	for _, b := range c.pool.free {
		if free[b] {
			return fmt.Errorf("kvcache: block %d is free twice", b)
		}
		free[b] = true
	}
	idle, indexed := 0, 0
	for i := range free {
		b := BlockID(i)
		ref, kept, has := c.pool.ref[b], c.pool.kept[b], c.index.Has(b)
		sealed := int(c.pool.sealed[b])
		switch {
		case ref < 0:
			return fmt.Errorf("kvcache: block %d: %d references", b, ref)
		case kept != has:
			return fmt.Errorf("kvcache: block %d: pool says indexed %v, index says %v", b, kept, has)
		case free[b] && (ref > 0 || kept):
			return fmt.Errorf("kvcache: block %d is free, with %d references, indexed %v", b, ref, kept)
		case !free[b] && ref == 0 && !kept:
			return fmt.Errorf("kvcache: block %d is lost", b)
		case c.pool.writer[b] != 0 && (ref == 0 || sealed == c.size):
			return fmt.Errorf("kvcache: block %d: a writer, %d references, %d rows sealed", b, ref, sealed)
		case c.holds.count[b] > ref:
			return fmt.Errorf("kvcache: block %d: %d holds, %d references", b, c.holds.count[b], ref)
		}
		if kept && ref == 0 {
			idle++
		}
		if !has {
			continue
		}
		indexed++
		if n := len(c.index.Tokens(b)); n == 0 || n > sealed {
			return fmt.Errorf("kvcache: block %d: indexed under %d tokens, %d rows sealed", b, n, sealed)
		}
		if up := c.index.Parent(b); up != NoBlock && (!c.index.Has(up) || len(c.index.Tokens(up)) != c.size) {
			return fmt.Errorf("kvcache: block %d continues block %d, which is not a full indexed block", b, up)
		}
	}
	if idle != c.pool.idle {
		return fmt.Errorf("kvcache: %d blocks are evictable, the pool counts %d", idle, c.pool.idle)
	}
	if indexed != c.index.count {
		return fmt.Errorf("kvcache: %d blocks are indexed, the index counts %d", indexed, c.index.count)
	}
	if err := c.index.check(); err != nil {
		return err
	}
	if c.states != nil {
		return c.states.check(c.index)
	}
	return nil
}

// quickCheck is what every operation can afford in a race build.
func (c *Cache) quickCheck() error {
	if n := len(c.pool.free) + c.pool.idle; n > c.opt.Blocks || n < 0 {
		return fmt.Errorf("kvcache: %d blocks available of %d", n, c.opt.Blocks)
	}
	if n := len(c.scratch.free); n > c.scratch.total {
		return fmt.Errorf("kvcache: %d scratch blocks free of %d", n, c.scratch.total)
	}
	if c.holds.blocks < 0 || c.holds.blocks > c.opt.Blocks {
		return fmt.Errorf("kvcache: %d blocks held of %d", c.holds.blocks, c.opt.Blocks)
	}
	if c.seqs == 0 && len(c.holds.live) == 0 && c.states != nil && len(c.states.free)+c.states.idle > c.states.total() {
		return fmt.Errorf("kvcache: %d states available of %d", len(c.states.free)+c.states.idle, c.states.total())
	}
	return nil
}

// check verifies that children are listed with their parent, sorted, and none a sibling's prefix.
func (x *index) check() error {
	listed := 0
	list := func(up parent, kids []BlockID) error {
		for i, b := range kids {
			if x.nodes[b].up != up {
				return fmt.Errorf("kvcache: block %d is listed under %d and points to %d", b, up, x.nodes[b].up)
			}
			if i > 0 {
				prev := x.Tokens(kids[i-1])
				if n, order := shared(prev, x.Tokens(b)); order >= 0 || n == len(prev) {
					return fmt.Errorf("kvcache: blocks %d and %d: tokens not sorted, or one a prefix of the other", kids[i-1], b)
				}
			}
		}
		listed += len(kids)
		return nil
	}
	for i := range x.roots {
		if err := list(^parent(i), x.roots[i].kids); err != nil {
			return err
		}
	}
	for b := range x.nodes {
		if err := list(parent(b), x.nodes[b].kids); err != nil {
			return err
		}
	}
	if listed != x.count {
		return fmt.Errorf("kvcache: %d blocks are listed, the index counts %d", listed, x.count)
	}
	return nil
}

func (s *states) check(x *index) error {
	seen := make([]int, len(s.refs))
	for _, id := range s.free {
		seen[id]++
		if s.refs[id] != 0 || s.where[id] != NoBlock {
			return fmt.Errorf("kvcache: state %d is free, with %d references, filed at block %d", id, s.refs[id], s.where[id])
		}
	}
	filed, idle := 0, 0
	for b, marks := range s.at {
		if !x.Has(b) {
			return fmt.Errorf("kvcache: checkpoints at block %d, which is not indexed", b)
		}
		for i, m := range marks {
			if m.rows < 1 || m.rows > len(x.Tokens(b)) || (i > 0 && marks[i-1].rows >= m.rows) {
				return fmt.Errorf("kvcache: block %d of %d tokens: checkpoint at row %d", b, len(x.Tokens(b)), m.rows)
			}
			if s.where[m.state] != b {
				return fmt.Errorf("kvcache: state %d is filed at block %d and points to %d", m.state, b, s.where[m.state])
			}
			filed++
			if s.refs[m.state] == 0 {
				idle++
				seen[m.state]++
			}
		}
	}
	if filed != s.kept || idle != s.idle {
		return fmt.Errorf("kvcache: %d checkpoints (%d evictable), counted %d (%d)", filed, idle, s.kept, s.idle)
	}
	for id := 1; id < len(seen); id++ {
		if want := 1; seen[id] != want && s.refs[id] == 0 {
			return fmt.Errorf("kvcache: state %d is available %d times", id, seen[id])
		}
	}
	return nil
}
