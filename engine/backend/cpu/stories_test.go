package cpu_test

import (
	"math"
	"testing"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/engine/backend/cpu"
	"github.com/hotpath-go/hotpath/quant"
)

// TestStoriesLogits compares the last prompt row's logits with those of a float64 forward pass, for
// each file of the model, on every path.
func TestStoriesLogits(t *testing.T) {
	t.Parallel()
	ref := backendtest.ReadStories(t)
	for _, c := range []struct {
		file      string
		tolerance float64 // F16 and BF16: what rounding the weights does
	}{
		{"stories260K.f32.gguf", 1e-4},
		{"model.safetensors", 1e-4},
		{"stories260K.f16.gguf", 0.02},
		{"model.f16.safetensors", 0.02},
		{"model.bf16.safetensors", 0.1},
	} {
		m := backendtest.OpenStories(t, c.file)
		for _, path := range cpu.Paths() {
			rig := backendtest.NewRig(t, cpu.New(cpu.WithPath(path)), m, backend.Options{KV: quant.F32})
			worst := 0.0
			for _, run := range ref.Runs {
				n := len(run.IDs)
				got := rig.Logits(run.IDs, n, n-1)[0]
				for i, want := range run.Logits {
					worst = max(worst, math.Abs(float64(got[i]-want)))
				}
			}
			if worst > c.tolerance || worst == 0 {
				t.Errorf("%s on %s: off by %.2g, at most %.2g", c.file, path, worst, c.tolerance)
			}
			t.Logf("%s on %s: off by %.2g", c.file, path, worst)
		}
	}
}
