package backendtest

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/kvcache"
)

// scratch runs in scratch, in blocks that held other rows, and beside rows that are not numbers,
// what a clean pool runs.
func (l *lab) scratch() {
	const n = 40
	clean, dirty := l.open(backend.Options{}), l.open(backend.Options{PoolBlocks: 6, ScratchBlocks: 6})
	tokens := l.tokens(n, 1)
	want := cold(clean, tokens, 0)
	run := func(what string, blocks func(pos, n int) []kvcache.BlockID) {
		l.t.Helper()
		for range 3 { // so that every block had its turn
			l.same(what, dirty.Prefill(blocks(0, n), tokens, 0, 13, rows(0, n)...), want)
		}
	}
	run("pool", dirty.Pool)
	run("scratch", dirty.Scratch)
	for _, blocks := range []func(pos, n int) []kvcache.BlockID{dirty.Pool, dirty.Scratch, dirty.Pool, dirty.Scratch} {
		dirty.Prefill(blocks(0, 48), l.tokens(48, 2), 0, 48)
	}
	run("pool that held other rows", dirty.Pool)
	run("scratch that held other rows", dirty.Scratch)
	io, ok := dirty.Runner.(backend.BlockIO)
	if !ok {
		return
	}
	nan := bytes.Repeat([]byte{0xff}, dirty.Caps.BlockSize*l.model.Program.KVBytes(l.kv))
	for b := range dirty.Caps.PoolBlocks + dirty.Caps.ScratchBlocks {
		if err := io.Import(l.t.Context(), kvcache.BlockID(b), dirty.Caps.BlockSize, nan); err != nil {
			l.t.Fatal(err)
		}
	}
	run("pool that held no numbers", dirty.Pool)
	run("scratch that held no numbers", dirty.Scratch)
}

// besideWriter reads the leading part of a block while the sequence that owns it writes the next slot.
func (l *lab) besideWriter() {
	const n, reads = 41, 4
	r := l.open(backend.Options{})
	tokens := l.tokens(n+3, 1)
	table := r.Pool(0, n+3)
	r.Prefill(table, tokens[:n], 0, n)
	decode := cold(r, tokens, n)
	var want []backend.Result
	for i := range reads {
		want = append(want, cold(r, append(slices.Clone(tokens[:n]), l.tokens(4+i, uint64(20+i))...), n)...)
	}
	for i := range 3 {
		seqs := []backend.Seq{{
			Context: r.Context(table, n+i),
			Spans:   []backend.Span{r.Span(table, n+i, tokens[n+i:n+i+1], all(1)...)},
		}}
		ask := backend.Seq{Context: r.Context(table, n)}
		for k := range reads {
			ask.Spans = append(ask.Spans, backend.Span{
				Tokens: l.tokens(4+k, uint64(20+k)), Pos: n, Dst: r.Scratch(n, 4+k), Want: all(4 + k),
			})
		}
		got := r.Step(append(seqs, ask)...)
		l.same(fmt.Sprintf("decode %d", i), got[:1], decode[i:i+1])
		l.same(fmt.Sprintf("reads beside decode %d", i), got[1:], want)
	}
}

