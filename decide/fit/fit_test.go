package fit_test

import (
	"bytes"
	"context"
	"errors"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/decide/fit"
	"github.com/hotpath-go/hotpath/internal/race"
)

// skewed answers with log-probabilities that are scale times too far apart, and shifted towards the
// first option.
func skewed(n, options int, scale, shift float64, q decide.Question, seed uint64) []fit.Sample {
	r := rand.New(rand.NewPCG(seed, 1))
	list := make([]fit.Sample, n)
	for i := range list {
		z := make([]float64, options)
		for j := range z {
			z[j] = 2 * r.NormFloat64()
		}
		label, u := options-1, r.Float64()
		for j, p := range softmax(z) {
			if u -= p; u < 0 {
				label = j
				break
			}
		}
		for j := range z {
			z[j] *= scale
		}
		z[0] += shift
		// Log-probabilities, as a Decider's answers give them.
		for j, p := range softmax(z) {
			z[j] = math.Log(p)
		}
		list[i] = fit.Sample{Question: q, Logits: z, Label: label}
	}
	return list
}

func softmax(z []float64) []float64 {
	top, sum := math.Inf(-1), 0.0
	for _, x := range z {
		top = max(top, x)
	}
	p := make([]float64, len(z))
	for i, x := range z {
		p[i] = math.Exp(x - top)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

func choice(options int) decide.Question {
	names := make([]string, options)
	for i := range names {
		names[i] = string(rune('a' + i))
	}
	return decide.Choice("q", "Which?", decide.Names(names...)...)
}

func many(n int) int {
	if race.Enabled {
		return n / 10
	}
	return n
}

// nllAt is the mean negative log-likelihood at a temperature, by its definition.
func nllAt(samples []fit.Sample, t float64) float64 {
	total := 0.0
	for _, s := range samples {
		z := make([]float64, len(s.Logits))
		for i, x := range s.Logits {
			z[i] = x / t
		}
		total -= math.Log(softmax(z)[s.Label])
	}
	return total / float64(len(samples))
}

// TestTemperatureRecovers fits the scale of a model that is too sure of itself, or not enough, and
// compares with a search that knows no gradient.
func TestTemperatureRecovers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scale   float64
		options int
		q       decide.Question
	}{{3, 4, choice(4)}, {0.4, 2, decide.Boolean("q", "Is it?")}, {8, 5, decide.Score("q", "How much?", "a", "b", "c", "d", "e")}, {1, 20, choice(20)}} {
		set := &fit.Set{Samples: skewed(many(120_000/max(c.options, 6)), c.options, c.scale, 0, c.q, 7), Model: "synthetic"}
		cal, report, err := set.Temperature(fit.Options{Holdout: 0.2, Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		got := cal.Temperature(decide.How{}, c.q.Kind, c.options)
		if tolerance := 0.02 * c.scale; !race.Enabled && math.Abs(got-c.scale) > tolerance {
			t.Errorf("%d options: temperature %v, want %v within %v", c.options, got, c.scale, tolerance)
		}
		if report.After.NLL > report.Before.NLL+1e-3 || report.After.Accuracy != report.Before.Accuracy || !report.HeldOut {
			t.Errorf("report\n%v", report)
		}
		if c.scale == 3 && !race.Enabled && (report.Before.ECE < 0.1 || report.After.ECE > 0.02) {
			t.Errorf("calibration error %v to %v", report.Before.ECE, report.After.ECE)
		}
		// Golden section on all of the samples.
		all, _, err := set.Temperature(fit.Options{})
		if err != nil {
			t.Fatal(err)
		}
		low, high := math.Log(0.05), math.Log(50.0)
		for high-low > 1e-5 {
			third := (high - low) / 3
			if nllAt(set.Samples, math.Exp(low+third)) < nllAt(set.Samples, math.Exp(high-third)) {
				high -= third
			} else {
				low += third
			}
		}
		if want := math.Exp(low); math.Abs(all.Temperature(decide.How{}, c.q.Kind, c.options)/want-1) > 1e-4 {
			t.Errorf("%d options: temperature %v, a search finds %v", c.options, all.Temperature(decide.How{}, c.q.Kind, c.options), want)
		}
	}
}

// TestBands fits a scale of its own to each band of option counts and to each kind.
func TestBands(t *testing.T) {
	t.Parallel()
	set := &fit.Set{}
	want := map[int]float64{2: 2, 3: 4, 4: 4, 9: 0.5}
	for options, scale := range want {
		set.Samples = append(set.Samples, skewed(many(8_000), options, scale, 0, choice(options), uint64(options))...)
	}
	set.Samples = append(set.Samples, skewed(10, 30, 9, 0, choice(30), 5)...)
	cal, _, err := set.Temperature(fit.Options{MinExamples: 100})
	if err != nil {
		t.Fatal(err)
	}
	for options, scale := range want {
		if got := cal.Temperature(decide.How{}, decide.KindChoice, options); !race.Enabled && math.Abs(got/scale-1) > 0.05 {
			t.Errorf("%d options: %v, want %v", options, got, scale)
		}
	}
	whole := cal.Temperature(decide.How{}, decide.KindChoice, 30)
	if whole == 1 || whole != cal.Temperature(decide.How{}, decide.KindChoice, 4000) {
		t.Errorf("a band of few examples has %v, one of none %v; both must be the kind's", whole, cal.Temperature(decide.How{}, decide.KindChoice, 4000))
	}
	if got := cal.Temperature(decide.How{}, decide.KindScore, 3); got != 1 {
		t.Errorf("a kind without examples has %v", got)
	}
}

// TestPlattRecovers finds a scale and a shift that were put in.
func TestPlattRecovers(t *testing.T) {
	t.Parallel()
	set := &fit.Set{Samples: skewed(many(20_000), 2, 2, 1.5, decide.Boolean("q", "Is it?"), 11)}
	cal, report, err := set.Platt(fit.Options{Holdout: 0.25, L2: 1e-9})
	if err != nil {
		t.Fatal(err)
	}
	// The log-odds are 2x + 1.5, so x is half of them less 0.75.
	if p := cal.Platt; !race.Enabled && (math.Abs(p.Scale/0.5-1) > 0.02 || math.Abs(p.Shift+0.75) > 0.04) {
		t.Errorf("%+v, want scale 0.5 and shift -0.75", p)
	}
	if report.After.NLL >= report.Before.NLL || report.After.ECE >= report.Before.ECE {
		t.Errorf("%v", report)
	}
}

// TestVectorRecovers takes away a shift that a temperature cannot.
func TestVectorRecovers(t *testing.T) {
	t.Parallel()
	set := &fit.Set{Samples: skewed(many(40_000), 3, 2, 3, choice(3), 13)}
	vector, report, err := set.Vector(fit.Options{Holdout: 0.25, L2: 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	v := vector.Vectors[0]
	for i, s := range v.Scale {
		if !race.Enabled && math.Abs(s/0.5-1) > 0.05 {
			t.Errorf("scale of option %d: %v, want 0.5", i, s)
		}
	}
	if shift := (v.Shift[1]+v.Shift[2])/2 - v.Shift[0]; !race.Enabled && math.Abs(shift-1.5) > 0.08 {
		t.Errorf("option 0 is shifted by %v, want -1.5", -shift)
	}
	_, temperature, err := set.Temperature(fit.Options{Holdout: 0.25})
	if err != nil {
		t.Fatal(err)
	}
	if report.After.NLL >= temperature.After.NLL-0.02 || report.After.Accuracy <= report.Before.Accuracy {
		t.Errorf("%v\n%v", report, temperature)
	}
}

// clusters are hidden states around one centre for each option.
func clusters(n, width, options int, noise float64, seed uint64) []fit.Row {
	r := rand.New(rand.NewPCG(seed, 2))
	centres := make([][]float64, options)
	for i := range centres {
		for range width {
			centres[i] = append(centres[i], r.NormFloat64())
		}
	}
	rows := make([]fit.Row, n)
	for i := range rows {
		rows[i].Label = r.IntN(options)
		for j := range width {
			// One value is large and the same for all, as hidden states have them.
			x := 3*centres[rows[i].Label][j] + noise*r.NormFloat64()
			if j == 0 {
				x = 500
			}
			rows[i].State = append(rows[i].State, float32(x))
		}
	}
	return rows
}

func TestHeadSeparates(t *testing.T) {
	t.Parallel()
	for _, hidden := range []int{0, 16} {
		h, report, err := fit.Head(choice(5), clusters(600, 48, 5, 1, 5), fit.Options{Seed: 1, Hidden: hidden})
		if err != nil {
			t.Fatal(err)
		}
		if report.After.Accuracy < 0.99 {
			t.Errorf("hidden %d: %v", hidden, report)
		}
		// Rows that neither training nor stopping saw, of the same centres.
		fresh := clusters(1000, 48, 5, 1, 5)[600:]
		right := 0
		for _, row := range fresh {
			p, err := h.Probabilities(row.State)
			if err != nil {
				t.Fatal(err)
			}
			if best(p) == row.Label {
				right++
			}
		}
		if part := float64(right) / float64(len(fresh)); part < 0.99 {
			t.Errorf("hidden %d: %v right", hidden, part)
		}
	}
}

// TestHeadBends needs the hidden layer: no line parts the two options.
func TestHeadBends(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 9))
	var rows []fit.Row
	for range 800 {
		x, y := r.Float64()*2-1, r.Float64()*2-1
		if math.Abs(x) < 0.05 || math.Abs(y) < 0.05 {
			continue
		}
		label := 0
		if x*y > 0 {
			label = 1
		}
		rows = append(rows, fit.Row{State: []float32{float32(x), float32(y)}, Label: label})
	}
	q := decide.Boolean("q", "Is it?")
	_, linear, err := fit.Head(q, rows, fit.Options{Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	_, bent, err := fit.Head(q, rows, fit.Options{Seed: 2, Hidden: 12, L2: 1e-6, Iterations: 500})
	if err != nil {
		t.Fatal(err)
	}
	if linear.After.Accuracy > 0.7 || bent.After.Accuracy < 0.97 {
		t.Errorf("linear %v, with a hidden layer %v", linear, bent)
	}
}

// TestHeadStopsEarly trains on labels that mean nothing: the best head on the held-out part is close
// to the frequencies, and not the one that has learnt the rows by heart.
func TestHeadStopsEarly(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 4))
	rows := make([]fit.Row, 200)
	for i := range rows {
		rows[i].Label = r.IntN(3)
		for range 64 {
			rows[i].State = append(rows[i].State, float32(r.NormFloat64()))
		}
	}
	_, report, err := fit.Head(choice(3), rows, fit.Options{Seed: 1, L2: 1e-9, Patience: 10})
	if err != nil {
		t.Fatal(err)
	}
	if report.After.NLL > report.Before.NLL+0.15 {
		t.Errorf("%v", report)
	}
}

func best(p []float64) int {
	top := 0
	for i := range p {
		if p[i] > p[top] {
			top = i
		}
	}
	return top
}

// TestSameSeedSameBits fits twice, at once, and compares the bits.
func TestSameSeedSameBits(t *testing.T) {
	t.Parallel()
	set := &fit.Set{Samples: skewed(2000, 4, 3, 1, choice(4), 3)}
	rows := clusters(200, 16, 3, 4, 8)
	type result struct {
		vector *decide.Calibrator
		warm   *decide.Calibrator
		head   *decide.Head
	}
	results := make(chan result, 3)
	for range cap(results) {
		go func() {
			var r result
			r.vector, _, _ = set.Vector(fit.Options{Holdout: 0.2, Seed: 5})
			r.warm, _, _ = set.Temperature(fit.Options{Holdout: 0.2, Seed: 5})
			r.head, _, _ = fit.Head(choice(3), rows, fit.Options{Seed: 5, Hidden: 8})
			results <- r
		}()
	}
	first := <-results
	if first.vector == nil || first.warm == nil || first.head == nil {
		t.Fatal("no fit")
	}
	for range cap(results) - 1 {
		if again := <-results; !reflect.DeepEqual(again, first) {
			t.Error("the same seed gave other numbers")
		}
	}
	other, _, err := fit.Head(choice(3), rows, fit.Options{Seed: 6, Hidden: 8})
	if err != nil || reflect.DeepEqual(other, first.head) {
		t.Errorf("another seed gave the same numbers, %v", err)
	}
}

// TestMeasure has numbers worked out by hand.
func TestMeasure(t *testing.T) {
	t.Parallel()
	m := fit.Measure([][]float64{{0.9, 0.1}, {0.6, 0.4}, {0.2, 0.8}, {0.5, 0.5}}, []int{0, 1, 1, 0})
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"accuracy", m.Accuracy, 0.75},
		{"NLL", m.NLL, -(math.Log(0.9) + math.Log(0.4) + math.Log(0.8) + math.Log(0.5)) / 4},
		{"Brier", m.Brier, (0.02 + 0.72 + 0.08 + 0.5) / 4},
		// One answer in each bin: |1-.9|, |0-.6|, |1-.8|, |1-.5|.
		{"ECE", m.ECE, (0.1 + 0.6 + 0.2 + 0.5) / 4},
	} {
		if math.Abs(c.got-c.want) > 1e-12 {
			t.Errorf("%s %v, want %v", c.name, c.got, c.want)
		}
	}
	sure := fit.Measure([][]float64{{1, 0}, {1, 0}}, []int{0, 0})
	if sure.ECE != 0 || sure.Bins[fit.Bins-1].Examples != 2 {
		t.Errorf("%+v", sure)
	}
}

