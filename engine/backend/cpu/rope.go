package cpu

import "github.com/hotpath-go/hotpath/model/arch"

// ropeJob normalises and rotates the queries and keys of a row, and stores its keys and values. A
// task is some rows: neighbours share cache lines of a block.
type ropeJob struct {
	r     *Runner
	a     *arch.Attention
	l     *layerCache
	spans []int32 // span of each row
	chunk int     // rows in a task

	// cos and sin of the rows' angles, rows x pairs, for the rotation that they were computed for.
	of       *arch.Rope
	cos, sin []float32
}

// rope prepares the rows' queries, keys and values for attention and stores the latter two.
func (r *Runner) rope(a *arch.Attention, l *layerCache) error {
	j := &r.jobs.rope
	j.a, j.l = a, l
	if l == &r.cache.layers[0] { // the step's first layer
		j.of, j.spans = nil, j.spans[:0]
		for i := range r.plan.spans {
			for range r.plan.spans[i].rows {
				j.spans = append(j.spans, int32(i))
			}
		}
	}
	if a.Rope != nil && a.Rope != j.of {
		j.of = a.Rope
		j.angles()
	}
	rows := len(r.plan.tokens)
	j.chunk = max(1, min(blockSize, rows/(2*r.caps.Workers)))
	return r.workers.Run(j, (rows+j.chunk-1)/j.chunk)
}

// angles computes the tables of the step's positions.
func (j *ropeJob) angles() {
	n := len(j.of.Freqs)
	rows := len(j.r.plan.tokens)
	j.cos, j.sin = grown(j.cos, rows*n), grown(j.sin, rows*n)
	m := float64(j.of.Magnitude)
	for row := range rows {
		pos := float64(j.position(row))
		cos, sin := j.cos[row*n:(row+1)*n], j.sin[row*n:(row+1)*n]
		for i, f := range j.of.Freqs {
			s, c := sincos(pos * f)
			cos[i], sin[i] = float32(c*m), float32(s*m)
		}
	}
}

func (j *ropeJob) position(row int) int {
	s := &j.r.plan.spans[j.spans[row]]
	return s.pos + row - s.first
}

func (j *ropeJob) Do(_, task int) {
	b, a := &j.r.bufs, j.a
	lo, hi := task*j.chunk, min((task+1)*j.chunk, len(j.r.plan.tokens))
	for row := lo; row < hi; row++ {
		j.heads(b.q[row*a.Heads*a.HeadDim:][:a.Heads*a.HeadDim], a.QNorm, row)
		j.heads(b.k[row*a.KVHeads*a.HeadDim:][:a.KVHeads*a.HeadDim], a.KNorm, row)
	}
	// Head by head, so that a tile stays in cache while its rows are stored.
	for h := range a.KVHeads {
		for row := lo; row < hi; row++ {
			s := &j.r.plan.spans[j.spans[row]]
			pos, at := j.position(row), (row*a.KVHeads+h)*a.HeadDim
			j.l.store(s.dst[pos/blockSize-s.pos/blockSize], h, pos%blockSize, b.k[at:at+a.HeadDim], b.v[at:at+a.HeadDim])
		}
	}
}

// heads normalises and rotates each head of a row.
func (j *ropeJob) heads(x []float32, n *arch.Norm, row int) {
	for ; len(x) > 0; x = x[j.a.HeadDim:] {
		head := x[:j.a.HeadDim]
		if n != nil {
			j.r.k.norm(head, head, n.Gain, n.Epsilon)
		}
		if rope := j.a.Rope; rope != nil {
			pairs := len(rope.Freqs)
			cos, sin := j.cos[row*pairs:][:pairs], j.sin[row*pairs:][:pairs]
			if rope.Pairing == arch.Halves {
				j.r.k.rotate(head[:pairs], head[pairs:2*pairs], cos, sin)
			} else {
				j.r.k.rotateAdjacent(head[:2*pairs], cos, sin)
			}
		}
	}
}
