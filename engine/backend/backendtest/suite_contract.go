package backendtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/sample"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/quant"
)

// badBatches submits batches that each break one rule. The Runner refuses them and lives on.
func (l *lab) badBatches() {
	const n = 20
	r := l.open(backend.Options{Context: 400})
	c := r.Caps
	tokens := l.tokens(n+4, 1)
	table := r.Pool(0, n)
	r.Prefill(table, tokens[:n], 0, n)
	want := cold(r, tokens, n)
	blocks := kvcache.BlockID(c.PoolBlocks + c.ScratchBlocks)
	vocab := int32(l.model.Program.Vocab)
	dst := r.Scratch(n, 4)
	good := func() *backend.Batch {
		return &backend.Batch{Seqs: []backend.Seq{{
			Context: []backend.Segment{
				{Blocks: slices.Clone(table[:1]), Len: 9},
				{Blocks: slices.Clone(table), Start: 9, Len: n - 9},
			},
			Spans: []backend.Span{
				{Tokens: slices.Clone(tokens[n:]), Pos: n, Dst: slices.Clone(dst), Want: all(4)},
				{Parent: 1, Tokens: []int32{1, 2}, Pos: n + 4, Dst: r.Scratch(n+4, 2)},
			},
		}}}
	}
	check := func(after string) {
		l.t.Helper()
		l.same("a good batch after "+after, func() []backend.Result {
			res, err := r.Try(good())
			if err != nil {
				l.t.Fatalf("a good batch after %s: %v", after, err)
			}
			return res
		}(), want)
	}
	check("nothing")
	for name, spoil := range map[string]func(b *backend.Batch, s *backend.Seq, sp *backend.Span){
		"no sequences":            func(b *backend.Batch, _ *backend.Seq, _ *backend.Span) { b.Seqs = nil },
		"no spans":                func(_ *backend.Batch, s *backend.Seq, _ *backend.Span) { s.Spans = nil },
		"no tokens":               func(_ *backend.Batch, s *backend.Seq, _ *backend.Span) { s.Spans[1].Tokens = nil },
		"too many rows":           func(_ *backend.Batch, s *backend.Seq, _ *backend.Span) { l.widen(s, c.MaxRows/2+1, 2) },
		"too many spans":          func(_ *backend.Batch, s *backend.Seq, _ *backend.Span) { l.widen(s, 1, c.MaxSpans+1) },
		"gap in the context":      func(_ *backend.Batch, s *backend.Seq, _ *backend.Span) { s.Context[0].Len = 8 },
		"overlap in the context":  func(_ *backend.Batch, s *backend.Seq, _ *backend.Span) { s.Context[0].Len = 10 },
		"context not from 0":      func(_ *backend.Batch, s *backend.Seq, _ *backend.Span) { s.Context = s.Context[1:] },
		"empty segment":           func(_ *backend.Batch, s *backend.Seq, _ *backend.Span) { s.Context[0].Len = 0 },
		"negative segment":        func(_ *backend.Batch, s *backend.Seq, _ *backend.Span) { s.Context[0].Len = -9 },
		"segment without blocks":  func(_ *backend.Batch, s *backend.Seq, _ *backend.Span) { s.Context[0].Blocks = nil },
		"segment past its blocks": func(_ *backend.Batch, s *backend.Seq, _ *backend.Span) { s.Context[1].Blocks = table[:1] },
		"segment block too large": func(_ *backend.Batch, s *backend.Seq, _ *backend.Span) { s.Context[0].Blocks[0] = blocks },
		"segment block negative":  func(_ *backend.Batch, s *backend.Seq, _ *backend.Span) { s.Context[0].Blocks[0] = -1 },
		"state":                   func(_ *backend.Batch, s *backend.Seq, _ *backend.Span) { s.State = kvcache.StateID(c.States + 1) },
		"negative state":          func(_ *backend.Batch, s *backend.Seq, _ *backend.Span) { s.State = -1 },
		"position too large":      func(_ *backend.Batch, _ *backend.Seq, sp *backend.Span) { sp.Pos++ },
		"position too small":      func(_ *backend.Batch, _ *backend.Seq, sp *backend.Span) { sp.Pos-- },
		"position of a child":     func(_ *backend.Batch, s *backend.Seq, _ *backend.Span) { s.Spans[1].Pos = n },
		"parent is itself":        func(_ *backend.Batch, s *backend.Seq, _ *backend.Span) { s.Spans[1].Parent = 2 },
		"parent comes later":      func(_ *backend.Batch, _ *backend.Seq, sp *backend.Span) { sp.Parent = 2 },
		"negative parent":         func(_ *backend.Batch, _ *backend.Seq, sp *backend.Span) { sp.Parent = -1 },
		"token too large":         func(_ *backend.Batch, _ *backend.Seq, sp *backend.Span) { sp.Tokens[2] = vocab },
		"token of no choice":      func(_ *backend.Batch, _ *backend.Seq, sp *backend.Span) { sp.Tokens[2] = -1 },
		"token of no row":         func(_ *backend.Batch, _ *backend.Seq, sp *backend.Span) { sp.Tokens[2] = math.MinInt32 },
		"dst too short":           func(_ *backend.Batch, _ *backend.Seq, sp *backend.Span) { sp.Dst = nil },
		"dst too long":            func(_ *backend.Batch, _ *backend.Seq, sp *backend.Span) { sp.Dst = append(sp.Dst, 0) },
		"dst block too large":     func(_ *backend.Batch, _ *backend.Seq, sp *backend.Span) { sp.Dst[0] = blocks },
		"dst block negative":      func(_ *backend.Batch, _ *backend.Seq, sp *backend.Span) { sp.Dst[0] = kvcache.NoBlock },
		"unknown mask":            func(_ *backend.Batch, _ *backend.Seq, sp *backend.Span) { sp.Mask = 77 },
		"save":                    func(_ *backend.Batch, _ *backend.Seq, sp *backend.Span) { sp.Save = kvcache.StateID(c.States + 1) },
		"want past the span":      func(_ *backend.Batch, _ *backend.Seq, sp *backend.Span) { sp.Want[3].Row = 4 },
		"want before the span":    func(_ *backend.Batch, _ *backend.Seq, sp *backend.Span) { sp.Want[0].Row = -1 },
		"wants that fall":         func(_ *backend.Batch, _ *backend.Seq, sp *backend.Span) { sp.Want[2].Row = 0 },
		"label too large":         func(_ *backend.Batch, _ *backend.Seq, sp *backend.Span) { sp.Want[0].Labels = []int32{vocab} },
		"negative label":          func(_ *backend.Batch, _ *backend.Seq, sp *backend.Span) { sp.Want[0].Labels = []int32{0, -1} },
		"top-k too large":         func(_ *backend.Batch, _ *backend.Seq, sp *backend.Span) { sp.Want[0].TopK = int(vocab) + 1 },
		"negative top-k":          func(_ *backend.Batch, _ *backend.Seq, sp *backend.Span) { sp.Want[0].TopK = -1 },
		"sample without params":   func(_ *backend.Batch, _ *backend.Seq, sp *backend.Span) { sp.Want[0].Sample = &backend.Sample{} },
		"sample with bad params": func(_ *backend.Batch, _ *backend.Seq, sp *backend.Span) {
			sp.Want[0].Sample = &backend.Sample{Params: &sample.Params{Temperature: -1}}
		},
		"past the context's limit": func(_ *backend.Batch, s *backend.Seq, _ *backend.Span) {
			*s = backend.Seq{Spans: []backend.Span{{Tokens: make([]int32, 401), Dst: make([]kvcache.BlockID, 26)}}}
		},
	} {
		b := good()
		spoil(b, &b.Seqs[0], &b.Seqs[0].Spans[0])
		if _, err := r.Try(b); !errors.Is(err, backend.ErrBatch) {
			l.t.Errorf("%s: error %v, want ErrBatch", name, err)
		}
	}
	for _, m := range []backend.Mask{backend.Causal, backend.Bidirectional} {
		b := good()
		b.Seqs[0].Spans[0].Mask = m
		if _, err := r.Try(b); slices.Contains(c.Masks, m) != (err == nil) {
			l.t.Errorf("mask %d with masks %v: %v", m, c.Masks, err)
		}
	}
	for _, w := range []backend.Want{{Labels: []int32{0}}, {LogSumExp: true}, {TopK: 1}, {Sample: &backend.Sample{Params: &sample.Params{}}}} {
		b := good()
		b.Seqs[0].Spans[0].Want = []backend.Want{w}
		need := []backend.WantSet{backend.WantLabels, backend.WantLogSumExp, backend.WantTopK, backend.WantSample}
		has := c.Wants.Has(need[slices.Index([]bool{w.Labels != nil, w.LogSumExp, w.TopK > 0, w.Sample != nil}, true)])
		if _, err := r.Try(b); has != (err == nil) || err != nil && !errors.Is(err, backend.ErrBatch) {
			l.t.Errorf("want %+v with wants %b: %v", w, c.Wants, err)
		}
	}
	check("all bad ones")
}

