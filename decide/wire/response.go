package wire

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/hotpath-go/hotpath/decide"
)

// Meta is what a server says of a response besides the answers.
type Meta struct {
	Model   string    // empty: the result's
	ID      string    // of the response, where the speaker gives one; empty: the call's
	Created time.Time // where the speaker says so
}

// reply is an answer as it is written: its probabilities at the call's temperature.
type reply struct {
	p         []float64
	top       int
	mass      *float64
	abstained bool
}

// EncodeResponse writes the body that answers a call. A result that does not answer it is ErrShape.
//
// Tokens are counted as they were read: the state once, whatever the number of questions, and no
// output. Where a speaker can refuse a question, an abstained answer is written as a refusal;
// elsewhere it is written as it stands. An answer without a label mass counts as one of mass 1.
func (d Dialect) EncodeResponse(c *Call, r *decide.Result, m Meta) ([]byte, error) {
	questions := c.Request.Questions
	if len(r.Answers) != len(questions) || len(c.Fields) != len(questions) {
		return nil, fmt.Errorf("%w: %d answers and %d fields for %d questions", ErrShape, len(r.Answers), len(c.Fields), len(questions))
	}
	list := make([]reply, len(questions))
	for i, a := range r.Answers {
		q, f := &questions[i], c.Fields[i]
		n := len(f.Options)
		if q.Kind == decide.KindBoolean {
			n = 2
		}
		abstained := a.Abstained && d.refusal
		if f.Name == nil && d.Shape != OpenAIShape {
			return nil, fmt.Errorf("%w: Fields[%d].Name: none, the %v shape needs one", ErrShape, i, d.Shape)
		}
		if a.ID != q.ID || a.Kind != q.Kind || (len(a.Probabilities) != n && !abstained) {
			return nil, fmt.Errorf("%w: Answers[%d]: %v %q with %d probabilities to the %v %q with %d options",
				ErrShape, i, a.Kind, a.ID, len(a.Probabilities), q.Kind, q.ID, n)
		}
		for j, p := range a.Probabilities {
			if !(p >= 0 && p <= 1) {
				return nil, fmt.Errorf("%w: Answers[%d].Probabilities[%d]: %v, must be 0 to 1", ErrShape, i, j, p)
			}
		}
		if a.Index < 0 || a.Index >= max(n, 1) {
			return nil, fmt.Errorf("%w: Answers[%d].Index: %d, must be 0 to %d", ErrShape, i, a.Index, n-1)
		}
		list[i] = reply{p: tempered(a.Probabilities, c.Temperature), top: a.Index, mass: a.LabelMass, abstained: a.Abstained}
	}
	if m.Model == "" {
		m.Model = r.Model
	}
	if m.ID == "" {
		m.ID = c.ID
	}
	var top []member
	switch d.Shape {
	case SystemOneShape:
		top = d.systemOneResponse(c, list, m, r.Usage)
	case OpenAIShape:
		top = d.openAIResponse(c, list, m, r.Usage)
	default:
		top = d.sglangResponse(c, list, m, r.Usage)
	}
	return appendJSON(nil, top), nil
}

