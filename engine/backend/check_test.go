package backend_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/sample"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model/arch"
)

// limits are those of a small Runner: 10 blocks of 16 positions, 200 tokens.
func limits() (backend.Caps, *arch.Program) {
	return backend.Caps{
		PoolBlocks: 6, ScratchBlocks: 4, BlockSize: 16, States: 2, Context: 100,
		Masks: []backend.Mask{backend.Causal}, MaxRows: 40, MaxSpans: 3, InFlight: 1,
		Wants: backend.WantLabels | backend.WantSample,
	}, &arch.Program{Vocab: 200}
}

// decision is a batch that uses every field: a context in two segments that meet inside a block, a
// span, a child of it, and a decode.
func decision() *backend.Batch {
	return &backend.Batch{Seqs: []backend.Seq{
		{
			Context: []backend.Segment{{Blocks: []kvcache.BlockID{0, 5}, Len: 20}, {Blocks: []kvcache.BlockID{6}, Start: 20, Len: 3}},
			State:   1,
			Spans: []backend.Span{
				{Tokens: []int32{1, 2, 3}, Pos: 23, Dst: []kvcache.BlockID{7}, Want: []backend.Want{
					{Row: 0, Logits: true}, {Row: 2, Labels: []int32{0, 199}}, {Row: 2, Hidden: true},
				}},
				{Parent: 1, Tokens: make([]int32, 8), Pos: 26, Dst: []kvcache.BlockID{8, 9}, Save: 2},
			},
		},
		{Spans: []backend.Span{{Tokens: []int32{199}, Dst: []kvcache.BlockID{3}, Want: []backend.Want{
			{Sample: &backend.Sample{Params: &sample.Params{Temperature: 1}}},
		}}}},
	}}
}

