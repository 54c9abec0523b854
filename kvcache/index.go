package kvcache

import "math"

// index maps token prefixes to blocks: a trie whose nodes are blocks, so that a node's tokens are
// exactly those of its block's sealed rows. The children of a node are sorted by their tokens;
// finding the longest shared prefix is a binary search that compares tokens, so there are no
// hashes to collide. Only full blocks have children, and no child's tokens are a prefix of a
// sibling's.
type index struct {
	size   int
	nodes  []node
	tokens []int32 // size for each block
	roots  []root
	byName map[Namespace]parent
	spare  []parent // unused roots
	count  int
}

// parent is a block, or the complement of a root's number.
type parent int32

const unindexed parent = math.MinInt32

type node struct {
	up   parent
	n    int32
	kids []BlockID
}

type root struct {
	ns   Namespace
	kids []BlockID
}

// newIndex returns an empty index over the given number of blocks.
func newIndex(blocks, size int) *index {
	x := &index{size: size, nodes: make([]node, blocks), tokens: make([]int32, blocks*size), byName: map[Namespace]parent{}}
	for i := range x.nodes {
		x.nodes[i].up = unindexed
	}
	return x
}

// Has says whether the block is indexed.
func (x *index) Has(b BlockID) bool { return x.nodes[b].up != unindexed }

// Tokens returns the tokens that the block is indexed under; it is a view.
func (x *index) Tokens(b BlockID) []int32 {
	at := int(b) * x.size
	return x.tokens[at : at+int(x.nodes[b].n)]
}

// Parent returns the block before b, or NoBlock for the first of its sequence.
func (x *index) Parent(b BlockID) BlockID {
	if up := x.nodes[b].up; up >= 0 {
		return BlockID(up)
	}
	return NoBlock
}

func (x *index) kids(p parent) *[]BlockID {
	if p >= 0 {
		return &x.nodes[p].kids
	}
	return &x.roots[^p].kids
}

func (x *index) root(ns Namespace) parent {
	if p, ok := x.byName[ns]; ok {
		return p
	}
	var p parent
	if n := len(x.spare); n > 0 {
		p, x.spare = x.spare[n-1], x.spare[:n-1]
		x.roots[^p] = root{ns: ns}
	} else {
		p = ^parent(len(x.roots))
		x.roots = append(x.roots, root{ns: ns})
	}
	x.byName[ns] = p
	return p
}

// shared returns the length of the common prefix and how a sorts against b.
func shared(a, b []int32) (n, order int) {
	m := min(len(a), len(b))
	for n < m && a[n] == b[n] {
		n++
	}
	switch {
	case n < m && a[n] < b[n], n == m && len(a) < len(b):
		return n, -1
	case n == m && len(a) == len(b):
		return n, 0
	}
	return n, 1
}

