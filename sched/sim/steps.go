package sim

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/hotpath-go/hotpath/sched"
)

const stepsHeading = "rows,seqs,attend,stream,decodes,nanoseconds"

// WriteSteps writes measured steps as comma-separated lines under a heading.
func WriteSteps(w io.Writer, steps []sched.Sample) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, stepsHeading)
	for _, s := range steps {
		fmt.Fprintf(b, "%d,%d,%d,%d,%d,%d\n", s.Shape.Rows, s.Shape.Seqs, s.Shape.Attend, s.Shape.Stream, s.Shape.Decodes, s.Took.Nanoseconds())
	}
	return b.Flush()
}

// ReadSteps reads what WriteSteps wrote.
func ReadSteps(r io.Reader) ([]sched.Sample, error) {
	in := csv.NewReader(r)
	in.FieldsPerRecord = 6
	in.ReuseRecord = true
	if _, err := in.Read(); err != nil {
		return nil, fmt.Errorf("%w: heading: %w", ErrTrace, err)
	}
	var out []sched.Sample
	for line := 2; ; line++ {
		f, err := in.Read()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrTrace, line, err)
		}
		var n [6]int64
		for i := range n {
			if n[i], err = strconv.ParseInt(f[i], 10, 64); err != nil || n[i] < 0 {
				return nil, fmt.Errorf("%w: line %d: field %d: %q", ErrTrace, line, i+1, f[i])
			}
		}
		out = append(out, sched.Sample{
			Shape: sched.Shape{Rows: int(n[0]), Seqs: int(n[1]), Attend: n[2], Stream: n[3], Decodes: int(n[4])},
			Took:  time.Duration(n[5]),
		})
	}
}

// Fit says how well a cost model predicts steps: relative errors, 0.2 for 20 %.
type Fit struct{ Mean, Median, P90 float64 }

// Judge compares predictions with measured steps.
func Judge(c sched.Cost, steps []sched.Sample) Fit {
	var errs []float64
	sum := 0.0
	for _, s := range steps {
		if s.Took > 0 {
			e := math.Abs(float64(c.Time(s.Shape)-s.Took)) / float64(s.Took)
			errs = append(errs, e)
			sum += e
		}
	}
	if len(errs) == 0 {
		return Fit{}
	}
	slices.Sort(errs)
	return Fit{Mean: sum / float64(len(errs)), Median: errs[len(errs)/2], P90: errs[len(errs)*9/10]}
}
