package decide

import (
	"fmt"
	"slices"
)

// node is a row to expand: the options of order[lo:hi] share its first depth tokens.
type node struct {
	lo, hi, depth int
	span          int // of prompt.spans; -1: the question
}

// addPaths gives the prompt the spans, reads and scores that read each option by its tokens: a trie
// whose inner nodes are rows, the root being the last row of the question. Options that share their
// first tokens share the rows that compute them; the last token of an option needs no row. An option
// that is the beginning of another one ends with one of the end tokens.
func addPaths(p *prompt, seqs [][]int32, ends []int32) error {
	order := make([]int, len(seqs))
	for i := range order {
		order[i] = i
		if len(seqs[i]) == 0 {
			return fmt.Errorf("option %d has no tokens", i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return slices.Compare(seqs[a], seqs[b]) })
	for i := 1; i < len(order); i++ {
		if a, b := order[i-1], order[i]; slices.Equal(seqs[a], seqs[b]) {
			return fmt.Errorf("options %d and %d have the same tokens", min(a, b), max(a, b))
		}
	}
	p.scores = make([][]term, len(seqs))
	var places []int // span of each read, in the order in which they are made; -1: the question
	stack := []node{{0, len(order), 0, -1}}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]

		read := Read{LogSumExp: true}
		add := func(options []int, labels ...int32) {
			from := len(read.Labels)
			read.Labels = append(read.Labels, labels...)
			for _, i := range options {
				p.scores[i] = append(p.scores[i], term{read: len(places), from: from, to: len(read.Labels), log: true})
			}
		}
		lo := n.lo
		if len(seqs[order[lo]]) == n.depth { // the others go on
			if len(ends) == 0 {
				return fmt.Errorf("option %d is the beginning of another, and the model has no end token to tell them apart", order[lo])
			}
			add(order[lo:lo+1], ends...)
			lo++
		}
		var inner []node // children that need a row
		for lo < n.hi {
			id, hi := seqs[order[lo]][n.depth], lo+1
			for hi < n.hi && seqs[order[hi]][n.depth] == id {
				hi++
			}
			add(order[lo:hi], id)
			if hi > lo+1 || len(seqs[order[lo]]) > n.depth+1 {
				inner = append(inner, node{lo, hi, n.depth + 1, n.span})
			}
			lo = hi
		}
		places = append(places, n.span)
		if n.span < 0 {
			p.reads = []Read{read}
		} else {
			s := &p.spans[n.span]
			read.Row = len(s.Tokens) - 1
			s.Reads = append(s.Reads, read)
		}
		for i := range inner {
			c := &inner[i]
			id := seqs[order[c.lo]][n.depth]
			if len(inner) == 1 && n.span >= 0 {
				p.spans[n.span].Tokens = append(p.spans[n.span].Tokens, id)
			} else {
				p.spans = append(p.spans, Span{Parent: n.span + 1, Tokens: []int32{id}})
				c.span = len(p.spans) - 1
			}
		}
		stack = append(stack, inner...)
	}
	p.number(places)
	return nil
}

// number turns the places of the reads that terms name into their numbers: those of the question,
// then span after span.
func (p *prompt) number(places []int) {
	next := make([]int, len(p.spans)+1) // by span, the question first
	for i := range p.spans {
		before := len(p.reads)
		if i > 0 {
			before = next[i] + len(p.spans[i-1].Reads)
		}
		next[i+1] = before
	}
	numbers := make([]int, len(places))
	for i, span := range places { // the reads of one span were made in the order of its rows
		numbers[i] = next[span+1]
		next[span+1]++
	}
	for _, terms := range p.scores {
		for i := range terms {
			terms[i].read = numbers[terms[i].read]
		}
	}
}
