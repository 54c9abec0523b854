package kvcache

import (
	"slices"
	"strings"
	"time"
)

// Hold pins a prefix: its blocks are not evicted until Release, or until the time limit, after
// which they are ordinary cached blocks.
type Hold struct {
	cache   *Cache
	name    string
	blocks  []BlockID
	state   StateID
	tokens  int
	expires time.Time // zero: never
	done    bool
}

// holds is the set of live holds. count is per block, so that shared blocks count once for the cap.
type holds struct {
	live   []*Hold
	count  []int32
	blocks int       // distinct
	next   time.Time // earliest expiry; zero: none
}

// Hold pins the hit's prefix, whose references it takes over. ttl 0 holds until Release. The name
// appears in statistics and errors. ErrHoldCap, inside a *CapacityError, leaves the hit alone.
func (c *Cache) Hold(hit *Hit, name string, ttl time.Duration) (*Hold, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if hit == nil || hit.cache != c {
		return nil, ErrReleased
	}
	c.expire()
	more := 0
	for _, b := range hit.Blocks {
		if c.holds.count[b] == 0 {
			more++
		}
	}
	most := int(c.opt.HoldShare * float64(c.opt.Blocks))
	if need := c.holds.blocks + more; need > most {
		return nil, &CapacityError{Err: ErrHoldCap, Need: need, Have: most, Holders: c.holds.list()}
	}
	h := &Hold{cache: c, name: name, blocks: hit.Blocks, state: hit.State, tokens: hit.Len}
	if ttl > 0 {
		h.expires = c.opt.Now().Add(ttl)
		if c.holds.next.IsZero() || h.expires.Before(c.holds.next) {
			c.holds.next = h.expires
		}
	}
	hit.cache, hit.Blocks = nil, nil
	for _, b := range h.blocks {
		c.holds.count[b]++
	}
	c.holds.blocks += more
	c.holds.live = append(c.holds.live, h)
	c.check()
	return h, nil
}

// Tokens is the length of the held prefix.
func (h *Hold) Tokens() int { return h.tokens }

// Expires is when the hold ends by itself; zero: only by Release.
func (h *Hold) Expires() time.Time { return h.expires }

// Release ends the hold. Releasing twice, or after it expired, does nothing.
func (h *Hold) Release() {
	h.cache.mu.Lock()
	defer h.cache.mu.Unlock()
	h.cache.tick()
	h.end()
	h.cache.check()
}

func (h *Hold) end() {
	if h.done {
		return
	}
	h.done = true
	c := h.cache
	for _, b := range h.blocks {
		if c.holds.count[b]--; c.holds.count[b] == 0 {
			c.holds.blocks--
		}
	}
	c.holds.live = slices.DeleteFunc(c.holds.live, func(o *Hold) bool { return o == h })
	c.unrefAll(h.blocks)
	if h.state != 0 {
		c.states.unref(h.state)
	}
}

// expire ends the holds whose time is over. Whoever is about to run out of room calls it.
func (c *Cache) expire() {
	if c.holds.next.IsZero() {
		return
	}
	now := c.opt.Now()
	if now.Before(c.holds.next) {
		return
	}
	c.tick()
	c.holds.next = time.Time{}
	for _, h := range slices.Clone(c.holds.live) {
		switch {
		case h.expires.IsZero():
		case !now.Before(h.expires):
			h.end()
		case c.holds.next.IsZero() || h.expires.Before(c.holds.next):
			c.holds.next = h.expires
		}
	}
}

func (h *holds) list() []Holder {
	if len(h.live) == 0 {
		return nil
	}
	out := make([]Holder, 0, len(h.live))
	for _, l := range h.live {
		out = append(out, Holder{Name: l.name, Blocks: len(l.blocks), Tokens: l.tokens, Expires: l.expires})
	}
	slices.SortStableFunc(out, func(a, b Holder) int {
		if a.Blocks != b.Blocks {
			return b.Blocks - a.Blocks
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out
}
