//go:build peer

package embedded_test

import (
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/backend/cpu"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/embedded"
	"github.com/hotpath-go/hotpath/quant"
)

// TestPeer gives the file to llama.cpp, through a program that writes the logits of 16 tokens, and
// compares them. HOTPATH_PEER names the program, which finds its libraries by its own variables: .ci/long
// builds it.
func TestPeer(t *testing.T) {
	t.Parallel()
	peer := os.Getenv("HOTPATH_PEER")
	if peer == "" {
		t.Fatal("HOTPATH_PEER is not set")
	}
	dir := t.TempDir()
	file, logits := filepath.Join(dir, "mini.gguf"), filepath.Join(dir, "logits")
	if err := os.WriteFile(file, embedded.Weights(), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(peer, "-m", file, "-t", "1", "-kv", "f32", "-fa", "0", "-ctx", "512", "-tests", "logits", "-state", logits)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	raw, err := os.ReadFile(logits)
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.Embedded().Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	const rows = 16
	vocab := m.Program.Vocab
	if len(raw) != 4*rows*vocab {
		t.Fatalf("%d bytes, want %d rows of %d numbers", len(raw), rows, vocab)
	}
	r, err := cpu.New().Open(t.Context(), m, backend.Options{BlockSize: 16, PoolBlocks: 2, KV: quant.F32})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	span := backend.Span{Dst: []kvcache.BlockID{0}}
	for i := range rows {
		span.Tokens = append(span.Tokens, int32((i*37+11)%vocab))
		span.Want = append(span.Want, backend.Want{Row: i, Logits: true})
	}
	step, err := r.Submit(t.Context(), &backend.Batch{Seqs: []backend.Seq{{Spans: []backend.Span{span}}}})
	if err != nil {
		t.Fatal(err)
	}
	var out backend.Output
	if err := step.Wait(&out); err != nil {
		t.Fatal(err)
	}
	// Both round activations to int8, each in its own way.
	var off, size float64
	for i := range rows {
		for j, x := range out.Results[i].Logits {
			want := float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*(i*vocab+j):])))
			off += (float64(x) - want) * (float64(x) - want)
			size += want * want
		}
	}
	if got := math.Sqrt(off / size); !(got < 0.02) || size == 0 {
		t.Errorf("logits are off by %.4f of their size", got)
	} else {
		t.Logf("logits are off by %.4f of their size", got)
	}
}
