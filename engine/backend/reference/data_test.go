package reference_test

import (
	"math"
	"slices"
	"testing"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/engine/backend/reference"
	"github.com/hotpath-go/hotpath/internal/race"
	"github.com/hotpath-go/hotpath/quant"
)

// Another engine's logits on random weights.
func TestTinyModels(t *testing.T) {
	t.Parallel()
	for i, c := range backendtest.TinyCases(t) {
		var opts []reference.Option
		if !c.Exact && c.KV == quant.F32 { // that engine rounds activations, though not by the same rule
			opts = append(opts, reference.WithRoundedActivations())
		}
		// All weights are float32 here once the model is open: the rows far out meet those of one format.
		if c.Weights != quant.F32 || (!c.Exact || c.Twin()) && !backendtest.Long() {
			c.Limit = 300
		}
		if race.Enabled && i%8 > 0 {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			worst := backendtest.RunTinyCase(t, reference.New(opts...), c, c.KV, 1<<14)
			t.Logf("largest difference %.1e", worst)
		})
	}
}

func TestStories(t *testing.T) {
	t.Parallel()
	s := backendtest.ReadStories(t)
	for file, tolerance := range map[string]float32{
		"stories260K.f32.gguf": 1e-4, "model.safetensors": 1e-4,
		"stories260K.f16.gguf": 0.02, "model.f16.safetensors": 0.02, "model.bf16.safetensors": 0.1,
	} {
		exact := tolerance < 0.01
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			rig := backendtest.NewRig(t, reference.New(), backendtest.OpenStories(t, file), backend.Options{KV: quant.F32, PoolBlocks: 80})
			for _, run := range s.Runs {
				last := len(run.IDs) - 1
				// The whole greedy path at once: every row's largest logit is the path's next token.
				tokens := append(slices.Clone(run.IDs), run.Greedy[:len(run.Greedy)-1]...)
				rows := []int{last}
				for i := range run.Greedy[1:] {
					rows = append(rows, last+1+i)
				}
				logits := rig.Logits(tokens, 1<<14, rows...)
				backendtest.CompareLogits(t, run.Prompt, logits[0], run.Logits, tolerance)
				for i, next := range run.Greedy {
					if got := slices.Index(logits[i], slices.Max(logits[i])); exact && got != int(next) {
						t.Fatalf("%q: greedy token %d is %d, want %d", run.Prompt, i, got, next)
					}
				}
			}
			if !exact {
				return
			}
			for _, x := range s.Texts {
				for i, got := range logProbs(rig, x.IDs[:1], x.IDs[1:]) {
					if want := x.LogProbs[i]; math.Abs(got-want) > 1e-3 {
						t.Fatalf("%q: token %d: log-probability %v, want %v", x.Text, i+1, got, want)
					}
				}
			}
			for _, c := range s.Choices {
				for _, o := range c.Options {
					got := 0.0
					for _, p := range logProbs(rig, c.IDs, o.IDs) {
						got += p
					}
					if math.Abs(got-o.LogProb) > 1e-3 {
						t.Errorf("%q%q: log-probability %v, want %v", c.Prompt, o.Option, got, o.LogProb)
					}
				}
			}
		})
	}
}

// logProbs returns the log-probabilities of tokens after a prompt.
func logProbs(rig *backendtest.Rig, prompt, path []int32) []float64 {
	tokens := append(slices.Clone(prompt), path...)
	var rows []int
	for i := range path {
		rows = append(rows, len(prompt)-1+i)
	}
	var probs []float64
	for i, logits := range rig.Logits(tokens, 1<<14, rows...) {
		total := 0.0
		for _, v := range logits {
			total += math.Exp(float64(v))
		}
		probs = append(probs, float64(logits[path[i]])-math.Log(total))
	}
	return probs
}
