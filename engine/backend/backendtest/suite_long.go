package backendtest

import (
	"fmt"
	"slices"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/kvcache"
)

// long runs a sequence that is longer than what a backend may compute in one piece of attention, and
// looks at rows on both sides of powers of two.
func (l *lab) long() {
	const n = 530
	tokens := l.tokens(n+40, 1)
	at := []int{0, 15, 16, 64, 127, 128, 129, 255, 256, 257, 384, 511, 512, 513, n - 1}
	var want []backend.Result
	for i, w := range l.Workers {
		r := l.open(backend.Options{Workers: w, PoolBlocks: 200, ScratchBlocks: 100, Context: n + 40})
		table := r.Pool(0, n)
		got := r.Prefill(table, tokens[:n], 0, min(n, r.Caps.MaxRows), at...)
		if i == 0 {
			want = got
		}
		l.same(fmt.Sprintf("%d workers", w), got, want)

		// Decodes at many places, in one step and alone; the blocks they read are the same.
		var seqs []backend.Seq
		for _, row := range at {
			seqs = append(seqs, backend.Seq{
				Context: r.Context(table, row),
				Spans:   []backend.Span{{Tokens: tokens[row : row+1], Pos: row, Dst: r.Scratch(row, 1), Want: all(1)}},
			})
		}
		l.same(fmt.Sprintf("decodes together, %d workers", w), l.inSteps(r, seqs), want)
		if i > 0 {
			continue
		}
		for k, s := range seqs {
			l.same(fmt.Sprintf("decode at %d alone", at[k]), r.Step(s), want[k:k+1])
		}
		for _, chunk := range []int{256, 100} {
			l.same(fmt.Sprintf("chunks of %d", chunk), r.Prefill(r.Pool(0, n), tokens[:n], 0, chunk, at...), want)
		}
		l.branches(r, table, tokens)
	}
}

// branches runs spans that cross the same places off one context, beside each other.
func (l *lab) branches(r *Rig, table []kvcache.BlockID, tokens []int32) {
	l.t.Helper()
	alone := l.open(backend.Options{})
	var seqs []backend.Seq
	var want []backend.Result
	for i, cut := range []int{120, 250, 508} {
		seq := backend.Seq{Context: r.Context(table, cut)}
		for k := range 3 {
			own := l.tokens(9+k, uint64(40+10*i+k))
			seq.Spans = append(seq.Spans, backend.Span{Tokens: own, Pos: cut, Dst: r.Scratch(cut, len(own)), Want: all(len(own))})
			want = append(want, cold(alone, append(slices.Clone(tokens[:cut]), own...), cut)...)
		}
		seqs = append(seqs, seq)
	}
	l.same("branches", r.Step(seqs...), want)
}