// widen gives a sequence many spans. Their blocks may repeat: the batch is refused before it runs.
func (l *lab) widen(s *backend.Seq, tokens, spans int) {
	s.Spans = nil
	pos := s.Context[len(s.Context)-1].Start + s.Context[len(s.Context)-1].Len
	for range spans {
		s.Spans = append(s.Spans, backend.Span{Tokens: make([]int32, tokens), Pos: pos, Dst: make([]kvcache.BlockID, kvcache.BlocksFor(pos, tokens, 16))})
	}
}

func (l *lab) badMoves() {
	r := l.open(backend.Options{})
	blocks := kvcache.BlockID(r.Caps.PoolBlocks + r.Caps.ScratchBlocks)
	r.Prefill([]kvcache.BlockID{0}, l.tokens(16, 1), 0, 16)
	for name, m := range map[string]backend.Move{
		"from too large":  {From: blocks, To: 1, Rows: 1},
		"to too large":    {To: blocks, Rows: 1},
		"from negative":   {From: -1, To: 1, Rows: 1},
		"to negative":     {To: -1, Rows: 1},
		"no rows":         {To: 1},
		"negative rows":   {To: 1, Rows: -1},
		"negative start":  {To: 1, Start: -1, Rows: 2},
		"too many rows":   {To: 1, Rows: r.Caps.BlockSize + 1},
		"past the block":  {To: 1, Start: 9, Rows: r.Caps.BlockSize - 8},
		"rows overflow":   {To: 1, Start: 1, Rows: math.MaxInt},
		"state too large": {FromState: 1, ToState: kvcache.StateID(r.Caps.States + 1)},
		"no from state":   {ToState: 1},
	} {
		// A good move before it is not made either way the backend likes; the call fails.
		if err := r.Runner.Copy(l.t.Context(), []backend.Move{{From: 0, To: 2, Rows: 1}, m}); !errors.Is(err, backend.ErrBatch) {
			l.t.Errorf("%s: error %v, want ErrBatch", name, err)
		}
	}
	tokens := l.tokens(17, 1)
	l.same("after bad moves", r.Prefill([]kvcache.BlockID{0, 5}, tokens, 16, 1, 16), cold(r, tokens, 16))
}

