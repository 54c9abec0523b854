package reference

import (
	"fmt"
	"math"

	"gorgonia.org/tensor"

	"github.com/hotpath-go/hotpath/model/arch"
)

// trace is a sequence computed from its first token.
type trace struct {
	keys, values [][]float32 // for each layer: position after position, rounded to the KV format
	hidden       []float32   // position after position, after the final norm
}

// forward computes all positions of a sequence.
func (n *net) forward(tokens []int32) (*trace, error) {
	p := n.program
	rows, width := len(tokens), p.Width
	x := make([]float32, 0, rows*width)
	for _, id := range tokens {
		x = append(x, n.embedding[int(id)*width:][:width]...)
	}
	t := &trace{}
	for i := range n.layers {
		l := &n.layers[i]
		mixed, err := n.attend(l, dense(rows, width, normed(&p.Layers[i].MixerNorm, x)), t)
		if err != nil {
			return nil, err
		}
		add(x, values(mixed))
		fed, err := l.feed(dense(rows, width, normed(&p.Layers[i].ForwardNorm, x)))
		if err != nil {
			return nil, err
		}
		add(x, values(fed))
	}
	t.hidden = normed(&p.Norm, x)
	return t, nil
}

func add(x, y []float32) {
	for i := range x {
		x[i] += y[i]
	}
}

// attend is causal attention over the whole sequence; it appends the layer's keys and values to t.
func (n *net) attend(l *layer, x *tensor.Dense, t *trace) (*tensor.Dense, error) {
	a := l.attention
	q, err := l.heads(l.q, x, a.Heads, a.QNorm, true)
	if err != nil {
		return nil, err
	}
	k, err := l.heads(l.k, x, a.KVHeads, a.KNorm, true)
	if err != nil {
		return nil, err
	}
	v, err := l.heads(l.v, x, a.KVHeads, nil, false)
	if err != nil {
		return nil, err
	}
	for i := range k {
		k[i], v[i] = n.rounded(k[i]), n.rounded(v[i])
	}
	t.keys, t.values = append(t.keys, k), append(t.values, v)

	rows, dim := x.Shape()[0], a.HeadDim
	out := make([]float32, rows*a.Heads*dim)
	for h := range a.Heads {
		kv := h / (a.Heads / a.KVHeads)
		query := dense(rows, dim, column(q, rows, a.Heads, dim, h))
		key := column(k, rows, a.KVHeads, dim, kv)
		turned := make([]float32, len(key))
		for r := range rows {
			for c := range dim {
				turned[c*rows+r] = key[r*dim+c]
			}
		}
		weights, err := product(query, dense(dim, rows, turned))
		if err != nil {
			return nil, err
		}
		w := values(weights)
		for r := range rows {
			row := w[r*rows : (r+1)*rows]
			for c := range row[:r+1] {
				row[c] *= a.Scale
			}
			softmax(row[:r+1])
			clear(row[r+1:])
		}
		read, err := mix(weights, column(v, rows, a.KVHeads, dim, kv), dim)
		if err != nil {
			return nil, err
		}
		for r := range rows {
			copy(out[(r*a.Heads+h)*dim:], read[r*dim:(r+1)*dim])
		}
	}
	return l.o.apply(dense(rows, a.Heads*dim, out))
}

// mix multiplies attention weights, zero above the diagonal, with the values of one head.
func mix(weights *tensor.Dense, v []float32, dim int) ([]float32, error) {
	y, err := product(weights, dense(weights.Shape()[1], dim, v))
	if err != nil {
		return nil, err
	}
	return values(y), nil
}

// heads projects x to heads, normalises and rotates them.
func (l *layer) heads(w linear, x *tensor.Dense, heads int, norm *arch.Norm, turn bool) ([]float32, error) {
	y, err := w.apply(x)
	if err != nil {
		return nil, err
	}
	out, dim := values(y), l.attention.HeadDim
	if len(out) != x.Shape()[0]*heads*dim {
		return nil, fmt.Errorf("reference: %d values for %d heads of %d in %d rows", len(out), heads, dim, x.Shape()[0])
	}
	if norm != nil {
		out = normed(norm, out)
	}
	if rope := l.attention.Rope; turn && rope != nil {
		for i := 0; i < len(out); i += dim {
			rotate(rope, i/(heads*dim), out[i:i+dim])
		}
	}
	return out, nil
}

// column copies one head out of rows of heads.
func column(x []float32, rows, heads, dim, head int) []float32 {
	out := make([]float32, 0, rows*dim)
	for r := range rows {
		out = append(out, x[(r*heads+head)*dim:][:dim]...)
	}
	return out
}

// feed is the gated feed-forward.
func (l *layer) feed(x *tensor.Dense) (*tensor.Dense, error) {
	gate, err := l.gate.apply(x)
	if err != nil {
		return nil, err
	}
	up, err := l.up.apply(x)
	if err != nil {
		return nil, err
	}
	g, u := values(gate), values(up)
	for i, v := range g {
		g[i] = float32(float64(v)/(1+math.Exp(-float64(v)))) * u[i]
	}
	return l.down.apply(gate)
}

// logits returns those of one hidden row.
func (n *net) logits(hidden []float32) ([]float32, error) {
	y, err := n.head.apply(dense(1, len(hidden), hidden))
	if err != nil {
		return nil, err
	}
	return values(y), nil
}
