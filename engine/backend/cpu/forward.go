package cpu

import (
	"github.com/hotpath-go/hotpath/model/arch"
	"github.com/hotpath-go/hotpath/quant"
)

// buffers are the rows between operators. They grow to the largest step and stay.
type buffers struct {
	x       []float32 // rows between layers: rows x Width
	delta   []float32 // what a mixer or a feed-forward adds to them
	q, k, v []float32
	mixed   []float32 // attention's output
	gate    []float32
	in      input // of the products with the row: after a norm
	inner   input // of the products inside a mixer or feed-forward
}

func (b *buffers) wire(k *kernels) { b.in.k, b.inner.k = k, k }

// forward runs the step in the plan: it writes keys and values of all its rows and computes what is
// wanted.
func (r *Runner) forward() error {
	p, b, rows := r.program, &r.bufs, len(r.plan.tokens)
	b.x = grown(b.x, rows*p.Width)
	for i, id := range r.plan.tokens {
		if err := quant.Decode(b.x[i*p.Width:(i+1)*p.Width], p.Embedding.Format, p.Embedding.Row(int(id))); err != nil {
			return err
		}
	}
	var residual []float32 // added to the rows by the next norm
	kv := 0
	for i := range p.Layers {
		l, w := &p.Layers[i], &r.weights.layers[i]
		a := l.Mixer.(*arch.Attention)
		if err := r.norm(&l.MixerNorm, residual, rows, forms(w.q, w.k, w.v)); err != nil {
			return err
		}
		if err := r.mixAttention(a, w, kv, rows); err != nil {
			return err
		}
		kv++
		if i == len(p.Layers)-1 {
			// Nothing reads the other rows any more.
			if rows = r.keepWanted(a.Heads * a.HeadDim); rows == 0 {
				return nil
			}
		}
		b.delta = grown(b.delta, rows*p.Width)
		if err := r.fill(b.mixed, rows, w.o.cols, forms(w.o)); err != nil {
			return err
		}
		if err := r.linear(&b.inner, product{w.o, b.delta, p.Width}); err != nil {
			return err
		}
		if err := r.norm(&l.ForwardNorm, b.delta, rows, forms(w.gate, w.up)); err != nil {
			return err
		}
		if err := r.gated(l.Forward.(*arch.Gated), w, rows); err != nil {
			return err
		}
		residual = b.delta
	}
	if err := r.norm(&p.Norm, residual, rows, forms(r.weights.head)); err != nil {
		return err
	}
	return r.outputs()
}

// mixAttention computes attention's output of all rows into mixed.
func (r *Runner) mixAttention(a *arch.Attention, w *layerWeights, kv, rows int) error {
	b, width, narrow := &r.bufs, a.Heads*a.HeadDim, a.KVHeads*a.HeadDim
	b.q, b.mixed = grown(b.q, rows*width), grown(b.mixed, rows*width)
	b.k, b.v = grown(b.k, rows*narrow), grown(b.v, rows*narrow)
	if err := r.linear(&b.in, product{w.q, b.q, width}, product{w.k, b.k, narrow}, product{w.v, b.v, narrow}); err != nil {
		return err
	}
	l := &r.cache.layers[kv]
	if err := r.rope(a, l); err != nil {
		return err
	}
	return r.attend(a, l, b.q, b.mixed)
}

// gated computes the feed-forward of all rows into delta.
func (r *Runner) gated(g *arch.Gated, w *layerWeights, rows int) error {
	b, n := &r.bufs, g.Gate.Weight.Rows
	b.gate = grown(b.gate, rows*n)
	b.inner.reset(rows, n, forms(w.down))
	if err := r.linear(&b.in, product{w.gate, b.gate, n}, product{w.up, b.inner.float, n}); err != nil {
		return err
	}
	if err := r.gate(b.gate, &b.inner); err != nil {
		return err
	}
	b.delta = grown(b.delta, rows*r.program.Width)
	return r.linear(&b.inner, product{w.down, b.delta, r.program.Width})
}

// keepWanted moves the wanted rows of x and of attention's output to the front, each once, makes
// the wants point to their new places, and returns how many rows are left.
func (r *Runner) keepWanted(width int) int {
	b, n, last := &r.bufs, 0, -1
	d := r.program.Width
	for i := range r.plan.wants {
		w := &r.plan.wants[i]
		if w.row != last {
			last = w.row
			copy(b.x[n*d:(n+1)*d], b.x[last*d:(last+1)*d])
			copy(b.mixed[n*width:(n+1)*width], b.mixed[last*width:(last+1)*width])
			n++
		}
		w.row = n - 1
	}
	return n
}
