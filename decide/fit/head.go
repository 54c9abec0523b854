package fit

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/model/chat"
)

// Row is the hidden state at the row where a question's label would be read, with the right option.
type Row struct {
	State []float32
	Label int
}

// Hider gives the hidden rows of a prompt after the final norm, as an engine does.
type Hider interface {
	Hidden(ctx context.Context, p chat.Prompt) (backend.Matrix, error)
}

// Rows reads the hidden states of examples that all ask the same question. The compiler is of the
// model that the Hider runs. Each example is one prefill of its state and question.
func Rows(ctx context.Context, h Hider, c *decide.Compiler, examples []Example, o Options) ([]Row, error) {
	rows := make([]Row, len(examples))
	for i := range examples {
		e := &examples[i]
		if e.Question.Key() != examples[0].Question.Key() {
			return nil, fmt.Errorf("%w: example %d asks another question than example 0", ErrExamples, i)
		}
		if n := count(&e.Question); e.Label < 0 || e.Label >= n {
			return nil, fmt.Errorf("%w: example %d: label %d, must be 0 to %d", ErrExamples, i, e.Label, n-1)
		}
		ids, err := readRow(c, e, o.Request)
		if err != nil {
			return nil, fmt.Errorf("example %d of %d: %w", i, len(examples), err)
		}
		m, err := h.Hidden(ctx, chat.Tokens(ids...))
		if err != nil {
			return nil, fmt.Errorf("example %d of %d: %w", i, len(examples), err)
		}
		rows[i] = Row{slices.Clone(m.Row(m.Rows - 1)), e.Label}
		if o.Progress != nil {
			o.Progress(i+1, len(examples))
		}
	}
	return rows, nil
}

// readRow returns the tokens up to the row of the question's first read.
func readRow(c *decide.Compiler, e *Example, r decide.Request) ([]int32, error) {
	state, err := c.Encode(e.State, r.Border)
	if err != nil {
		return nil, err
	}
	r.State, r.Instructions, r.Questions, r.Plan = e.State, e.Instructions, []decide.Question{e.Question}, nil
	plan, err := c.Compile(r)
	if err != nil {
		return nil, err
	}
	spans, err := plan.Spans(state.Form)
	if err != nil {
		return nil, err
	}
	for i := range spans {
		if len(spans[i].Reads) == 0 {
			continue
		}
		ids := spans[i].Tokens[:spans[i].Reads[0].Row+1]
		for p := spans[i].Parent; p > 0; p = spans[p-1].Parent {
			ids = slices.Concat(spans[p-1].Tokens, ids)
		}
		return slices.Concat(state.Tokens, ids), nil
	}
	return nil, fmt.Errorf("%w: the question is read at no row", ErrExamples)
}

// Head trains a probe for one question on hidden states: linear, or with Options.Hidden tanh units.
// Training ends when the held-out part gets no better, and the head is the best one on it. The
// report compares with answers by the frequency of the options alone.
func Head(q decide.Question, rows []Row, o Options) (*decide.Head, *Report, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, nil, err
	}
	if o.Holdout == 0 {
		o.Holdout = defaultHoldout
	}
	k := count(&q)
	if err := checkRows(rows, k); err != nil {
		return nil, nil, err
	}
	train, test, err := split(len(rows), o)
	if err != nil {
		return nil, nil, err
	}
	h := &decide.Head{
		Model: o.Model, Binding: o.Binding, Question: q, Width: len(rows[0].State), Hidden: o.Hidden, Examples: len(train),
	}
	fitted, held := pick(rows, train), pick(rows, test)
	standardize(h, fitted)
	b, err := newProbe(h, fitted, k, o)
	if err != nil {
		return nil, nil, err
	}
	defer b.close()

	best, since := math.Inf(1), 0
	var kept []float64
	theta := b.get()
	theta, err = minimize(b.eval, theta, o.Iterations, func(theta []float64) bool {
		b.store(h, theta, k)
		p, labels, err := answers(h, held)
		if err != nil {
			return true
		}
		if nll := Measure(p, labels).NLL; nll < best {
			best, since, kept = nll, 0, slices.Clone(theta)
			return false
		}
		since++
		return since >= o.Patience
	})
	if err != nil {
		return nil, nil, err
	}
	if kept == nil {
		kept = theta
	}
	b.store(h, kept, k)
	p, labels, err := answers(h, held)
	if err != nil {
		return nil, nil, err
	}
	return h, &Report{
		Fitted: len(train), HeldOut: true, What: "head", Baseline: "frequencies",
		Before: Measure(frequencies(fitted, len(held), k), labels), After: Measure(p, labels),
	}, nil
}

