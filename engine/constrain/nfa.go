package constrain

import (
	"fmt"
	"slices"
)

type arcKind uint8

const (
	arcEmpty arcKind = iota
	arcByte
	arcCall  // a whole rule
	arcBegin // empty, at the start of the text only
	arcEnd   // empty, at the end of the text only
)

type arc struct {
	kind   arcKind
	lo, hi byte
	to     int32
	rule   int32
}

// nfa is a nondeterministic automaton over bytes and rules.
type nfa struct {
	nodes [][]arc
	limit int
}

// node returns a new node, or, over the limit, an old one: determinize reports the limit.
func (n *nfa) node() int32 {
	if len(n.nodes) > n.limit {
		return int32(n.limit)
	}
	n.nodes = append(n.nodes, nil)
	return int32(len(n.nodes) - 1)
}

func (n *nfa) arc(from int32, a arc) {
	if len(n.nodes) <= n.limit {
		n.nodes[from] = append(n.nodes[from], a)
	}
}

func (n *nfa) empty(from, to int32) { n.arc(from, arc{kind: arcEmpty, to: to}) }

// bytes adds a path of byte ranges between two nodes.
func (n *nfa) bytes(from, to int32, seq []byteRange) {
	for i, r := range seq {
		next := to
		if i+1 < len(seq) {
			next = n.node()
		}
		n.arc(from, arc{kind: arcByte, lo: r.lo, hi: r.hi, to: next})
		from = next
	}
	if len(seq) == 0 {
		n.empty(from, to)
	}
}

// text adds a literal between two nodes.
func (n *nfa) text(from, to int32, s string) {
	seq := make([]byteRange, len(s))
	for i := range seq {
		seq[i] = byteRange{s[i], s[i]}
	}
	n.bytes(from, to, seq)
}

// after adds a literal and returns the node behind it.
func (n *nfa) after(from int32, s string) int32 {
	to := n.node()
	n.text(from, to, s)
	return to
}

func (n *nfa) call(from, to, rule int32) { n.arc(from, arc{kind: arcCall, to: to, rule: rule}) }

// embed adds a copy of a dfa without calls between two nodes.
func (n *nfa) embed(from, to int32, d *dfa) {
	at := make([]int32, len(d.states))
	for i := range at {
		at[i] = n.node()
	}
	n.empty(from, at[0])
	for i, s := range d.states {
		for _, e := range s.edges {
			n.arc(at[i], arc{kind: arcByte, lo: e.lo, hi: e.hi, to: at[e.to]})
		}
		if s.accept {
			n.empty(at[i], to)
		}
	}
}

// subset turns sets of nodes into states.
type subset struct {
	n      *nfa
	accept int32
	seen   []uint32 // round in which a node was last met
	round  uint32
	index  map[string]int32
	sets   [][]int32
	d      *dfa
	key    []byte
}

// determinize returns an equivalent deterministic automaton: at most one edge a byte and one
// call a rule from each state. State 0 is the start.
func (n *nfa) determinize(start, accept int32, limit int) (*dfa, error) {
	if len(n.nodes) > n.limit {
		return nil, fmt.Errorf("%w: more than %d automaton nodes", ErrLimit, n.limit)
	}
	s := &subset{n: n, accept: accept, seen: make([]uint32, len(n.nodes)), index: map[string]int32{}, d: &dfa{}}
	s.state([]int32{start}, true)
	work := 0
	for i := 0; i < len(s.sets); i++ {
		if len(s.sets) > limit {
			return nil, fmt.Errorf("%w: more than %d automaton states", ErrLimit, limit)
		}
		if work += len(s.sets[i]); work > 64*limit+len(n.nodes) {
			return nil, fmt.Errorf("%w: an automaton of %d nodes takes more than %d steps to build", ErrLimit, len(n.nodes), 64*limit)
		}
		s.expand(int32(i))
		s.sets[i] = nil
	}
	return s.d, nil
}

// state returns the state for the nodes reachable from the given ones by empty arcs.
func (s *subset) state(from []int32, begin bool) int32 {
	s.round++
	var set, ends []int32
	stack := from
	accept := false
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if s.seen[at] == s.round {
			continue
		}
		s.seen[at] = s.round
		keep := at == s.accept
		accept = accept || keep
		for _, a := range s.n.nodes[at] {
			switch a.kind {
			case arcEmpty:
				stack = append(stack, a.to)
			case arcBegin:
				if begin {
					stack = append(stack, a.to)
				}
			case arcEnd:
				ends = append(ends, a.to)
				keep = true
			default:
				keep = true
			}
		}
		if keep {
			set = append(set, at)
		}
	}
	slices.Sort(set)
	s.key = s.key[:0]
	for _, at := range set {
		s.key = append(s.key, byte(at), byte(at>>8), byte(at>>16), byte(at>>24))
	}
	if begin {
		s.key = append(s.key, 'b') // the start is never entered again: what follows ^ is in its set alone
	}
	if i, ok := s.index[string(s.key)]; ok {
		return i
	}
	i := int32(len(s.sets))
	s.index[string(s.key)] = i
	s.sets = append(s.sets, set)
	s.d.states = append(s.d.states, state{accept: accept || s.ends(ends, begin)})
	return i
}

// ends reports whether the nodes behind end-of-text arcs lead to acceptance without a byte.
func (s *subset) ends(stack []int32, begin bool) bool {
	if len(stack) == 0 {
		return false
	}
	s.round++
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if at == s.accept {
			return true
		}
		if s.seen[at] == s.round {
			continue
		}
		s.seen[at] = s.round
		for _, a := range s.n.nodes[at] {
			if a.kind == arcEmpty || a.kind == arcEnd || a.kind == arcBegin && begin {
				stack = append(stack, a.to)
			}
		}
	}
	return false
}

// expand fills a state's edges and calls.
func (s *subset) expand(i int32) {
	var cut [257]bool // where the set of arcs that apply may change
	calls := map[int32][]int32{}
	var rules []int32
	any := false
	for _, at := range s.sets[i] {
		for _, a := range s.n.nodes[at] {
			switch a.kind {
			case arcByte:
				cut[a.lo], cut[int(a.hi)+1], any = true, true, true
			case arcCall:
				if calls[a.rule] == nil {
					rules = append(rules, a.rule)
				}
				calls[a.rule] = append(calls[a.rule], a.to)
			}
		}
	}
	if any {
		var targets [256][]int32 // by the first byte of each piece
		var next [257]int
		for b := 255; b >= 0; b-- {
			if next[b] = next[b+1]; b == 255 || cut[b+1] {
				next[b] = b + 1
			}
		}
		for _, at := range s.sets[i] {
			for _, a := range s.n.nodes[at] {
				if a.kind != arcByte {
					continue
				}
				for b := int(a.lo); b <= int(a.hi); b = next[b] {
					targets[b] = append(targets[b], a.to)
				}
			}
		}
		var edges []edge
		for b := 0; b < 256; b = next[b] {
			if targets[b] == nil {
				continue
			}
			to := s.state(targets[b], false)
			if k := len(edges) - 1; k >= 0 && edges[k].to == to && int(edges[k].hi)+1 == b {
				edges[k].hi = byte(next[b] - 1)
			} else {
				edges = append(edges, edge{lo: byte(b), hi: byte(next[b] - 1), to: to})
			}
		}
		s.d.states[i].edges = edges
	}
	for _, rule := range rules {
		ret := s.state(calls[rule], false)
		s.d.states[i].calls = append(s.d.states[i].calls, call{rule: rule, ret: ret})
	}
}
