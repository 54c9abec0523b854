package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hotpath-go/hotpath/decide"
)

var (
	// ErrExamples is returned for examples that nothing can be fitted on; the message says which and why.
	ErrExamples = errors.New("fit: bad examples")
	// ErrOptions is returned for options outside their range.
	ErrOptions = errors.New("fit: bad options")
	// ErrFit is returned when a fit does not come to finite numbers.
	ErrFit = errors.New("fit: failed")
)

// Example is a question about a state with its right answer.
type Example struct {
	State        decide.State
	Instructions string // of the request; empty: none
	Question     decide.Question
	Label        int // index of the right option; of a boolean 0 is yes and 1 is no
}

// Options of a fit. The zero Options are usable.
type Options struct {
	// Holdout is the part of the examples, 0 to 0.9, that the fit does not see and the report is of.
	// Zero: none, the report is of what was fitted. Head needs it and takes 0 as 0.2.
	Holdout float64
	Seed    uint64 // of the split, and of a head's first weights
	// MinExamples is how many a band of option counts, or a question, needs for numbers of its own; 0: 20.
	MinExamples int
	// L2 is the weight of the penalty on what moves away from doing nothing; 0: 1e-3. A temperature has none.
	L2       float64
	Parallel int                   // examples that are asked at once; 0: 4
	Progress func(done, total int) // called after each example is asked, from one goroutine at a time

	// Request gives the settings with which examples are asked, such as Method and Orders. Its State,
	// Questions, Plan and thresholds are not used.
	Request decide.Request
	// Model and Binding are those of the calibrator or head, where the Decider does not say them.
	Model   string
	Binding decide.Binding

	Hidden     int // units of a head's hidden layer; 0: a linear head
	Iterations int // of a head's training, at most; 0: 300
	Patience   int // iterations without a better held-out part after which a head's training ends; 0: 20
}

// Defaults of Options.
const (
	defaultMinExamples = 20
	defaultL2          = 1e-3
	defaultParallel    = 4
	defaultIterations  = 300
	defaultPatience    = 20
	defaultHoldout     = 0.2 // of a head
	maxHidden          = 4096
)

func (o Options) withDefaults() (Options, error) {
	if !(o.Holdout >= 0 && o.Holdout <= 0.9) {
		return o, fmt.Errorf("%w: Holdout: %v, must be 0 to 0.9", ErrOptions, o.Holdout)
	}
	if !(o.L2 >= 0) || math.IsInf(o.L2, 0) {
		return o, fmt.Errorf("%w: L2: %v, must be 0 or more", ErrOptions, o.L2)
	}
	if o.Hidden < 0 || o.Hidden > maxHidden {
		return o, fmt.Errorf("%w: Hidden: %d, must be 0 to %d", ErrOptions, o.Hidden, maxHidden)
	}
	for _, f := range []struct {
		name  string
		value *int
		usual int
	}{
		{"MinExamples", &o.MinExamples, defaultMinExamples}, {"Parallel", &o.Parallel, defaultParallel},
		{"Iterations", &o.Iterations, defaultIterations}, {"Patience", &o.Patience, defaultPatience},
	} {
		if *f.value < 0 {
			return o, fmt.Errorf("%w: %s: %d, must be 0 or more", ErrOptions, f.name, *f.value)
		}
		if *f.value == 0 {
			*f.value = f.usual
		}
	}
	if o.L2 == 0 {
		o.L2 = defaultL2
	}
	return o, nil
}

// Sample is what a Decider answered to an example.
type Sample struct {
	Question decide.Question
	How      decide.How // it was read
	Logits   []float64  // of the options: log-probabilities will do
	Shipped  float64    // temperature that the model itself divides the logits by; 0 is 1
	Label    int
}

// Set is the samples of one model.
type Set struct {
	Samples []Sample
	Model   string
	Binding decide.Binding
}

// binder is a Decider that says what its answers depend on.
type binder interface {
	Binding() (decide.Binding, error)
}

