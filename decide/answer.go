package decide

import (
	"fmt"
	"math"
	"slices"
)

// Reading is what the model gave at the read row of one question.
type Reading struct {
	Labels    []float32 // logits of the question's label ids, in the plan's order
	LogSumExp float32   // of the whole vocabulary; not read when the request skips the mass
}

// Answer turns the readings, one for each question in order, into answers: an option's logit is
// the log-sum-exp over its spellings, the probabilities their softmax. Thresholds and the
// confidence definition are the request's.
func (p *Plan) Answer(r Request, readings []Reading) ([]Answer, error) {
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
	for i, x := range in.Labels {
		if x != x {
			return Answer{}, fmt.Errorf("%w: question %q, label %d of %d", ErrNaN, q.ID, i, len(in.Labels))
		}
	}
	logits := make([]float64, len(q.spellings))
	at := 0
	for i, n := range q.spellings {
		var each [maxSpellings]float64
		for j := range n {
			each[j] = float64(in.Labels[at+j])
		}
		logits[i] = logSumExp(each[:n])
		at += n
	}
	if math.IsInf(logits[argmax(logits)], 0) {
		return Answer{}, fmt.Errorf("%w: question %q: no finite label", ErrNaN, q.ID)
	}

	mass := math.NaN()
	if !r.SkipMass {
		if mass = math.Exp(logSumExp(logits) - float64(in.LogSumExp)); mass != mass {
			return Answer{}, fmt.Errorf("%w: question %q: label mass", ErrNaN, q.ID)
		}
		mass = clamp(mass)
	}
	a := answer(r, q.Question, q.names, softmax(logits, 1), mass)
	a.Read = ReadLabel
	for i, x := range logits {
		a.Tied = a.Tied || (i != a.Index && x == logits[a.Index])
	}
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
	a := answer(r, q, names, slices.Clone(p), mass)
	for i, x := range p {
		a.Tied = a.Tied || (i != a.Index && x == p[a.Index])
	}
	return a, nil
}

// answer fills in what follows from the probabilities. A mass that is not a number is absent.
func answer(r Request, q Question, names []string, p []float64, mass float64) Answer {
	top := argmax(p)
	a := Answer{
		ID: q.ID, Kind: q.Kind, Index: top, Value: names[top],
		Probabilities: p, Probability: p[top],
		Confidence: r.Confidence.Of(q.Kind, p, mass), ConfidenceIs: r.Confidence, Temperature: 1,
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
	switch {
	case a.Confidence < r.MinConfidence:
		a.Abstained, a.Why = true, fmt.Sprintf("confidence %.3f, threshold %.3f", a.Confidence, r.MinConfidence)
	case a.LabelMass != nil && mass < r.MinLabelMass:
		a.Abstained, a.Why = true, fmt.Sprintf("label mass %.3f, threshold %.3f", mass, r.MinLabelMass)
	}
	return a
}