func (l *lab) badBlockIO() {
	r := l.open(backend.Options{})
	io := r.Runner.(backend.BlockIO)
	size, row := r.Caps.BlockSize, l.model.Program.KVBytes(r.Caps.KV.Effective)
	blocks := kvcache.BlockID(r.Caps.PoolBlocks + r.Caps.ScratchBlocks)
	r.Prefill([]kvcache.BlockID{0}, l.tokens(size, 1), 0, size)
	before := l.export(io, 0, size, size*row)
	for name, c := range map[string]struct {
		block       kvcache.BlockID
		rows, bytes int
	}{
		"block too large": {blocks, 1, row},
		"block negative":  {-1, 1, row},
		"negative rows":   {0, -1, row},
		"too many rows":   {0, size + 1, (size + 1) * row},
		"too few bytes":   {0, 2, 2*row - 1},
		"no bytes":        {0, 1, 0},
	} {
		buf := make([]byte, c.bytes)
		if _, err := io.Export(l.t.Context(), c.block, c.rows, buf); !errors.Is(err, backend.ErrBatch) {
			l.t.Errorf("export: %s: error %v, want ErrBatch", name, err)
		}
		if err := io.Import(l.t.Context(), c.block, c.rows, buf); !errors.Is(err, backend.ErrBatch) {
			l.t.Errorf("import: %s: error %v, want ErrBatch", name, err)
		}
	}
	if !slices.Equal(before, l.export(io, 0, size, size*row)) {
		l.t.Error("refused imports changed a block")
	}
}

