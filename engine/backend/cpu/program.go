package cpu

import (
	"fmt"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/model/arch"
	"github.com/hotpath-go/hotpath/quant"
)

// checkProgram refuses what this backend cannot run and shapes that do not fit each other, so that
// the forward pass need not look.
func checkProgram(p *arch.Program) error {
	c := shapes{family: p.Family}
	c.tensor("embedding", p.Embedding, p.Vocab, p.Width)
	c.tensor("head", p.Head, p.Vocab, p.Width)
	c.norm("norm", &p.Norm, p.Width)
	if len(p.Layers) == 0 {
		c.fail("layers: none")
	}
	for i := range p.Layers {
		l := &p.Layers[i]
		c.layer = fmt.Sprintf("layer %d: ", i)
		c.norm("mixer norm", &l.MixerNorm, p.Width)
		c.norm("forward norm", &l.ForwardNorm, p.Width)
		switch m := l.Mixer.(type) {
		case *arch.Attention:
			c.attention(m, p.Width)
		default:
			c.fail("mixer %T", l.Mixer)
		}
		switch f := l.Forward.(type) {
		case *arch.Gated:
			rows := f.Gate.Weight.Rows
			c.linear("gate", &f.Gate, rows, p.Width)
			c.linear("up", &f.Up, rows, p.Width)
			c.linear("down", &f.Down, p.Width, rows)
			if f.Act != arch.SiLU {
				c.fail("activation %d", f.Act)
			}
		default:
			c.fail("feed-forward %T", l.Forward)
		}
	}
	return c.err
}

// shapes keeps the first mismatch.
type shapes struct {
	family, layer string
	err           error
}

func (c *shapes) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: cpu: %s: %s%s", backend.ErrUnsupported, c.family, c.layer, fmt.Sprintf(format, args...))
	}
}

func (c *shapes) tensor(name string, t quant.Tensor, rows, cols int) {
	switch {
	case t.Rows != rows || t.Cols != cols || rows < 1 || cols < 1:
		c.fail("%s is %d x %d, want %d x %d", name, t.Rows, t.Cols, rows, cols)
	case !quant.CanDecode(t.Format):
		c.fail("%s is in %v, which has no decoder", name, t.Format)
	}
}

func (c *shapes) norm(name string, n *arch.Norm, width int) {
	if len(n.Gain) != width {
		c.fail("%s has %d values, want %d", name, len(n.Gain), width)
	}
}

func (c *shapes) linear(name string, l *arch.Linear, rows, cols int) {
	c.tensor(name, l.Weight, rows, cols)
	if l.Bias != nil && len(l.Bias) != rows {
		c.fail("%s has %d biases, want %d", name, len(l.Bias), rows)
	}
}

func (c *shapes) attention(a *arch.Attention, width int) {
	if a.KVHeads < 1 || a.Heads < 1 || a.Heads%a.KVHeads != 0 || a.HeadDim < 1 || a.HeadDim > 1024 {
		c.fail("%d heads over %d of %d values", a.Heads, a.KVHeads, a.HeadDim)
		return
	}
	c.linear("query", &a.Q, a.Heads*a.HeadDim, width)
	c.linear("key", &a.K, a.KVHeads*a.HeadDim, width)
	c.linear("value", &a.V, a.KVHeads*a.HeadDim, width)
	c.linear("output", &a.O, width, a.Heads*a.HeadDim)
	if a.QNorm != nil {
		c.norm("query norm", a.QNorm, a.HeadDim)
	}
	if a.KNorm != nil {
		c.norm("key norm", a.KNorm, a.HeadDim)
	}
	if a.Rope != nil && 2*len(a.Rope.Freqs) > a.HeadDim {
		c.fail("rope turns %d pairs of %d values", len(a.Rope.Freqs), a.HeadDim)
	}
}
