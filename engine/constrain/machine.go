package constrain

import "encoding/binary"

// stack is the rules that are under way below a head: each goes on at state q. Stacks are
// immutable and share their lower parts.
type stack struct {
	q     int32
	depth int32 // of the rules below and this one
	up    *stack
}

func (s *stack) height() int32 {
	if s == nil {
		return 0
	}
	return s.depth
}

func sameStack(a, b *stack) bool {
	for a != b {
		if a == nil || b == nil || a.q != b.q || a.depth != b.depth {
			return false
		}
		a, b = a.up, b.up
	}
	return true
}

// head is one way in which the text so far can be read: a state that has edges.
type head struct {
	q          int32
	left, need uint32 // characters, inside a JSON string
	up         *stack
}

// config is all ways in which the text so far can be read.
type config struct {
	heads []head
	done  bool  // one of them has read a whole text
	reach int32 // levels that the shortest ways on from here need, at most
}

// dead reports whether nothing can follow and nothing is complete.
func (c *config) dead() bool { return len(c.heads) == 0 && !c.done }

// enter adds what a head in state q can do: its own edges, the rules it calls, and, where its
// rule is complete, what comes behind it.
func (g *Grammar) enter(c *config, h head) {
	for {
		s := &g.states[h.q]
		need := h.up.height() + s.height
		if need > g.depth {
			return
		}
		c.reach = max(c.reach, need)
		if len(s.edges) > 0 {
			for _, o := range c.heads {
				if o.q == h.q && o.left == h.left && o.need == h.need && sameStack(o.up, h.up) {
					return
				}
			}
			c.heads = append(c.heads, h)
		}
		for _, call := range s.calls {
			up := h.up
			if ret := &g.states[call.ret]; len(ret.edges) > 0 || len(ret.calls) > 0 || !ret.accept {
				up = &stack{q: call.ret, depth: h.up.height() + 1, up: h.up}
			}
			r := &g.rules[call.rule]
			g.enter(c, head{r.start, r.left, r.need, up})
		}
		if !s.accept {
			return
		}
		if h.up == nil {
			c.done = true
			return
		}
		h = head{q: h.up.q, up: h.up.up}
	}
}

// step reads a byte. dst's heads are overwritten; they must not be those of from.
func (g *Grammar) step(dst *config, from *config, b byte) {
	*dst = config{heads: dst.heads[:0]}
	for _, h := range from.heads {
		e := g.states[h.q].step(b)
		if e == nil {
			continue
		}
		switch e.flag {
		case flagTick:
			if h.left == 0 {
				continue
			}
			if h.left != unlimited {
				h.left--
			}
			if h.need > 0 {
				h.need--
			}
		case flagClose:
			if h.need > 0 {
				continue
			}
		}
		h.q = e.to
		g.enter(dst, h)
	}
}

// walker is the part of a grammar's behaviour that walks over the token tree have met, as an
// automaton that grows as it is used.
type walker struct {
	g       *Grammar
	configs []config
	next    [][256]int32 // -1: not known yet, 0: dead
	index   map[string]int32
	key     []byte
	fresh   config
	reach   int32 // of all configurations met
}

func newWalker(g *Grammar) *walker {
	w := &walker{g: g, index: map[string]int32{}}
	w.id(&config{}) // 0: dead
	return w
}

// id returns the number of a configuration, whose heads it copies.
func (w *walker) id(c *config) int32 {
	w.reach = max(w.reach, c.reach)
	w.key = w.key[:0]
	for _, h := range c.heads {
		w.key = binary.LittleEndian.AppendUint32(w.key, uint32(h.q))
		w.key = binary.LittleEndian.AppendUint32(w.key, h.left)
		w.key = binary.LittleEndian.AppendUint32(w.key, h.need)
		for s := h.up; s != nil; s = s.up {
			w.key = binary.LittleEndian.AppendUint32(w.key, uint32(s.q))
		}
		w.key = binary.LittleEndian.AppendUint32(w.key, 1<<31) // no state
	}
	if c.done {
		w.key = append(w.key, 1)
	}
	if i, ok := w.index[string(w.key)]; ok {
		return i
	}
	i := int32(len(w.configs))
	w.index[string(w.key)] = i
	w.configs = append(w.configs, config{heads: append([]head(nil), c.heads...), done: c.done})
	var row [256]int32
	for b := range row {
		row[b] = -1
	}
	w.next = append(w.next, row)
	return i
}

func (w *walker) step(from int32, b byte) int32 {
	if to := w.next[from][b]; to >= 0 {
		return to
	}
	w.g.step(&w.fresh, &w.configs[from], b)
	to := int32(0)
	if !w.fresh.dead() {
		to = w.id(&w.fresh)
	}
	w.next[from][b] = to
	return to
}

// exit is a place in the token tree at which a rule is complete.
type exit struct {
	node  int32
	ticks uint16 // characters of a JSON string up to there
}

// walk goes through nodes lo to hi of the token tree, which are whole subtrees at one depth,
// from a configuration. It appends the tokens that end alive, and the places where a reading has
// left its last rule; a token that ends there is among the tokens.
func (w *walker) walk(lo, hi, from int32, tokens []int32, exits []exit) ([]int32, []exit) {
	t := w.g.trie
	if lo >= hi {
		return tokens, exits
	}
	base := t.nodes[lo].depth
	path := []int32{from} // configuration by depth
	for i := lo; i < hi; {
		n := &t.nodes[i]
		d := int(n.depth - base)
		to := w.step(path[d], n.b)
		if to == 0 {
			i = n.end
			continue
		}
		path = append(path[:d+1], to)
		tokens = t.mark(tokens, i)
		c := &w.configs[to]
		if c.done {
			exits = append(exits, exit{node: i})
		}
		if i++; len(c.heads) == 0 {
			i = n.end
		}
	}
	return tokens, exits
}
