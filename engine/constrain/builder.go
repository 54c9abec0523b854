package constrain

import (
	"fmt"
	"math"
	"slices"
)

// rule is a part that others call. Its texts are never empty where it stands in a schema.
type rule struct {
	start int32
	// The characters of a JSON string that may and must still come; see stringStates.
	left, need uint32
}

const unlimited = math.MaxUint32

// builder collects the rules of one grammar. The states of JSON strings come first, in every
// grammar alike, so that what is known of them for a vocabulary serves all grammars.
type builder struct {
	limit  int // states
	fixed  int // states of JSON strings
	text   *dfa
	states []state
	rules  []rule
	keyed  map[string]int32
	checks []check
}

type check struct {
	rule int32
	err  error
}

func newBuilder(limit int, text *dfa) *builder {
	b := &builder{limit: limit, text: text, fixed: len(text.states), states: slices.Clone(text.states), keyed: map[string]int32{}}
	for i := range b.states { // finish writes to them
		b.states[i].edges = slices.Clone(b.states[i].edges)
	}
	return b
}

// room is the number of states that are left.
func (b *builder) room() int { return max(b.limit-len(b.states), 1) }

func (b *builder) nfa() *nfa { return &nfa{limit: 8 * b.room()} }

// reserve returns a rule to be defined.
func (b *builder) reserve() int32 {
	b.rules = append(b.rules, rule{start: -1, left: unlimited})
	return int32(len(b.rules) - 1)
}

// define gives a rule its automaton.
func (b *builder) define(r int32, n *nfa, start, accept int32) error {
	d, err := n.determinize(start, accept, b.room())
	if err != nil {
		return err
	}
	return b.add(r, d)
}

func (b *builder) add(r int32, d *dfa) error {
	if len(b.states)+len(d.states) > b.limit || len(b.rules) > b.limit {
		return fmt.Errorf("%w: more than %d automaton states", ErrLimit, b.limit)
	}
	base := int32(len(b.states))
	b.rules[r].start = base
	for _, s := range d.states {
		s.edges, s.calls = slices.Clone(s.edges), slices.Clone(s.calls)
		for i := range s.edges {
			s.edges[i].to += base
		}
		for i := range s.calls {
			s.calls[i].ret += base
		}
		b.states = append(b.states, s)
	}
	return nil
}

// shared returns the rule with this key, made on first use.
func (b *builder) shared(key string, make func() (*dfa, error)) (int32, error) {
	if r, ok := b.keyed[key]; ok {
		return r, nil
	}
	d, err := make()
	if err != nil {
		return 0, err
	}
	r := b.reserve()
	b.keyed[key] = r
	return r, b.add(r, d)
}

// freeString returns the rule of the JSON strings of low to high characters; high -1: no limit.
func (b *builder) freeString(low, high int) int32 {
	key := fmt.Sprint("string ", low, high)
	if r, ok := b.keyed[key]; ok {
		return r
	}
	r := b.reserve()
	b.keyed[key] = r
	b.rules[r] = rule{start: 0, left: unlimited, need: uint32(low)}
	if high >= 0 && high < maxCount {
		b.rules[r].left = uint32(high)
		if low > high {
			b.rules[r].start = -1 // nothing
		}
	}
	return r
}

// empty has finish fail with err if any text follows the rule.
func (b *builder) empty(r int32, err error) { b.checks = append(b.checks, check{r, err}) }

// stringStates is the automaton of JSON strings with all their escapes. State 0 expects the
// opening quote. Edges that begin a character and the one that ends the string are flagged.
// A pair of surrogate escapes is one character.
func stringStates() (*dfa, error) {
	n := &nfa{limit: 1 << 12}
	start, accept := n.node(), n.node()
	body := n.after(start, `"`)
	n.text(body, accept, `"`)
	for _, raw := range [][2]rune{{' ', '"' - 1}, {'"' + 1, '\\' - 1}, {'\\' + 1, 0x10FFFF}} {
		n.runes(body, body, runeBytes, raw[0], raw[1])
	}
	escape := n.after(body, `\`)
	for _, c := range `"\/bfnrt` {
		n.text(escape, body, string(c))
	}
	hex := []byteRange{{'0', '9'}, {'A', 'F'}, {'a', 'f'}}
	digits := func(from, to int32, sets ...[]byteRange) {
		for i, set := range sets {
			next := to
			if i+1 < len(sets) {
				next = n.node()
			}
			for _, r := range set {
				n.bytes(from, next, []byteRange{r})
			}
			from = next
		}
	}
	unit := n.after(escape, "u")
	digits(unit, body, []byteRange{{'0', '9'}, {'A', 'C'}, {'E', 'F'}, {'a', 'c'}, {'e', 'f'}}, hex, hex, hex)
	d := []byteRange{{'D', 'D'}, {'d', 'd'}}
	digits(unit, body, d, []byteRange{{'0', '7'}}, hex, hex)
	high := n.node()
	digits(unit, high, d, []byteRange{{'8', '9'}, {'A', 'B'}, {'a', 'b'}}, hex, hex)
	digits(n.after(high, `\u`), body, d, []byteRange{{'C', 'F'}, {'c', 'f'}}, hex, hex)
	out, err := n.determinize(start, accept, 1<<12)
	if err != nil {
		return nil, err
	}
	inside := &out.states[out.states[0].edges[0].to]
	for i := range inside.edges {
		inside.edges[i].flag = flagTick
		if out.states[inside.edges[i].to].accept {
			inside.edges[i].flag = flagClose
		}
	}
	return out, nil
}

const neverHeight = math.MaxInt32