// tree runs spans that branch off a context and off each other, in one step and over several.
func (l *lab) tree() {
	const n = 21
	r := l.open(backend.Options{})
	head := l.tokens(n, 1)
	table := r.Pool(0, n)
	r.Prefill(table, head, 0, n)
	type node struct{ parent, len int }
	// Two children of the context, two of the first, one of the second, a grandchild, and a sibling
	// that comes last though it continues the context.
	nodes := []node{{0, 9}, {0, 3}, {1, 1}, {1, 20}, {2, 6}, {4, 2}, {0, 1}}
	paths := make([][]int32, len(nodes))
	own := make([][]int32, len(nodes))
	pos := make([]int, len(nodes))
	want := make([][]backend.Result, len(nodes))
	for i, d := range nodes {
		from := head
		if d.parent > 0 {
			from = paths[d.parent-1]
		}
		own[i] = l.tokens(d.len, uint64(30+i))
		pos[i] = len(from)
		paths[i] = append(slices.Clone(from), own[i]...)
		want[i] = cold(r, paths[i], pos[i])
	}
	var oneStep backend.Seq
	oneStep.Context = r.Context(table, n)
	var expect []backend.Result
	for i, d := range nodes {
		oneStep.Spans = append(oneStep.Spans, backend.Span{Parent: d.parent, Tokens: own[i], Pos: pos[i], Dst: r.Scratch(pos[i], d.len), Want: all(d.len)})
		expect = append(expect, want[i]...)
	}
	l.same("in one step", r.Step(oneStep), expect)

	// One generation of the tree a step; the parents' rows are ordinary segments.
	context := make([][]backend.Segment, len(nodes))
	for step := 1; ; step++ {
		var seqs []backend.Seq
		expect = nil
		for i, d := range nodes {
			depth, parent := 1, d.parent
			for parent > 0 {
				depth, parent = depth+1, nodes[parent-1].parent
			}
			if depth != step {
				continue
			}
			before := r.Context(table, n)
			if d.parent > 0 {
				before = context[d.parent-1]
			}
			dst := r.Scratch(pos[i], d.len)
			context[i] = append(slices.Clone(before), backend.Segment{Blocks: dst, Start: pos[i], Len: d.len})
			seqs = append(seqs, backend.Seq{Context: before, Spans: []backend.Span{{Tokens: own[i], Pos: pos[i], Dst: dst, Want: all(d.len)}}})
			expect = append(expect, want[i]...)
		}
		if len(seqs) == 0 {
			break
		}
		l.same(fmt.Sprintf("generation %d", step), r.Step(seqs...), expect)
	}

	// A span in chunks over steps, and a child of its last chunk in the same step.
	dst := r.Scratch(n, 20)
	long := l.tokens(20, 33)
	path := append(slices.Clone(head), long...)
	expect = cold(r, append(path, 5, 6), n)
	size := r.Caps.BlockSize
	part := func(from, to int) []kvcache.BlockID {
		return dst[(n+from)/size-n/size : (n+to-1)/size-n/size+1]
	}
	r.Step(backend.Seq{Context: r.Context(table, n), Spans: []backend.Span{{Tokens: long[:6], Pos: n, Dst: part(0, 6)}}})
	got := r.Step(backend.Seq{
		Context: append(r.Context(table, n), backend.Segment{Blocks: part(0, 6), Start: n, Len: 6}),
		Spans: []backend.Span{
			{Tokens: long[6:], Pos: n + 6, Dst: part(6, 20), Want: all(14)},
			{Parent: 1, Tokens: []int32{5, 6}, Pos: n + 20, Dst: r.Scratch(n+20, 2), Want: all(2)},
		},
	})
	l.same("a chunked span and its child", got, expect[6:])
}

// copies copies rows and goes on in the copy and in the original.
func (l *lab) copies() {
	const n = 23
	r := l.open(backend.Options{})
	tokens := l.tokens(n, 1)
	table := r.Pool(0, n+6)
	r.Prefill(table, tokens, 0, n)
	size := r.Caps.BlockSize
	at := n / size
	mine, theirs := l.tokens(6, 2), l.tokens(6, 3)
	a := append(slices.Clone(tokens), mine...)
	b := append(slices.Clone(tokens), theirs...)
	wantA, wantB := cold(r, a, n), cold(r, b, n)

	// Through a third block, in one call and in order; then the original goes on.
	fork := slices.Clone(table)
	fork[at] = r.Pool(n, 1)[0]
	between := r.Scratch(n, 1)[0]
	rows := n % size
	if err := r.Runner.Copy(l.t.Context(), []backend.Move{
		{From: table[at], To: between, Rows: rows - 1},
		{From: table[at], To: between, Start: rows - 1, Rows: 1},
		{From: between, To: fork[at], Rows: rows},
	}); err != nil {
		l.t.Fatal(err)
	}
	run := func(what string, table []kvcache.BlockID, tail []int32, want []backend.Result) {
		l.t.Helper()
		l.same(what, r.Step(backend.Seq{Context: r.Context(table, n), Spans: []backend.Span{r.Span(table, n, tail, all(6)...)}}), want)
	}
	run("the original", table, mine, wantA)
	run("the copy", fork, theirs, wantB)
	run("the original again", table, mine, wantA)

	// A copy leaves the other rows of its block alone: those that the block's own sequence has there.
	if err := r.Runner.Copy(l.t.Context(), []backend.Move{{From: table[at], To: fork[at], Start: 1, Rows: rows - 2}}); err != nil {
		l.t.Fatal(err)
	}
	next := backend.Span{Tokens: []int32{3}, Pos: n + 6, Dst: r.Scratch(n+6, 1), Want: all(1)}
	l.same("behind the rows beside a copy", r.Step(backend.Seq{Context: r.Context(fork, n+6), Spans: []backend.Span{next}}), cold(r, append(b, 3), n+6))
	if err := r.Runner.Copy(l.t.Context(), nil); err != nil {
		l.t.Fatalf("no moves: %v", err)
	}
}

