package tokenizer

import (
	"hash/maphash"
	"slices"
	"unicode/utf8"
)

// merge is one rule: left and right next to each other become result. Lower ranks go first, then
// the leftmost.
type merge struct {
	left, right, result int32
	rank                uint32
}

const (
	// Words up to this many symbols are merged by looking over all pairs each time; longer ones
	// through a heap, so that the time stays n log n.
	shortWord = 48

	cacheSlots = 1 << 12
	cacheBytes = 30
	cacheIDs   = 7

	// maxWord bounds a word so that positions fit in 32 bits.
	maxWord = 1 << 30

	// Scratch buffers above this many symbols are not kept.
	keepSymbols = 1 << 18
)

// cached is the result of one short word.
type cached struct {
	size, count uint8 // size 0: empty
	word        [cacheBytes]byte
	ids         [cacheIDs]int32
}

// scratch is the working memory of one Encode call. Words of a text repeat, so it also keeps the
// results of recent short ones.
type scratch struct {
	norm    [2][]byte
	blanks  []byte
	name    []byte
	symbols []int32
	ranks   []uint32
	results []int32
	nodes   []node
	heap    []uint64
	cache   []cached
	seed    maphash.Seed
}

func newScratch() *scratch {
	return &scratch{cache: make([]cached, cacheSlots), seed: maphash.MakeSeed()}
}

// trim lets go of what an unusually large text needed.
func (s *scratch) trim() {
	if cap(s.nodes) > keepSymbols || cap(s.symbols) > keepSymbols || cap(s.norm[0]) > 16*keepSymbols || cap(s.norm[1]) > 16*keepSymbols || cap(s.blanks) > 16*keepSymbols {
		*s = scratch{cache: s.cache, seed: s.seed}
	}
}

// word appends the ids of one pre-tokenised word.
func (t *Tokenizer) word(s *scratch, dst []int32, w string) []int32 {
	if len(w) == 0 {
		return dst
	}
	if len(w) > cacheBytes {
		for len(w) > maxWord {
			dst = t.merge(s, dst, w[:maxWord])
			w = w[maxWord:]
		}
		return t.merge(s, dst, w)
	}
	c := &s.cache[maphash.String(s.seed, w)%cacheSlots]
	if int(c.size) == len(w) && string(c.word[:c.size]) == w {
		return append(dst, c.ids[:c.count]...)
	}
	first := len(dst)
	dst = t.merge(s, dst, w)
	if ids := dst[first:]; len(ids) <= cacheIDs {
		c.size, c.count = uint8(len(w)), uint8(len(ids))
		copy(c.word[:], w)
		copy(c.ids[:], ids)
	}
	return dst
}

func (t *Tokenizer) merge(s *scratch, dst []int32, w string) []int32 {
	if t.ignoreMerges {
		if id, ok := t.wholeWord(s, w); ok {
			return append(dst, id)
		}
	}
	if t.wholeLines && w[0] == '\n' {
		if id, ok := t.id[w]; ok && t.mergeable(id) {
			return append(dst, id)
		}
	}
	if t.byteLevel {
		t.spellBytes(s, w)
	} else {
		t.spellChars(s, w)
	}
	if len(s.symbols) <= shortWord {
		t.mergeShort(s)
	} else {
		t.mergeLong(s)
	}
	if len(t.virtual) == 0 {
		return append(dst, s.symbols...)
	}
	unknown := false
	for _, id := range s.symbols {
		switch {
		case int(id) < t.Size():
			unknown = false
			dst = append(dst, id)
		case t.spellable(t.virtual[int(id)-t.Size()]):
			unknown = false
			for _, b := range []byte(t.virtual[int(id)-t.Size()]) {
				dst = append(dst, t.bytes[b])
			}
		case t.unknown >= 0 && !(unknown && t.fuseUnknown):
			unknown = true
			dst = append(dst, t.unknown)
		}
	}
	return dst
}

// spellable reports whether every byte of a character has a token.
func (t *Tokenizer) spellable(char string) bool {
	for i := 0; i < len(char); i++ {
		if t.bytes[char[i]] < 0 {
			return false
		}
	}
	return true
}

// wholeWord looks a word up among the tokens.
func (t *Tokenizer) wholeWord(s *scratch, w string) (int32, bool) {
	if len(w) > maxTokenBytes {
		return 0, false
	}
	if !t.byteLevel {
		id, ok := t.id[w]
		return id, ok && t.mergeable(id)
	}
	s.name = s.name[:0]
	for i := 0; i < len(w); i++ {
		s.name = utf8.AppendRune(s.name, t.byteRunes[w[i]])
	}
	id, ok := t.id[string(s.name)]
	return id, ok && t.mergeable(id)
}

// spellBytes sets s.symbols to the tokens of w's bytes.
func (t *Tokenizer) spellBytes(s *scratch, w string) {
	s.symbols = s.symbols[:0]
	unknown := false
	for i := 0; i < len(w); i++ {
		id := t.bytes[w[i]]
		if id < 0 {
			unknown = t.addUnknown(s, unknown)
			continue
		}
		unknown = false
		s.symbols = append(s.symbols, id)
	}
}

