package constrain

import (
	"fmt"
	"slices"
)

// dfa is a deterministic automaton over bytes and rules; state 0 is the start.
type dfa struct{ states []state }

type state struct {
	edges  []edge // ascending, disjoint
	calls  []call
	accept bool
	counts bool // its rule counts characters, and calls no other
	// height is how many calls deep the shortest way to acceptance nests; never: there is none.
	height int32
}

type edge struct {
	lo, hi byte
	flag   uint8
	to     int32
}

// Edges of JSON strings count characters.
const (
	flagTick  = 1 + iota // starts a character
	flagClose            // ends the string
)

// call reads all of a rule and goes on at ret.
type call struct{ rule, ret int32 }

// step returns the edge for a byte, or nil.
func (s *state) step(b byte) *edge {
	for i := range s.edges {
		if e := &s.edges[i]; b <= e.hi {
			if b < e.lo {
				return nil
			}
			return e
		}
	}
	return nil
}

// combine returns the automaton of the texts that a accepts and for which keep holds of whether
// b accepts them: both (intersection), or a alone (difference). Neither may have calls; flags are
// those of a.
func combine(a, b *dfa, both bool, limit int) (*dfa, error) {
	type pair struct{ a, b int32 } // b is -1 where it has failed
	index := map[pair]int32{{0, 0}: 0}
	pairs := []pair{{0, 0}}
	d := &dfa{}
	for i := 0; i < len(pairs); i++ {
		if len(pairs) > limit {
			return nil, fmt.Errorf("%w: more than %d automaton states", ErrLimit, limit)
		}
		p := pairs[i]
		s := state{accept: a.states[p.a].accept}
		if inB := p.b >= 0 && b.states[p.b].accept; inB != both {
			s.accept = false
		}
		for _, e := range a.states[p.a].edges {
			for lo := int(e.lo); lo <= int(e.hi); {
				hi, to := int(e.hi), int32(-1)
				if p.b >= 0 {
					for _, f := range b.states[p.b].edges {
						if int(f.hi) < lo {
							continue
						}
						if int(f.lo) <= lo {
							hi, to = min(hi, int(f.hi)), f.to
						} else {
							hi = min(hi, int(f.lo)-1)
						}
						break
					}
				}
				if to >= 0 || !both {
					q := pair{e.to, to}
					n, ok := index[q]
					if !ok {
						n = int32(len(pairs))
						index[q] = n
						pairs = append(pairs, q)
					}
					s.edges = append(s.edges, edge{lo: byte(lo), hi: byte(hi), flag: e.flag, to: n})
				}
				lo = hi + 1
			}
		}
		d.states = append(d.states, s)
	}
	return d.trim(), nil
}

// trim removes the states that lead nowhere. The start stays.
func (d *dfa) trim() *dfa {
	back := make([][]int32, len(d.states))
	var live []bool = make([]bool, len(d.states))
	var stack []int32
	for i, s := range d.states {
		for _, e := range s.edges {
			back[e.to] = append(back[e.to], int32(i))
		}
		if s.accept {
			live[i] = true
			stack = append(stack, int32(i))
		}
	}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, p := range back[at] {
			if !live[p] {
				live[p] = true
				stack = append(stack, p)
			}
		}
	}
	at := make([]int32, len(d.states))
	out := &dfa{}
	for i := range d.states {
		if at[i] = -1; live[i] || i == 0 {
			at[i] = int32(len(out.states))
			out.states = append(out.states, d.states[i])
		}
	}
	for i := range out.states {
		s := &out.states[i]
		kept := make([]edge, 0, len(s.edges))
		for _, e := range s.edges {
			if !live[e.to] {
				continue
			}
			e.to = at[e.to]
			if k := len(kept) - 1; k >= 0 && kept[k].to == e.to && kept[k].flag == e.flag && kept[k].hi+1 == e.lo {
				kept[k].hi = e.hi
			} else {
				kept = append(kept, e)
			}
		}
		s.edges = kept
	}
	return out
}

// empty reports whether a trimmed automaton accepts nothing.
func (d *dfa) empty() bool { return !d.states[0].accept && len(d.states[0].edges) == 0 }

// matches reports whether the automaton, which has no calls, accepts the text.
func (d *dfa) matches(text string) bool {
	at := int32(0)
	for i := range len(text) {
		e := d.states[at].step(text[i])
		if e == nil {
			return false
		}
		at = e.to
	}
	return d.states[at].accept
}

// words returns the automaton of a list of texts.
func words(texts []string, limit int) (*dfa, error) {
	d := &dfa{states: []state{{}}}
	texts = slices.Clone(texts)
	slices.Sort(texts)
	for _, text := range texts {
		at := int32(0)
		for i := range len(text) {
			s := &d.states[at]
			if k := len(s.edges); k > 0 && s.edges[k-1].lo == text[i] { // the texts are sorted
				at = s.edges[k-1].to
				continue
			}
			to := int32(len(d.states))
			s.edges = append(s.edges, edge{lo: text[i], hi: text[i], to: to})
			if len(d.states) >= limit {
				return nil, fmt.Errorf("%w: %d texts need more than %d automaton states", ErrLimit, len(texts), limit)
			}
			d.states = append(d.states, state{})
			at = to
		}
		d.states[at].accept = true
	}
	return d, nil
}
