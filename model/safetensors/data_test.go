package safetensors_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/internal/testdata"
	"github.com/hotpath-go/hotpath/model/gguf"
	"github.com/hotpath-go/hotpath/model/safetensors"
	"github.com/hotpath-go/hotpath/quant"
)

// ggufName turns the name that transformers gives a tensor into that of GGUF files.
func ggufName(name string) string {
	return strings.NewReplacer("model.embed_tokens", "token_embd", "model.norm", "output_norm", "lm_head", "output",
		"model.layers.", "blk.", "input_layernorm", "attn_norm", "post_attention_layernorm", "ffn_norm",
		"self_attn.q_norm", "attn_q_norm", "self_attn.k_norm", "attn_k_norm",
		"self_attn.q_proj", "attn_q", "self_attn.k_proj", "attn_k", "self_attn.v_proj", "attn_v", "self_attn.o_proj", "attn_output",
		"mlp.gate_proj", "ffn_gate", "mlp.up_proj", "ffn_up", "mlp.down_proj", "ffn_down").Replace(name)
}

// TestTwins compares every tensor with the GGUF file of the same model, bit for bit. GGUF files of
// the llama family pair the rows of each head's q and k: row 2i+j there is row j*d/2+i here.
func TestTwins(t *testing.T) {
	t.Parallel()
	for _, twin := range []struct{ path, gguf, dtype string }{
		{"weights/stories260K/model.safetensors", "weights/stories260K/stories260K.f32.gguf", "F32"},
		{"weights/stories260K/model.f16.safetensors", "weights/stories260K/stories260K.f16.gguf", "F16"},
		{"tiny/hf/tinyl64-f32", "tiny/models/tinyl64-f32.gguf", "F32"},
		{"tiny/hf/tinyl64-bf16", "tiny/models/tinyl64-bf16.gguf", "BF16"},
		{"tiny/hf/tinyq64-f32", "tiny/models/tinyq64-f32.gguf", "F32"},
		{"tiny/hf/tinyq64-bf16", "tiny/models/tinyq64-bf16.gguf", "BF16"},
		{"tiny/hf/llama-rope3-f32", "tiny/models/llama-rope3-f32.gguf.gz", "F32"},
		{"tiny/hf/llama-yarn-f32", "tiny/models/llama-yarn-f32.gguf.gz", "F32"},
		{"tiny/hf/qwen2-f32", "tiny/models/qwen2-f32.gguf.gz", "F32"},
	} {
		t.Run(twin.path, func(t *testing.T) {
			t.Parallel()
			f, err := safetensors.Open(testdata.Path(t, twin.path))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			g, err := gguf.Open(testdata.Unpacked(t, twin.gguf))
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			r := g.Meta().Fields()
			arch := r.Text("general.architecture")
			exact, permuted := 0, 0
			for _, a := range f.Tensors() {
				m, err := a.Matrix()
				if err != nil {
					t.Fatal(err)
				}
				b, ok := g.Tensor(ggufName(a.Name))
				if !ok {
					t.Errorf("%s: the GGUF file has no %s", a.Name, ggufName(a.Name))
					continue
				}
				if m.Rows != b.Rows || m.Cols != b.Cols {
					t.Errorf("%s: %d x %d, GGUF %d x %d", a.Name, m.Rows, m.Cols, b.Rows, b.Cols)
					continue
				}
				switch same := m.Format == b.Format; {
				case !same && m.Rows == 1 && b.Format == quant.F32:
					// 16-bit GGUF files keep norms and biases in F32.
					if m.Format == quant.BF16 && !widens(m.Data, b.Data) {
						t.Errorf("%s: values differ", a.Name)
					}
				case !same || m.Rows > 1 && m.Format.String() != twin.dtype:
					t.Errorf("%s: %v, GGUF %v", a.Name, m.Format, b.Format)
				case arch == "llama" && (strings.Contains(a.Name, "q_proj") || strings.Contains(a.Name, "k_proj")):
					heads := r.Int("llama.attention.head_count")
					if strings.Contains(a.Name, "k_proj") {
						heads = r.Int("llama.attention.head_count_kv")
					}
					if r.Err() != nil || !paired(m, b.Tensor, m.Rows/heads) {
						t.Errorf("%s: rows differ, %v", a.Name, r.Err())
					}
					permuted++
				default:
					if !bytes.Equal(m.Data, b.Data) {
						t.Errorf("%s: bytes differ", a.Name)
					}
					exact++
				}
			}
			if exact < 10 || arch == "llama" && permuted < 4 {
				t.Errorf("compared only %d tensors and %d by rows", exact, permuted)
			}
		})
	}
}

// widens reports whether each float32 is its bfloat16 with zeros behind it.
func widens(bf16, f32 []byte) bool {
	for i := 0; i < len(bf16); i += 2 {
		if !bytes.Equal(f32[2*i:2*i+4], []byte{0, 0, bf16[i], bf16[i+1]}) {
			return false
		}
	}
	return true
}

// paired reports whether each head of b, of size rows, holds the two halves of a's in turn.
func paired(a, b quant.Tensor, size int) bool {
	for i := range b.Rows {
		head, row := i/size, i%size
		if !bytes.Equal(b.Row(i), a.Row(head*size+row%2*size/2+row/2)) {
			return false
		}
	}
	return true
}

func TestRealConfigs(t *testing.T) {
	t.Parallel()
	dir := testdata.Path(t, "tiny/hf")
	folders, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(folders) == 0 {
		t.Fatal(folders, err)
	}
	folders = append(folders, testdata.Path(t, "weights/stories260K"))
	for _, folder := range folders {
		f, err := safetensors.Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		c, err := f.Config()
		if err != nil {
			t.Fatal(err)
		}
		r := c.Fields()
		vocab, hidden := r.Int("vocab_size"), r.Int("hidden_size")
		if r.Err() != nil {
			t.Fatal(folder, r.Err())
		}
		if _, err := f.Need("model.embed_tokens.weight", vocab, hidden); err != nil {
			t.Errorf("%s: %v", folder, err)
		}
	}
}

func TestNestedConfig(t *testing.T) {
	t.Parallel()
	c, err := safetensors.ParseConfig(testdata.Read(t, "tiny/hf/llama-rope3-f32/config.json"))
	if err != nil {
		t.Fatal(err)
	}
	r := c.Fields()
	s := r.Object("rope_scaling")
	kind, factor := s.Text("rope_type"), s.Float("factor")
	low, high, original := s.Float("low_freq_factor"), s.Float("high_freq_factor"), s.Int("original_max_position_embeddings")
	if r.Err() != nil || kind != "llama3" || factor != 8 || low != 1 || high != 4 || original != 1024 {
		t.Errorf("%s %v %v %v %d, %v", kind, factor, low, high, original, r.Err())
	}
}