// find returns where toks sorts among kids.
func (x *index) find(kids []BlockID, toks []int32) int {
	lo, hi := 0, len(kids)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if _, order := shared(x.Tokens(kids[mid]), toks); order < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// best returns the child that shares the longest prefix with toks: in sorted order it is next to
// the place where toks would stand.
func (x *index) best(kids []BlockID, toks []int32) (b BlockID, n int) {
	b = NoBlock
	at := 0
	if len(kids) > 1 {
		at = x.find(kids, toks)
	}
	for i := max(at-1, 0); i <= at && i < len(kids); i++ {
		if m, _ := shared(x.Tokens(kids[i]), toks); m > n {
			b, n = kids[i], m
		}
	}
	return b, n
}

// maxAlike bounds how many siblings alike looks at on each side.
const maxAlike = 16

// alike visits the block and those of its siblings that share leading rows with its first rows
// tokens, with how many, until visit returns false. Siblings are sorted by their tokens, so those
// that share most are the nearest.
func (x *index) alike(b BlockID, rows int, visit func(b BlockID, rows int) bool) {
	if !visit(b, rows) || !x.Has(b) {
		return
	}
	toks := x.Tokens(b)[:rows]
	kids := *x.kids(x.nodes[b].up)
	at := x.find(kids, x.Tokens(b))
	for _, step := range [...]int{-1, 1} {
		for i, k := at+step, 0; i >= 0 && i < len(kids) && k < maxAlike; i, k = i+step, k+1 {
			n, _ := shared(x.Tokens(kids[i]), toks)
			if n == 0 {
				break
			}
			if !visit(kids[i], n) {
				return
			}
		}
	}
}

// Match appends to blocks those that cover a prefix of tokens, and returns them with the prefix's
// length: full blocks and then, at most, the leading part of one more.
func (x *index) Match(ns Namespace, tokens []int32, blocks []BlockID) ([]BlockID, int) {
	at, ok := x.byName[ns]
	if !ok {
		return blocks, 0
	}
	covered := 0
	for covered < len(tokens) {
		b, n := x.best(*x.kids(at), tokens[covered:min(covered+x.size, len(tokens))])
		if n == 0 {
			break
		}
		blocks = append(blocks, b)
		covered += n
		if n < x.size {
			break
		}
		at = parent(b)
	}
	return blocks, covered
}

// Put files the block under its parent (NoBlock: first of the namespace) with the tokens of its
// sealed rows. It returns the block that now stands for those tokens: b itself, or an indexed
// block that already covers them, in which case b is not indexed. shorter is the block whose
// tokens were a mere prefix of b's and which therefore left the index, or NoBlock.
func (x *index) Put(ns Namespace, before, b BlockID, tokens []int32) (stands, shorter BlockID) {
	up := parent(before)
	if before == NoBlock {
		up = x.root(ns)
	}
	x.unlink(b)
	shorter = NoBlock
	kids := x.kids(up)
	at := x.find(*kids, tokens)
	if at < len(*kids) {
		if n, _ := shared(x.Tokens((*kids)[at]), tokens); n == len(tokens) {
			return (*kids)[at], NoBlock
		}
	}
	if at > 0 {
		prev := (*kids)[at-1]
		if n, _ := shared(x.Tokens(prev), tokens); n == int(x.nodes[prev].n) {
			shorter = prev
			x.detach(prev)
			x.count--
			at--
		}
	}
	*kids = append(*kids, 0)
	copy((*kids)[at+1:], (*kids)[at:])
	(*kids)[at] = b
	x.nodes[b].up, x.nodes[b].n = up, int32(len(tokens))
	copy(x.tokens[int(b)*x.size:], tokens)
	x.count++
	return b, shorter
}

// unlink takes a childless block out, keeping its parent's root alive for what follows.
func (x *index) unlink(b BlockID) {
	if x.Has(b) {
		x.detach(b)
		x.count--
	}
}

func (x *index) detach(b BlockID) {
	kids := x.kids(x.nodes[b].up)
	at := x.find(*kids, x.Tokens(b))
	copy((*kids)[at:], (*kids)[at+1:])
	*kids = (*kids)[:len(*kids)-1]
	x.nodes[b].up, x.nodes[b].n = unindexed, 0
}

// Remove takes the block and all that continues it out of the index and calls gone for each.
func (x *index) Remove(b BlockID, gone func(BlockID)) {
	if !x.Has(b) {
		return
	}
	up := x.nodes[b].up
	x.detach(b)
	x.drop(b, gone)
	if up < 0 && len(x.roots[^up].kids) == 0 {
		delete(x.byName, x.roots[^up].ns)
		x.roots[^up] = root{}
		x.spare = append(x.spare, up)
	}
}

// drop is iterative: a sequence of a million tokens is a chain as deep.
func (x *index) drop(b BlockID, gone func(BlockID)) {
	stack := []BlockID{b}
	for len(stack) > 0 {
		b := stack[len(stack)-1]
		stack = append(stack[:len(stack)-1], x.nodes[b].kids...)
		x.nodes[b] = node{up: unindexed}
		x.count--
		gone(b)
	}
}