// finish checks the rules together and drops what leads nowhere and what nothing leads to. It
// returns the start rule's new number.
func (b *builder) finish(start int32, depth int) (int32, error) {
	// A rule that nothing defines, like one of strings with more characters at least than at
	// most, gets a dead state.
	dead := int32(len(b.states))
	b.states = append(b.states, state{})
	for i := range b.rules {
		if b.rules[i].start < 0 {
			b.rules[i].start = dead
		}
	}
	b.heights()
	for _, c := range b.checks {
		if b.states[b.rules[c.rule].start].height != neverHeight {
			return 0, c.err
		}
	}
	switch h := b.states[b.rules[start].start].height; {
	case h == neverHeight:
		return 0, ErrEmpty
	case int(h) > depth:
		return 0, fmt.Errorf("%w: the shortest text nests %d levels, limit %d", ErrLimit, h, depth)
	}
	for i := range b.states {
		s := &b.states[i]
		s.edges = slices.DeleteFunc(s.edges, func(e edge) bool { return b.states[e.to].height == neverHeight })
		s.calls = slices.DeleteFunc(s.calls, func(c call) bool {
			return b.states[c.ret].height == neverHeight || b.states[b.rules[c.rule].start].height == neverHeight
		})
	}
	if err := b.leftRecursion(); err != nil {
		return 0, err
	}
	return b.compact(start), nil
}

// compact keeps the states of strings, where they are, and those that the start rule reaches.
func (b *builder) compact(start int32) int32 {
	at := make([]int32, len(b.states)) // new place + 1; 0: not met
	var order []int32
	meet := func(i int32) {
		if at[i] == 0 {
			order = append(order, i)
			at[i] = int32(len(order))
		}
	}
	for i := range b.fixed {
		meet(int32(i))
	}
	meet(b.rules[start].start)
	for k := 0; k < len(order); k++ {
		s := &b.states[order[k]]
		for _, e := range s.edges {
			meet(e.to)
		}
		for _, c := range s.calls {
			meet(b.rules[c.rule].start)
			meet(c.ret)
		}
	}
	states := make([]state, len(order))
	var rules []rule
	number := map[int32]int32{}
	keep := func(r int32) int32 {
		if _, ok := number[r]; !ok {
			number[r] = int32(len(rules))
			kept := b.rules[r]
			kept.start = at[kept.start] - 1
			rules = append(rules, kept)
		}
		return number[r]
	}
	for k, i := range order {
		s := b.states[i]
		for j := range s.edges {
			s.edges[j].to = at[s.edges[j].to] - 1
		}
		for j := range s.calls {
			s.calls[j] = call{rule: keep(s.calls[j].rule), ret: at[s.calls[j].ret] - 1}
		}
		states[k] = s
	}
	start = keep(start)
	b.states, b.rules = states, rules
	return start
}

// heights finds, for every state, how deep calls must nest at least before its rule is done.
// States become final in order of height.
func (b *builder) heights() {
	type use struct{ state, call int32 } // call -1: an edge
	uses := make([][]use, len(b.states))
	byRule := make([][]use, len(b.states)) // by the start of the called rule
	levels := [][]int32{{}}
	push := func(i int32, h int32) {
		for int(h) >= len(levels) {
			levels = append(levels, nil)
		}
		levels[h] = append(levels[h], i)
	}
	for i := range b.states {
		s := &b.states[i]
		s.height = neverHeight
		for _, e := range s.edges {
			uses[e.to] = append(uses[e.to], use{int32(i), -1})
		}
		for k, c := range s.calls {
			uses[c.ret] = append(uses[c.ret], use{int32(i), int32(k)})
			at := b.rules[c.rule].start
			byRule[at] = append(byRule[at], use{int32(i), int32(k)})
		}
		if s.accept {
			push(int32(i), 0)
		}
	}
	for h := int32(0); int(h) < len(levels); h++ {
		for len(levels[h]) > 0 {
			k := len(levels[h]) - 1
			i := levels[h][k]
			levels[h] = levels[h][:k]
			if b.states[i].height != neverHeight {
				continue
			}
			b.states[i].height = h
			for _, u := range uses[i] {
				if u.call < 0 {
					push(u.state, h)
				} else if r := b.states[b.rules[b.states[u.state].calls[u.call].rule].start].height; r != neverHeight {
					push(u.state, max(h, r+1))
				}
			}
			for _, u := range byRule[i] {
				if ret := b.states[b.states[u.state].calls[u.call].ret].height; ret != neverHeight {
					push(u.state, max(h+1, ret))
				}
			}
		}
	}
}

// leftRecursion fails if a rule can call itself before it has read a byte.
func (b *builder) leftRecursion() error {
	color := make([]uint8, len(b.states)) // 1: on the path, 2: done
	type frame struct {
		at   int32
		next int
	}
	for root := range b.states {
		if color[root] != 0 {
			continue
		}
		path := []frame{{at: int32(root)}}
		color[root] = 1
		for len(path) > 0 {
			f := &path[len(path)-1]
			calls := b.states[f.at].calls
			if f.next == 2*len(calls) {
				color[f.at] = 2
				path = path[:len(path)-1]
				continue
			}
			c := calls[f.next/2]
			to := b.rules[c.rule].start
			if f.next%2 == 1 {
				if to = c.ret; !b.states[b.rules[c.rule].start].accept {
					to = -1 // the rule reads something first
				}
			}
			f.next++
			if to < 0 || color[to] == 2 {
				continue
			}
			if color[to] == 1 {
				return fmt.Errorf("%w: an alternative leads back to itself", ErrRecursion)
			}
			color[to] = 1
			path = append(path, frame{at: to})
		}
	}
	return nil
}