// spellChars sets s.symbols to the tokens of w's characters; those without one are spelt by their
// bytes, and where a byte has no token either, are unknown.
func (t *Tokenizer) spellChars(s *scratch, w string) {
	s.symbols = s.symbols[:0]
	unknown := false
	for len(w) > 0 {
		r, n := rune(w[0]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(w)
		}
		char := w[:n]
		w = w[n:]
		if r != utf8.RuneError || n > 1 {
			if id := t.runes.get(r); id >= 0 {
				unknown = false
				s.symbols = append(s.symbols, id)
				continue
			}
		}
		if !t.spellable(char) {
			unknown = t.addUnknown(s, unknown)
			continue
		}
		unknown = false
		for i := 0; i < n; i++ {
			s.symbols = append(s.symbols, t.bytes[char[i]])
		}
	}
}

// addUnknown appends the unknown token, once per run where the model fuses runs.
func (t *Tokenizer) addUnknown(s *scratch, after bool) bool {
	if t.unknown >= 0 && !(after && t.fuseUnknown) {
		s.symbols = append(s.symbols, t.unknown)
	}
	return true
}

// mergeShort merges s.symbols in place; the time is quadratic with a small constant.
func (t *Tokenizer) mergeShort(s *scratch) {
	sym, rank, res := s.symbols, s.ranks[:0], s.results[:0]
	for i := 0; i+1 < len(sym); i++ {
		r, id := t.pairs.find(sym[i], sym[i+1])
		rank, res = append(rank, r), append(res, id)
	}
	s.ranks, s.results = rank, res
	for {
		best, at := noRank, -1
		for i, r := range rank {
			if r < best {
				best, at = r, i
			}
		}
		if at < 0 {
			break
		}
		sym[at] = res[at]
		sym = append(sym[:at+1], sym[at+2:]...)
		rank = append(rank[:at], rank[at+1:]...)
		res = append(res[:at], res[at+1:]...)
		if at > 0 {
			rank[at-1], res[at-1] = t.pairs.find(sym[at-1], sym[at])
		}
		if at < len(rank) {
			rank[at], res[at] = t.pairs.find(sym[at], sym[at+1])
		}
	}
	s.symbols = sym
}

// node is a symbol in the linked list of a long word; rank and result are of its pair with next.
type node struct {
	prev, next, symbol int32 // symbol -1: merged into its left neighbour
	result             int32
	rank               uint32
}

// mergeLong merges s.symbols in place in n log n time. A heap entry is rank<<32 | position; it is
// out of date when the pair at its position has another rank by now.
func (t *Tokenizer) mergeLong(s *scratch) {
	n := len(s.symbols)
	nodes, heap := slices.Grow(s.nodes[:0], n), slices.Grow(s.heap[:0], n)
	for i, id := range s.symbols {
		nd := node{prev: int32(i - 1), next: int32(i + 1), symbol: id, rank: noRank}
		if i+1 < n {
			nd.rank, nd.result = t.pairs.find(id, s.symbols[i+1])
		} else {
			nd.next = -1
		}
		nodes = append(nodes, nd)
		if nd.rank != noRank {
			heap = append(heap, uint64(nd.rank)<<32|uint64(i))
		}
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		siftDown(heap, i)
	}
	for len(heap) > 0 {
		rank, at := uint32(heap[0]>>32), int32(uint32(heap[0]))
		heap[0] = heap[len(heap)-1]
		heap = heap[:len(heap)-1]
		siftDown(heap, 0)

		nd := &nodes[at]
		if nd.symbol < 0 || nd.rank != rank {
			continue
		}
		right := &nodes[nd.next]
		nd.symbol, nd.next = nd.result, right.next
		right.symbol = -1
		nd.rank = noRank
		if nd.next >= 0 {
			next := &nodes[nd.next]
			next.prev = at
			nd.rank, nd.result = t.pairs.find(nd.symbol, next.symbol)
			heap = push(heap, nd.rank, at)
		}
		if nd.prev >= 0 {
			prev := &nodes[nd.prev]
			prev.rank, prev.result = t.pairs.find(prev.symbol, nd.symbol)
			heap = push(heap, prev.rank, nd.prev)
		}
	}
	s.symbols = s.symbols[:0]
	for i := int32(0); i >= 0; i = nodes[i].next {
		s.symbols = append(s.symbols, nodes[i].symbol)
	}
	s.nodes, s.heap = nodes, heap
}

func push(heap []uint64, rank uint32, at int32) []uint64 {
	if rank == noRank {
		return heap
	}
	heap = append(heap, uint64(rank)<<32|uint64(uint32(at)))
	for i := len(heap) - 1; i > 0; {
		up := (i - 1) / 2
		if heap[up] <= heap[i] {
			break
		}
		heap[up], heap[i] = heap[i], heap[up]
		i = up
	}
	return heap
}

func siftDown(heap []uint64, i int) {
	for {
		c := 2*i + 1
		if c >= len(heap) {
			return
		}
		if c+1 < len(heap) && heap[c+1] < heap[c] {
			c++
		}
		if heap[i] <= heap[c] {
			return
		}
		heap[i], heap[c] = heap[c], heap[i]
		i = c
	}
}
