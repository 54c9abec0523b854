package backendtest

import (
	"encoding/json"
	"testing"

	"github.com/hotpath-go/hotpath/internal/testdata"
	"github.com/hotpath-go/hotpath/model"
)

// Stories is what a float64 forward pass computed with the stories260K model of the data folder.
type Stories struct {
	Runs []struct {
		Prompt string
		IDs    []int32   // of the prompt, BOS first
		Logits []float32 `json:"last_prompt_logits"`
		Greedy []int32   `json:"greedy_ids"`
	}
	Texts []struct {
		Text     string
		IDs      []int32
		LogProbs []float64 `json:"token_logprobs"` // of IDs[1:]
	} `json:"nll"`
	Choices []struct {
		Prompt  string
		IDs     []int32 `json:"prompt_ids"`
		Options []struct {
			Option  string
			IDs     []int32
			LogProb float64 `json:"sum_logprob"`
		}
		Probs []float64 `json:"probs_sum"` // softmax of the options' LogProb
	}
}

// ReadStories reads the reference.
func ReadStories(t testing.TB) Stories {
	t.Helper()
	var s Stories
	if err := json.Unmarshal(testdata.Read(t, "weights/stories260K/reference.json"), &s); err != nil {
		t.Fatalf("reference.json: %v", err)
	}
	if len(s.Runs) == 0 || len(s.Texts) == 0 || len(s.Choices) == 0 {
		t.Fatalf("reference.json: %d runs, %d texts, %d choices", len(s.Runs), len(s.Texts), len(s.Choices))
	}
	return s
}

// OpenStories opens a file of the model's folder, without its tokenizer, until the test ends:
// "stories260K.f32.gguf", "stories260K.f16.gguf", "model.safetensors", "model.bf16.safetensors" or
// "model.f16.safetensors".
func OpenStories(t testing.TB, file string) *model.Model {
	t.Helper()
	return openWeights(t, "weights/stories260K/"+file)
}
