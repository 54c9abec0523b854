package cpu

import "github.com/hotpath-go/hotpath/model/arch"

// normJob adds a residual to rows and normalises them into the input. A task is a row.
type normJob struct {
	r        *Runner
	n        *arch.Norm
	residual []float32
}

// norm adds the residual, where there is one, to the rows of x and writes the normalised rows to the
// input of the following products.
func (r *Runner) norm(n *arch.Norm, residual []float32, rows int, f form) error {
	j := &r.jobs.norm
	j.n, j.residual = n, residual
	r.bufs.in.reset(rows, r.program.Width, f)
	return r.workers.Run(j, rows)
}

func (j *normJob) Do(_, row int) {
	in, k, n := &j.r.bufs.in, j.r.k, j.r.program.Width
	x := j.r.bufs.x[row*n : (row+1)*n]
	if j.residual != nil {
		k.add(x, j.residual[row*n:(row+1)*n])
	}
	k.norm(in.row(row), x, j.n.Gain, j.n.Epsilon)
	in.fill(row, 0, n)
}

// fillJob copies rows into the inner input. A task is a row.
type fillJob struct {
	r   *Runner
	src []float32
}

// fill makes rows of src the inner input.
func (r *Runner) fill(src []float32, rows, cols int, f form) error {
	r.jobs.fill.src = src
	r.bufs.inner.reset(rows, cols, f)
	return r.workers.Run(&r.jobs.fill, rows)
}

func (j *fillJob) Do(_, row int) {
	in := &j.r.bufs.inner
	copy(in.row(row), j.src[row*in.cols:(row+1)*in.cols])
	in.fill(row, 0, in.cols)
}

// gateJob multiplies the rows of an input with their gate's activation. A task is some columns of
// a row.
type gateJob struct {
	r      *Runner
	in     *input
	gate   []float32
	pieces int
}

// gateColumns is the width of a task: whole quant blocks.
const gateColumns = 1024

func (r *Runner) gate(gate []float32, in *input) error {
	j := &r.jobs.gate
	j.in, j.gate, j.pieces = in, gate, (in.cols+gateColumns-1)/gateColumns
	return r.workers.Run(j, in.rows*j.pieces)
}

func (j *gateJob) Do(_, task int) {
	row, lo := task/j.pieces, task%j.pieces*gateColumns
	hi := min(lo+gateColumns, j.in.cols)
	j.r.k.silu(j.in.row(row)[lo:hi], j.gate[row*j.in.cols+lo:row*j.in.cols+hi])
	j.in.fill(row, lo, hi)
}
