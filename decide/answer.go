package decide

import (
	"fmt"
	"math"
	"slices"
)

// Reading is what the model gave for one Read.
type Reading struct {
	Labels    []float32 // logits of the read's label ids, in its order
	LogSumExp float32   // of the whole vocabulary, where the read asks for it
}

// Answer turns readings, one for each Read of Spans in order, into answers: an option's logit is
// the log-sum-exp over the spellings of its label, the probabilities their softmax. The request
// gives the thresholds, the confidence definition and SkipMass.
func (p *Plan) Answer(r Request, readings []Reading) ([]Answer, error) {
	if len(readings) != len(p.questions) {
		return nil, fmt.Errorf("%w: %d readings for %d reads", ErrPlan, len(readings), len(p.questions))
	}
	answers := make([]Answer, len(p.questions))
	for i := range p.questions {
		a, err := p.questions[i].answer(r, readings[i])
		if err != nil {
			return nil, err
		}
		answers[i] = a
	}
	return answers, nil
}

func (q *question) answer(r Request, in Reading) (Answer, error) {
	if len(in.Labels) != len(q.labels) {
		return Answer{}, fmt.Errorf("%w: question %q: %d logits for %d labels", ErrPlan, q.ID, len(in.Labels), len(q.labels))
	}
	for i, x := range in.Labels {
		if x != x {
			return Answer{}, fmt.Errorf("%w: question %q, label %d of %d", ErrNaN, q.ID, i, len(in.Labels))
		}
	}
	n := len(q.labels) / len(q.names) // spellings of a label
	logits := make([]float64, len(q.names))
	each := make([]float64, n)
	for i := range logits {
		for j := range each {
			each[j] = float64(in.Labels[i*n+j])
		}
		logits[i] = logSumExp(each)
	}
	if math.IsInf(logits[argmax(logits)], 0) {
		return Answer{}, fmt.Errorf("%w: question %q: no finite label", ErrNaN, q.ID)
	}

	mass := math.NaN()
	if !r.SkipMass {
		// The sum over the vocabulary comes in float32, so that labels that are all there is may weigh
		// a little more than it.
		const slack = 1e-3
		if mass = math.Exp(logSumExp(logits) - float64(in.LogSumExp)); !(mass <= 1+slack) {
			return Answer{}, fmt.Errorf("%w: question %q: label mass %v, must be at most 1", ErrNaN, q.ID, mass)
		}
		mass = clamp(mass)
	}
	a := answer(r, q.Question, q.names, softmax(logits, 1), mass)
	a.Method = Label
	return a, nil
}

// NewAnswer makes the answer that a distribution over the options of a question gives under the
// settings of a request, with a label mass of 1: for fakes, and for clients of other engines.
func NewAnswer(r Request, q Question, p []float64) (Answer, error) {
	names := make([]string, len(q.Options))
	for i, o := range q.Options {
		names[i] = o.Name
	}
	if q.Kind == KindBoolean {
		names = []string{"yes", "no"}
	}
	if len(p) != len(names) {
		return Answer{}, fmt.Errorf("%w: question %q: %d probabilities, %d options", ErrRequest, q.ID, len(p), len(names))
	}
	sum := 0.0
	for i, x := range p {
		if !(x >= 0 && x <= 1) {
			return Answer{}, fmt.Errorf("%w: question %q: probability %d is %v, must be 0 to 1", ErrRequest, q.ID, i, x)
		}
		sum += x
	}
	if math.Abs(sum-1) > 1e-6 {
		return Answer{}, fmt.Errorf("%w: question %q: the probabilities sum to %v, must be 1", ErrRequest, q.ID, sum)
	}
	mass := 1.0
	if r.SkipMass {
		mass = math.NaN()
	}
	return answer(r, q, names, slices.Clone(p), mass), nil
}

// answer fills in what follows from the probabilities. A mass that is not a number is absent.
func answer(r Request, q Question, names []string, p []float64, mass float64) Answer {
	top := argmax(p)
	a := Answer{
		ID: q.ID, Kind: q.Kind, Index: top, Value: names[top],
		Probabilities: p, Probability: p[top],
		Confidence: r.Confidence.Of(q.Kind, p, mass), ConfidenceIs: r.Confidence, Temperature: 1,
	}
	for i, x := range p {
		a.Tied = a.Tied || (i != top && x == p[top])
	}
	switch q.Kind {
	case KindBoolean:
		a.Probability = p[0]
	case KindScore:
		for i, x := range p {
			a.Score += float64(i) * x
		}
	}
	if mass == mass {
		a.LabelMass = &mass
	}
	threshold := max(r.MinConfidence, q.MinConfidence)
	switch {
	case a.Confidence < threshold:
		a.Abstained, a.Why = true, fmt.Sprintf("confidence %.3f, threshold %.3f", a.Confidence, threshold)
	case a.LabelMass != nil && mass < r.MinLabelMass:
		a.Abstained, a.Why = true, fmt.Sprintf("label mass %.3f, threshold %.3f", mass, r.MinLabelMass)
	}
	return a
}
