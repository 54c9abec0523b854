package cpu

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/sample"
)

// The head: logits of the wanted rows, and what is derived from them.

// headRows is how many rows have their logits at once.
const headRows = 32

// headState is what the head keeps between steps.
type headState struct {
	results []backend.Result // of the step's wants
	logits  []float32        // up to headRows x Vocab
	in      input            // the rows of those logits
}

// outputs computes the results of all wants. The rows of in are the wanted ones, in order.
func (r *Runner) outputs() error {
	j := &r.jobs.head
	wants := r.plan.wants
	j.results = slices.Grow(j.results[:0], len(wants))[:len(wants)]
	// Rows are taken in runs that need the same: all logits, or some.
	for from := 0; from < len(wants); {
		row, to := wants[from].row, from
		all := false
		for to < len(wants) && wants[to].row == row {
			all = all || needsAll(wants[to].Want)
			to++
		}
		if !all {
			for i := from; i < to; i++ {
				r.some(i)
			}
			from = to
			continue
		}
		// More rows that need all logits, up to headRows.
		for to < len(wants) && (wants[to].row-row < headRows-1 || wants[to].row == wants[to-1].row) && needsAll(wants[to].Want) {
			to++
		}
		if err := r.all(from, to); err != nil {
			return err
		}
		from = to
	}
	return nil
}

func needsAll(w *backend.Want) bool {
	return w.Logits || w.LogSumExp || w.TopK > 0 || w.Sample != nil
}

// some computes a want of labels or the hidden row.
func (r *Runner) some(i int) {
	w, res, head := &r.plan.wants[i], &r.jobs.head.results[i], r.weights.head
	res.Reset()
	for _, id := range w.Labels {
		v := head.kernel.one(head, &r.bufs.in, w.row, int(id))
		if v != v {
			res.Reset()
			res.Err = fmt.Errorf("%w: label %d", backend.ErrNaN, id)
			return
		}
		res.Labels = append(res.Labels, v)
	}
	if w.Hidden {
		res.Hidden = append(res.Hidden, r.bufs.in.row(w.row)...)
	}
}

// all computes wants from..to-1, whose rows need all logits.
func (r *Runner) all(from, to int) error {
	j, wants, vocab := &r.jobs.head, r.plan.wants, r.program.Vocab
	first, last := wants[from].row, wants[to-1].row
	rows := last - first + 1
	j.logits = grown(j.logits, rows*vocab)
	j.in = r.bufs.in.view(first, rows)
	if err := r.linear(&j.in, product{r.weights.head, j.logits, vocab}); err != nil {
		return err
	}
	d := &r.jobs.derive
	d.from, d.first = from, first
	if err := d.sumExp(rows); err != nil {
		return err
	}
	return r.workers.Run(d, to-from)
}

// deriveJob computes what wants ask of rows whose logits are there. A task is a want.
type deriveJob struct {
	r           *Runner
	from, first int
	segments    segmentJob
}

func (j *deriveJob) Do(worker, task int) {
	i := j.from + task
	w, res := &j.r.plan.wants[i], &j.r.jobs.head.results[i]
	res.Reset()
	if err := j.derive(w, res, worker); err != nil {
		res.Reset()
		res.Err = err
	}
}

func (j *deriveJob) derive(w *wantedRow, res *backend.Result, worker int) error {
	vocab := j.r.program.Vocab
	row := j.r.jobs.head.logits[(w.row-j.first)*vocab:][:vocab]
	lse := j.segments.logSumExp(w.row - j.first)
	if lse != lse {
		return fmt.Errorf("%w: among %d", backend.ErrNaN, vocab)
	}
	if w.LogSumExp {
		res.LogSumExp = lse
	}
	if w.Logits {
		res.Logits = append(res.Logits, row...)
	}
	for _, id := range w.Labels {
		res.Labels = append(res.Labels, row[id])
	}
	s := &j.r.derived[worker]
	if w.TopK > 0 {
		var err error
		if s.top, err = sample.TopK(s.top[:0], row, nil, w.TopK); err != nil {
			return err
		}
		for _, l := range s.top {
			res.TopIDs, res.TopLogits = append(res.TopIDs, l.ID), append(res.TopLogits, l.Value)
		}
	}
	if c := w.Sample; c != nil {
		choice, err := s.sampler.Choose(row, c.Params, c.Mask, c.History, c.Key)
		if err != nil {
			return err
		}
		choice.Top = append(res.Choice.Top, choice.Top...) // the sampler's own list lives until its next call
		res.Choice = choice
	}
	if w.Hidden {
		res.Hidden = append(res.Hidden, j.r.bufs.in.row(w.row)...)
	}
	return nil
}

// deriveScratch is one worker's memory.
type deriveScratch struct {
	sampler sample.Sampler
	top     []sample.Logit
}

// segmentJob computes largest logit and sum of exponentials of fixed segments of the vocabulary. A
// task is a segment of a row.
type segmentJob struct {
	r        *Runner
	segments int
	top, sum []float32
}

const segment = 8192

func (j *deriveJob) sumExp(rows int) error {
	s := &j.segments
	s.r, s.segments = j.r, (j.r.program.Vocab+segment-1)/segment
	n := rows * s.segments
	s.top, s.sum = grown(s.top, n), grown(s.sum, n)
	return j.r.workers.Run(s, n)
}

func (s *segmentJob) Do(_, task int) {
	vocab := s.r.program.Vocab
	row, lo := task/s.segments, task%s.segments*segment
	logits := s.r.jobs.head.logits[row*vocab:][:vocab]
	s.top[task], s.sum[task] = s.r.k.sumExp(logits[lo:min(lo+segment, vocab)])
}

// logSumExp merges the segments of a row, in order.
func (s *segmentJob) logSumExp(row int) float32 {
	top, sum := s.top[row*s.segments:][:s.segments], s.sum[row*s.segments:][:s.segments]
	best := slices.MaxFunc(top, func(a, b float32) int { return cmp.Compare(a, b) })
	total := 0.0
	for i, t := range top {
		total += float64(float64(sum[i]) * float64(s.r.k.exp(t-best)))
	}
	return best + float32(math.Log(total))
}

// output gives the results of the last step to the caller, whose buffers the next step gets.
func (r *Runner) output(out *backend.Output) {
	list := r.jobs.head.results[:len(r.plan.wants)]
	out.Resize(len(list))
	for i := range list {
		out.Results[i], list[i] = list[i], out.Results[i]
	}
}
