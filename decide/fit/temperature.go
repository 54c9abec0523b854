package fit

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/hotpath-go/hotpath/decide"
)

// Temperature asks a Decider about the examples and fits a temperature for each kind of question and
// band of option counts (2, 3 to 4, 5 to 8, and so on) that has Options.MinExamples, and for each
// kind as a whole; apart for each way in which questions were read.
func Temperature(ctx context.Context, d decide.Decider, examples []Example, o Options) (*decide.Calibrator, *Report, error) {
	s, err := Read(ctx, d, examples, o)
	if err != nil {
		return nil, nil, err
	}
	return s.Temperature(o)
}

// Temperature fits temperatures to samples that were read before.
func (s *Set) Temperature(o Options) (*decide.Calibrator, *Report, error) {
	return s.fit(o, "temperature", func(c *decide.Calibrator, train []Sample, o Options) error {
		type group struct {
			how  decide.How
			kind decide.Kind
		}
		var order []group
		groups := map[group][]Sample{}
		for _, x := range train {
			g := group{x.How, x.Question.Kind}
			if groups[g] == nil {
				order = append(order, g)
			}
			groups[g] = append(groups[g], x)
		}
		for _, g := range order {
			of := groups[g]
			for _, b := range bands(of) {
				in := slices.DeleteFunc(slices.Clone(of), func(x Sample) bool { return len(x.Logits) < b[0] || len(x.Logits) > b[1] })
				if len(in) < o.MinExamples || len(in) == len(of) {
					continue
				}
				t, err := temperatureOf(in)
				if err != nil {
					return err
				}
				c.Bands = append(c.Bands, decide.Band{How: g.how, Kind: g.kind, From: b[0], To: b[1], Temperature: t, Examples: len(in)})
			}
			// The kind as a whole, for counts that no band of its own holds.
			t, err := temperatureOf(of)
			if err != nil {
				return err
			}
			c.Bands = append(c.Bands, decide.Band{How: g.how, Kind: g.kind, From: 1, To: decide.MaxOptions, Temperature: t, Examples: len(of)})
		}
		return nil
	})
}

// fit splits the samples, fits on one part and reports on the other.
func (s *Set) fit(o Options, what string, on func(c *decide.Calibrator, train []Sample, o Options) error) (*decide.Calibrator, *Report, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, nil, err
	}
	for i := range s.Samples {
		if err := s.Samples[i].check(); err != nil {
			return nil, nil, fmt.Errorf("sample %d: %w", i, err)
		}
	}
	if len(s.Samples) == 0 {
		return nil, nil, fmt.Errorf("%w: none", ErrExamples)
	}
	train, test, err := split(len(s.Samples), o)
	if err != nil {
		return nil, nil, err
	}
	c := &decide.Calibrator{Model: s.Model, Binding: s.Binding}
	if err := on(c, pick(s.Samples, train), o); err != nil {
		return nil, nil, err
	}
	held := pick(s.Samples, test)
	return c, &Report{
		Fitted: len(train), HeldOut: o.Holdout > 0, What: what, Baseline: "as read",
		Before: Measure(probabilities(held, nil)), After: Measure(probabilities(held, c)),
	}, nil
}

// bands returns the ranges of option counts, doubling, that the samples lie in.
func bands(samples []Sample) [][2]int {
	var list [][2]int
	for from, to := 2, 2; from <= decide.MaxOptions; from, to = to+1, to*2 {
		if slices.ContainsFunc(samples, func(x Sample) bool { return from <= len(x.Logits) && len(x.Logits) <= to }) {
			list = append(list, [2]int{from, to})
		}
	}
	return list
}

// Temperatures are kept to this range: beyond it the samples do not say enough, as when every answer
// is right.
const (
	minTemperature = 0.01
	maxTemperature = 100
)

// temperatureOf fits one temperature. Samples of one option say nothing.
func temperatureOf(samples []Sample) (float64, error) {
	x := matrixOf(samples)
	if x == nil {
		return 1, nil
	}
	// The parameter is ln(1/T): every value of it is a temperature.
	theta, err := x.fit([]param{{"theta", 1, 1, []float64{0}}}, func(t *tape, in *gorgonia.Node, p []*gorgonia.Node) *gorgonia.Node {
		return t.scale(in, t.exp(p[0]))
	}, nil)
	if err != nil {
		return 0, err
	}
	return min(max(math.Exp(-theta[0]), minTemperature), maxTemperature), nil
}

// matrix is samples as rows: logits less the row's largest, padded to the most options.
type matrix struct {
	rows, cols int
	x          []float64
	want       []float64 // 1 at the right option
	mask       []float64 // very negative at the padding; nil: none
}

// padding is the logit of an option that is not there.
const padding = -1e9

// matrixOf returns the samples that have several options, or nil when there are none.
func matrixOf(samples []Sample) *matrix {
	m := &matrix{}
	ragged := false
	for _, s := range samples {
		if n := len(s.Logits); n > 1 {
			ragged = ragged || (m.rows > 0 && n != m.cols)
			m.rows++
			m.cols = max(m.cols, n)
		}
	}
	if m.rows == 0 {
		return nil
	}
	m.x, m.want = make([]float64, m.rows*m.cols), make([]float64, m.rows*m.cols)
	if ragged {
		m.mask = make([]float64, m.rows*m.cols)
	}
	at := 0
	for _, s := range samples {
		if len(s.Logits) < 2 {
			continue
		}
		top := s.Logits[argmax(s.Logits)]
		for j := range m.cols {
			if j < len(s.Logits) {
				m.x[at+j] = s.Logits[j] - top
			} else {
				m.mask[at+j] = padding
			}
		}
		m.want[at+s.Label] = 1
		at += m.cols
	}
	return m
}

// fit minimises the negative log-likelihood of what logits makes of the rows, plus a penalty where
// there is one.
func (m *matrix) fit(params []param, logits, penalty func(t *tape, in *gorgonia.Node, p []*gorgonia.Node) *gorgonia.Node) ([]float64, error) {
	o, err := m.objective(params, logits, penalty)
	if err != nil {
		return nil, err
	}
	defer o.close()
	return minimize(o.eval, o.get(), 200, nil)
}

func (m *matrix) objective(params []param, logits, penalty func(t *tape, in *gorgonia.Node, p []*gorgonia.Node) *gorgonia.Node) (*objective, error) {
	return newObjective(params, func(t *tape, p []*gorgonia.Node) *gorgonia.Node {
		in := t.node("x", m.x, m.rows, m.cols)
		z := logits(t, in, p)
		if m.mask != nil {
			z = t.add(z, t.node("mask", m.mask, m.rows, m.cols))
		}
		loss := t.nll(z, t.node("want", m.want, m.rows, m.cols))
		if penalty != nil {
			loss = t.add(loss, penalty(t, in, p))
		}
		return loss
	})
}