// cancelled submits with a context that has ended: nothing starts. One that ends later changes
// nothing, since a step carries the rows of many callers.
func (l *lab) cancelled() {
	r := l.open(backend.Options{})
	tokens := l.tokens(20, 1)
	want := cold(r, tokens, 0)
	table := r.Pool(0, 20)
	seq := backend.Seq{Spans: []backend.Span{r.Span(table, 0, tokens, all(20)...)}}
	ctx, cancel := context.WithCancel(l.t.Context())
	s, err := r.Runner.Submit(ctx, &backend.Batch{Seqs: []backend.Seq{seq}})
	if err != nil {
		l.t.Fatal(err)
	}
	cancel()
	var out backend.Output
	if err := s.Wait(&out); err != nil {
		l.t.Fatalf("cancelled after Submit: %v", err)
	}
	l.same("cancelled after Submit", out.Results, want)
	if _, err := r.Runner.Submit(ctx, &backend.Batch{Seqs: []backend.Seq{seq}}); !errors.Is(err, context.Canceled) {
		l.t.Errorf("Submit: error %v, want context.Canceled", err)
	}
	if err := r.Runner.Copy(ctx, []backend.Move{{From: table[0], To: table[1], Rows: 1}}); !errors.Is(err, context.Canceled) {
		l.t.Errorf("Copy: error %v, want context.Canceled", err)
	}
	if _, err := l.Backend.Open(ctx, l.model, backend.Options{BlockSize: 16, PoolBlocks: 4}); !errors.Is(err, context.Canceled) {
		l.t.Errorf("Open: error %v, want context.Canceled", err)
	}
	l.same("after refused calls", r.Step(seq), want)
}