func TestCheckNamesTheRule(t *testing.T) {
	t.Parallel()
	type edit func(b *backend.Batch, c *backend.Caps)
	seq := func(f func(s *backend.Seq)) edit { return func(b *backend.Batch, _ *backend.Caps) { f(&b.Seqs[0]) } }
	span := func(f func(s *backend.Span)) edit { return seq(func(s *backend.Seq) { f(&s.Spans[0]) }) }
	child := func(f func(s *backend.Span)) edit { return seq(func(s *backend.Seq) { f(&s.Spans[1]) }) }
	for _, c := range []struct {
		want string // of the error; "" for a good batch
		edit edit
	}{
		{"", func(*backend.Batch, *backend.Caps) {}},
		{"0 rows, must be 1 to 40", func(b *backend.Batch, _ *backend.Caps) { b.Seqs = nil }},
		{"12 rows, limit 11", func(_ *backend.Batch, c *backend.Caps) { c.MaxRows = 11 }},
		{"", func(_ *backend.Batch, c *backend.Caps) { c.MaxRows = 12 }},
		{"3 spans, limit 2", func(_ *backend.Batch, c *backend.Caps) { c.MaxSpans = 2 }},
		{"seq 0: 0 spans", seq(func(s *backend.Seq) { s.Spans = nil })},
		{"seq 0: segment 0: starts at 1, the one before ends at 0", seq(func(s *backend.Seq) { s.Context[0].Start = 1 })},
		{"seq 0: segment 1: starts at 20, the one before ends at 19", seq(func(s *backend.Seq) { s.Context[0].Len = 19 })},
		{"seq 0: segment 1: 0 rows", seq(func(s *backend.Seq) { s.Context[1].Len = 0 })},
		{"seq 0: segment 0: 1 blocks for 20 rows from position 0, must be 2", seq(func(s *backend.Seq) { s.Context[0].Blocks = s.Context[0].Blocks[:1] })},
		{"seq 0: segment 1: 2 blocks for 3 rows from position 20, must be 1", seq(func(s *backend.Seq) { s.Context[1].Blocks = []kvcache.BlockID{6, 7} })},
		{"seq 0: segment 0: block 1: id 10, must be 0 to 9", seq(func(s *backend.Seq) { s.Context[0].Blocks[1] = 10 })},
		{"seq 0: segment 0: block 0: id -1, must be 0 to 9", seq(func(s *backend.Seq) { s.Context[0].Blocks[0] = -1 })},
		{"seq 0: state 3, limit 2", seq(func(s *backend.Seq) { s.State = 3 })},
		{"seq 0: state -1, limit 2", seq(func(s *backend.Seq) { s.State = -1 })},
		{"seq 0: span 0: parent 1, must be 0 to 0", span(func(s *backend.Span) { s.Parent = 1 })},
		{"seq 0: span 1: parent -1, must be 0 to 1", child(func(s *backend.Span) { s.Parent = -1 })},
		{"seq 0: span 1: position 26, what it continues ends at 23", child(func(s *backend.Span) { s.Parent = 0 })},
		{"seq 0: span 0: position 22, what it continues ends at 23", span(func(s *backend.Span) { s.Pos = 22 })},
		{"seq 0: span 0: 0 tokens", span(func(s *backend.Span) { s.Tokens = nil })},
		{"seq 0: span 1: ends at position 34, limit 33", func(_ *backend.Batch, c *backend.Caps) { c.Context = 33 }},
		{"", func(_ *backend.Batch, c *backend.Caps) { c.Context = 34 }},
		{"", func(_ *backend.Batch, c *backend.Caps) { c.Context = 0 }},
		{"span 0: token 2: id 200, the vocabulary has 200", span(func(s *backend.Span) { s.Tokens[2] = 200 })},
		{"span 0: token 1: id -3 stands for a choice of the step before, and only 1 step", span(func(s *backend.Span) { s.Tokens[1] = -3 })},
		{"", func(b *backend.Batch, c *backend.Caps) { c.InFlight = 2; b.Seqs[0].Spans[0].Tokens[1] = -40 }},
		{"id -41 stands for row 40 of the step before, limit 40", func(b *backend.Batch, c *backend.Caps) {
			c.InFlight = 2
			b.Seqs[0].Spans[0].Tokens[1] = -41
		}},
		{"id -2147483648 stands for row 2147483647", func(b *backend.Batch, c *backend.Caps) {
			c.InFlight = 2
			b.Seqs[0].Spans[0].Tokens[1] = math.MinInt32
		}},
		{"seq 0: span 1: dst: 1 blocks for 8 rows from position 26, must be 2", child(func(s *backend.Span) { s.Dst = s.Dst[:1] })},
		{"seq 0: span 0: dst: block 0: id 10", span(func(s *backend.Span) { s.Dst[0] = 10 })},
		{"seq 0: span 0: mask 1", span(func(s *backend.Span) { s.Mask = backend.Bidirectional })},
		{"seq 0: span 1: save: state 3, limit 2", child(func(s *backend.Span) { s.Save = 3 })},
		{"want 2: row 3, must be 2 to 2", span(func(s *backend.Span) { s.Want[2].Row = 3 })},
		{"want 1: row -1, must be 0 to 2", span(func(s *backend.Span) { s.Want[1].Row = -1 })},
		{"want 2: row 1, must be 2 to 2", span(func(s *backend.Span) { s.Want[2].Row = 1 })},
		{"want 1: label 1: id 200, the vocabulary has 200", span(func(s *backend.Span) { s.Want[1].Labels[1] = 200 })},
		{"want 1: label 0: id -1", span(func(s *backend.Span) { s.Want[1].Labels[0] = -1 })},
		{"want 0: asks for 0b10, supported 0b1001", span(func(s *backend.Span) { s.Want[0].LogSumExp = true })},
		{"want 0: asks for 0b100", span(func(s *backend.Span) { s.Want[0].TopK = 5 })},
		{"want 0: top-k 201, must be 0 to 200", func(b *backend.Batch, c *backend.Caps) {
			c.Wants |= backend.WantTopK
			b.Seqs[0].Spans[0].Want[0].TopK = 201
		}},
		{"want 0: asks for 0b1, supported 0b0", func(b *backend.Batch, c *backend.Caps) {
			c.Wants = 0
			b.Seqs[0].Spans[0].Want = b.Seqs[0].Spans[0].Want[1:2]
		}},
		{"seq 1: span 0: want 0: sample: no parameters", func(b *backend.Batch, _ *backend.Caps) { b.Seqs[1].Spans[0].Want[0].Sample.Params = nil }},
		{"sample: sample: bad parameter: temperature -1", func(b *backend.Batch, _ *backend.Caps) {
			b.Seqs[1].Spans[0].Want[0].Sample.Params.Temperature = -1
		}},
	} {
		limit, p := limits()
		b := decision()
		c.edit(b, &limit)
		err := b.Check(limit, p)
		switch {
		case c.want == "":
			if err != nil {
				t.Errorf("a good batch: %v", err)
			}
		case !errors.Is(err, backend.ErrBatch) || !strings.Contains(err.Error(), c.want):
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}

func TestCheckAllocatesNothing(t *testing.T) {
	limit, p := limits()
	b := decision()
	if n := testing.AllocsPerRun(100, func() {
		if err := b.Check(limit, p); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestMoveCheck(t *testing.T) {
	t.Parallel()
	c, _ := limits()
	for _, m := range []backend.Move{
		{From: 9, To: 0, Rows: 16}, {From: 1, To: 2, Start: 15, Rows: 1}, {FromState: 1, ToState: 2},
	} {
		if err := m.Check(c); err != nil {
			t.Errorf("%+v: %v", m, err)
		}
	}
	for _, c2 := range []struct {
		move backend.Move
		want string
	}{
		{backend.Move{From: 10, Rows: 1}, "block 10, must be 0 to 9"},
		{backend.Move{To: -1, Rows: 1}, "block -1"},
		{backend.Move{To: 1}, "rows 0 to 0"},
		{backend.Move{To: 1, Start: -1, Rows: 2}, "rows -1 to 1"},
		{backend.Move{To: 1, Start: 10, Rows: 7}, "rows 10 to 17, the block has 16"},
		{backend.Move{To: 1, Start: 1, Rows: math.MaxInt}, "the block has 16"},
		{backend.Move{FromState: 3, ToState: 1}, "state 3, must be 1 to 2"},
		{backend.Move{FromState: 1}, "state 0"},
	} {
		if err := c2.move.Check(c); !errors.Is(err, backend.ErrBatch) || !strings.Contains(err.Error(), c2.want) {
			t.Errorf("%+v: error %v, want one with %q", c2.move, err, c2.want)
		}
	}
}

func TestFill(t *testing.T) {
	var s sample.Sampler
	var r backend.Result
	logits := []float32{1, 4, 2, 4}
	w := backend.Want{
		Logits: true, Labels: []int32{2, 2, 0}, LogSumExp: true, TopK: 3,
		Sample: &backend.Sample{Params: &sample.Params{LogProbs: true, TopLogProbs: 2}},
	}
	r.Fill(&w, logits, &s)
	lse := math.Log(math.Exp(1) + 2*math.Exp(4) + math.Exp(2))
	if r.Err != nil || !slices.Equal(r.Logits, logits) || &r.Logits[0] == &logits[0] || !slices.Equal(r.Labels, []float32{2, 2, 1}) ||
		math.Abs(float64(r.LogSumExp)-lse) > 1e-6 || !slices.Equal(r.TopIDs, []int32{1, 3, 2}) || !slices.Equal(r.TopLogits, []float32{4, 4, 2}) ||
		r.Choice.Token != 1 || math.Abs(r.Choice.LogProb-(4-lse)) > 1e-6 || len(r.Choice.Top) != 2 || r.Choice.Top[1].ID != 3 {
		t.Fatalf("%+v", r)
	}
	kept := r.Choice.Top
	r.Fill(&backend.Want{Labels: []int32{3}}, logits, &s)
	if r.Err != nil || len(r.Logits)+len(r.TopIDs)+len(r.TopLogits)+len(r.Choice.Top) > 0 || r.LogSumExp != 0 || r.Choice.Token != 0 || !slices.Equal(r.Labels, []float32{4}) {
		t.Fatalf("what was not asked for stayed: %+v", r)
	}
	if _, err := s.Choose([]float32{9, 8}, &sample.Params{LogProbs: true, TopLogProbs: 2}, nil, nil, sample.Key{}); err != nil || kept[1].ID != 3 {
		t.Fatalf("the result shares the sampler's list: %v, %v", kept, err)
	}
	r.Fill(&w, []float32{1, float32(math.NaN()), 2, 4}, &s)
	if !errors.Is(r.Err, backend.ErrNaN) || len(r.Logits)+len(r.Labels)+len(r.TopIDs) > 0 {
		t.Fatalf("%+v", r)
	}
	nothing := backend.Want{Logits: true, Sample: &backend.Sample{Params: &sample.Params{}, Mask: sample.NewMask(4)}}
	r.Fill(&nothing, logits, &s)
	if !errors.Is(r.Err, sample.ErrNoToken) || len(r.Logits) > 0 {
		t.Fatalf("%+v", r)
	}
	if n := testing.AllocsPerRun(20, func() { r.Fill(&backend.Want{Labels: []int32{3}, Logits: true, LogSumExp: true}, logits, &s) }); n > 0 {
		t.Errorf("%v allocations with buffers at hand", n)
	}
}

func TestOutputResizeKeepsBuffers(t *testing.T) {
	t.Parallel()
	var o backend.Output
	o.Resize(3)
	o.Results[2].Logits = make([]float32, 7, 9)
	o.Results[2].Err = backend.ErrNaN
	o.Resize(1)
	o.Resize(3)
	if r := o.Results[2]; len(r.Logits) != 0 || cap(r.Logits) != 9 || r.Err != nil {
		t.Errorf("%d values, room for %d, error %v", len(r.Logits), cap(r.Logits), r.Err)
	}
}

func TestMatrix(t *testing.T) {
	t.Parallel()
	m := backend.NewMatrix(2, 3)
	m.Row(1)[2] = 5
	if m.Data[5] != 5 || cap(m.Row(0)) != 3 || m.Check() != nil {
		t.Errorf("%+v", m)
	}
	for _, bad := range []backend.Matrix{
		{Rows: 2, Cols: 3, Data: make([]float32, 5)},
		{Rows: -1, Cols: -1, Data: make([]float32, 1)},
		{Rows: 1 << 33, Cols: 1 << 31},
		{Rows: math.MaxInt, Cols: 2, Data: make([]float32, 2)},
	} {
		if err := bad.Check(); !errors.Is(err, backend.ErrShape) {
			t.Errorf("%d x %d with %d values: %v", bad.Rows, bad.Cols, len(bad.Data), err)
		}
	}
	if err := (backend.Matrix{Cols: 7}).Check(); err != nil {
		t.Errorf("no rows: %v", err)
	}
}
