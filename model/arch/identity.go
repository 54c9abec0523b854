package arch

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/hotpath-go/hotpath/quant"
)

// WriteIdentity writes everything of the program but the content of its matrices: the sizes, the
// scalars and the vectors. Two programs that compute different functions of equal matrices write
// different bytes.
func (p *Program) WriteIdentity(w io.Writer) {
	id := identity{w}
	id.put("program", p.Family, p.Width, p.Vocab, p.Context, len(p.Layers), p.Tied)
	id.matrix(p.Embedding)
	for i := range p.Layers {
		l := &p.Layers[i]
		id.norm(&l.MixerNorm)
		switch m := l.Mixer.(type) {
		case *Attention:
			id.put("attention", m.Heads, m.KVHeads, m.HeadDim, m.Scale)
			for _, x := range []*Linear{&m.Q, &m.K, &m.V, &m.O} {
				id.linear(x)
			}
			id.norm(m.QNorm)
			id.norm(m.KNorm)
			if m.Rope != nil {
				id.put("rope", m.Rope.Pairing, m.Rope.Magnitude, len(m.Rope.Freqs))
				_ = binary.Write(w, binary.LittleEndian, m.Rope.Freqs)
			}
		}
		id.norm(&l.ForwardNorm)
		switch f := l.Forward.(type) {
		case *Gated:
			id.put("gated", f.Act)
			for _, x := range []*Linear{&f.Gate, &f.Up, &f.Down} {
				id.linear(x)
			}
		}
	}
	id.norm(&p.Norm)
	id.matrix(p.Head)
}

type identity struct{ w io.Writer }

func (id identity) put(values ...any) { fmt.Fprintf(id.w, "%q\n", fmt.Sprint(values...)) }

func (id identity) matrix(t quant.Tensor) { id.put("matrix", t.Format, t.Rows, t.Cols) }

func (id identity) vector(v []float32) {
	id.put("vector", len(v))
	_ = binary.Write(id.w, binary.LittleEndian, v)
}

func (id identity) linear(l *Linear) {
	id.matrix(l.Weight)
	id.vector(l.Bias)
}

func (id identity) norm(n *Norm) {
	if n == nil {
		id.put("no norm")
		return
	}
	id.put("norm", n.Epsilon)
	id.vector(n.Gain)
}