// closed uses a Runner after Close, and waits for a step that Close overtook.
func (l *lab) closed() {
	r, err := l.Backend.Open(l.t.Context(), l.model, backend.Options{BlockSize: 16, PoolBlocks: 40})
	if err != nil {
		l.t.Fatal(err)
	}
	blocks := make([]kvcache.BlockID, 20)
	for i := range blocks {
		blocks[i] = kvcache.BlockID(i)
	}
	b := &backend.Batch{Seqs: []backend.Seq{{Spans: []backend.Span{{Tokens: l.tokens(320, 1), Dst: blocks}}}}}
	s, err := r.Submit(l.t.Context(), b)
	if err != nil {
		l.t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() { waited <- s.Wait(new(backend.Output)) }()
	if err := r.Close(); err != nil {
		l.t.Error(err)
	}
	select {
	case err := <-waited:
		if err != nil && !errors.Is(err, backend.ErrClosed) {
			l.t.Errorf("Wait: error %v, want none or ErrClosed", err)
		}
	case <-time.After(30 * time.Second):
		l.t.Fatal("Wait did not return after Close")
	}
	if _, err := r.Submit(l.t.Context(), b); !errors.Is(err, backend.ErrClosed) {
		l.t.Errorf("Submit: error %v, want ErrClosed", err)
	}
	if err := r.Copy(l.t.Context(), []backend.Move{{To: 1, Rows: 1}}); !errors.Is(err, backend.ErrClosed) {
		l.t.Errorf("Copy: error %v, want ErrClosed", err)
	}
	if io, ok := r.(backend.BlockIO); ok {
		buf := make([]byte, l.model.Program.KVBytes(quant.F32))
		if _, err := io.Export(l.t.Context(), 0, 1, buf); !errors.Is(err, backend.ErrClosed) {
			l.t.Errorf("Export: error %v, want ErrClosed", err)
		}
		if err := io.Import(l.t.Context(), 0, 1, buf); !errors.Is(err, backend.ErrClosed) {
			l.t.Errorf("Import: error %v, want ErrClosed", err)
		}
	}
	if err := r.Close(); err != nil {
		l.t.Errorf("second Close: %v", err)
	}
}

// closeEndsGoroutines opens and closes Runners and expects the number of goroutines of before.
func (l *lab) closeEndsGoroutines() {
	before := runtime.NumGoroutine()
	for i := range 4 {
		r, err := l.Backend.Open(l.t.Context(), l.model, backend.Options{BlockSize: 16, PoolBlocks: 4, Workers: 1 + i})
		if err != nil {
			l.t.Fatal(err)
		}
		s, err := r.Submit(l.t.Context(), &backend.Batch{Seqs: []backend.Seq{{Spans: []backend.Span{
			{Tokens: l.tokens(40, 1), Dst: []kvcache.BlockID{2, 0, 1}, Want: all(40)},
		}}}})
		if err != nil {
			l.t.Fatal(err)
		}
		if i%2 == 0 {
			if err := s.Wait(new(backend.Output)); err != nil {
				l.t.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			l.t.Fatal(err)
		}
		if i%2 == 1 {
			_ = s.Wait(new(backend.Output))
		}
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<16)
			l.t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
		time.Sleep(time.Millisecond)
	}
}

// nan gives one token an embedding that is not a number: its sequence fails and no other does, nor
// do those that use its blocks later.
func (l *lab) nan() {
	const bad = 7
	shape := l.shape
	shape.Untied = true
	l.model = Tiny(l.t, shape)
	row := l.model.Program.Embedding.Row(bad)
	for i := range row {
		row[i] = 0xff
	}
	r := l.open(backend.Options{PoolBlocks: 6})
	clean := slices.DeleteFunc(l.tokens(40, 1), func(id int32) bool { return id == bad })
	clean = clean[:30]
	want := cold(r, clean, 0)
	dirty := slices.Clone(clean)
	dirty[9] = bad
	for range 3 {
		a, b := r.Pool(0, len(clean)), r.Pool(0, len(clean))
		wants := all(len(dirty))
		if r.Caps.Wants.Has(backend.WantLabels) {
			wants[12] = backend.Want{Row: 12, Labels: []int32{3}}
		}
		if r.Caps.Wants.Has(backend.WantSample) {
			wants[13] = backend.Want{Row: 13, Sample: &backend.Sample{Params: &sample.Params{}}}
		}
		got, err := r.Try(&backend.Batch{Seqs: []backend.Seq{
			{Spans: []backend.Span{r.Span(a, 0, dirty, wants...)}},
			{Spans: []backend.Span{r.Span(b, 0, clean, all(len(clean))...)}},
		}})
		if err != nil {
			l.t.Fatalf("a row that is not a number failed the whole step: %v", err)
		}
		for i := range dirty {
			if i < 9 {
				l.same(fmt.Sprintf("row %d before the bad token", i), got[i:i+1], want[i:i+1])
			} else if !errors.Is(got[i].Err, backend.ErrNaN) {
				l.t.Fatalf("row %d: error %v, want ErrNaN", i, got[i].Err)
			} else if len(got[i].Logits)+len(got[i].Labels)+len(got[i].Hidden) > 0 {
				l.t.Fatalf("row %d has outputs beside its error", i)
			}
		}
		l.same("beside the bad sequence", got[len(dirty):], want)
		l.same("in its blocks", r.Prefill(a, clean, 0, 11, rows(0, len(clean))...), want)
	}
}

// outputs reuses one Output for steps that want more, less and nothing.
func (l *lab) outputs() {
	const n = 18
	r := l.open(backend.Options{})
	tokens := l.tokens(n, 1)
	want := cold(r, tokens, 0)
	table := r.Pool(0, n)
	ask := func(w ...backend.Want) []backend.Result {
		l.t.Helper()
		return r.Step(backend.Seq{Spans: []backend.Span{r.Span(table, 0, tokens, w...)}})
	}
	l.same("all rows", ask(all(n)...), want)
	if got := ask(); len(got) != 0 {
		l.t.Fatalf("%d results for no wants", len(got))
	}
	got := ask(backend.Want{Row: 2, Hidden: true}, backend.Want{Row: 5, Logits: true}, backend.Want{Row: 5})
	l.sameValues("hidden", got[0].Hidden, want[2].Hidden)
	l.sameValues("logits", got[1].Logits, want[5].Logits)
	if len(got) != 3 || len(got[0].Logits)+len(got[1].Hidden)+len(got[2].Logits)+len(got[2].Hidden) > 0 {
		l.t.Fatal("a result holds what was not asked for")
	}
	l.same("all rows again", ask(all(n)...), want)
	// The caller's buffers are its own: what it got stays when the Runner goes on with another Output.
	kept := ask(all(n)...)
	r.out = backend.Output{}
	ask(all(n)...)
	l.same("kept by the caller", kept, want)
}

// twoInFlight decodes with steps submitted before the one before is waited for, and compares the
// tokens with one step at a time.
func (l *lab) twoInFlight() {
	r := l.open(backend.Options{})
	const steps = 24
	prompts := [][]int32{l.tokens(5, 1), l.tokens(17, 2), l.tokens(30, 3)}
	params := []sample.Params{{}, {Temperature: 1}, {Temperature: 0.7, TopK: 9}}
	run := func(ahead int) [][]int32 {
		got := make([][]int32, len(prompts))
		tables := make([][]kvcache.BlockID, len(prompts))
		for i, p := range prompts {
			tables[i] = r.Pool(0, len(p)+steps)
		}
		var flight []backend.Step
		var out backend.Output
		settle := func() {
			l.t.Helper()
			if err := flight[0].Wait(&out); err != nil {
				l.t.Fatal(err)
			}
			flight = flight[1:]
			for i, res := range out.Results {
				if res.Err != nil {
					l.t.Fatal(res.Err)
				}
				got[i] = append(got[i], res.Choice.Token)
			}
		}
		for k := range steps {
			b := &backend.Batch{}
			row := 0
			for i, p := range prompts {
				pos, tokens := 0, p
				if k > 0 {
					pos = len(p) + k - 1
					tokens = []int32{int32(-1 - i)} // row i of a decode step
					if k == 1 {
						tokens[0] = int32(-row - len(p)) // the last row of its prompt
					}
					if len(flight) == 0 {
						tokens[0] = got[i][k-1]
					}
				}
				row += len(p)
				last := len(tokens) - 1
				b.Seqs = append(b.Seqs, backend.Seq{Context: r.Context(tables[i], pos), Spans: []backend.Span{r.Span(tables[i], pos, tokens,
					backend.Want{Row: last, Sample: &backend.Sample{Params: &params[i], Key: sample.Key{Seed: 5, Position: uint64(k)}}})}})
			}
			s, err := r.Runner.Submit(l.t.Context(), b)
			if err != nil {
				l.t.Fatal(err)
			}
			flight = append(flight, s)
			if len(flight) > ahead {
				settle()
			}
		}
		for len(flight) > 0 {
			settle()
		}
		return got
	}
	want, got := run(0), run(1)
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			l.t.Errorf("sequence %d: %v with a step ahead, %v without", i, got[i], want[i])
		}
	}
}

