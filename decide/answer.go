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

// Answer turns readings, one for each Read of Spans behind the state in order, into answers in the
// order of the questions. The request gives the thresholds, the confidence definition, SkipMass and the power of
// the prior, which must then be there.
func (p *Plan) Answer(r Request, state Encoded, readings []Reading, prior Prior) ([]Answer, error) {
	all, err := p.distributions(state, readings, r.SkipMass)
	if err != nil {
		return nil, err
	}
	if r.Prior == 0 {
		prior = nil
	} else if len(prior) != len(all) {
		return nil, fmt.Errorf("%w: a prior of %d questions, there are %d", ErrPlan, len(prior), len(all))
	}
	answers := make([]Answer, len(all))
	for i := range all {
		d := &all[i]
		if prior != nil {
			if len(prior[i]) != len(d.p) {
				return nil, fmt.Errorf("%w: a prior of %d options, there are %d", ErrPlan, len(prior[i]), len(d.p))
			}
			d.p = divided(d.p, prior[i], r.Prior)
		}
		temperature, calibrated := 1.0, false
		if p.calibrator != nil {
			d.p, temperature, calibrated = p.calibrator.of(d.how(r.Prior), &p.questions[i], d.p)
		}
		if !calibrated {
			d.p, temperature = p.declared.tempered(p.questions[i].Kind, d.asked.method, d.p)
		}
		answers[i] = answer(r, p.questions[i], d)
		answers[i].Temperature, answers[i].Calibrated = temperature, calibrated
	}
	return answers, nil
}

// divided returns p over prior to the power w, made to sum to 1.
func divided(p, prior []float64, w float64) []float64 {
	logits := make([]float64, len(p))
	for i := range p {
		logits[i] = math.Log(p[i]) - w*math.Log(max(prior[i], math.SmallestNonzeroFloat64))
	}
	return softmax(logits, 1)
}

// distribution is what the readings of a question say.
type distribution struct {
	p      []float64 // of the options, in the caller's order
	mass   float64   // not a number: there is none
	spread float64   // not a number: one order
	shared []float64 // what the words that the state shares with each option added to its logit; nil: nothing could
	asked  *asked
}

// distributions reads all questions.
func (p *Plan) distributions(state Encoded, readings []Reading, skipMass bool) ([]distribution, error) {
	f, err := p.form(state.Form)
	if err != nil {
		return nil, err
	}
	if len(readings) != f.reads {
		return nil, fmt.Errorf("%w: %d readings for %d reads", ErrPlan, len(readings), f.reads)
	}
	all := make([]distribution, len(f.asked))
	var words tokenSet
	for i, a := range f.asked {
		n := a.reads()
		if a.prompts[0].evidence != nil {
			if words == nil {
				words = p.declared.seen(state.Tokens)
			}
			all[i].shared = a.shared(words, p.declared.idf)
		}
		if all[i], err = a.distribution(readings[:n], all[i].shared, skipMass); err != nil {
			return nil, fmt.Errorf("question %q: %w", p.questions[i].ID, err)
		}
		readings = readings[n:]
	}
	return all, nil
}

func (a *asked) reads() int {
	n := 0
	for i := range a.prompts {
		n += a.prompts[i].count()
	}
	return n
}

func (p *prompt) count() int {
	n := len(p.reads)
	for i := range p.spans {
		n += len(p.spans[i].Reads)
	}
	return n
}

// shared returns what the words of a state add to the logits of options that are read alone.
func (a *asked) shared(state tokenSet, idf []float32) []float64 {
	list := make([]float64, len(a.names))
	for i := range list {
		list[i] = a.prompts[0].evidence[i].in(state, idf)
	}
	return list
}

// distribution averages the probabilities over the orders of a question.
func (a *asked) distribution(readings []Reading, shared []float64, skipMass bool) (distribution, error) {
	d := distribution{p: make([]float64, len(a.names)), spread: math.NaN(), shared: shared, asked: a}
	var low, high []float64
	for i := range a.prompts {
		p := &a.prompts[i]
		n := p.count()
		places, mass, err := p.probabilities(a.method, readings[:n], shared, skipMass)
		if err != nil {
			return d, err
		}
		readings = readings[n:]
		if len(a.prompts) == 1 && p.order == nil {
			d.p, d.mass = places, mass
			return d, nil
		}
		if i == 0 {
			low, high = make([]float64, len(d.p)), make([]float64, len(d.p))
		}
		d.mass += mass / float64(len(a.prompts))
		for j, x := range places {
			k := j
			if p.order != nil {
				k = p.order[j]
			}
			d.p[k] += x
			if i == 0 {
				low[k], high[k] = x, x
			}
			low[k], high[k] = min(low[k], x), max(high[k], x)
		}
	}
	for k := range d.p {
		d.p[k] /= float64(len(a.prompts))
	}
	if len(a.prompts) > 1 {
		d.spread = 0
		for k := range low {
			d.spread = max(d.spread, high[k]-low[k])
		}
	}
	return d, nil
}

// slack is how far labels that are all there is may weigh more than the vocabulary, whose sum comes
// in float32.
const slack = 1e-3

