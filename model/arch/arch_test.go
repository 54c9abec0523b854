package arch_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/hotpath-go/hotpath/internal/testdata"
	"github.com/hotpath-go/hotpath/model/arch"
	"github.com/hotpath-go/hotpath/model/gguf"
	"github.com/hotpath-go/hotpath/model/safetensors"
	"github.com/hotpath-go/hotpath/quant"
)

// TestTwins builds programs from a GGUF file and from its safetensors twin: the same shapes, the same
// frequencies, and the same values wherever the converter does not reorder rows.
func TestTwins(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		gguf, folder string
		pairing      arch.Pairing
	}{
		{"tiny/models/tinyl64-f32.gguf", "tiny/hf/tinyl64-f32", arch.Adjacent},
		{"tiny/models/tinyq64-f32.gguf", "tiny/hf/tinyq64-f32", arch.Halves},
		{"tiny/models/qwen2-f32.gguf.gz", "tiny/hf/qwen2-f32", arch.Halves},
		{"tiny/models/llama-rope3-f32.gguf.gz", "tiny/hf/llama-rope3-f32", arch.Adjacent},
		{"tiny/models/llama-yarn-f32.gguf.gz", "tiny/hf/llama-yarn-f32", arch.Adjacent},
		{"weights/stories260K/stories260K.f32.gguf", "weights/stories260K", arch.Adjacent},
	} {
		t.Run(c.folder, func(t *testing.T) {
			t.Parallel()
			g, err := gguf.Open(testdata.Unpacked(t, c.gguf))
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			a, err := arch.FromGGUF(g)
			if err != nil {
				t.Fatal(err)
			}
			s, err := safetensors.Open(testdata.Path(t, c.folder))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			b, err := arch.FromSafetensors(s)
			if err != nil {
				t.Fatal(err)
			}
			if a.Width != b.Width || a.Vocab != b.Vocab || len(a.Layers) != len(b.Layers) {
				t.Fatalf("%d x %d, %d layers; twin %d x %d, %d layers",
					a.Vocab, a.Width, len(a.Layers), b.Vocab, b.Width, len(b.Layers))
			}
			same(t, "head", a.Head, b.Head)
			same(t, "embedding", a.Embedding, b.Embedding)
			for i := range a.Layers {
				x, y := a.Layers[i].Mixer.(*arch.Attention), b.Layers[i].Mixer.(*arch.Attention)
				if x.Heads != y.Heads || x.KVHeads != y.KVHeads || x.HeadDim != y.HeadDim || x.Scale != y.Scale {
					t.Fatalf("layer %d: attention %v, twin %v", i, x, y)
				}
				if x.Rope.Pairing != c.pairing || y.Rope.Pairing != arch.Halves {
					t.Errorf("layer %d: pairing %v and %v", i, x.Rope.Pairing, y.Rope.Pairing)
				}
				if x.Rope.Magnitude != y.Rope.Magnitude {
					t.Errorf("layer %d: magnitude %v, twin %v", i, x.Rope.Magnitude, y.Rope.Magnitude)
				}
				for j, f := range x.Rope.Freqs {
					// The GGUF holds llama3's divisors as float32.
					if g := y.Rope.Freqs[j]; math.Abs(f-g) > 1e-7*f {
						t.Errorf("layer %d: frequency %d is %v, twin %v", i, j, f, g)
					}
				}
				same(t, "v", x.V.Weight, y.V.Weight)
				same(t, "o", x.O.Weight, y.O.Weight)
				if !slices.Equal(x.V.Bias, y.V.Bias) || (x.QNorm == nil) != (y.QNorm == nil) {
					t.Errorf("layer %d: bias or norm differ from the twin's", i)
				}
				same(t, "down", a.Layers[i].Forward.(*arch.Gated).Down.Weight, b.Layers[i].Forward.(*arch.Gated).Down.Weight)
			}
		})
	}
}

func same(t *testing.T, name string, a, b quant.Tensor) {
	t.Helper()
	x, y := decode(t, a), decode(t, b)
	if !slices.Equal(x, y) {
		t.Errorf("%s: the twins' values differ", name)
	}
}

func decode(t *testing.T, w quant.Tensor) []float32 {
	v := make([]float32, w.Rows*w.Cols)
	if err := quant.Decode(v, w.Format, w.Data); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestFamiliesOfOthers refuses files of families that no program describes, by name.
func TestFamiliesOfOthers(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"gemma2", "gemma3", "gemma4", "lfm2", "qwen35", "qwen3moe", "modern-bert", "glm4moe"} {
		g, err := gguf.Open(testdata.Unpacked(t, "tiny/models/"+name+"-f32.gguf.gz"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := arch.FromGGUF(g); !errors.Is(err, arch.ErrFamily) {
			t.Errorf("%s: %v, want ErrFamily", name, err)
		}
		_ = g.Close()
	}
}
