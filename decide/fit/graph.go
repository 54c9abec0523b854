package fit

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// objective is a mean negative log-likelihood, with a penalty, as a function of parameters. Value
// and gradient come from one gorgonia graph of its own.
type objective struct {
	vm     gorgonia.VM
	params [][]float64 // what the graph's parameter nodes hold, changed in place
	grads  []gorgonia.Value
	loss   gorgonia.Value
}

// tape builds a graph. The first error ends the building; the nodes after it are nil and unused.
type tape struct {
	g   *gorgonia.ExprGraph
	err error
}

func (t *tape) do(op func() (*gorgonia.Node, error)) *gorgonia.Node {
	if t.err != nil {
		return nil
	}
	var n *gorgonia.Node
	n, t.err = op()
	return n
}

// node puts numbers of a shape into the graph; a shape of no dimensions is a scalar. The numbers are
// not copied.
func (t *tape) node(name string, data []float64, shape ...int) *gorgonia.Node {
	return t.do(func() (*gorgonia.Node, error) {
		d := tensor.New(tensor.WithShape(shape...), tensor.WithBacking(data))
		return gorgonia.NewTensor(t.g, tensor.Float64, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(name), gorgonia.WithValue(d)), nil
	})
}

func (t *tape) mul(a, b *gorgonia.Node) *gorgonia.Node {
	return t.do(func() (*gorgonia.Node, error) { return gorgonia.Mul(a, b) })
}

func (t *tape) add(a, b *gorgonia.Node) *gorgonia.Node {
	return t.do(func() (*gorgonia.Node, error) { return gorgonia.Add(a, b) })
}

func (t *tape) tanh(a *gorgonia.Node) *gorgonia.Node {
	return t.do(func() (*gorgonia.Node, error) { return gorgonia.Tanh(a) })
}

func (t *tape) exp(a *gorgonia.Node) *gorgonia.Node {
	return t.do(func() (*gorgonia.Node, error) { return gorgonia.Exp(a) })
}

// addRow adds one row (1 x K) to every row of a matrix.
func (t *tape) addRow(a, row *gorgonia.Node) *gorgonia.Node {
	return t.do(func() (*gorgonia.Node, error) { return gorgonia.BroadcastAdd(a, row, nil, []byte{0}) })
}

// mulRow multiplies every row of a matrix by one row (1 x K).
func (t *tape) mulRow(a, row *gorgonia.Node) *gorgonia.Node {
	return t.do(func() (*gorgonia.Node, error) { return gorgonia.BroadcastHadamardProd(a, row, nil, []byte{0}) })
}

// scale multiplies a matrix by a number in a 1 x 1 matrix.
func (t *tape) scale(a, by *gorgonia.Node) *gorgonia.Node {
	return t.do(func() (*gorgonia.Node, error) { return gorgonia.BroadcastHadamardProd(a, by, nil, []byte{0, 1}) })
}

func (t *tape) sum(a *gorgonia.Node, along ...int) *gorgonia.Node {
	return t.do(func() (*gorgonia.Node, error) { return gorgonia.Sum(a, along...) })
}

// nll returns the mean over rows of -ln softmax(z)[label], want having a 1 at each row's label. The
// row's maximum is subtracted here: the library's own softmax over the last axis subtracts one
// number from all rows, and gives NaN where they differ much.
func (t *tape) nll(z, want *gorgonia.Node) *gorgonia.Node {
	top := t.do(func() (*gorgonia.Node, error) { return gorgonia.Max(z, 1) })
	column := t.do(func() (*gorgonia.Node, error) { return gorgonia.Reshape(top, tensor.Shape{z.Shape()[0], 1}) })
	z = t.do(func() (*gorgonia.Node, error) { return gorgonia.BroadcastSub(z, column, nil, []byte{1}) })
	lse := t.do(func() (*gorgonia.Node, error) { return gorgonia.Log(t.sum(t.exp(z), 1)) })
	picked := t.sum(t.do(func() (*gorgonia.Node, error) { return gorgonia.HadamardProd(z, want) }), 1)
	loss := t.do(func() (*gorgonia.Node, error) { return gorgonia.Sub(lse, picked) })
	return t.do(func() (*gorgonia.Node, error) { return gorgonia.Mean(loss) })
}

// penalty returns weight times the sum of squares of a - from.
func (t *tape) penalty(a *gorgonia.Node, from, weight float64) *gorgonia.Node {
	return t.do(func() (*gorgonia.Node, error) {
		if from != 0 {
			var err error
			if a, err = gorgonia.Sub(a, gorgonia.NewConstant(from)); err != nil {
				return nil, err
			}
		}
		sq, err := gorgonia.Square(a)
		if err != nil {
			return nil, err
		}
		total, err := gorgonia.Sum(sq)
		if err != nil {
			return nil, err
		}
		return gorgonia.Mul(total, gorgonia.NewConstant(weight))
	})
}

// param is a parameter with its first value.
type param struct {
	name string
	rows int
	cols int
	data []float64
}

// newObjective builds the graph of a loss. Panics of the library come back as ErrFit.
func newObjective(params []param, loss func(t *tape, p []*gorgonia.Node) *gorgonia.Node) (o *objective, err error) {
	defer guard(&err)
	t := &tape{g: gorgonia.NewGraph()}
	o = &objective{}
	nodes := make([]*gorgonia.Node, len(params))
	for i, p := range params {
		o.params = append(o.params, p.data)
		nodes[i] = t.node(p.name, p.data, p.rows, p.cols)
	}
	cost := loss(t, nodes)
	if t.err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFit, t.err)
	}
	grads, err := gorgonia.Grad(cost, nodes...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFit, err)
	}
	gorgonia.Read(cost, &o.loss)
	o.grads = make([]gorgonia.Value, len(grads))
	for i, g := range grads {
		gorgonia.Read(g, &o.grads[i])
	}
	o.vm = gorgonia.NewTapeMachine(t.g)
	return o, nil
}

// size returns how many numbers the parameters have.
func (o *objective) size() int {
	n := 0
	for _, p := range o.params {
		n += len(p)
	}
	return n
}

// get copies the parameters into one vector.
func (o *objective) get() []float64 {
	var theta []float64
	for _, p := range o.params {
		theta = append(theta, p...)
	}
	return theta
}

// set copies a vector into the parameters.
func (o *objective) set(theta []float64) {
	for _, p := range o.params {
		theta = theta[copy(p, theta):]
	}
}

// eval returns the loss at theta and writes its gradient.
func (o *objective) eval(theta, grad []float64) (loss float64, err error) {
	defer guard(&err)
	o.set(theta)
	defer o.vm.Reset()
	if err := o.vm.RunAll(); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrFit, err)
	}
	for i, g := range o.grads {
		switch v := g.Data().(type) {
		case []float64:
			grad = grad[copy(grad, v[:len(o.params[i])]):]
		case float64:
			grad[0] = v
			grad = grad[1:]
		default:
			return 0, fmt.Errorf("%w: a gradient of type %T", ErrFit, v)
		}
	}
	loss, ok := o.loss.Data().(float64)
	if !ok || math.IsNaN(loss) {
		return 0, fmt.Errorf("%w: the loss is %v", ErrFit, o.loss)
	}
	return loss, nil
}

func (o *objective) close() { _ = o.vm.Close() }

// guard makes a panic of the library an error: it panics on shapes that do not go together.
func guard(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: %v", ErrFit, r)
	}
}
