package cpu_test

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"testing"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/engine/backend/cpu"
	"github.com/hotpath-go/hotpath/internal/race"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/quant"
)

// The bits of a row depend on the tokens before it and on nothing else. The reference is the row
// computed with all its history in one prefill, alone, by one worker.

func TestMain(m *testing.M) {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(0))) // so that there are four workers
	}
	os.Exit(m.Run())
}

const bitRows = 300 // more than a partition

// eachSetting runs a test for each path, weight format and KV format, with a reference of the
// logits of all rows.
func eachSetting(t *testing.T, test func(t *testing.T, s setting)) {
	t.Parallel()
	shapes := []backendtest.Shape{
		{Name: "f32", Layers: 2, Width: 72, Heads: 6, KVHeads: 3, HeadDim: 24, Inner: 100, Vocab: 101, HeadNorm: true, Bias: true},
		{Name: "bf16", Layers: 2, Width: 70, Heads: 4, KVHeads: 2, HeadDim: 16, Inner: 101, Vocab: 101, Format: quant.BF16, Untied: true},
		{Name: "f16", Layers: 2, Width: 64, Heads: 4, KVHeads: 2, HeadDim: 80, Inner: 96, Vocab: 101, Format: quant.F16},
		{Name: "q8_0", Layers: 2, Width: 96, Heads: 4, KVHeads: 1, HeadDim: 32, Inner: 160, Vocab: 201, Format: quant.Q8_0},
		{Name: "q4_0", Layers: 2, Width: 96, Heads: 2, KVHeads: 2, HeadDim: 128, Inner: 224, Vocab: 201, Format: quant.Q4_0},
		{Name: "q4_K", Layers: 1, Width: 256, Heads: 4, KVHeads: 2, HeadDim: 64, Inner: 512, Vocab: 201, Format: quant.Q4_K},
		{Name: "q6_K", Layers: 1, Width: 256, Heads: 4, KVHeads: 2, HeadDim: 64, Inner: 256, Vocab: 201, Format: quant.Q6_K},
	}
	for _, path := range cpu.Paths() {
		for i, shape := range shapes {
			if !backendtest.Long() && path != cpu.Paths()[0] && i%3 != 0 || path == "generic" && shape.Width > 100 {
				continue
			}
			if race.Enabled && (path != cpu.Paths()[0] || i%3 != 0) {
				continue // what the detector looks at is the same on every path
			}
			t.Run(path+"/"+shape.Name, func(t *testing.T) {
				t.Parallel()
				kv := []quant.Format{quant.BF16, quant.F16, quant.F32}[i%3]
				s := setting{shape: shape, kv: kv, path: path, tokens: make([]int32, bitRows)}
				for i := range s.tokens {
					s.tokens[i] = int32((i*i*7 + i*3 + i/5) % shape.Vocab)
				}
				s.want = prefill(t, s.open(t, 1), s.tokens, bitRows, all(bitRows))
				test(t, s)
			})
		}
	}
}

type setting struct {
	shape  backendtest.Shape
	kv     quant.Format
	path   string
	tokens []int32
	want   [][]float32 // logits of each row
}

func (s *setting) open(t testing.TB, workers int) backend.Runner {
	return open(t, backendtest.Tiny(t, s.shape), s.kv, 40*bitRows, workers, cpu.WithPath(s.path))
}

func all(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

func sameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: value %d is %v, want %v to the bit", what, i, got[i], want[i])
		}
	}
}

func TestBitsDoNotDependOnChunks(t *testing.T) {
	eachSetting(t, func(t *testing.T, s setting) {
		for _, chunk := range []int{1, 7, 16, 64} {
			r := s.open(t, 2)
			for i, got := range prefill(t, r, s.tokens, chunk, all(bitRows)) {
				sameBits(t, fmt.Sprintf("chunks of %d, row %d", chunk, i), got, s.want[i])
			}
		}
	})
}

func TestBitsDoNotDependOnWorkers(t *testing.T) {
	eachSetting(t, func(t *testing.T, s setting) {
		for _, workers := range []int{2, 4} {
			r := s.open(t, workers)
			if got := r.Caps().Workers; got != workers {
				t.Fatalf("%d workers, want %d", got, workers)
			}
			for i, got := range prefill(t, r, s.tokens, bitRows, all(bitRows)) {
				sameBits(t, fmt.Sprintf("%d workers, row %d", workers, i), got, s.want[i])
			}
		}
	})
}

// Sequences of different lengths decode side by side, some over the same blocks.
func TestBitsDoNotDependOnBatch(t *testing.T) {
	eachSetting(t, func(t *testing.T, s setting) {
		r := s.open(t, 0)
		prefill(t, r, s.tokens, bitRows, nil)
		for _, n := range []int{1, 2, 7, 32} {
			b := &backend.Batch{}
			var rows []int
			for i := range n {
				// Each sequence continues the one history in a block of its own, or in the middle of a shared one.
				at := (i*37 + n) % (bitRows - 1)
				tail := kvcache.BlockID(bitRows/16 + 2 + i)
				if at%16 > 0 {
					if err := r.Copy(t.Context(), []backend.Move{{From: kvcache.BlockID(at / 16), To: tail, Rows: at % 16}}); err != nil {
						t.Fatal(err)
					}
				}
				table := append(blocks(0, at/16), tail)
				seq := backend.Seq{Spans: []backend.Span{{Tokens: s.tokens[at : at+1], Pos: at, Dst: table[at/16:], Want: []backend.Want{{Logits: true}}}}}
				if at > 0 {
					seq.Context = []backend.Segment{{Blocks: table[:(at+15)/16], Len: at}}
				}
				b.Seqs = append(b.Seqs, seq)
				rows = append(rows, at)
			}
			for i, res := range submit(t, r, b) {
				sameBits(t, fmt.Sprintf("batch of %d, position %d", n, rows[i]), res.Logits, s.want[rows[i]])
			}
		}
	})
}

