package engine_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/engine/backend/cpu"
	"github.com/hotpath-go/hotpath/engine/sample"
	"github.com/hotpath-go/hotpath/internal/race"
	"github.com/hotpath-go/hotpath/internal/testdata"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/quant"
)

var storiesFiles = []string{"stories260K.f32.gguf", "model.safetensors"}

func openStories(t *testing.T, file string) *engine.Engine {
	return openModel(t, model.File(testdata.Path(t, "weights/stories260K/"+file)),
		engine.WithKV(engine.KV{Format: quant.F32}))
}

// What a float64 forward pass computed with the same weights: greedy paths token for token.
func TestStoriesGreedy(t *testing.T) {
	t.Parallel()
	ref := backendtest.ReadStories(t)
	for _, file := range storiesFiles {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			e := openStories(t, file)
			for _, run := range ref.Runs {
				prompt := chat.Text(run.Prompt)
				if run.Prompt == "" {
					prompt = chat.Tokens(1)
				}
				most := len(run.Greedy)
				if race.Enabled {
					most = min(most, 24)
				}
				g := generate(t, e, engine.GenerateRequest{Prompt: prompt, MaxTokens: most, IgnoreEOS: true})
				if g.Usage.PromptTokens != len(run.IDs) {
					t.Errorf("prompt %q: %d tokens, want %d", run.Prompt, g.Usage.PromptTokens, len(run.IDs))
				}
				if !slices.Equal(g.IDs, run.Greedy[:most]) {
					t.Errorf("prompt %q:\n%v\nwant\n%v", run.Prompt, g.IDs, run.Greedy[:most])
				}
			}
		})
	}
}

// Log-probabilities of given texts: a bias forces each token, and does not show in them.
func TestStoriesLogProbs(t *testing.T) {
	t.Parallel()
	ref := backendtest.ReadStories(t)
	for _, file := range storiesFiles {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			e := openStories(t, file)
			for _, text := range ref.Texts {
				for i, want := range text.LogProbs {
					if race.Enabled && i%8 != 0 {
						continue
					}
					next := text.IDs[i+1]
					g := generate(t, e, engine.GenerateRequest{
						Prompt: chat.Tokens(text.IDs[:i+1]...), MaxTokens: 1, LogProbs: true, TopLogProbs: 1,
						Bias: []sample.Bias{{ID: next, Value: sample.MaxBias}},
					})
					if g.IDs[0] != next {
						t.Fatalf("%q: token %d: id %d, want the forced %d", text.Text, i+1, g.IDs[0], next)
					}
					if got := g.LogProbs[0].LogProb; math.Abs(got-want) > 1e-3 {
						t.Errorf("%q: token %d: log-probability %v, want %v", text.Text, i+1, got, want)
					}
				}
			}
		})
	}
}

// Options of several tokens, read off the prompt's blocks by spans in scratch, all in one step.
func TestStoriesChoices(t *testing.T) {
	t.Parallel()
	ref := backendtest.ReadStories(t)
	for _, file := range storiesFiles {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			rig := backendtest.NewRig(t, cpu.New(), backendtest.OpenStories(t, file), backend.Options{KV: quant.F32})
			for _, c := range ref.Choices {
				n := len(c.IDs) - 1 // the prompt's last token starts every option, so that its row can be read
				table := rig.Pool(0, n)
				rig.Prefill(table, c.IDs[:n], 0, 16)
				seq := backend.Seq{Context: rig.Context(table, n)}
				for _, o := range c.Options {
					span := backend.Span{
						Tokens: append([]int32{c.IDs[n]}, o.IDs[:len(o.IDs)-1]...), Pos: n, Dst: rig.Scratch(n, len(o.IDs)),
					}
					for row, id := range o.IDs {
						span.Want = append(span.Want, backend.Want{Row: row, Labels: []int32{id}, LogSumExp: true})
					}
					seq.Spans = append(seq.Spans, span)
				}
				results := rig.Step(seq)
				logits, total := make([]float64, len(c.Options)), 0.0
				for i, o := range c.Options {
					for range o.IDs {
						logits[i] += float64(results[0].Labels[0]) - float64(results[0].LogSumExp)
						results = results[1:]
					}
					if math.Abs(logits[i]-o.LogProb) > 1e-3 {
						t.Errorf("%q: option %q: log-probability %v, want %v", c.Prompt, o.Option, logits[i], o.LogProb)
					}
					total += math.Exp(logits[i])
				}
				for i, want := range c.Probs {
					if got := math.Exp(logits[i]) / total; math.Abs(got-want) > 1e-4 {
						t.Errorf("%q: option %q: probability %v, want %v", c.Prompt, c.Options[i].Option, got, want)
					}
				}
			}
		})
	}
}

// The stories260K that the module carries is the one of the data folder.
func TestStoriesEmbedded(t *testing.T) {
	t.Parallel()
	e, file := open(t), openModel(t, model.File(testdata.Path(t, "weights/stories260K/stories260K.f32.gguf")))
	if a, b := e.Info().ModelID, file.Info().ModelID; a != b {
		t.Errorf("model id %s, the file's is %s", a, b)
	}
	r := engine.GenerateRequest{Prompt: chat.Text("Tom was very sad. He started to"), MaxTokens: 30, LogProbs: true}
	same(t, fmt.Sprint(e.Info().Numerics), generate(t, e, r), generate(t, file, r))
}
