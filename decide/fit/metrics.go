package fit

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hotpath-go/hotpath/decide"
)

// Bins is the number of equal parts of the range of confidence that the calibration error is
// computed over.
const Bins = 15

// Metrics says how good probabilities are. All are means over the examples; for NLL, Brier and ECE
// less is better.
type Metrics struct {
	Examples int
	Accuracy float64   // part whose most probable option is right
	NLL      float64   // -ln of the right option's probability
	Brier    float64   // squared distance of the probabilities from certainty of the right option, 0 to 2
	ECE      float64   // distance of confidence from accuracy over the bins, 0 to 1
	Bins     [Bins]Bin // by the probability of the answer
}

// Bin holds the answers whose probability lies in one part of the range.
type Bin struct {
	Examples   int
	Confidence float64 // mean probability of the answers
	Accuracy   float64 // part of them that is right
}

// Measure computes the metrics of probability rows with their right options. A probability of 0 for
// the right option counts as the least positive float64.
func Measure(p [][]float64, labels []int) Metrics {
	m := Metrics{Examples: len(p)}
	if len(p) == 0 {
		return m
	}
	n := float64(len(p))
	for i, row := range p {
		top := argmax(row)
		right := 0.0
		if top == labels[i] {
			right = 1
		}
		m.Accuracy += right / n
		m.NLL -= math.Log(max(row[labels[i]], math.SmallestNonzeroFloat64)) / n
		for j, x := range row {
			if j == labels[i] {
				x = 1 - x
			}
			m.Brier += x * x / n
		}
		b := &m.Bins[min(int(row[top]*Bins), Bins-1)]
		b.Examples++
		b.Confidence += row[top]
		b.Accuracy += right
	}
	for i := range m.Bins {
		b := &m.Bins[i]
		if b.Examples == 0 {
			continue
		}
		m.ECE += math.Abs(b.Accuracy-b.Confidence) / n
		b.Confidence /= float64(b.Examples)
		b.Accuracy /= float64(b.Examples)
	}
	return m
}

func argmax(p []float64) int {
	top := 0
	for i, x := range p {
		if x > p[top] {
			top = i
		}
	}
	return top
}

// Probabilities returns the probabilities of the samples under a calibrator, nil for those that the
// model gives itself, and their labels.
func (s *Set) Probabilities(c *decide.Calibrator) (p [][]float64, labels []int) {
	return probabilities(s.Samples, c)
}

func probabilities(samples []Sample, c *decide.Calibrator) (p [][]float64, labels []int) {
	if c == nil {
		c = &decide.Calibrator{}
	}
	for i := range samples {
		x := &samples[i]
		row, _, fitted := c.Apply(x.How, &x.Question, x.Logits)
		if !fitted && x.Shipped > 0 && x.Shipped != 1 {
			shipped := decide.Calibrator{Bands: []decide.Band{{How: x.How, Kind: x.Question.Kind, From: 1, To: len(x.Logits), Temperature: x.Shipped}}}
			row, _, _ = shipped.Apply(x.How, &x.Question, x.Logits)
		}
		p = append(p, row)
		labels = append(labels, samples[i].Label)
	}
	return p, labels
}

// Point is one threshold of an abstention curve.
type Point struct {
	Threshold float64 // answers with this probability or more are given
	Coverage  float64 // part of the questions that are answered
	Accuracy  float64 // part of the answers that is right
}

// Abstention returns what accuracy is left when only the surest answers are given, from all of them
// to the fewest, in up to points steps of equal coverage.
func Abstention(p [][]float64, labels []int, points int) []Point {
	type answer struct {
		confidence float64
		right      bool
	}
	list := make([]answer, len(p))
	for i, row := range p {
		top := argmax(row)
		list[i] = answer{row[top], top == labels[i]}
	}
	slices.SortStableFunc(list, func(a, b answer) int {
		switch {
		case a.confidence > b.confidence:
			return -1
		case a.confidence < b.confidence:
			return 1
		}
		return 0
	})
	var curve []Point
	right := make([]int, len(list)+1)
	for i, a := range list {
		right[i+1] = right[i]
		if a.right {
			right[i+1]++
		}
	}
	last := 0
	for k := points; k > 0; k-- {
		n := (len(list)*k + points - 1) / points
		// Equal confidences are answered together.
		for n < len(list) && n > 0 && list[n].confidence == list[n-1].confidence {
			n++
		}
		if n == 0 || n == last {
			continue
		}
		last = n
		curve = append(curve, Point{list[n-1].confidence, float64(n) / float64(len(list)), float64(right[n]) / float64(n)})
	}
	return curve
}

// Report compares what was with what a fit made of it.
type Report struct {
	Fitted        int    // examples that were fitted
	HeldOut       bool   // whether the metrics are of other examples
	What          string // what was fitted, such as "temperature"
	Baseline      string // what Before is of
	Before, After Metrics
}

// String prints the report as a small table.
func (r *Report) String() string {
	var b strings.Builder
	on := "the same"
	if r.HeldOut {
		on = fmt.Sprintf("%d held out", r.After.Examples)
	}
	fmt.Fprintf(&b, "%s: fitted on %d examples, measured on %s\n", r.What, r.Fitted, on)
	width := max(len(r.Baseline), len(r.What))
	fmt.Fprintf(&b, "%-*s  accuracy     NLL   Brier     ECE\n", width, "")
	for _, row := range []struct {
		name string
		m    Metrics
	}{{r.Baseline, r.Before}, {r.What, r.After}} {
		fmt.Fprintf(&b, "%-*s  %8.4f  %6.4f  %6.4f  %6.4f\n", width, row.name, row.m.Accuracy, row.m.NLL, row.m.Brier, row.m.ECE)
	}
	return b.String()
}
