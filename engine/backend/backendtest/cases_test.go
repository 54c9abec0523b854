package backendtest

import (
	"slices"
	"testing"

	"github.com/hotpath-go/hotpath/quant"
)

func TestCases(t *testing.T) {
	t.Parallel()
	if got := TinyTokens(8); !slices.Equal(got, []int32{0, 63, 119, 399, 239, 11, 267, 379}) {
		t.Fatalf("tokens %v", got)
	}
	exact, twins := 0, 0
	for _, c := range TinyCases(t) {
		if c.Exact {
			exact++
		}
		if c.Twin() {
			twins++
		}
		rows := c.Rows(t)
		if len(rows) < 5 || len(rows[0].Logits) != 512 {
			t.Errorf("%s: %d rows", c.Name, len(rows))
		}
		if r := rows[0]; !(r.Tolerance > 0 && r.Tolerance < 0.5) || c.Exact && r.Tolerance > 1e-4 || !c.Exact && r.Tolerance < 1e-3 {
			t.Errorf("%s: tolerance %v", c.Name, r.Tolerance)
		}
		if m := c.Open(t); m.Program.Vocab != 512 || c.Model != "tinyk256" && m.Program.Layers == nil {
			t.Errorf("%s: %+v", c.Name, m)
		}
	}
	if exact < 30 || twins != 7 {
		t.Errorf("%d exact cases, %d twins", exact, twins)
	}
}

func TestStoriesData(t *testing.T) {
	t.Parallel()
	s := ReadStories(t)
	for _, r := range s.Runs {
		if len(r.Logits) != 512 || len(r.Greedy) < 200 || len(r.IDs) == 0 {
			t.Errorf("%q: %d logits, %d greedy tokens, %d ids", r.Prompt, len(r.Logits), len(r.Greedy), len(r.IDs))
		}
	}
	for _, x := range s.Texts {
		if len(x.LogProbs) != len(x.IDs)-1 {
			t.Errorf("%q: %d log-probabilities of %d ids", x.Text, len(x.LogProbs), len(x.IDs))
		}
	}
	for file, format := range map[string]quant.Format{
		"stories260K.f32.gguf": quant.F32, "stories260K.f16.gguf": quant.F16,
		"model.safetensors": quant.F32, "model.bf16.safetensors": quant.BF16, "model.f16.safetensors": quant.F16,
	} {
		if got := OpenStories(t, file).Program.Layers[0].Forward; got == nil {
			t.Errorf("%s: no feed-forward", file)
		}
		if got := OpenStories(t, file).Program.Embedding.Format; got != format {
			t.Errorf("%s: embedding in %v, want %v", file, got, format)
		}
	}
}