// tempered divides the logits behind probabilities by a temperature: p^(1/T), scaled to sum to 1.
func tempered(p []float64, t float64) []float64 {
	if t == 0 || t == 1 || len(p) == 0 {
		return p
	}
	top := 0.0
	for _, x := range p {
		top = max(top, x)
	}
	out := make([]float64, len(p))
	sum := 0.0
	for i, x := range p {
		out[i] = math.Exp(math.Log(x/top) / t)
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// input returns the tokens that a decision read or computed.
func input(u decide.Usage) int { return u.CachedTokens + u.ComputedTokens }

func (a reply) score() float64 {
	s := 0.0
	for i, p := range a.p {
		s += float64(i) * p
	}
	return s
}

func (a reply) confidence(d Dialect, k decide.Kind) float64 {
	mass := 1.0
	if a.mass != nil {
		mass = *a.mass
	}
	return d.Confidence.Of(k, a.p, mass)
}

// byName returns the probabilities under the options' names.
func (a reply) byName(f Field) []member {
	list := make([]member, len(a.p))
	for i, raw := range f.Options {
		list[i] = member{node{text: string(raw)}.words(), a.p[i]}
	}
	return list
}

// byLevel returns the probabilities under the levels' numbers.
func (a reply) byLevel() []member {
	list := make([]member, len(a.p))
	for i := range a.p {
		list[i] = member{strconv.Itoa(i), a.p[i]}
	}
	return list
}

// heard is an answer as another server gave it.
type heard struct {
	node
	p          []float64
	choice     int     // what the server says is most probable; -1: it does not say
	score      float64 // NaN: it does not say
	mass       *float64
	confidence *float64
	refused    bool
}

// DecodeResponse reads the answers to a call that EncodeRequest wrote. Every question must be
// answered once, with probabilities of exactly its options that are 0 to 1 and sum to 1 but for
// rounding to two decimals, which is undone; fields that the shape does not know are passed over.
//
// A confidence is computed by the definition that the request asks for; decide.Mass without a label
// mass is what the server sent, if that is its formula. The request's thresholds hold. A refusal is
// an abstained answer without probabilities.
func (d Dialect) DecodeResponse(c *Call, body []byte) (*decide.Result, error) {
	root, err := scan(body, d.Limits)
	if err != nil {
		return nil, err
	}
	var model, answers, usage, diagnostics node
	if err := root.fields(map[string]*node{
		"model": &model, "answers": &answers, "usage": &usage, "diagnostics": &diagnostics,
	}, ignore); err != nil {
		return nil, err
	}
	res := &decide.Result{Warnings: d.unsaid(c)}
	if model.kind() == '"' {
		res.Model = model.str()
	}
	if res.Usage, err = readUsage(usage); err != nil {
		return nil, err
	}
	asked, err := d.asked(c)
	if err != nil {
		return nil, err
	}
	found, err := d.match(asked, answers)
	if err != nil {
		return nil, err
	}
	for i, q := range c.Request.Questions {
		var h heard
		switch d.Shape {
		case SystemOneShape:
			h, err = systemOneResult(q, asked[i], found[i], diagnostics)
		case OpenAIShape:
			h, err = openAIResult(q, asked[i], found[i])
		default:
			h, err = sglangResult(q, asked[i], found[i])
		}
		if err != nil {
			return nil, err
		}
		a, err := d.answer(c.Request, q, h)
		if err != nil {
			return nil, err
		}
		res.Answers = append(res.Answers, a)
	}
	return res, nil
}

// unsaid warns of settings that the shape has no words for and that change no probability.
func (d Dialect) unsaid(c *Call) []string {
	if d.engineFields {
		return nil
	}
	var list []string
	if c.Request.Namespace != "" {
		list = append(list, "Namespace: not sent, the "+d.Name+" route has no field for it")
	}
	if c.Request.Priority != 0 {
		list = append(list, "Priority: not sent, the "+d.Name+" route has no field for it")
	}
	return list
}

// match finds the body of each answer.
func (d Dialect) match(asked []Field, answers node) ([]node, error) {
	found := make([]node, 0, len(asked))
	if d.Shape == OpenAIShape {
		if err := answers.want("[", "an array"); err != nil {
			return nil, err
		}
		if n := answers.count(); n != len(asked) {
			return nil, answers.fail(CodeValue, "%d answers to %d questions", n, len(asked))
		}
		for _, v := range answers.elements() {
			found = append(found, v)
		}
		return found, nil
	}
	if err := answers.want("{", "an object"); err != nil {
		return nil, err
	}
	byID := make(map[string]node, len(asked))
	for id, v := range answers.members() {
		byID[id] = v
	}
	for i, f := range asked {
		if f.Name == nil {
			return nil, fmt.Errorf("%w: Fields[%d].Name: none", ErrShape, i)
		}
		v, ok := byID[*f.Name]
		if !ok {
			return nil, answers.fail(CodeMissing, "no answer to %q", *f.Name)
		}
		found = append(found, v)
	}
	if len(byID) > len(asked) {
		return nil, answers.fail(CodeValue, "%d answers to %d questions", len(byID), len(asked))
	}
	return found, nil
}

// rounding is how far probabilities of two decimals may be off, each.
const rounding = 0.005 + 1e-9

// answer makes a decide.Answer of what the server said.
func (d Dialect) answer(r decide.Request, q decide.Question, h heard) (decide.Answer, error) {
	if h.refused {
		return decide.Answer{ID: q.ID, Kind: q.Kind, Temperature: 1, Abstained: true, Why: "the server refused the question"}, nil
	}
	sum := 0.0
	for _, p := range h.p {
		sum += p
	}
	if math.Abs(sum-1) > rounding*float64(len(h.p)) || sum == 0 {
		return decide.Answer{}, h.fail(CodeValue, "the probabilities sum to %v, must be 1", sum)
	}
	top := 0
	for i := range h.p {
		h.p[i] /= sum
		if h.p[i] > h.p[top] {
			top = i
		}
	}
	if h.choice >= 0 {
		if h.p[top]-h.p[h.choice] > 2*rounding {
			return decide.Answer{}, h.fail(CodeValue, "option %d is called most probable with %v, option %d has %v", h.choice, h.p[h.choice], top, h.p[top])
		}
		top = h.choice
	}
	if last := float64(len(h.p) - 1); q.Kind == decide.KindScore && !(h.score >= -rounding && h.score <= last+rounding) {
		return decide.Answer{}, h.fail(CodeValue, "the score is %v, must be 0 to %v", h.score, last)
	}
	// The probabilities alone; what follows from the label mass is added below.
	bare := decide.Request{SkipMass: true, Confidence: r.Confidence}
	if r.Confidence == decide.Mass {
		bare.Confidence = decide.Concentration
	}
	a, err := decide.NewAnswer(bare, decide.Question{ID: q.ID, Kind: q.Kind, Options: q.Options}, h.p)
	if err != nil {
		return a, err
	}
	if top != a.Index {
		a.Index, a.Chosen, a.Tied = top, q.ValueAt(top), true
		a.Value = a.Chosen.String()
		a.Probability = h.p[top]
	}
	if !r.SkipMass {
		a.LabelMass = h.mass
	}
	if r.Confidence == decide.Mass {
		switch {
		case h.mass != nil:
			a.Confidence, a.ConfidenceIs = decide.Mass.Of(q.Kind, h.p, *h.mass), decide.Mass
		case h.confidence != nil && d.Confidence == decide.Mass:
			a.Confidence, a.ConfidenceIs = *h.confidence, decide.Mass
		}
	}
	switch least := max(r.MinConfidence, q.MinConfidence); {
	case a.Confidence < least:
		a.Abstained, a.Why = true, fmt.Sprintf("confidence %.3f, threshold %.3f", a.Confidence, least)
	case r.MinLabelMass > 0 && a.LabelMass == nil:
		a.Abstained, a.Why = true, fmt.Sprintf("label mass unknown, threshold %.3f", r.MinLabelMass)
	case r.MinLabelMass > 0 && *a.LabelMass < r.MinLabelMass:
		a.Abstained, a.Why = true, fmt.Sprintf("label mass %.3f, threshold %.3f", *a.LabelMass, r.MinLabelMass)
	}
	return a, nil
}

// readUsage reads the token counts of any shape; absent ones are 0.
func readUsage(n node) (decide.Usage, error) {
	var u decide.Usage
	if n.null() {
		return u, nil
	}
	var in, prompt, details, cached node
	if err := n.fields(map[string]*node{"input_tokens": &in, "prompt_tokens": &prompt, "input_tokens_details": &details}, ignore); err != nil {
		return u, err
	}
	if !details.null() {
		if err := details.fields(map[string]*node{"cached_tokens": &cached}, ignore); err != nil {
			return u, err
		}
	}
	if in.null() {
		in = prompt
	}
	total, err := in.tokens()
	if err != nil {
		return u, err
	}
	if u.CachedTokens, err = cached.tokens(); err != nil {
		return u, err
	}
	if u.CachedTokens > total {
		return u, cached.fail(CodeValue, "%d cached of %d tokens", u.CachedTokens, total)
	}
	u.ComputedTokens = total - u.CachedTokens
	return u, nil
}