// rewrite writes rows anew, as after a rejected draft.
func (l *lab) rewrite() {
	const n = 14
	r := l.open(backend.Options{})
	tokens := l.tokens(n+8, 1)
	want := cold(r, tokens, 0)
	table := r.Pool(0, n+8)
	r.Prefill(table, tokens[:n], 0, n)
	for keep := range 5 {
		draft := append(slices.Clone(tokens[n:n+keep]), l.tokens(8-keep, uint64(50+keep))...)
		got := r.Step(backend.Seq{Context: r.Context(table, n), Spans: []backend.Span{r.Span(table, n, draft, all(8)...)}})
		l.same(fmt.Sprintf("draft with %d right rows", keep), got[:keep], want[n:n+keep])
		l.same(fmt.Sprintf("after %d kept rows", keep), r.Prefill(table, tokens, n+keep, 3, rows(n+keep, n+8)...), want[n+keep:])
	}
}

func (l *lab) export(io backend.BlockIO, block kvcache.BlockID, rows, size int) []byte {
	l.t.Helper()
	dst := make([]byte, size)
	n, err := io.Export(l.t.Context(), block, rows, dst)
	if err != nil {
		l.t.Fatal(err)
	}
	if n != size {
		l.t.Fatalf("export of %d rows: %d bytes, want %d", rows, n, size)
	}
	return dst
}

// blockIO moves a sequence's blocks to another Runner, which goes on with the same bits.
func (l *lab) blockIO() {
	const n, more = 43, 9
	from, to := l.open(backend.Options{}), l.open(backend.Options{})
	a := from.Runner.(backend.BlockIO)
	b := to.Runner.(backend.BlockIO)
	tokens := l.tokens(n+more, 1)
	table := from.Pool(0, n+more)
	from.Prefill(table, tokens[:n], 0, n)
	size, row := from.Caps.BlockSize, l.model.Program.KVBytes(l.kv)
	blocks := func(io backend.BlockIO, table []kvcache.BlockID) (all [][]byte) {
		for i := 0; i*size < n; i++ {
			k := min(size, n-i*size)
			all = append(all, l.export(io, table[i], k, k*row))
		}
		return all
	}
	before := blocks(a, table)
	other := to.Scratch(0, n+more)
	for i, data := range before {
		if err := b.Import(l.t.Context(), other[i], len(data)/row, data); err != nil {
			l.t.Fatal(err)
		}
	}
	for i, data := range blocks(b, other) {
		if !bytes.Equal(data, before[i]) {
			l.t.Fatalf("block %d has other bytes after a round trip", i)
		}
	}
	want := from.Prefill(table, tokens, n, more, rows(n, n+more)...)
	l.same("after a round trip", to.Prefill(other, tokens, n, more, rows(n, n+more)...), want)
	// Appending changed no byte of the rows before it.
	for i, data := range blocks(a, table) {
		if !bytes.Equal(data, before[i]) {
			l.t.Fatalf("block %d has other bytes after rows were appended", i)
		}
	}
	// What other values came before matters to nobody: the bytes are a function of the history.
	again := from.Pool(0, n)
	from.Prefill(again, tokens[:n], 0, 5)
	for i, data := range blocks(a, again) {
		if !bytes.Equal(data, before[i]) && !l.Loose {
			l.t.Fatalf("block %d has other bytes when it is filled in chunks", i)
		}
	}
}
