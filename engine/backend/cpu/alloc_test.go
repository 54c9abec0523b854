//go:build !race

package cpu_test

import (
	"testing"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/engine/backend/cpu"
	"github.com/hotpath-go/hotpath/engine/sample"
	"github.com/hotpath-go/hotpath/quant"
)

// The race detector allocates by itself, hence the build tag.
func TestDecodeStepAllocatesNothing(t *testing.T) {
	for _, path := range cpu.Paths() {
		m := backendtest.Tiny(t, backendtest.Shape{Name: "alloc", Layers: 2, Width: 64, Heads: 4, KVHeads: 2, HeadDim: 32, Inner: 96, Format: quant.Q8_0})
		r := open(t, m, quant.BF16, 600, 2, cpu.WithPath(path))
		prefill(t, r, make([]int32, 400), 400, nil)
		b := &backend.Batch{Seqs: []backend.Seq{{
			Context: []backend.Segment{{Blocks: blocks(0, 25), Len: 400}},
			Spans: []backend.Span{{Tokens: []int32{3}, Pos: 400, Dst: blocks(25, 1), Want: []backend.Want{
				{Logits: true, LogSumExp: true, TopK: 4, Sample: &backend.Sample{Params: &sample.Params{Temperature: 1}}, Hidden: true},
			}}},
		}}}
		var out backend.Output
		step := func() {
			s, err := r.Submit(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Wait(&out); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			step()
		}
		if n := testing.AllocsPerRun(50, step); n != 0 {
			t.Errorf("%s: %v allocations a step", path, n)
		}
	}
}
