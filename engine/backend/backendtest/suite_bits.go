package backendtest

import (
	"fmt"
	"math"
	"slices"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/sample"
	"github.com/hotpath-go/hotpath/quant"
)

// oracle compares with another backend: logits in chunks, a greedy path, exported blocks.
func (l *lab) oracle() {
	const prompt, steps, chunk = 50, 12, 16
	mine := l.open(backend.Options{})
	other := NewRig(l.t, l.Oracle, l.model, backend.Options{KV: l.kv})
	tokens := l.tokens(prompt, 1)
	table := mine.Pool(0, prompt+steps)
	theirs := other.Pool(0, prompt+steps)
	var worst float32
	close := func(what string, got, want backend.Result) {
		l.t.Helper()
		d := CompareLogits(l.t, what, got.Logits, want.Logits, l.tolerance()*span(want.Logits))
		worst = max(worst, d/span(want.Logits))
	}
	defer func() { l.t.Logf("largest difference: %.1e of the logits' range", worst) }()
	want := other.Prefill(theirs, tokens, 0, prompt, rows(0, prompt)...)
	for i, got := range mine.Prefill(table, tokens, 0, chunk, rows(0, prompt)...) {
		close(fmt.Sprintf("row %d", i), got, want[i])
	}
	last := want[prompt-1]
	for i := range steps {
		next, _ := lead(last.Logits)
		tokens = append(tokens, int32(next))
		n := len(tokens)
		last = other.Prefill(theirs, tokens, n-1, 1, n-1)[0]
		close(fmt.Sprintf("greedy step %d", i), mine.Prefill(table, tokens, n-1, 1, n-1)[0], last)
	}
	a, ok := mine.Runner.(backend.BlockIO)
	b, also := other.Runner.(backend.BlockIO)
	if !ok || !also {
		return
	}
	size := mine.Caps.BlockSize * l.model.Program.KVBytes(l.kv)
	for i := range prompt / mine.Caps.BlockSize {
		got := l.export(a, table[i], mine.Caps.BlockSize, size)
		ref := l.export(b, theirs[i], mine.Caps.BlockSize, size)
		x, y := l.decode(got), l.decode(ref)
		CompareLogits(l.t, fmt.Sprintf("exported block %d", i), x, y, l.tolerance()*span(y))
	}
}

func (l *lab) decode(b []byte) []float32 {
	l.t.Helper()
	v := make([]float32, len(b)/l.kv.BlockBytes())
	if err := quant.Decode(v, l.kv, b); err != nil {
		l.t.Fatal(err)
	}
	return v
}

// batch runs sequences of unlike lengths alone and together, prefills and decodes alike.
func (l *lab) batch() {
	const most = 32
	alone, together := l.open(backend.Options{PoolBlocks: 160}), l.open(backend.Options{PoolBlocks: 160})
	type sequence struct {
		tokens          []int32
		prefill, decode []backend.Result
	}
	seqs := make([]sequence, most)
	for i := range seqs {
		n := 1 + i*7%40
		tokens := l.tokens(n+1, uint64(i))
		table := alone.Pool(0, n+1)
		seqs[i] = sequence{
			tokens:  tokens,
			prefill: alone.Prefill(table, tokens[:n], 0, n, rows(0, n)...),
			decode:  alone.Prefill(table, tokens, n, 1, n),
		}
	}
	for _, n := range []int{2, 7, most} {
		var prefill, decode []backend.Seq
		var first, second []backend.Result
		for _, s := range seqs[most-n:] {
			k := len(s.tokens) - 1
			table := together.Pool(0, k+1)
			prefill = append(prefill, backend.Seq{Spans: []backend.Span{together.Span(table, 0, s.tokens[:k], all(k)...)}})
			decode = append(decode, backend.Seq{
				Context: together.Context(table, k),
				Spans:   []backend.Span{together.Span(table, k, s.tokens[k:], all(1)...)},
			})
			first, second = append(first, s.prefill...), append(second, s.decode...)
		}
		l.same(fmt.Sprintf("prefill of %d", n), l.inSteps(together, prefill), first)
		l.same(fmt.Sprintf("decode of %d", n), l.inSteps(together, decode), second)
		// A long prefill beside decodes must change nothing either.
		long := l.tokens(40, 99)
		mixed := append(slices.Clone(decode), backend.Seq{Spans: []backend.Span{together.Span(together.Pool(0, 40), 0, long)}})
		l.same(fmt.Sprintf("decode of %d beside a prefill", n), l.inSteps(together, mixed), second)
	}
}

// inSteps runs sequences in one step, or in as few as the limits allow.
func (l *lab) inSteps(r *Rig, seqs []backend.Seq) []backend.Result {
	l.t.Helper()
	var out []backend.Result
	for len(seqs) > 0 {
		n, rows := 0, 0
		for n < len(seqs) && n < r.Caps.MaxSpans && rows+len(seqs[n].Spans[0].Tokens) <= r.Caps.MaxRows {
			rows += len(seqs[n].Spans[0].Tokens)
			n++
		}
		if n == 0 {
			l.t.Fatalf("a step holds %d rows and %d spans: too few for the suite", r.Caps.MaxRows, r.Caps.MaxSpans)
		}
		for _, res := range r.Step(seqs[:n]...) {
			out = append(out, result(res))
		}
		seqs = seqs[n:]
	}
	return out
}