func TestAbstention(t *testing.T) {
	t.Parallel()
	p := [][]float64{{0.9, 0.1}, {0.6, 0.4}, {0.8, 0.2}, {0.7, 0.3}}
	got := fit.Abstention(p, []int{0, 1, 0, 1}, 4)
	want := []fit.Point{{0.6, 1, 0.5}, {0.7, 0.75, 2.0 / 3}, {0.8, 0.5, 1}, {0.9, 0.25, 1}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := fit.Abstention([][]float64{{0.5, 0.5}, {0.5, 0.5}}, []int{0, 1}, 4); len(got) != 1 || got[0].Coverage != 1 {
		t.Errorf("equal confidences: %v", got)
	}
}

func TestPNG(t *testing.T) {
	t.Parallel()
	set := &fit.Set{Samples: skewed(4000, 4, 3, 0, choice(4), 21)}
	_, report, err := set.Temperature(fit.Options{Holdout: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := report.PNG(&b); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(b.Bytes()))
	if err != nil || img.Bounds().Dx() < 300 {
		t.Fatalf("%v", err)
	}
	if path := os.Getenv("FIT_PNG"); path != "" {
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if text := report.String(); !strings.Contains(text, "2000 held out") || !strings.Contains(text, "as read") {
		t.Error(text)
	}
}

// scripted is a Decider with set answers.
type scripted struct {
	binding    decide.Binding
	calibrated bool
}

func (s scripted) Binding() (decide.Binding, error) { return s.binding, nil }

func (s scripted) Decide(_ context.Context, r decide.Request) (*decide.Result, error) {
	p := []float64{0.9, 0.1}
	if string(r.State.Messages()[0].Content) == "no" {
		p = []float64{0, 1}
	}
	a, err := decide.NewAnswer(r, r.Questions[0], p)
	a.Calibrated = s.calibrated
	return &decide.Result{Model: "scripted", Answers: []decide.Answer{a}}, err
}

func TestRead(t *testing.T) {
	t.Parallel()
	q := decide.Boolean("q", "Is it?")
	var examples []fit.Example
	for i := range 40 {
		examples = append(examples, fit.Example{State: decide.Text([]string{"yes", "no"}[i%2]), Question: q, Label: i % 2})
	}
	d := scripted{binding: decide.Binding{Model: decide.Hash{7}}}
	calls := 0
	cal, report, err := fit.Temperature(context.Background(), d, examples, fit.Options{
		Holdout: 0.2, Progress: func(done, total int) {
			if calls++; done != calls || total != 40 {
				t.Errorf("progress %d of %d at call %d", done, total, calls)
			}
		},
	})
	if err != nil || calls != 40 {
		t.Fatal(err)
	}
	// Every answer is right, so that nothing holds the temperature but its range.
	if cal.Binding != d.binding || cal.Model != "scripted" || report.After.Accuracy != 1 || cal.Temperature(decide.How{}, decide.KindBoolean, 2) > 0.2 {
		t.Errorf("%+v\n%v", cal, report)
	}
	for name, c := range map[string]struct {
		d        decide.Decider
		examples []fit.Example
		o        fit.Options
		want     error
	}{
		"none":       {d, nil, fit.Options{}, fit.ErrExamples},
		"label":      {d, []fit.Example{{State: decide.Text("x"), Question: q, Label: 2}}, fit.Options{}, fit.ErrExamples},
		"calibrated": {scripted{calibrated: true}, examples, fit.Options{}, fit.ErrExamples},
		"holdout":    {d, examples, fit.Options{Holdout: 1}, fit.ErrOptions},
		"too few":    {d, examples[:2], fit.Options{Holdout: 0.1}, fit.ErrExamples},
	} {
		_, _, err := fit.Temperature(context.Background(), c.d, c.examples, c.o)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := fit.Read(ctx, d, examples, fit.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestHeadRefuses(t *testing.T) {
	t.Parallel()
	good := clusters(50, 4, 2, 1, 1)
	nan := clusters(50, 4, 2, 1, 1)
	nan[3].State[2] = float32(math.NaN())
	short := clusters(50, 4, 2, 1, 1)
	short[9].State = short[9].State[:2]
	for name, c := range map[string]struct {
		q    decide.Question
		rows []fit.Row
		o    fit.Options
		want error
	}{
		"none":   {choice(2), nil, fit.Options{}, fit.ErrExamples},
		"nan":    {choice(2), nan, fit.Options{}, fit.ErrExamples},
		"short":  {choice(2), short, fit.Options{}, fit.ErrExamples},
		"labels": {choice(1), good, fit.Options{}, fit.ErrExamples},
		"hidden": {choice(2), good, fit.Options{Hidden: -1}, fit.ErrOptions},
	} {
		if _, _, err := fit.Head(c.q, c.rows, c.o); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
