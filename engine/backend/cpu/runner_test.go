package cpu_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/engine/backend/cpu"
	"github.com/hotpath-go/hotpath/internal/mmap"
	"github.com/hotpath-go/hotpath/internal/testdata"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/arch"
	"github.com/hotpath-go/hotpath/model/gguf"
	"github.com/hotpath-go/hotpath/quant"
)

// A file that shrinks under its mapping fails the call; the process lives.
func TestTruncatedFileIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := os.WriteFile(path, testdata.Read(t, "tiny/models/tinyq256-q8_0.gguf"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	p, err := arch.FromGGUF(f)
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, &model.Model{Program: p}, quant.BF16, 64, 2, cpu.WithMappedWeights())
	b := &backend.Batch{Seqs: []backend.Seq{{Spans: []backend.Span{{
		Tokens: []int32{1, 2, 3}, Dst: blocks(0, 1), Want: []backend.Want{{Row: 2, Logits: true}},
	}}}}}
	submit(t, r, b)
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s, err := r.Submit(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		// An emulator tells address 0 for a fault in a mapping, which the runtime takes for a nil
		// pointer: there it is another error, but one of the call all the same.
		if err := s.Wait(&backend.Output{}); err == nil || !backendtest.Emulated() && !errors.Is(err, mmap.ErrFault) {
			t.Fatalf("error %v, want ErrFault", err)
		}
	}
}

// Runners of one model share the prepared weights.
func TestRunnersShareWeights(t *testing.T) {
	t.Parallel()
	m := backendtest.Tiny(t, backendtest.Shape{Name: "share", Layers: 1, Width: 64, Heads: 4, KVHeads: 2, HeadDim: 16, Inner: 96})
	first, second := open(t, m, quant.BF16, 64, 1), open(t, m, quant.F32, 64, 1)
	var done, total int64
	third, err := cpu.New().Open(t.Context(), m, backend.Options{BlockSize: 16, PoolBlocks: 1, Progress: func(d, n int64) { done, total = d, n }})
	if err != nil {
		t.Fatal(err)
	}
	if err := third.Close(); err != nil || done == 0 || done != total {
		t.Errorf("progress %d of %d, %v", done, total, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	got := prefill(t, second, []int32{1, 2, 3}, 3, []int{2})
	sameBits(t, "after the other was closed", prefill(t, open(t, m, quant.F32, 64, 1), []int32{1, 2, 3}, 3, []int{2})[0], got[0])
}
