package cpu_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/engine/backend/cpu"
	"github.com/hotpath-go/hotpath/internal/race"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/quant"
)

// open opens a model with room for n positions.
func open(t testing.TB, m *model.Model, kv quant.Format, n, workers int, opts ...cpu.Option) backend.Runner {
	t.Helper()
	r, err := cpu.New(opts...).Open(context.Background(), m, backend.Options{
		BlockSize: 16, PoolBlocks: n/16 + 2, ScratchBlocks: 8, KV: kv, Context: n + 32, Workers: workers,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// submit runs a step.
func submit(t testing.TB, r backend.Runner, b *backend.Batch) []backend.Result {
	t.Helper()
	s, err := r.Submit(context.Background(), b)
	if err != nil {
		t.Fatal(err)
	}
	var out backend.Output
	if err := s.Wait(&out); err != nil {
		t.Fatal(err)
	}
	return out.Results
}

func blocks(first, n int) []kvcache.BlockID {
	ids := make([]kvcache.BlockID, n)
	for i := range ids {
		ids[i] = kvcache.BlockID(first + i)
	}
	return ids
}

// prefill computes tokens in chunks and returns the logits of the wanted rows, which are rising.
func prefill(t testing.TB, r backend.Runner, tokens []int32, chunk int, want []int) [][]float32 {
	t.Helper()
	var logits [][]float32
	table := blocks(0, (len(tokens)+15)/16)
	for pos := 0; pos < len(tokens); pos += chunk {
		n := min(chunk, len(tokens)-pos)
		seq := backend.Seq{Spans: []backend.Span{{Tokens: tokens[pos : pos+n], Pos: pos, Dst: table[pos/16 : (pos+n+15)/16]}}}
		if pos > 0 {
			seq.Context = []backend.Segment{{Blocks: table[:(pos+15)/16], Len: pos}}
		}
		for len(want) > 0 && want[0] < pos+n {
			seq.Spans[0].Want = append(seq.Spans[0].Want, backend.Want{Row: want[0] - pos, Logits: true})
			want = want[1:]
		}
		for _, res := range submit(t, r, &backend.Batch{Seqs: []backend.Seq{seq}}) {
			if res.Err != nil {
				t.Fatal(res.Err)
			}
			logits = append(logits, res.Logits)
		}
	}
	return logits
}

// tiny runs a case on a path and compares with the other engine.
func tiny(t *testing.T, c backendtest.TinyCase, path string, opts ...cpu.Option) {
	if path == "generic" && c.Weights != quant.F32 {
		c.Limit = 300 // products know no positions: the rows far out, which take seconds, meet one format
	}
	rows := c.Rows(t)
	if (race.Enabled || path == "generic") && !backendtest.Long() {
		rows = rows[:min(4, len(rows))]
	}
	opts = append(opts, cpu.WithPath(path))
	want := make([]int, len(rows))
	for i, row := range rows {
		want[i] = row.Row
	}
	last := want[len(want)-1] + 1
	got := prefill(t, open(t, c.Open(t), c.KV, last, 0, opts...), backendtest.TinyTokens(last), 512, want)
	for i, row := range rows {
		backendtest.CompareLogits(t, fmt.Sprintf("row %d", row.Row), got[i], row.Logits, row.Tolerance)
	}
}

// With float32 activations the model's logits are those of another engine that rounds none either.
func TestFloatEqualsOtherEngine(t *testing.T) {
	t.Parallel()
	for _, path := range cpu.Paths() {
		for _, c := range backendtest.TinyCases(t) {
			if !c.Exact || race.Enabled && path != cpu.Paths()[0] {
				continue
			}
			t.Run(path+"/"+c.Name, func(t *testing.T) {
				t.Parallel()
				tiny(t, c, path, cpu.WithArithmetic(cpu.Float))
			})
		}
	}
}

// With rounded activations and caches it is within what such rounding does to the other engine.
func TestRoundedIsNearOtherEngine(t *testing.T) {
	t.Parallel()
	for _, path := range cpu.Paths() {
		for _, c := range backendtest.TinyCases(t) {
			if c.Exact && c.Weights != quant.F32 || race.Enabled && path != cpu.Paths()[0] {
				continue
			}
			t.Run(path+"/"+c.Name, func(t *testing.T) {
				t.Parallel()
				tiny(t, c, path)
			})
		}
	}
}
