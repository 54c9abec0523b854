package constrain

import (
	"cmp"
	"slices"
	"sync"
)

// outcome is what the vocabulary's tokens do in one state, whatever lies below it on the stack:
// some stay inside its rule, some leave it and are judged by the state behind.
type outcome struct {
	tokens []int32  // allowed ones, if few
	mask   []uint32 // or as a set
	exits  []exit   // with something behind them in the token tree
	shared bool     // the exits are a part of a textOutcome's
	reach  int32    // levels of nesting that all this takes, above those below the state
	then   map[int32]*outcome
}

// place is what the outcome of a head depends on.
type place struct {
	q          int32
	left, need uint32
}

// outcomes caches them for a grammar, up to a number of bytes.
type outcomes struct {
	mu      sync.Mutex
	roots   map[place]*outcome
	counted map[int32]*textOutcome // of states that count characters
	bytes   int
}

// maxOutcomeBytes bounds the cache of one grammar. Beyond it everything is forgotten.
const maxOutcomeBytes = 16 << 20

// pack makes an outcome of lists.
func (g *Grammar) pack(tokens []int32, exits []exit, reach int32) *outcome {
	o := &outcome{then: map[int32]*outcome{}, reach: reach}
	words := (g.trie.tokens + 31) / 32
	if len(tokens) < words {
		o.tokens = slices.Clone(tokens)
	} else {
		o.mask = make([]uint32, words)
		for _, id := range tokens {
			o.mask[id>>5] |= 1 << (id & 31)
		}
	}
	for _, e := range exits {
		if g.trie.nodes[e.node].end > e.node+1 {
			o.exits = append(o.exits, e)
		}
	}
	return o
}

func (o *outcome) size() int {
	n := 4*len(o.tokens) + 4*len(o.mask) + 128
	if !o.shared {
		n += 8 * len(o.exits)
	}
	return n
}

// counted returns what tokens do in a state of a rule that counts characters and calls no other.
func (g *Grammar) counted(q int32) *textOutcome {
	g.cache.mu.Lock()
	o := g.cache.counted[q]
	g.cache.mu.Unlock()
	if o != nil {
		return o
	}
	o = newTextOutcome(g.trie, g.states, q)
	g.cache.mu.Lock()
	defer g.cache.mu.Unlock()
	if g.cache.counted == nil {
		g.cache.counted = map[int32]*textOutcome{}
	}
	g.cache.counted[q] = o
	g.grown(o.size())
	return o
}

// grown forgets everything when the cache has become too large; the lock is held.
func (g *Grammar) grown(bytes int) {
	if g.cache.bytes += bytes; g.cache.bytes > maxOutcomeBytes {
		g.cache.roots, g.cache.counted, g.cache.bytes = nil, nil, 0
	}
}

// root returns the outcome of a head.
func (g *Grammar) root(h head) *outcome {
	p := place{h.q, h.left, h.need}
	// No token has more characters than bytes.
	p.left, p.need = min(p.left, uint32(g.trie.longest)), min(p.need, uint32(g.trie.longest)+1)
	text := g.text.at(g.trie, h.q)
	if text == nil && g.states[h.q].counts {
		text = g.counted(h.q)
	}
	if text != nil { // no token has more characters than text.ticks
		p.left, p.need = min(p.left, uint32(text.ticks)), min(p.need, uint32(text.ticks)+1)
	}
	g.cache.mu.Lock()
	o := g.cache.roots[p]
	g.cache.mu.Unlock()
	if o != nil {
		return o
	}
	if text != nil {
		tokens, exits := text.within(g.trie, p.left, p.need)
		o = g.pack(tokens, exits, 0)
		if text.open {
			o.exits, o.shared = text.leaving(p.left), true
		}
	} else {
		w := newWalker(g)
		tokens, exits := w.walk(0, int32(len(g.trie.nodes)), w.id(&config{heads: []head{{q: h.q, left: h.left, need: h.need}}}), nil, nil)
		o = g.pack(tokens, exits, w.reach)
	}
	g.cache.mu.Lock()
	defer g.cache.mu.Unlock()
	g.grown(o.size())
	if g.cache.roots == nil {
		g.cache.roots = map[place]*outcome{}
	}
	g.cache.roots[p] = o
	return o
}

