package sample

import (
	"fmt"
	"math"
)

// Limits of Params.
const (
	MaxTopLogProbs = 64     // alternatives listed for a position
	MaxTemperature = 100    // beyond it the draw is uniform for all purposes
	MaxRepetition  = 100    // repetition penalty
	MaxPenalty     = 2      // size of the frequency and presence penalties
	MaxBias        = 1 << 8 // size of a finite bias
)

// Params says how to choose. The zero value is greedy: the largest logit, no penalties.
// It is the resolved form, in which zero always means "off"; [Settings] is what a caller asks for.
type Params struct {
	Temperature float64 // 0: greedy. At most MaxTemperature
	TopK        int     // the largest logits that stay; 0: all
	TopP        float64 // the smallest leading set with at least this probability stays; 0 and 1: all
	MinP        float64 // tokens with less than this share of the largest probability go; 0: none

	// RepetitionPenalty divides the positive and multiplies the negative logits of tokens that
	// the prompt or the output holds; 0 and 1: off, at most MaxRepetition.
	RepetitionPenalty float64
	// FrequencyPenalty is subtracted once per occurrence in the output, PresencePenalty once if
	// there is any. Both lie in [-MaxPenalty, MaxPenalty].
	FrequencyPenalty, PresencePenalty float64

	Bias   []Bias  // added to logits; ascending ids, each once
	Banned []int32 // never chosen; any order

	LogProbs    bool // fill Choice.LogProb
	TopLogProbs int  // fill Choice.Top with this many alternatives, at most MaxTopLogProbs
	// Processed takes log-probabilities from the distribution that the token was drawn from
	// instead of the model's own. In a greedy choice that is the one after step 2, at temperature 1.
	Processed bool
}

// Bias is a number added to a token's logit: finite and at most MaxBias in size, or -Inf,
// which bans the token.
type Bias struct {
	ID    int32
	Value float32
}

// Validate returns an error that wraps ErrParams and names the first field out of range.
// Token ids are compared with the vocabulary when a row is at hand, by Choose.
func (p *Params) Validate() error {
	for _, f := range []struct {
		name   string
		v      float64
		lo, hi float64
	}{
		{"temperature", p.Temperature, 0, MaxTemperature},
		{"top-p", p.TopP, 0, 1},
		{"min-p", p.MinP, 0, 1},
		{"repetition penalty", p.RepetitionPenalty, 0, MaxRepetition},
		{"frequency penalty", p.FrequencyPenalty, -MaxPenalty, MaxPenalty},
		{"presence penalty", p.PresencePenalty, -MaxPenalty, MaxPenalty},
	} {
		if !(f.v >= f.lo && f.v <= f.hi) {
			return fmt.Errorf("%w: %s %v, want %v to %v", ErrParams, f.name, f.v, f.lo, f.hi)
		}
	}
	if p.TopK < 0 {
		return fmt.Errorf("%w: top-k %d, want at least 0", ErrParams, p.TopK)
	}
	if p.TopLogProbs < 0 || p.TopLogProbs > MaxTopLogProbs {
		return fmt.Errorf("%w: top log-probabilities %d, want 0 to %d", ErrParams, p.TopLogProbs, MaxTopLogProbs)
	}
	for i, b := range p.Bias {
		switch v := float64(b.Value); {
		case b.ID < 0:
			return fmt.Errorf("%w: bias %d: token id %d, want at least 0", ErrParams, i, b.ID)
		case i > 0 && b.ID <= p.Bias[i-1].ID:
			return fmt.Errorf("%w: bias %d: token id %d after %d, want ascending ids", ErrParams, i, b.ID, p.Bias[i-1].ID)
		case !(math.Abs(v) <= MaxBias) && !math.IsInf(v, -1):
			return fmt.Errorf("%w: bias of token %d: %v, want -%d to %d or -Inf", ErrParams, b.ID, v, MaxBias, MaxBias)
		}
	}
	for i, id := range p.Banned {
		if id < 0 {
			return fmt.Errorf("%w: banned %d: token id %d, want at least 0", ErrParams, i, id)
		}
	}
	return nil
}

// Settings is what a caller asks for: nil leaves a value to the defaults that Resolve is given.
// An explicit top-p or repetition penalty of 0 is refused, since it would keep no token.
type Settings struct {
	Temperature       *float64
	TopK              *int
	TopP              *float64
	MinP              *float64
	RepetitionPenalty *float64
	FrequencyPenalty  *float64
	PresencePenalty   *float64
}

// Resolve returns the defaults with the settings laid over them, validated.
func (s Settings) Resolve(defaults Params) (Params, error) {
	for _, f := range []struct {
		name string
		v    *float64
		hi   float64
	}{{"top-p", s.TopP, 1}, {"repetition penalty", s.RepetitionPenalty, MaxRepetition}} {
		if f.v != nil && *f.v == 0 {
			return Params{}, fmt.Errorf("%w: %s 0, want above 0 and at most %v", ErrParams, f.name, f.hi)
		}
	}
	p := defaults
	set(&p.Temperature, s.Temperature)
	set(&p.TopK, s.TopK)
	set(&p.TopP, s.TopP)
	set(&p.MinP, s.MinP)
	set(&p.RepetitionPenalty, s.RepetitionPenalty)
	set(&p.FrequencyPenalty, s.FrequencyPenalty)
	set(&p.PresencePenalty, s.PresencePenalty)
	return p, p.Validate()
}

func set[T any](dst, v *T) {
	if v != nil {
		*dst = *v
	}
}