// sharedContext runs sequences that share their leading blocks in one step.
func (l *lab) sharedContext() {
	const prefix, own, n = 37, 5, 7
	r := l.open(backend.Options{PoolBlocks: 96})
	head := l.tokens(prefix, 1)
	shared := r.Pool(0, prefix)
	r.Prefill(shared, head, 0, prefix)
	var seqs []backend.Seq
	var want []backend.Result
	for i := range n {
		tail := l.tokens(own, uint64(10+i))
		want = append(want, cold(r, append(slices.Clone(head), tail...), prefix)...)
		// The part of a block that the prefix does not fill is copied, as a second writer does.
		table := append(slices.Clone(shared), r.Pool(prefix, own)...)
		at := prefix / r.Caps.BlockSize
		table = slices.Delete(table, at, at+1)
		if err := r.Runner.Copy(l.t.Context(), []backend.Move{{From: shared[at], To: table[at], Rows: prefix % r.Caps.BlockSize}}); err != nil {
			l.t.Fatal(err)
		}
		seqs = append(seqs, backend.Seq{
			Context: r.Context(table, prefix),
			Spans:   []backend.Span{r.Span(table, prefix, tail, all(own)...)},
		})
	}
	l.same("shared context", l.inSteps(r, seqs), want)
}

// prefixHit continues a sequence from every position, reading the leading part of its blocks.
func (l *lab) prefixHit() {
	const n = 37
	r := l.open(backend.Options{})
	tokens := l.tokens(n+1, 1)
	table := r.Pool(0, n+1)
	want := r.Prefill(table, tokens, 0, n+1, rows(0, n+1)...)
	for cut := 1; cut <= n; cut++ {
		rest := r.Scratch(cut, n+1-cut)
		span := backend.Span{Tokens: tokens[cut:n], Pos: cut, Dst: rest[:len(r.Blocks(table, cut, n-cut))], Want: all(n - cut)}
		if cut < n {
			l.same(fmt.Sprintf("hit of %d", cut), r.Step(backend.Seq{Context: r.Context(table, cut), Spans: []backend.Span{span}}), want[cut:n])
		}
		// Two segments that meet inside a block.
		context := r.Context(table, cut)
		if cut < n {
			context = append(context, backend.Segment{Blocks: span.Dst, Start: cut, Len: n - cut})
		}
		next := backend.Span{Tokens: tokens[n:], Pos: n, Dst: r.Scratch(n, 1), Want: all(1)}
		l.same(fmt.Sprintf("segments that meet at %d", cut), r.Step(backend.Seq{Context: context, Spans: []backend.Span{next}}), want[n:])
	}
}

// chunks prefills in chunks of several sizes.
func (l *lab) chunks() {
	const n = 70
	r := l.open(backend.Options{})
	tokens := l.tokens(n, 1)
	want := cold(r, tokens, 0)
	for _, chunk := range []int{1, 7, 16, 64} {
		got := r.Prefill(r.Pool(0, n), tokens, 0, chunk, rows(0, n)...)
		l.same(fmt.Sprintf("chunks of %d", chunk), got, want)
	}
}

// workers compares runs on several numbers of workers.
func (l *lab) workers() {
	const n, decodes = 70, 7
	var first []backend.Result
	for _, w := range l.Workers {
		r := l.open(backend.Options{Workers: w})
		tokens := l.tokens(n+1, 1)
		table := r.Pool(0, n)
		got := r.Prefill(table, tokens[:n], 0, n, rows(0, n)...)
		var seqs []backend.Seq
		for i := range decodes {
			seqs = append(seqs, backend.Seq{
				Context: r.Context(table, n-i),
				Spans:   []backend.Span{{Tokens: tokens[n:], Pos: n - i, Dst: r.Scratch(n-i, 1), Want: all(1)}},
			})
		}
		got = append(got, l.inSteps(r, seqs)...)
		if first == nil {
			first = got
			continue
		}
		l.same(fmt.Sprintf("%d workers against %d", w, l.Workers[0]), got, first)
	}
}

