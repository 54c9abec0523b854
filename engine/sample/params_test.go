package sample

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for _, c := range []struct {
		p    Params
		want string // "" valid
	}{
		{Params{}, ""},
		{Params{Temperature: 1, TopP: 1, MinP: 1, TopK: math.MaxInt, RepetitionPenalty: 1, Bias: []Bias{{0, -inf}, {3, 100}}}, ""},
		{Params{Temperature: -.5}, "temperature -0.5, want 0 to 100"},
		{Params{Temperature: nan}, "temperature NaN, want 0 to 100"},
		{Params{Temperature: math.Inf(1)}, "temperature +Inf"},
		{Params{TopP: 2}, "top-p 2, want 0 to 1"},
		{Params{TopP: nan}, "top-p NaN"},
		{Params{MinP: -1}, "min-p -1"},
		{Params{TopK: -1}, "top-k -1, want at least 0"},
		{Params{RepetitionPenalty: -1}, "repetition penalty -1"},
		{Params{FrequencyPenalty: 3}, "frequency penalty 3, want -2 to 2"},
		{Params{PresencePenalty: nan}, "presence penalty NaN"},
		{Params{TopLogProbs: 65}, "top log-probabilities 65, want 0 to 64"},
		{Params{TopLogProbs: -1}, "top log-probabilities -1"},
		{Params{Bias: []Bias{{-1, 0}}}, "bias 0: token id -1"},
		{Params{Bias: []Bias{{2, 0}, {2, 0}}}, "bias 1: token id 2 after 2"},
		{Params{Bias: []Bias{{2, inf}}}, "bias of token 2: +Inf"},
		{Params{Bias: []Bias{{2, float32(nan)}}}, "bias of token 2: NaN"},
		{Params{Banned: []int32{4, -4}}, "banned 1: token id -4"},
	} {
		err := c.p.Validate()
		if c.want == "" {
			if err != nil {
				t.Errorf("%+v: %v", c.p, err)
			}
		} else if !errors.Is(err, ErrParams) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.p, err, c.want)
		}
	}
}

func TestSettingsResolve(t *testing.T) {
	t.Parallel()
	defaults := Params{Temperature: .7, TopP: .8, TopK: 20, TopLogProbs: 3}
	zero, half, two, k := 0., .5, 2., 0
	p, err := Settings{}.Resolve(defaults)
	if err != nil || p.Temperature != .7 || p.TopP != .8 || p.TopK != 20 {
		t.Errorf("nothing set: %+v, %v", p, err)
	}
	p, err = Settings{Temperature: &zero, TopK: &k, MinP: &half, RepetitionPenalty: &two, FrequencyPenalty: &half, PresencePenalty: &zero}.Resolve(defaults)
	if err != nil || p.Temperature != 0 || p.TopP != .8 || p.TopK != 0 || p.MinP != .5 || p.RepetitionPenalty != 2 || p.FrequencyPenalty != .5 || p.TopLogProbs != 3 {
		t.Errorf("all set: %+v, %v", p, err)
	}
	for name, s := range map[string]Settings{"top-p 0": {TopP: &zero}, "top-p 2": {TopP: &two}, "repetition penalty 0": {RepetitionPenalty: &zero}} {
		if _, err := s.Resolve(defaults); !errors.Is(err, ErrParams) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
