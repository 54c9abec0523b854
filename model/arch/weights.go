package arch

import (
	"errors"
	"fmt"

	"github.com/hotpath-go/hotpath/quant"
)

// tensors finds a tensor by its GGUF name. The dimensions are given inner first.
type tensors interface {
	find(name string) (t quant.Tensor, dims []int, ok bool)
}

// weights reads tensors with the shapes that a config says and keeps the first error, so that a
// family's file reads top to bottom.
type weights struct {
	config
	from   tensors
	shared *Rope // of all layers
	err    error
}

func (w *weights) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *weights) has(name string) bool {
	_, _, ok := w.from.find(name)
	return ok
}

// matrix returns a tensor of rows (out) x cols (in) values.
func (w *weights) matrix(name string, rows, cols int) quant.Tensor {
	t, dims, ok := w.from.find(name)
	switch {
	case !ok:
		w.fail(fmt.Errorf("%w: %q is missing", ErrTensor, name))
	case len(dims) != 2 || dims[0] != cols || dims[1] != rows:
		w.fail(fmt.Errorf("%w: %q is %v, must be [%d %d]", ErrTensor, name, dims, cols, rows))
	default:
		return t
	}
	return quant.Tensor{}
}

// vector returns a tensor of n values as float32.
func (w *weights) vector(name string, n int) []float32 {
	t, dims, ok := w.from.find(name)
	switch {
	case !ok:
		w.fail(fmt.Errorf("%w: %q is missing", ErrTensor, name))
		return nil
	case len(dims) != 1 || dims[0] != n:
		w.fail(fmt.Errorf("%w: %q is %v, must be [%d]", ErrTensor, name, dims, n))
		return nil
	}
	v := make([]float32, n)
	if err := quant.Decode(v, t.Format, t.Data); err != nil {
		w.fail(errors.Join(fmt.Errorf("%w: %q", ErrTensor, name), err))
	}
	return v
}

func (w *weights) norm(name string, n int) Norm {
	return Norm{Gain: w.vector(name+".weight", n), Epsilon: w.epsilon}
}

func (w *weights) linear(name string, rows, cols int) Linear {
	return Linear{Weight: w.matrix(name+".weight", rows, cols)}
}

// biased is linear with a bias, which must be there.
func (w *weights) biased(name string, rows, cols int) Linear {
	l := w.linear(name, rows, cols)
	l.Bias = w.vector(name+".bias", rows)
	return l
}

// rotation returns the rope that all layers share, paired as the file orders the rows of q and k.
func (w *weights) rotation() *Rope {
	if w.shared == nil {
		pairing := Halves
		if w.adjacent {
			pairing = Adjacent
		}
		w.shared = w.rope.build(pairing)
	}
	return w.shared
}

// finish adds what every decoder has around its layers.
func (w *weights) finish(layers []Layer) (*Program, error) {
	p := &Program{Family: w.family, Width: w.width, Context: w.context, Layers: layers}
	if t, dims, ok := w.from.find("token_embd.weight"); ok && len(dims) == 2 {
		p.Embedding, p.Vocab = t, dims[1]
	}
	p.Embedding = w.matrix("token_embd.weight", p.Vocab, w.width)
	p.Norm = w.norm("output_norm", w.width)
	if w.has("output.weight") {
		p.Head = w.matrix("output.weight", p.Vocab, w.width)
	} else {
		p.Head, p.Tied = p.Embedding, true
	}
	if w.err == nil && p.Vocab < 1 {
		w.fail(fmt.Errorf("%w: \"token_embd.weight\" has %d rows", ErrTensor, p.Vocab))
	}
	if w.err != nil {
		return nil, w.err
	}
	return p, nil
}

// block returns the name of a layer's tensor.
func block(i int, name string) string { return fmt.Sprintf("blk.%d.%s", i, name) }