// follow returns the outcome of what remains of o's tokens in the state behind.
func (g *Grammar) follow(o *outcome, q int32) *outcome {
	g.cache.mu.Lock()
	next := o.then[q]
	g.cache.mu.Unlock()
	if next != nil {
		return next
	}
	var start config
	g.enter(&start, head{q: q})
	w := newWalker(g)
	from := w.id(&start)
	var tokens []int32
	var exits []exit
	if start.done { // the rule behind is complete as well
		exits = append(exits, o.exits...)
	}
	for _, e := range o.exits {
		end := g.trie.nodes[e.node].end
		for child := e.node + 1; child < end; child = g.trie.nodes[child].end {
			if w.step(from, g.trie.nodes[child].b) != 0 { // most go nowhere
				tokens, exits = w.walk(child, end, from, tokens, exits)
				break
			}
		}
	}
	next = g.pack(tokens, exits, w.reach)
	g.cache.mu.Lock()
	defer g.cache.mu.Unlock()
	g.cache.bytes += next.size()
	o.then[q] = next
	return next
}

// allow adds the tokens that a head allows.
func (g *Grammar) allow(dst []uint32, h head) {
	for o, up := g.root(h), h.up; ; up = up.up {
		if up.height()+o.reach > g.depth {
			g.allowDeep(dst, h)
			return
		}
		for i, w := range o.mask {
			dst[i] |= w
		}
		for _, id := range o.tokens {
			dst[id>>5] |= 1 << (id & 31)
		}
		if up == nil || len(o.exits) == 0 {
			return
		}
		o = g.follow(o, up.q)
	}
}

// allowDeep is allow near the limit on depth, where what a token may do depends on the levels
// that are left.
func (g *Grammar) allowDeep(dst []uint32, h head) {
	w := newWalker(g)
	tokens, _ := w.walk(0, int32(len(g.trie.nodes)), w.id(&config{heads: []head{h}}), nil, nil)
	for _, id := range tokens {
		dst[id>>5] |= 1 << (id & 31)
	}
}

// textOutcomes is what tokens do inside JSON strings: for each of the strings' states every
// token's number of characters, found once for a vocabulary.
type textOutcomes struct {
	states *dfa
	mu     sync.Mutex
	found  []*textOutcome
}

type textOutcome struct {
	ticks int       // characters of the longest token that stays inside
	by    [][]int32 // tokens that stay inside the string, by characters
	exits []exit    // where the string ends
	// A string without a quote of its own may end at every character: those places, by characters.
	open  bool
	after []exit
}

func (o *textOutcome) size() int {
	n := 8*len(o.exits) + 8*len(o.after) + 128
	for _, list := range o.by {
		n += 4 * len(list)
	}
	return n
}

// leaving returns the places where a string ends that may take left characters more.
func (o *textOutcome) leaving(left uint32) []exit {
	n, _ := slices.BinarySearchFunc(o.after, left+1, func(e exit, ticks uint32) int { return cmp.Compare(uint32(e.ticks), ticks) })
	return o.after[:n:n]
}

func (t *textOutcomes) at(tr *trie, q int32) *textOutcome {
	if int(q) >= len(t.states.states) {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.found[q] != nil {
		return t.found[q]
	}
	t.found[q] = newTextOutcome(tr, t.states.states, q)
	return t.found[q]
}

func newTextOutcome(tr *trie, states []state, q int32) *textOutcome {
	o := &textOutcome{by: [][]int32{nil}}
	type at struct{ q, ticks int32 }
	path := []at{{q, 0}}
	for i := int32(0); int(i) < len(tr.nodes); {
		n := &tr.nodes[i]
		from := path[n.depth]
		e := states[from.q].step(n.b)
		if e == nil {
			i = n.end
			continue
		}
		if e.flag == flagClose {
			o.exits = append(o.exits, exit{i, uint16(from.ticks)})
			o.ticks = max(o.ticks, int(from.ticks))
			i = n.end
			continue
		}
		to := at{e.to, from.ticks}
		if e.flag == flagTick {
			to.ticks++
		}
		path = append(path[:n.depth+1], to)
		if states[to.q].accept && n.end > i+1 {
			o.open = true
			o.after = append(o.after, exit{i, uint16(to.ticks)})
		}
		if n.token >= 0 {
			for int(to.ticks) >= len(o.by) {
				o.by = append(o.by, nil)
			}
			o.ticks = max(o.ticks, int(to.ticks))
			o.by[to.ticks] = tr.mark(o.by[to.ticks], i)
		}
		i++
	}
	slices.SortStableFunc(o.after, func(a, b exit) int { return cmp.Compare(a.ticks, b.ticks) })
	return o
}

// within returns the tokens and the ends for a string that may take left characters more and
// must take need.
func (o *textOutcome) within(t *trie, left, need uint32) (tokens []int32, exits []exit) {
	for ticks, list := range o.by {
		if uint32(ticks) <= left {
			tokens = append(tokens, list...)
		}
	}
	for _, e := range o.exits {
		if uint32(e.ticks) <= left && uint32(e.ticks) >= need {
			tokens = t.mark(tokens, e.node)
			exits = append(exits, e)
		}
	}
	return tokens, exits
}
