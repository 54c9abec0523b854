package backendtest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/internal/race"
	"github.com/hotpath-go/hotpath/kvcache"
)

// story is a sequence of the random test: its tokens, and the segments that hold them.
type story struct {
	tokens  []int32
	context []backend.Segment
}

// random mixes everything: steps of many sequences with chunks, decodes and trees in pool and
// scratch, forks that share blocks, copies, contexts in many segments, rows written anew. The last
// row of every span must have the bits of its history alone.
func (l *lab) random() {
	const most, longest = 6, 90
	steps := l.Steps
	if race.Enabled && !Long() {
		steps = min(steps, 15)
	}
	for seed := range uint64(l.Seeds) {
		rng := rand.New(rand.NewPCG(seed, 77))
		// Blocks are never given back: there are enough for all steps.
		r := l.open(backend.Options{PoolBlocks: 1200, ScratchBlocks: 1200})
		alone := l.open(backend.Options{})
		size := r.Caps.BlockSize
		take := func(pos, n int) []kvcache.BlockID {
			if rng.IntN(2) == 0 {
				return r.Pool(pos, n)
			}
			return r.Scratch(pos, n)
		}
		known := map[string][]backend.Result{}
		expect := func(tokens []int32) []backend.Result {
			key := fmt.Sprint(tokens)
			if known[key] == nil {
				known[key] = cold(alone, tokens, len(tokens)-1)
			}
			return known[key]
		}
		live := []story{{}}
		for step := range steps {
			var seqs []backend.Seq
			var want []backend.Result
			var next []story
			for _, s := range live {
				seq := backend.Seq{Context: s.context}
				ends := []story{} // of the spans
				for range 1 + rng.IntN(4) {
					parent, from := 0, s
					if len(ends) > 0 && rng.IntN(2) == 0 {
						parent = 1 + rng.IntN(len(ends))
						from = ends[parent-1]
					}
					n := []int{1, 1, 2, 5, 17}[rng.IntN(5)]
					pos := len(from.tokens)
					own := make([]int32, n)
					for i := range own {
						own[i] = int32(rng.IntN(l.model.Program.Vocab))
					}
					dst := take(pos, n)
					ends = append(ends, story{
						tokens:  append(slices.Clone(from.tokens), own...),
						context: append(slices.Clone(from.context), backend.Segment{Blocks: dst, Start: pos, Len: n}),
					})
					seq.Spans = append(seq.Spans, backend.Span{Parent: parent, Tokens: own, Pos: pos, Dst: dst, Want: []backend.Want{{Row: n - 1, Logits: true, Hidden: true}}})
					want = append(want, expect(ends[len(ends)-1].tokens)...)
				}
				seqs = append(seqs, seq)
				next = append(next, s)
				next = append(next, ends...)
			}
			l.same(fmt.Sprintf("seed %d: step %d", seed, step), r.Step(seqs...), want)
			rng.Shuffle(len(next), func(i, j int) { next[i], next[j] = next[j], next[i] })
			next = slices.DeleteFunc(next, func(s story) bool { return len(s.tokens) > longest || len(s.tokens) > 0 && rng.IntN(6) == 0 })
			live = next[:min(most, len(next))]
			for i := range live {
				live[i] = l.reshape(r, rng, live[i], take, size)
			}
			if len(live) == 0 {
				live = []story{{}}
			}
		}
	}
}

// reshape moves some of a sequence's rows: it cuts its end off, or copies rows into other blocks.
func (l *lab) reshape(r *Rig, rng *rand.Rand, s story, take func(pos, n int) []kvcache.BlockID, size int) story {
	l.t.Helper()
	switch n := len(s.tokens); {
	case n > 1 && rng.IntN(4) == 0: // a rejected draft: the rows stay, and are read no more
		keep := 1 + rng.IntN(n)
		out := story{tokens: slices.Clone(s.tokens[:keep])}
		for _, g := range s.context {
			if g.Start < keep {
				g.Len = min(g.Len, keep-g.Start)
				g.Blocks = g.Blocks[:kvcache.BlocksFor(g.Start, g.Len, size)]
				out.context = append(out.context, g)
			}
		}
		return out
	case n > 0 && rng.IntN(3) == 0: // all rows into blocks of its own, segment by segment
		dst := take(0, n)
		var moves []backend.Move
		for _, g := range s.context {
			for pos := g.Start; pos < g.Start+g.Len; {
				rows := min(size-pos%size, g.Start+g.Len-pos)
				moves = append(moves, backend.Move{From: g.Blocks[pos/size-g.Start/size], To: dst[pos/size], Start: pos % size, Rows: rows})
				pos += rows
			}
		}
		if err := r.Runner.Copy(l.t.Context(), moves); err != nil {
			l.t.Fatal(err)
		}
		return story{tokens: s.tokens, context: []backend.Segment{{Blocks: dst, Len: n}}}
	}
	return s
}
