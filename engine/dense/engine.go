package dense

import (
	"fmt"
	"math"

	"gorgonia.org/tensor"
)

// Engine is the tensor library's standard engine with its silent mistakes mended or refused: see the
// package comment. The zero value is ready to use and safe for concurrent use.
type Engine struct{ tensor.StdEng }

var (
	_ tensor.MatMuler    = Engine{}
	_ tensor.MatVecMuler = Engine{}
	_ tensor.InnerProder = Engine{}
	_ tensor.OuterProder = Engine{}
	_ tensor.Dotter      = Engine{}
	_ tensor.SoftMaxer   = Engine{}
)

// MatMul implements tensor.MatMuler.
func (e Engine) MatMul(a, b, prealloc tensor.Tensor) error {
	if err := operands(a, b, prealloc); err != nil {
		return err
	}
	return e.StdEng.MatMul(a, b, prealloc)
}

// MatVecMul implements tensor.MatVecMuler.
func (e Engine) MatVecMul(a, b, prealloc tensor.Tensor) error {
	if err := operands(a, b, prealloc); err != nil {
		return err
	}
	return e.StdEng.MatVecMul(a, b, prealloc)
}

// Outer implements tensor.OuterProder.
func (e Engine) Outer(a, b, prealloc tensor.Tensor) error {
	if err := operands(a, b, prealloc); err != nil {
		return err
	}
	return e.StdEng.Outer(a, b, prealloc)
}

// Inner implements tensor.InnerProder.
func (e Engine) Inner(a, b tensor.Tensor) (any, error) {
	if err := operands(a, b, nil); err != nil {
		return nil, err
	}
	return e.StdEng.Inner(a, b)
}

// Dot implements tensor.Dotter.
func (e Engine) Dot(x, y tensor.Tensor, opts ...tensor.FuncOpt) (tensor.Tensor, error) {
	o := tensor.ParseFuncOpts(opts...)
	if err := operands(x, y, o.Reuse()); err != nil {
		return nil, err
	}
	if o.Incr() != nil {
		if err := plain("increment", o.Incr()); err != nil {
			return nil, err
		}
	}
	return e.StdEng.Dot(x, y, opts...)
}

func operands(a, b, out tensor.Tensor) error {
	if err := plain("left operand", a); err != nil {
		return err
	}
	if err := plain("right operand", b); err != nil {
		return err
	}
	if out == nil {
		return nil
	}
	return plain("result", out)
}

// SoftMax implements tensor.SoftMaxer for float32 and float64. A negative axis counts from the last.
// Options: WithReuse, UseUnsafe.
func (e Engine) SoftMax(x tensor.Tensor, axis int, opts ...tensor.FuncOpt) (tensor.Tensor, error) {
	return along(x, axis, false, opts)
}

// LogSoftMax implements tensor.SoftMaxer like SoftMax.
func (e Engine) LogSoftMax(x tensor.Tensor, axis int, opts ...tensor.FuncOpt) (tensor.Tensor, error) {
	return along(x, axis, true, opts)
}

// SoftMaxB implements tensor.SoftMaxer: the gradient of SoftMax.
func (e Engine) SoftMaxB(output, grad tensor.Tensor, axis int, opts ...tensor.FuncOpt) (tensor.Tensor, error) {
	if err := operands(output, grad, tensor.ParseFuncOpts(opts...).Reuse()); err != nil {
		return nil, err
	}
	return e.StdEng.SoftMaxB(output, grad, axis, opts...)
}

// LogSoftMaxB implements tensor.SoftMaxer: the gradient of LogSoftMax.
func (e Engine) LogSoftMaxB(output, grad tensor.Tensor, axis int, opts ...tensor.FuncOpt) (tensor.Tensor, error) {
	if err := operands(output, grad, tensor.ParseFuncOpts(opts...).Reuse()); err != nil {
		return nil, err
	}
	return e.StdEng.LogSoftMaxB(output, grad, axis, opts...)
}

// along computes a softmax along one axis into the tensor that the options name, or a new one.
func along(t tensor.Tensor, axis int, log bool, opts []tensor.FuncOpt) (tensor.Tensor, error) {
	if err := plain("operand", t); err != nil {
		return nil, err
	}
	x := t.(*tensor.Dense)
	dims := x.Dims()
	if axis < -dims || axis >= dims {
		return nil, fmt.Errorf("%w: axis %d of %d", ErrShape, axis, dims)
	}
	if axis < 0 {
		axis += dims
	}
	o := tensor.ParseFuncOpts(opts...)
	if o.Incr() != nil {
		return nil, fmt.Errorf("%w: softmax cannot increment", ErrType)
	}
	out := x
	if reuse := o.Reuse(); reuse != nil {
		if err := plain("result", reuse); err != nil {
			return nil, err
		}
		out = reuse.(*tensor.Dense)
		if !out.Shape().Eq(x.Shape()) || out.Dtype() != x.Dtype() {
			return nil, fmt.Errorf("%w: result %v of %v, operand %v of %v", ErrShape, out.Shape(), out.Dtype(), x.Shape(), x.Dtype())
		}
	} else if o.Safe() {
		out = tensor.New(tensor.WithShape(x.Shape()...), tensor.Of(x.Dtype()), tensor.WithEngine(Engine{}))
	}
	n, inner := x.Shape()[axis], 1
	for _, s := range x.Shape()[axis+1:] {
		inner *= s
	}
	switch x.Dtype() {
	case tensor.Float32:
		softmax(out.Float32s(), x.Float32s(), n, inner, log)
	case tensor.Float64:
		softmax(out.Float64s(), x.Float64s(), n, inner, log)
	default:
		return nil, fmt.Errorf("%w: %v, must be float32 or float64", ErrType, x.Dtype())
	}
	return out, nil
}

// softmax works on runs of n values that lie inner apart; dst may be src.
func softmax[F float32 | float64](dst, src []F, n, inner int, log bool) {
	for outer := 0; outer < len(src); outer += n * inner {
		for i := outer; i < outer+inner; i++ {
			top := math.Inf(-1)
			for j := i; j < i+n*inner; j += inner {
				top = max(top, float64(src[j]))
			}
			sum := 0.0
			for j := i; j < i+n*inner; j += inner {
				sum += math.Exp(float64(src[j]) - top)
			}
			for j := i; j < i+n*inner; j += inner {
				if d := float64(src[j]) - top; log {
					dst[j] = F(d - math.Log(sum))
				} else {
					dst[j] = F(math.Exp(d) / sum)
				}
			}
		}
	}
}