// otherFormats opens with each KV format that Caps lists, and with options that no backend has.
func (l *lab) otherFormats() {
	r := l.open(backend.Options{})
	if got := r.Caps.KV.Effective; got != quant.BF16 && r.Caps.KV.Reason == "" {
		l.t.Errorf("KV format %v by default, without a reason, want BF16", got)
	}
	if r.Caps.Numerics == "" || r.Caps.MaxRows < 1 || r.Caps.MaxSpans < 1 || r.Caps.InFlight < 1 || r.Caps.Workers < 1 || len(r.Caps.Masks) == 0 {
		l.t.Errorf("caps %+v", r.Caps)
	}
	if r.Caps.PoolBlocks != 64 || r.Caps.ScratchBlocks != 32 || r.Caps.BlockSize != 16 {
		l.t.Errorf("%d pool and %d scratch blocks of %d, want 64, 32, 16", r.Caps.PoolBlocks, r.Caps.ScratchBlocks, r.Caps.BlockSize)
	}
	numerics := map[string]quant.Format{}
	for _, kv := range r.Caps.KVFormats {
		c := NewRig(l.t, l.Backend, l.model, backend.Options{KV: kv}).Caps
		if c.KV.Effective != kv || c.KV.Requested != kv {
			l.t.Errorf("KV format %v: %+v", kv, c.KV)
		}
		if least := int64(l.model.Program.KVBytes(kv) * c.BlockSize); c.BlockBytes < least {
			l.t.Errorf("KV format %v: %d bytes a block, must be at least %d", kv, c.BlockBytes, least)
		}
		if other, taken := numerics[c.Numerics]; taken {
			l.t.Errorf("KV formats %v and %v share the numerics id %q", kv, other, c.Numerics)
		}
		numerics[c.Numerics] = kv
	}
	for name, o := range map[string]backend.Options{
		"KV format":            {BlockSize: 16, PoolBlocks: 4, KV: quant.Q6_K},
		"block size -16":       {BlockSize: -16, PoolBlocks: 4},
		"negative pool blocks": {BlockSize: 16, PoolBlocks: -1},
		"negative scratch":     {BlockSize: 16, PoolBlocks: 4, ScratchBlocks: -1},
	} {
		r, err := l.Backend.Open(l.t.Context(), l.model, o)
		if !errors.Is(err, backend.ErrUnsupported) {
			l.t.Errorf("%s: error %v, want ErrUnsupported", name, err)
		}
		if err == nil {
			_ = r.Close()
		}
	}
}
