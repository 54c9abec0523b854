package arch

import (
	"fmt"
	"math"
)

// ropeConfig holds what files say about the rotation, before it is folded into frequencies.
type ropeConfig struct {
	dim     int     // values of a head that are rotated
	base    float64 // theta
	scaling string  // "", "linear", "yarn", "llama3"
	factor  float64
	context float64 // positions before the scaling

	low, high          float64 // llama3: frequency factors
	betaFast, betaSlow float64 // yarn
	attention          float64 // yarn: factor of the magnitude; 0: 1 + 0.1 ln(factor)

	divisors []float32 // GGUF: rope_freqs, one divisor per pair
}

func (r *ropeConfig) check() error {
	if r.dim%2 != 0 {
		return fmt.Errorf("%w: %d rotated values of a head, must be even", ErrConfig, r.dim)
	}
	if !(r.base > 1) || math.IsInf(r.base, 0) {
		return fmt.Errorf("%w: rope base %v, must be above 1", ErrConfig, r.base)
	}
	if r.divisors != nil && len(r.divisors) != r.dim/2 {
		return fmt.Errorf("%w: %d rope divisors for %d pairs", ErrConfig, len(r.divisors), r.dim/2)
	}
	switch r.scaling {
	case "":
		return nil
	case "linear", "yarn", "llama3":
	default:
		return fmt.Errorf("%w: rope scaling %q", ErrFamily, r.scaling)
	}
	if !(r.factor >= 1) || math.IsInf(r.factor, 0) {
		return fmt.Errorf("%w: rope scaling factor %v, must be at least 1", ErrConfig, r.factor)
	}
	if r.scaling != "linear" && !(r.context >= 1) {
		return fmt.Errorf("%w: rope scaling from a context of %v, must be at least 1", ErrConfig, r.context)
	}
	if r.scaling == "llama3" && !(r.low > 0 && r.high > r.low) {
		return fmt.Errorf("%w: rope scaling frequency factors %v and %v, must be rising and above 0", ErrConfig, r.low, r.high)
	}
	return nil
}

// build folds base, scaling and divisors into one frequency per pair.
func (r *ropeConfig) build(pairing Pairing) *Rope {
	out := &Rope{Pairing: pairing, Freqs: make([]float64, r.dim/2), Magnitude: 1}
	for i := range out.Freqs {
		f := math.Pow(r.base, -2*float64(i)/float64(r.dim))
		switch r.scaling {
		case "linear":
			f /= r.factor
		case "llama3":
			f /= r.llama3(f)
		case "yarn":
			keep := 1 - r.ramp(float64(i))
			f = f/r.factor*(1-keep) + f*keep
		}
		if r.divisors != nil {
			f /= float64(r.divisors[i])
		}
		out.Freqs[i] = f
	}
	if r.scaling == "yarn" {
		m := r.attention
		if m == 0 {
			m = 1 + 0.1*math.Log(r.factor)
		}
		out.Magnitude = float32(m)
	}
	return out
}

// llama3 returns the divisor of a frequency: 1 for wave lengths that fit the old context many
// times, the whole factor for those that do not fit it, a blend between.
func (r *ropeConfig) llama3(freq float64) float64 {
	wave := 2 * math.Pi / freq
	switch {
	case wave < r.context/r.high:
		return 1
	case wave > r.context/r.low:
		return r.factor
	}
	s := (r.context/wave - r.low) / (r.high - r.low)
	return 1 / ((1-s)/r.factor + s)
}

// ramp returns how much of pair i is interpolated: 0 for fast pairs, 1 for slow ones (YaRN, Peng
// and others, 2023).
func (r *ropeConfig) ramp(i float64) float64 {
	at := func(beta float64) float64 {
		return float64(r.dim) * math.Log(r.context/(beta*2*math.Pi)) / (2 * math.Log(r.base))
	}
	lo := max(math.Floor(at(r.betaFast)), 0)
	hi := min(math.Ceil(at(r.betaSlow)), float64(r.dim-1))
	return min(max((i-lo)/max(hi-lo, 0.001), 0), 1)
}
