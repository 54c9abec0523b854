package cpu

// product is one matrix with its outputs: y[r*ld+o].
type product struct {
	m  *matrix
	y  []float32
	ld int
}

// linearJob multiplies one input with up to three matrices. A task is a run of panels of one of
// them, for all rows.
type linearJob struct {
	in    *input
	list  [3]product
	n     int
	chunk int // panels in a task
}

// linear computes the products of the input with the matrices, with biases.
func (r *Runner) linear(in *input, list ...product) error {
	j := &r.jobs.linear
	j.in, j.n = in, copy(j.list[:], list)
	panels := 0
	for _, p := range list {
		panels += p.m.panels()
	}
	// Some tasks for each worker, and none that takes long, so that one that is held up does not hold
	// up the others.
	j.chunk = max(1, min(maxChunk, (panels+4*r.caps.Workers-1)/(4*r.caps.Workers)))
	if group := list[0].m.kernel.group; group != nil {
		if g := group(in.rows); j.chunk > g {
			j.chunk = (j.chunk + g - 1) / g * g
		}
	}
	tasks := 0
	for _, p := range list {
		tasks += (p.m.panels() + j.chunk - 1) / j.chunk
	}
	return r.workers.Run(j, tasks)
}

// maxChunk is the most panels in a task: the head has thousands.
const maxChunk = 96

// forms returns the forms of activations that the matrices take.
func forms(list ...*matrix) form {
	var f form
	for _, m := range list {
		f |= m.kernel.form
	}
	return f
}

func (j *linearJob) Do(_, task int) {
	for _, p := range j.list[:j.n] {
		tasks := (p.m.panels() + j.chunk - 1) / j.chunk
		if task >= tasks {
			task -= tasks
			continue
		}
		lo := task * j.chunk
		hi := min(lo+j.chunk, p.m.panels())
		p.m.kernel.multiply(p.m, j.in, lo, hi, p.y, p.ld)
		if p.m.bias != nil {
			from, to := lo*panelRows, min(hi*panelRows, p.m.rows)
			for r := range j.in.rows {
				y := p.y[r*p.ld+from : r*p.ld+to]
				for i, b := range p.m.bias[from:to] {
					y[i] += b
				}
			}
		}
		return
	}
}
