package serve

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/sample"
)

// Limits of the chat and text routes beside the engine's.
const (
	maxStops  = 64
	maxBiases = 4096
)

// settings are the fields that chat and text requests share: OpenAI's, and those that vLLM,
// SGLang and llama.cpp add.
type settings struct {
	Model         string             `json:"model"`
	N             *int               `json:"n"`
	MaxTokens     *int               `json:"max_tokens"`
	Stop          texts              `json:"stop"`
	StopIDs       []int32            `json:"stop_token_ids"`
	IgnoreEOS     bool               `json:"ignore_eos"`
	Stream        bool               `json:"stream"`
	StreamOptions *streamOptions     `json:"stream_options"`
	Seed          *int64             `json:"seed"`
	Temperature   *float64           `json:"temperature"`
	TopP          *float64           `json:"top_p"`
	TopK          *int               `json:"top_k"`
	MinP          *float64           `json:"min_p"`
	Frequency     *float64           `json:"frequency_penalty"`
	Presence      *float64           `json:"presence_penalty"`
	Repetition    *float64           `json:"repetition_penalty"`
	LogitBias     map[string]float64 `json:"logit_bias"`
	CacheSalt     string             `json:"cache_salt"`
	Priority      int                `json:"priority"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

func (s *settings) usage() bool { return s.StreamOptions != nil && s.StreamOptions.IncludeUsage }

// request fills the part of a generation that the settings say.
func (s *settings) request(x *exchange) (engine.GenerateRequest, error) {
	r := engine.GenerateRequest{
		Stop: s.Stop, StopIDs: s.StopIDs, IgnoreEOS: s.IgnoreEOS,
		Priority: -s.Priority, // on the wire, as vLLM has it, lower runs first
		Sampling: sample.Settings{
			Temperature: s.Temperature, TopP: s.TopP, MinP: s.MinP, TopK: s.TopK,
			FrequencyPenalty: s.Frequency, PresencePenalty: s.Presence, RepetitionPenalty: s.Repetition,
		},
	}
	if s.N != nil {
		if *s.N < 1 {
			return r, bad("n", "%d, must be at least 1", *s.N)
		}
		r.N = *s.N
	}
	if s.MaxTokens != nil {
		if *s.MaxTokens < 1 {
			return r, bad("max_tokens", "%d, must be at least 1", *s.MaxTokens)
		}
		r.MaxTokens = *s.MaxTokens
	}
	if len(s.Stop) > maxStops {
		return r, bad("stop", "%d texts, limit %d", len(s.Stop), maxStops)
	}
	if s.TopK != nil && *s.TopK == -1 { // how vLLM says all
		r.Sampling.TopK = nil
	}
	if s.Temperature == nil {
		one := 1.0
		r.Sampling.Temperature = &one
	}
	if r.Seed = rand.Uint64(); s.Seed != nil {
		r.Seed = uint64(*s.Seed)
	}
	if s.StreamOptions != nil && !s.Stream {
		return r, bad("stream_options", "given without stream")
	}
	if len(s.LogitBias) > maxBiases {
		return r, bad("logit_bias", "%d tokens, limit %d", len(s.LogitBias), maxBiases)
	}
	for text, v := range s.LogitBias {
		id, err := strconv.ParseInt(text, 10, 32)
		if err != nil || strconv.FormatInt(id, 10) != text {
			return r, bad("logit_bias", "%.20q is no token id", text)
		}
		if math.Abs(v) > 100 {
			return r, bad("logit_bias", "%v for token %d, must be -100 to 100", v, id)
		}
		r.Bias = append(r.Bias, sample.Bias{ID: int32(id), Value: float32(v)})
	}
	slices.SortFunc(r.Bias, func(a, b sample.Bias) int { return int(a.ID) - int(b.ID) })
	r.Caller, r.Namespace = x.caller(s.CacheSalt)
	return r, nil
}

// usage is what a generation cost, in OpenAI's words.
type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// add counts a choice. Those of one prompt share it: it counts once.
func (u *usage) add(g *engine.Generation, first bool) {
	if first {
		u.Prompt += g.Usage.PromptTokens
		u.Details.Cached += g.Usage.CachedTokens
	}
	u.Completion += g.Usage.GeneratedTokens
	u.Total = u.Prompt + u.Completion
}

// reason names why a generation ended as OpenAI does.
func reason(f engine.Finish) string {
	switch f {
	case engine.FinishLength:
		return "length"
	case engine.FinishTool:
		return "tool_calls"
	}
	return "stop"
}

// logarithm bounds a log-probability, as JSON has no infinities.
func logarithm(x float64) float64 { return max(x, -9999) }
