package decide

import (
	"math"
	"slices"
)

// Confidence names one of three published definitions of how sure an answer is. Their values do
// not compare with each other.
type Confidence uint8

const (
	// Concentration is 0 for a uniform distribution over K options and 1 for one certain option.
	// Choice and boolean: (p_max - 1/K) / (1 - 1/K). Score: 1 - D/U, where D is the expected distance
	// from the most probable level and U the mean distance of all levels from the middle one. It is
	// what TypeSafe publishes for System One and llama.cpp and SGLang compute.
	Concentration Confidence = iota
	// Entropy is 1 - H/ln K, with H the entropy in nats.
	Entropy
	// Mass is the probability of the answer times the label mass, as vLLM computes it; 0 where the read
	// gives no label mass.
	Mass
)

// String returns "concentration", "entropy" or "mass".
func (c Confidence) String() string {
	return [...]string{"concentration", "entropy", "mass"}[min(c, Mass)]
}

// Of returns the confidence of a distribution over the options of a question of the given kind, 0
// to 1. The mass is used by Mass alone. A question with one option is certain.
func (c Confidence) Of(kind Kind, p []float64, mass float64) float64 {
	k := float64(len(p))
	top := argmax(p)
	switch {
	case c == Mass && mass != mass:
		return 0 // there is none
	case c == Mass:
		return clamp(p[top] * mass)
	case len(p) < 2:
		return 1
	case c == Entropy:
		h := 0.0
		for _, x := range ascending(p) {
			if x > 0 {
				h -= x * math.Log(x)
			}
		}
		return clamp(1 - h/math.Log(k))
	case kind == KindScore:
		d, u := 0.0, 0.0
		for i, x := range p {
			d += x * math.Abs(float64(i-top))
			u += math.Abs(float64(i)-(k-1)/2) / k
		}
		return clamp(1 - d/u)
	}
	return clamp((p[top] - 1/k) / (1 - 1/k))
}

func clamp(x float64) float64 { return min(max(x, 0), 1) }

// argmax returns the index of the largest value, the lowest of equals.
func argmax(p []float64) int {
	top := 0
	for i, x := range p {
		if x > p[top] {
			top = i
		}
	}
	return top
}

// softmax turns logits, divided by a temperature, into probabilities.
func softmax(logits []float64, temperature float64) []float64 {
	p := make([]float64, len(logits))
	top := logits[argmax(logits)]
	for i, x := range logits {
		p[i] = math.Exp((x - top) / temperature)
	}
	sum := 0.0
	for _, x := range ascending(p) {
		sum += x
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// logSumExp returns ln of the sum of exp(x), and -Inf for no values.
func logSumExp(x []float64) float64 {
	if len(x) == 0 {
		return math.Inf(-1)
	}
	top := x[argmax(x)]
	if math.IsInf(top, -1) {
		return top
	}
	sum := 0.0
	for _, v := range ascending(x) {
		sum += math.Exp(v - top)
	}
	return top + math.Log(sum)
}

// ascending returns the values in the order in which they are summed, which does not depend on that
// of the options: the bits of an answer must not either.
func ascending(x []float64) []float64 {
	if slices.IsSorted(x) {
		return x
	}
	x = slices.Clone(x)
	slices.Sort(x)
	return x
}