// probabilities returns those of the options by place, and the label mass. shared is added to the
// logits after it.
func (p *prompt) probabilities(method Method, readings []Reading, shared []float64, skipMass bool) (places []float64, mass float64, err error) {
	if err := p.check(readings); err != nil {
		return nil, 0, err
	}
	logits := make([]float64, len(p.scores))
	each := make([]float64, 0, 8)
	for i, terms := range p.scores {
		x := 0.0
		for _, t := range terms {
			in := &readings[t.read]
			each = each[:0]
			for _, v := range in.Labels[t.from:t.to] {
				each = append(each, float64(v))
			}
			v := logSumExp(each)
			if t.max {
				v = slices.Max(each)
			}
			switch {
			case t.log:
				x += v - float64(in.LogSumExp)
			case t.minus:
				x -= v
			default:
				x += v
			}
		}
		logits[i] = x
	}
	if x := logits[argmax(logits)]; math.IsInf(x, 0) || x != x {
		return nil, 0, fmt.Errorf("%w: no finite label", ErrNaN)
	}
	mass = math.NaN()
	if !skipMass {
		switch method {
		case Label:
			mass = readings[0].mass()
		case Code, Path:
			mass = math.Exp(logSumExp(logits))
		case Each:
			if in := &readings[argmax(logits)]; len(p.scores[0]) > 1 {
				mass = in.mass()
			}
		}
		if mass > 1+slack || mass != mass && (method != Each || len(p.scores[0]) > 1) {
			return nil, 0, fmt.Errorf("%w: label mass %v, must be at most 1", ErrNaN, mass)
		}
		if mass == mass {
			mass = clamp(mass)
		}
	}
	for i, n := range p.divide {
		logits[i] /= n
	}
	for i, x := range shared {
		logits[i] += x
	}
	return softmax(logits, 1), mass, nil
}

// mass returns the probability that the whole vocabulary gives to the labels together.
func (r *Reading) mass() float64 {
	x := make([]float64, len(r.Labels))
	for i, v := range r.Labels {
		x[i] = float64(v)
	}
	return math.Exp(logSumExp(x) - float64(r.LogSumExp))
}

// check refuses readings of another shape, and logits that are not numbers.
func (p *prompt) check(readings []Reading) error {
	i := 0
	for _, reads := range p.all {
		for k := range reads {
			in := &readings[i]
			i++
			if len(in.Labels) != len(reads[k].Labels) {
				return fmt.Errorf("%w: %d logits for %d labels", ErrPlan, len(in.Labels), len(reads[k].Labels))
			}
			for j, x := range in.Labels {
				if x != x {
					return fmt.Errorf("%w: label %d of %d", ErrNaN, j, len(in.Labels))
				}
			}
		}
	}
	return nil
}

// all yields the reads of the question's own rows, then those of span after span.
func (p *prompt) all(yield func(int, []Read) bool) {
	if !yield(-1, p.reads) {
		return
	}
	for i := range p.spans {
		if !yield(i, p.spans[i].Reads) {
			return
		}
	}
}

// NewAnswer makes the answer that a distribution over the options of a question gives under the
// settings of a request, with a label mass of 1: for fakes, and for clients of other engines.
func NewAnswer(r Request, q Question, p []float64) (Answer, error) {
	d := distribution{p: slices.Clone(p), mass: 1, spread: math.NaN()}
	if n := len(namesOf(&q)); len(p) != n {
		return Answer{}, fmt.Errorf("%w: question %q: %d probabilities, %d options", ErrRequest, q.ID, len(p), n)
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
	if r.SkipMass {
		d.mass = math.NaN()
	}
	return answer(r, q, &d), nil
}

func namesOf(q *Question) []string {
	if q.Kind == KindBoolean {
		return []string{"yes", "no"}
	}
	names := make([]string, len(q.Options))
	for i, o := range q.Options {
		names[i] = o.Name
	}
	return names
}

// choose makes an option the answer.
func (a *Answer) choose(q *Question, i int) {
	a.Chosen = q.ValueAt(i)
	a.Value = a.Chosen.String()
	if q.Kind == KindBoolean {
		a.Value = [...]string{"yes", "no"}[i]
	}
}

// answer fills in what follows from the probabilities.
func answer(r Request, q Question, d *distribution) Answer {
	top := argmax(d.p)
	a := Answer{
		ID: q.ID, Kind: q.Kind, Index: top,
		Probabilities: d.p, Probability: d.p[top],
		Confidence: r.Confidence.Of(q.Kind, d.p, d.mass), ConfidenceIs: r.Confidence,
		Temperature: 1, Prior: r.Prior, Evidence: d.shared,
	}
	a.choose(&q, top)
	if d.asked != nil {
		a.Method = d.asked.method
		if a.Method != Each && d.asked.orders > 0 {
			a.Orders = len(d.asked.prompts)
		}
		if a.Method == Path {
			a.Length = d.asked.length
		}
	}
	for i, x := range d.p {
		a.Tied = a.Tied || (i != top && x == d.p[top])
	}
	switch q.Kind {
	case KindBoolean:
		a.Probability = d.p[0]
	case KindScore:
		for i, x := range d.p {
			a.Score += float64(i) * x
		}
	}
	if d.mass == d.mass {
		a.LabelMass = &d.mass
	}
	if d.spread == d.spread {
		a.OrderSpread = &d.spread
	}
	a.Why = abstention(&r, &q, &a)
	a.Abstained = a.Why != ""
	return a
}

// abstention says which threshold an answer does not reach.
func abstention(r *Request, q *Question, a *Answer) string {
	threshold := max(r.MinConfidence, q.MinConfidence)
	needsMass := r.MinLabelMass > 0 || r.Confidence == Mass
	switch {
	case needsMass && a.LabelMass == nil:
		return "options that are read alone by one token have no label mass"
	case a.Confidence < threshold:
		return fmt.Sprintf("confidence %.3f, threshold %.3f", a.Confidence, threshold)
	case r.MinLabelMass > 0 && *a.LabelMass < r.MinLabelMass:
		return fmt.Sprintf("label mass %.3f, threshold %.3f", *a.LabelMass, r.MinLabelMass)
	case r.MaxSpread > 0 && a.OrderSpread != nil && *a.OrderSpread > r.MaxSpread:
		return fmt.Sprintf("order spread %.3f, threshold %.3f", *a.OrderSpread, r.MaxSpread)
	}
	return ""
}