// Read asks a Decider about all examples. One that applies a calibrator already is ErrExamples. The
// temperature that a model ships is taken out of the logits again: a calibrator takes its place.
func Read(ctx context.Context, d decide.Decider, examples []Example, o Options) (*Set, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if len(examples) == 0 {
		return nil, fmt.Errorf("%w: none", ErrExamples)
	}
	set := &Set{Samples: make([]Sample, len(examples)), Model: o.Model, Binding: o.Binding}
	if b, ok := d.(binder); ok {
		if set.Binding, err = b.Binding(); err != nil {
			return nil, err
		}
	}
	names := make([]string, len(examples))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var workers sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for range min(o.Parallel, len(examples)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(examples) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				var err error
				if set.Samples[i], names[i], err = ask(ctx, d, examples[i], o.Request); err != nil {
					cancel(fmt.Errorf("example %d of %d: %w", i, len(examples), err))
					return
				}
				mu.Lock()
				if done++; o.Progress != nil {
					o.Progress(done, len(examples))
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if set.Model == "" {
		set.Model = names[0]
	}
	return set, nil
}

// ask returns the sample of one example and the model's name.
func ask(ctx context.Context, d decide.Decider, e Example, r decide.Request) (Sample, string, error) {
	s := Sample{Question: e.Question, Label: e.Label}
	if n := count(&e.Question); e.Label < 0 || e.Label >= n {
		return s, "", fmt.Errorf("%w: label %d, must be 0 to %d", ErrExamples, e.Label, n-1)
	}
	r.State, r.Instructions, r.Questions, r.Plan = e.State, e.Instructions, []decide.Question{e.Question}, nil
	r.MinConfidence, r.MinLabelMass, r.MaxSpread = 0, 0, 0
	res, err := d.Decide(ctx, r)
	if err != nil {
		return s, "", err
	}
	if len(res.Answers) != 1 {
		return s, "", fmt.Errorf("%w: %d answers to 1 question", ErrExamples, len(res.Answers))
	}
	a := res.Answers[0]
	if a.Calibrated {
		return s, "", fmt.Errorf("%w: the answers are calibrated already", ErrExamples)
	}
	s.How = decide.How{Method: a.Method, Prior: a.Prior}
	if a.Method != decide.Each {
		// As asked for: an answer has no more orders than options.
		if s.How.Orders = e.Question.Orders; s.How.Orders == 0 {
			s.How.Orders = r.Orders
		}
	}
	if a.Method == decide.Path {
		s.How.Length = a.Length
	}
	if s.Shipped = a.Temperature; s.Shipped == 0 {
		s.Shipped = 1
	}
	s.Logits = make([]float64, len(a.Probabilities))
	for i, p := range a.Probabilities {
		s.Logits[i] = math.Log(max(p, math.SmallestNonzeroFloat64)) * s.Shipped
	}
	return s, res.Model, s.check()
}

// count returns how many options a question has.
func count(q *decide.Question) int {
	if q.Kind == decide.KindBoolean {
		return 2
	}
	return len(q.Options)
}

func (s *Sample) check() error {
	n := count(&s.Question)
	if len(s.Logits) != n {
		return fmt.Errorf("%w: %d logits for %d options", ErrExamples, len(s.Logits), n)
	}
	if s.Label < 0 || s.Label >= n {
		return fmt.Errorf("%w: label %d, must be 0 to %d", ErrExamples, s.Label, n-1)
	}
	if !(s.Shipped >= 0) || math.IsInf(s.Shipped, 0) {
		return fmt.Errorf("%w: a shipped temperature of %v, must be above 0", ErrExamples, s.Shipped)
	}
	if slices.ContainsFunc(s.Logits, func(x float64) bool { return x != x || math.IsInf(x, 0) }) {
		return fmt.Errorf("%w: logits that are not finite", ErrExamples)
	}
	return nil
}

// split shuffles n indexes by the seed and cuts off the held-out part. Without one both are all.
func split(n int, o Options) (train, test []int, err error) {
	all := rand.New(rand.NewPCG(o.Seed, 0x686f6c646f7574)).Perm(n)
	if o.Holdout == 0 {
		slices.Sort(all)
		return all, all, nil
	}
	k := int(math.Round(o.Holdout * float64(n)))
	if k == 0 || k == n {
		return nil, nil, fmt.Errorf("%w: %d, of which %v held out leaves %d to fit and %d to test", ErrExamples, n, o.Holdout, n-k, k)
	}
	train, test = all[k:], all[:k]
	slices.Sort(train)
	slices.Sort(test)
	return train, test, nil
}

func pick[T any](list []T, at []int) []T {
	out := make([]T, len(at))
	for i, j := range at {
		out[i] = list[j]
	}
	return out
}