// wants compares each want, asked for alone, with the logits of the same row.
func (l *lab) wants() {
	const n = 20
	r := l.open(backend.Options{})
	tokens := l.tokens(n, 1)
	want := cold(r, tokens, 0)
	table := r.Pool(0, n)
	ask := func(wants ...backend.Want) []backend.Result {
		l.t.Helper()
		return r.Step(backend.Seq{Spans: []backend.Span{r.Span(table, 0, tokens, wants...)}})
	}
	for i, res := range ask(backend.Want{Row: 3, Logits: true}, backend.Want{Row: 3, Hidden: true}, backend.Want{Row: n - 1, Logits: true}) {
		row := want[[]int{3, 3, n - 1}[i]]
		if i == 1 {
			l.sameValues("hidden alone", res.Hidden, row.Hidden)
			continue
		}
		l.sameValues("logits of some rows", res.Logits, row.Logits)
	}
	labels := []int32{int32(l.model.Program.Vocab - 1), 0, 33, 34, 33, 100}
	picked := func(row int) (v []float32) {
		for _, id := range labels {
			v = append(v, want[row].Logits[id])
		}
		return v
	}
	if r.Caps.Wants.Has(backend.WantLabels) {
		for i, res := range ask(backend.Want{Row: 0, Labels: labels}, backend.Want{Row: 7, Labels: labels}, backend.Want{Row: n - 1, Labels: labels}) {
			l.sameValues("labels alone", res.Labels, picked([]int{0, 7, n - 1}[i]))
		}
		both := ask(backend.Want{Row: 7, Labels: labels, Logits: true})[0]
		l.sameValues("labels beside logits", both.Labels, picked(7))
		l.sameValues("logits beside labels", both.Logits, want[7].Logits)
	}
	if r.Caps.Wants.Has(backend.WantLogSumExp) {
		alone := ask(backend.Want{Row: 7, LogSumExp: true})[0].LogSumExp
		if d := math.Abs(float64(alone) - sample.LogSumExp(want[7].Logits)); !(d <= 1e-5*math.Max(1, math.Abs(float64(alone)))) {
			l.t.Fatalf("log-sum-exp %v, the logits give %v", alone, sample.LogSumExp(want[7].Logits))
		}
		for _, w := range []backend.Want{{Row: 7, LogSumExp: true, Logits: true}, {Row: 7, LogSumExp: true, TopK: r.topK()}} {
			if got := ask(w)[0].LogSumExp; got != alone {
				l.t.Fatalf("log-sum-exp %v, alone %v", got, alone)
			}
		}
	}
	if r.Caps.Wants.Has(backend.WantTopK) {
		for _, k := range []int{1, 5, l.model.Program.Vocab} {
			res := ask(backend.Want{Row: 9, TopK: k})[0]
			top, err := sample.TopK(nil, want[9].Logits, nil, k)
			if err != nil || len(res.TopIDs) != k || len(res.TopLogits) != k {
				l.t.Fatalf("top %d: %d ids, %d logits, %v", k, len(res.TopIDs), len(res.TopLogits), err)
			}
			for i := range top {
				if res.TopIDs[i] != top[i].ID || res.TopLogits[i] != top[i].Value {
					l.t.Fatalf("top %d: place %d is %d with %v, want %v", k, i, res.TopIDs[i], res.TopLogits[i], top[i])
				}
			}
		}
	}
	if r.Caps.Wants.Has(backend.WantSample) {
		l.samples(ask, want)
	}
}

func (r *Rig) topK() int {
	if r.Caps.Wants.Has(backend.WantTopK) {
		return 3
	}
	return 0
}

// samples compares choices made on the device with those that package sample makes from the logits.
func (l *lab) samples(ask func(...backend.Want) []backend.Result, want []backend.Result) {
	l.t.Helper()
	vocab := l.model.Program.Vocab
	mask := sample.NewMask(vocab)
	for id := 3; id < vocab; id += 5 {
		mask.Set(int32(id))
	}
	var history sample.Counts
	history.AddPrompt(1, 2, 3)
	history.AddOutput(8)
	var s sample.Sampler
	for i, p := range []sample.Params{
		{},
		{Temperature: 0.8, LogProbs: true, TopLogProbs: 4},
		{Temperature: 1.3, TopK: 20, TopP: 0.9, MinP: 0.01, LogProbs: true, Processed: true},
		{Temperature: 1, RepetitionPenalty: 1.2, FrequencyPenalty: 0.3, PresencePenalty: 0.2, Bias: []sample.Bias{{ID: 8, Value: 2}}, Banned: []int32{13}},
	} {
		for j, m := range []sample.Mask{nil, mask} {
			key := sample.Key{Seed: uint64(i), Choice: uint32(j), Position: 19}
			row := len(want) - 1
			got := ask(backend.Want{Row: row, Sample: &backend.Sample{Params: &p, Mask: m, History: &history, Key: key}})[0].Choice
			exp, err := s.Choose(slices.Clone(want[row].Logits), &p, m, &history, key)
			if err != nil {
				l.t.Fatal(err)
			}
			if got.Token != exp.Token || math.Abs(got.LogProb-exp.LogProb) > 1e-5 || len(got.Top) != len(exp.Top) {
				l.t.Fatalf("sample %d with mask %d: %+v, want %+v", i, j, got, exp)
			}
			for k := range exp.Top {
				if got.Top[k].ID != exp.Top[k].ID || math.Abs(got.Top[k].Value-exp.Top[k].Value) > 1e-5 {
					l.t.Fatalf("sample %d: alternative %d is %v, want %v", i, k, got.Top[k], exp.Top[k])
				}
			}
		}
	}
}