func checkRows(rows []Row, options int) error {
	if len(rows) == 0 {
		return fmt.Errorf("%w: none", ErrExamples)
	}
	if options < 2 {
		return fmt.Errorf("%w: %d options, at least 2", ErrExamples, options)
	}
	for i, r := range rows {
		if len(r.State) != len(rows[0].State) || len(r.State) == 0 {
			return fmt.Errorf("%w: row %d has %d values, row 0 has %d", ErrExamples, i, len(r.State), len(rows[0].State))
		}
		if r.Label < 0 || r.Label >= options {
			return fmt.Errorf("%w: row %d: label %d, must be 0 to %d", ErrExamples, i, r.Label, options-1)
		}
		for _, x := range r.State {
			if x != x || math.IsInf(float64(x), 0) {
				return fmt.Errorf("%w: row %d holds numbers that are not finite", ErrExamples, i)
			}
		}
	}
	return nil
}

// standardize sets what makes every value of the fitted rows have mean 0 and deviation 1.
func standardize(h *decide.Head, rows []Row) {
	h.Mean, h.Scale = make([]float32, h.Width), make([]float32, h.Width)
	n := float64(len(rows))
	for j := range h.Width {
		mean, square := 0.0, 0.0
		for _, r := range rows {
			mean += float64(r.State[j]) / n
		}
		for _, r := range rows {
			d := float64(r.State[j]) - mean
			square += d * d / n
		}
		h.Mean[j] = float32(mean)
		// A value that does not vary says nothing.
		if deviation := math.Sqrt(square); deviation > 1e-9 {
			h.Scale[j] = float32(1 / deviation)
		}
	}
}

// probe is the objective of a head under training.
type probe struct {
	*objective
}

// newProbe builds the graph. The first weights of a head with a hidden layer are drawn by the seed;
// those of a linear one are 0.
func newProbe(h *decide.Head, rows []Row, options int, o Options) (probe, error) {
	m := &matrix{rows: len(rows), cols: h.Width, x: make([]float64, len(rows)*h.Width)}
	want := make([]float64, len(rows)*options)
	for i, r := range rows {
		for j, v := range r.State {
			m.x[i*h.Width+j] = (float64(v) - float64(h.Mean[j])) * float64(h.Scale[j])
		}
		want[i*options+r.Label] = 1
	}
	in := h.Width
	var params []param
	if h.Hidden > 0 {
		draw := rand.New(rand.NewPCG(o.Seed, 0x68656164))
		w := make([]float64, h.Width*h.Hidden)
		for i := range w {
			w[i] = draw.NormFloat64() / math.Sqrt(float64(h.Width))
		}
		params = append(params, param{"w1", h.Width, h.Hidden, w}, param{"b1", 1, h.Hidden, make([]float64, h.Hidden)})
		in = h.Hidden
	}
	last := make([]float64, in*options)
	if h.Hidden > 0 {
		// Zeroes would leave the first layer without a gradient.
		draw := rand.New(rand.NewPCG(o.Seed, 0x6c617374))
		for i := range last {
			last[i] = draw.NormFloat64() / math.Sqrt(float64(in))
		}
	}
	params = append(params, param{"w2", in, options, last}, param{"b2", 1, options, make([]float64, options)})
	obj, err := newObjective(params, func(t *tape, p []*gorgonia.Node) *gorgonia.Node {
		x := t.node("x", m.x, m.rows, m.cols)
		penalty := t.penalty(p[0], 0, o.L2)
		if h.Hidden > 0 {
			x = t.tanh(t.addRow(t.mul(x, p[0]), p[1]))
			penalty = t.add(penalty, t.penalty(p[2], 0, o.L2))
			p = p[2:]
		}
		z := t.addRow(t.mul(x, p[0]), p[1])
		return t.add(t.nll(z, t.node("want", want, m.rows, options)), penalty)
	})
	return probe{obj}, err
}

// store writes parameters into a head.
func (b probe) store(h *decide.Head, theta []float64, options int) {
	in := h.Width
	take := func(n int) []float32 {
		out := make([]float32, n)
		for i := range out {
			out[i] = float32(theta[i])
		}
		theta = theta[n:]
		return out
	}
	if h.Hidden > 0 {
		h.W1, h.B1 = take(h.Width*h.Hidden), take(h.Hidden)
		in = h.Hidden
	}
	h.W2, h.B2 = take(in*options), take(options)
}

func answers(h *decide.Head, rows []Row) (p [][]float64, labels []int, err error) {
	for _, r := range rows {
		row, err := h.Probabilities(r.State)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrFit, err)
		}
		p = append(p, row)
		labels = append(labels, r.Label)
	}
	return p, labels, nil
}

// frequencies returns n rows of how often the fitted rows have each option.
func frequencies(rows []Row, n, options int) [][]float64 {
	p := make([]float64, options)
	for _, r := range rows {
		p[r.Label] += 1 / float64(len(rows))
	}
	return slices.Repeat([][]float64{p}, n)
}
