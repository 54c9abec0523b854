package fit

import (
	"context"
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/hotpath-go/hotpath/decide"
)

// Platt asks a Decider about the examples and fits a scale and a shift of the log-odds of yes to the
// booleans among them, of which there must be Options.MinExamples.
func Platt(ctx context.Context, d decide.Decider, examples []Example, o Options) (*decide.Calibrator, *Report, error) {
	s, err := Read(ctx, d, examples, o)
	if err != nil {
		return nil, nil, err
	}
	return s.Platt(o)
}

// Platt fits a scale and a shift to samples that were read before.
func (s *Set) Platt(o Options) (*decide.Calibrator, *Report, error) {
	return s.fit(o, "platt", func(c *decide.Calibrator, train []Sample, o Options) error {
		of := slices.DeleteFunc(slices.Clone(train), func(x Sample) bool { return x.Question.Kind != decide.KindBoolean })
		for _, x := range of {
			if x.How != of[0].How {
				return fmt.Errorf("%w: booleans read as %+v and as %+v", ErrExamples, of[0].How, x.How)
			}
		}
		if len(of) < o.MinExamples {
			return fmt.Errorf("%w: %d booleans to fit, at least %d", ErrExamples, len(of), o.MinExamples)
		}
		// Yes is the log-odds and no is 0, so that one scale and one shift say it all.
		m := &matrix{rows: len(of), cols: 2, x: make([]float64, 2*len(of)), want: make([]float64, 2*len(of))}
		for i, x := range of {
			m.x[2*i] = x.Logits[0] - x.Logits[1]
			m.want[2*i+x.Label] = 1
		}
		theta, err := m.fit(plattParams(), plattLogits, func(t *tape, _ *gorgonia.Node, p []*gorgonia.Node) *gorgonia.Node {
			return t.add(t.penalty(p[0], 1, o.L2), t.penalty(p[1], 0, o.L2))
		})
		if err != nil {
			return err
		}
		c.Platt = &decide.Platt{How: of[0].How, Scale: theta[0], Shift: theta[1], Examples: len(of)}
		return nil
	})
}

func plattParams() []param {
	return []param{{"scale", 1, 1, []float64{1}}, {"shift", 1, 1, []float64{0}}}
}

func plattLogits(t *tape, in *gorgonia.Node, p []*gorgonia.Node) *gorgonia.Node {
	yes := t.node("yes", []float64{1, 0}, 1, 2)
	return t.addRow(t.scale(in, p[0]), t.mul(p[1], yes))
}

// Vector asks a Decider about the examples and fits a scale and a shift for each option of each
// question that has Options.MinExamples. Questions are the same when kind, instructions and options
// are. It suits few questions with many examples.
func Vector(ctx context.Context, d decide.Decider, examples []Example, o Options) (*decide.Calibrator, *Report, error) {
	s, err := Read(ctx, d, examples, o)
	if err != nil {
		return nil, nil, err
	}
	return s.Vector(o)
}

// Vector fits a scale and a shift for each option to samples that were read before.
func (s *Set) Vector(o Options) (*decide.Calibrator, *Report, error) {
	return s.fit(o, "vector", func(c *decide.Calibrator, train []Sample, o Options) error {
		type group struct {
			how decide.How
			key decide.Hash
		}
		var order []group
		of := map[group][]Sample{}
		most := 0
		for _, x := range train {
			key := group{x.How, x.Question.Key()}
			if of[key] == nil {
				order = append(order, key)
			}
			of[key] = append(of[key], x)
			most = max(most, len(of[key]))
		}
		for _, key := range order {
			list := of[key]
			if len(list) < o.MinExamples || len(list[0].Logits) < 2 {
				continue
			}
			m := matrixOf(list)
			// What is fitted on log-probabilities must be applied to them, so the rows stay as they are.
			for i, x := range list {
				copy(m.x[i*m.cols:], x.Logits)
			}
			theta, err := m.fit(vectorParams(m.cols), vectorLogits, func(t *tape, _ *gorgonia.Node, p []*gorgonia.Node) *gorgonia.Node {
				return t.add(t.penalty(p[0], 1, o.L2), t.penalty(p[1], 0, o.L2))
			})
			if err != nil {
				return err
			}
			c.Vectors = append(c.Vectors, decide.Vector{How: key.how, Question: key.key, Scale: theta[:m.cols:m.cols], Shift: theta[m.cols:], Examples: len(list)})
		}
		if len(c.Vectors) == 0 {
			return fmt.Errorf("%w: %d of one question to fit, at least %d", ErrExamples, most, o.MinExamples)
		}
		return nil
	})
}

func vectorParams(options int) []param {
	ones := make([]float64, options)
	for i := range ones {
		ones[i] = 1
	}
	return []param{{"scale", 1, options, ones}, {"shift", 1, options, make([]float64, options)}}
}

func vectorLogits(t *tape, in *gorgonia.Node, p []*gorgonia.Node) *gorgonia.Node {
	return t.addRow(t.mulRow(in, p[0]), p[1])
}
