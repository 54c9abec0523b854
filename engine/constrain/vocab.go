package constrain

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Vocab is what a tokenizer's ids stand for.
type Vocab struct {
	// Tokens holds, by id, the bytes that the token decodes to inside a text. It is nil for
	// control tokens, which a constraint never allows.
	Tokens [][]byte
	// End holds the ids that end a text. They are allowed exactly when the text is complete.
	End []int32
}

// maxTokenBytes bounds the depth of the token tree.
const maxTokenBytes = 1 << 12

// trie holds the tokens as a tree of bytes in preorder: a node's subtree is the range of nodes
// from it to its end, so that a walk is one pass that skips what the automaton refuses.
type trie struct {
	nodes   []trieNode
	twin    map[int32][]int32 // first token with some bytes to the others with the same
	longest int               // bytes of the longest token
	tokens  int
	end     []int32
}

type trieNode struct {
	end   int32 // one past the subtree
	token int32 // -1: none ends here
	depth uint16
	b     byte
}

func newTrie(v Vocab) (*trie, error) {
	t := &trie{twin: map[int32][]int32{}, tokens: len(v.Tokens), end: slices.Clone(v.End)}
	if len(v.Tokens) == 0 {
		return nil, fmt.Errorf("%w: no tokens", ErrVocab)
	}
	for _, id := range v.End {
		if id < 0 || int(id) >= len(v.Tokens) {
			return nil, fmt.Errorf("%w: end token %d of %d tokens", ErrVocab, id, len(v.Tokens))
		}
	}
	order := make([]int32, 0, len(v.Tokens))
	for id, b := range v.Tokens {
		if len(b) > maxTokenBytes {
			return nil, fmt.Errorf("%w: token %d has %d bytes, limit %d", ErrVocab, id, len(b), maxTokenBytes)
		}
		if len(b) > 0 && !slices.Contains(v.End, int32(id)) {
			order = append(order, int32(id))
		}
		t.longest = max(t.longest, len(b))
	}
	slices.SortStableFunc(order, func(a, b int32) int { return bytes.Compare(v.Tokens[a], v.Tokens[b]) })
	var open []int32 // nodes on the path to the last token
	var last []byte
	first := int32(-1)
	for _, id := range order {
		b := v.Tokens[id]
		if first >= 0 && bytes.Equal(b, last) {
			t.twin[first] = append(t.twin[first], id)
			continue
		}
		shared := 0
		for shared < min(len(b), len(last)) && b[shared] == last[shared] {
			shared++
		}
		for _, n := range open[shared:] {
			t.nodes[n].end = int32(len(t.nodes))
		}
		open = open[:shared]
		for ; shared < len(b); shared++ {
			open = append(open, int32(len(t.nodes)))
			t.nodes = append(t.nodes, trieNode{b: b[shared], depth: uint16(shared), token: -1})
		}
		t.nodes[len(t.nodes)-1].token = id
		first, last = id, b
	}
	for _, n := range open {
		t.nodes[n].end = int32(len(t.nodes))
	}
	return t, nil
}

// mark calls set for the tokens that end at a node.
func (t *trie) mark(dst []int32, node int32) []int32 {
	id := t.nodes[node].token
	if id < 0 {
		return dst
	}
	return append(append(dst, id), t.twin[id]...)
}

// runeBytes appends to seqs the byte ranges that spell the code points lo to hi in UTF-8,
// without surrogates.
func runeBytes(seqs [][]byteRange, lo, hi rune) [][]byteRange {
	lo = max(lo, 0)
	hi = min(hi, utf8.MaxRune)
	if lo > hi {
		return seqs
	}
	if lo <= 0xDFFF && hi >= 0xD800 {
		seqs = runeBytes(seqs, lo, 0xD7FF)
		return runeBytes(seqs, 0xE000, hi)
	}
	for _, last := range []rune{0x7F, 0x7FF, 0xFFFF} { // one length per range
		if lo <= last && last < hi {
			seqs = runeBytes(seqs, lo, last)
			return runeBytes(seqs, last+1, hi)
		}
	}
	n := utf8.RuneLen(lo)
	for i := 1; i < n; i++ { // below the first i continuation bytes, all or one value each
		m := rune(1)<<(6*i) - 1
		if lo&^m != hi&^m {
			if lo&m != 0 {
				seqs = runeBytes(seqs, lo, lo|m)
				return runeBytes(seqs, (lo|m)+1, hi)
			}
			if hi&m != m {
				seqs = runeBytes(seqs, lo, hi&^m-1)
				return runeBytes(seqs, hi&^m, hi)
			}
		}
	}
	a, b := utf8.AppendRune(nil, lo), utf8.AppendRune(nil, hi)
	seq := make([]byteRange, n)
	for i := range seq {
		seq[i] = byteRange{a[i], b[i]}
	}
	return append(seqs, seq)
}

type byteRange struct{ lo, hi byte }
