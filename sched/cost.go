package sched

import (
	"math"
	"time"
)

// Shape is what a step's duration depends on.
type Shape struct {
	Rows    int   // rows computed
	Seqs    int   // items
	Attend  int64 // positions attended, summed over rows
	Stream  int64 // positions of distinct context read from memory
	Decodes int   // rows that are decodes; not part of the cost
}

// Add returns the shape of both together.
func (a Shape) Add(b Shape) Shape {
	return Shape{a.Rows + b.Rows, a.Seqs + b.Seqs, a.Attend + b.Attend, a.Stream + b.Stream, a.Decodes + b.Decodes}
}

// chunk is the shape of rows new rows after a context; stream is off where another item of the
// step already reads that context.
func chunk(context, rows int, stream bool) Shape {
	s := Shape{Rows: rows, Seqs: 1, Attend: int64(rows)*int64(context) + int64(rows)*int64(rows+1)/2}
	if stream {
		s.Stream = int64(context + rows)
	}
	return s
}

// The row count up to which a step mostly waits for the weights to be read.
const fewRows = 16

const features = 5

func (s Shape) features() [features]float64 {
	return [features]float64{
		1,
		float64(min(s.Rows, fewRows)),
		float64(max(s.Rows-fewRows, 0)),
		float64(s.Attend),
		float64(s.Stream),
	}
}

// Cost predicts a step's duration: seconds per step, per row of the first 16, per further row, per
// position attended and per position streamed. The zero Cost knows nothing and predicts 0, which
// sets no limit.
type Cost [features]float64

// Time predicts the duration of a step.
func (c Cost) Time(s Shape) time.Duration { return time.Duration(c.seconds(s) * 1e9) }

func (c Cost) seconds(s Shape) float64 {
	t := 0.0
	for i, f := range s.features() {
		t += c[i] * f
	}
	return t
}

// Sample is a measured step.
type Sample struct {
	Shape Shape
	Took  time.Duration
}

// Fit returns the cost model that best predicts the samples, with coefficients that are not
// negative and errors weighed relative to each step's duration.
func Fit(samples []Sample) Cost {
	var f Fitter
	for _, s := range samples {
		f.Add(s, 1)
	}
	return f.Cost()
}

// Fitter fits a Cost to a running stream of samples. The zero value is ready.
type Fitter struct {
	xx [features][features]float64
	xy [features]float64
	n  float64
}

// Add takes in a sample, after scaling what was seen so far by keep (0 to 1).
func (f *Fitter) Add(s Sample, keep float64) {
	y := s.Took.Seconds()
	if y <= 0 || s.Shape.Rows <= 0 {
		return
	}
	x := s.Shape.features()
	w := 1 / (y * y)
	for i := range x {
		for j := range x {
			f.xx[i][j] = f.xx[i][j]*keep + w*x[i]*x[j]
		}
		f.xy[i] = f.xy[i]*keep + w*x[i]*y
	}
	f.n = f.n*keep + 1
}

// Cost solves the least squares problem for coefficients that are not negative, by coordinate
// descent on the normal equations scaled to a unit diagonal: five unknowns need no more.
func (f *Fitter) Cost() Cost {
	var scale, c [features]float64
	for i := range scale {
		if f.xx[i][i] > 0 {
			scale[i] = 1 / math.Sqrt(f.xx[i][i])
		}
	}
	for range 20000 {
		change := 0.0
		for i := range c {
			if scale[i] == 0 {
				continue
			}
			g := f.xy[i] * scale[i]
			for j := range c {
				if j != i {
					g -= f.xx[i][j] * scale[i] * scale[j] * c[j]
				}
			}
			next := max(g, 0)
			change = max(change, math.Abs(next-c[i])/(math.Abs(next)+1e-9))
			c[i] = next
		}
		if change < 1e-9 {
			break
		}
	}
	for i := range c {
		c[i] *= scale[i]
	}
	return c
}

// Samples is how many samples the fit rests on, older ones counted for less.
func (f *Fitter) Samples() float64 { return f.n }