// A span into scratch continues a hot prefix that ends anywhere within a block, and is cut there
// again by a second span that continues the first.
func TestBitsDoNotDependOnHitOrScratch(t *testing.T) {
	eachSetting(t, func(t *testing.T, s setting) {
		r := s.open(t, 0)
		c := r.Caps()
		prefill(t, r, s.tokens, bitRows, nil)
		for at := 250; at < 250+33; at++ {
			mid, end := at+3, at+12
			n := kvcache.BlocksFor(at, mid-at, 16)
			first, second := blocks(c.PoolBlocks, n), blocks(c.PoolBlocks+n, kvcache.BlocksFor(mid, end-mid, 16))
			b := &backend.Batch{Seqs: []backend.Seq{{
				Context: []backend.Segment{{Blocks: blocks(0, (at+15)/16), Len: at}},
				Spans: []backend.Span{
					{Tokens: s.tokens[at:mid], Pos: at, Dst: first, Want: []backend.Want{{Row: 0, Logits: true}}},
					// A branch that must not be seen by the next one.
					{Parent: 1, Tokens: []int32{1, 2, 3}, Pos: mid, Dst: blocks(c.PoolBlocks+6, kvcache.BlocksFor(mid, 3, 16))},
					{Parent: 1, Tokens: s.tokens[mid:end], Pos: mid, Dst: second, Want: []backend.Want{{Row: end - mid - 1, Logits: true}}},
				},
			}}}
			got := submit(t, r, b)
			sameBits(t, fmt.Sprintf("first row at %d", at), got[0].Logits, s.want[at])
			sameBits(t, fmt.Sprintf("last row at %d", end-1), got[1].Logits, s.want[end-1])
			// The same rows again, with what was just written as context.
			b = &backend.Batch{Seqs: []backend.Seq{{
				Context: []backend.Segment{
					{Blocks: blocks(0, (at+15)/16), Len: at},
					{Blocks: first, Start: at, Len: mid - at},
					{Blocks: second, Start: mid, Len: end - mid},
				},
				Spans: []backend.Span{{Tokens: s.tokens[end : end+2], Pos: end, Dst: blocks(c.PoolBlocks+6, kvcache.BlocksFor(end, 2, 16)), Want: []backend.Want{{Row: 1, Logits: true}}}},
			}}}
			sameBits(t, fmt.Sprintf("row after scratch, at %d", end+1), submit(t, r, b)[0].Logits, s.want[end+1])
		}
	})
}

func TestLabelsHaveTheBitsOfAllLogits(t *testing.T) {
	eachSetting(t, func(t *testing.T, s setting) {
		r := s.open(t, 0)
		ids := []int32{0, 3, 15, 16, 47, 48, 96, 100}
		for _, rows := range []int{1, 5} {
			sp := backend.Span{Tokens: s.tokens[:100], Dst: blocks(0, 7)}
			for row := 100 - rows; row < 100; row++ {
				sp.Want = append(sp.Want, backend.Want{Row: row, Labels: ids})
			}
			for i, res := range submit(t, r, &backend.Batch{Seqs: []backend.Seq{{Spans: []backend.Span{sp}}}}) {
				var want []float32
				for _, id := range ids {
					want = append(want, s.want[100-rows+i][id])
				}
				sameBits(t, fmt.Sprintf("labels of row %d", 100-rows+i), res.Labels, want)
			}
		}
	})
}

func TestExportAndImportKeepBits(t *testing.T) {
	eachSetting(t, func(t *testing.T, s setting) {
		r, other := s.open(t, 1), s.open(t, 1)
		const n = 45
		prefill(t, r, s.tokens[:n], n, nil)
		for i := range 3 {
			rows := min(16, n-16*i)
			buf := make([]byte, 1<<20)
			size, err := r.(backend.BlockIO).Export(t.Context(), kvcache.BlockID(i), rows, buf)
			if err != nil {
				t.Fatal(err)
			}
			if err := other.(backend.BlockIO).Import(t.Context(), kvcache.BlockID(i), rows, buf[:size]); err != nil {
				t.Fatal(err)
			}
		}
		b := &backend.Batch{Seqs: []backend.Seq{{
			Context: []backend.Segment{{Blocks: blocks(0, 3), Len: n}},
			Spans:   []backend.Span{{Tokens: s.tokens[n : n+1], Pos: n, Dst: blocks(2, 1), Want: []backend.Want{{Logits: true}}}},
		}}}
		sameBits(t, "after import", submit(t, other, b)[0].Logits, s.want[n])
	})
}
