package reference

import (
	"fmt"
	"math"
	"runtime"
	"slices"

	// gorgonia.org/tensor asks this package at start whether the garbage collector moves objects. Its
	// own go.mod names a version that panics under current Go; this import keeps the newer one that
	// our go.mod names.
	_ "go4.org/unsafe/assume-no-moving-gc"
	"gorgonia.org/tensor"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/model/arch"
	"github.com/hotpath-go/hotpath/quant"
)

// net is a program with its matrices expanded.
type net struct {
	program   *arch.Program
	kv        quant.Format
	embedding []float32
	layers    []layer
	head      linear
	bytes     int64 // of expanded matrices
}

type layer struct {
	attention      *arch.Attention
	q, k, v, o     linear
	forward        *arch.Gated
	gate, up, down linear
}

// linear holds a matrix transposed, cols x rows, so that rows of x multiply it from the left.
type linear struct {
	weight  *tensor.Dense
	bias    []float32
	rounded bool // activations are
}

// expand expands the matrices; rounded says whether to round what is multiplied with those that
// integer products exist for.
func expand(p *arch.Program, kv quant.Format, rounded bool) (*net, error) {
	n := &net{program: p, kv: kv}
	var err error
	// load keeps the first error, so that the list below reads like the program.
	load := func(l arch.Linear) linear {
		if err != nil {
			return linear{}
		}
		w := l.Weight
		flat := make([]float32, w.Rows*w.Cols)
		if e := quant.Decode(flat, w.Format, w.Data); e != nil {
			err = fmt.Errorf("%w: %w", backend.ErrUnsupported, e)
			return linear{}
		}
		n.bytes += int64(len(flat)) * 4
		turned := make([]float32, len(flat))
		for r := range w.Rows {
			for c := range w.Cols {
				turned[c*w.Rows+r] = flat[r*w.Cols+c]
			}
		}
		return linear{weight: dense(w.Cols, w.Rows, turned), bias: l.Bias, rounded: rounded && quant.DotInt8(w.Format) != nil}
	}
	for i := range p.Layers {
		a, ok := p.Layers[i].Mixer.(*arch.Attention)
		if !ok {
			return nil, fmt.Errorf("%w: layer %d: mixer %T", backend.ErrUnsupported, i, p.Layers[i].Mixer)
		}
		g, ok := p.Layers[i].Forward.(*arch.Gated)
		if !ok || g.Act != arch.SiLU {
			return nil, fmt.Errorf("%w: layer %d: feed-forward %T", backend.ErrUnsupported, i, p.Layers[i].Forward)
		}
		n.layers = append(n.layers, layer{
			attention: a, q: load(a.Q), k: load(a.K), v: load(a.V), o: load(a.O),
			forward: g, gate: load(g.Gate), up: load(g.Up), down: load(g.Down),
		})
	}
	n.head = load(arch.Linear{Weight: p.Head})
	if err != nil {
		return nil, err
	}
	n.embedding = make([]float32, p.Embedding.Rows*p.Embedding.Cols)
	if err := quant.Decode(n.embedding, p.Embedding.Format, p.Embedding.Data); err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrUnsupported, err)
	}
	return n, nil
}

// dense returns a tensor over a slice, which stays shared.
func dense(rows, cols int, data []float32) *tensor.Dense {
	return tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(data))
}

// values returns the numbers of a tensor, row after row. Data would not do: it goes by way of a uintptr,
// under which the garbage collector may free the numbers of a tensor that is used no more.
func values(d *tensor.Dense) []float32 { return d.Float32s() }

// product multiplies two whole matrices. Views must not come here: the library ignores their strides.
func product(a, b *tensor.Dense) (*tensor.Dense, error) {
	t, err := tensor.MatMul(a, b)
	runtime.KeepAlive(a) // MatMul itself goes by way of Data: see values
	runtime.KeepAlive(b)
	if err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	return t.(*tensor.Dense), nil
}

func (l linear) apply(x *tensor.Dense) (*tensor.Dense, error) {
	if l.rounded {
		var err error
		if x, err = int8s(x); err != nil {
			return nil, err
		}
	}
	y, err := product(x, l.weight)
	if err != nil || l.bias == nil {
		return y, err
	}
	out := values(y)
	for i := range out {
		out[i] += l.bias[i%len(l.bias)]
	}
	return y, nil
}

// int8s returns what is left of activations that are rounded to 8 bits.
func int8s(x *tensor.Dense) (*tensor.Dense, error) {
	out := slices.Clone(values(x))
	codes, err := quant.NewInt8Row(len(out)) // rows are whole blocks
	if err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	codes.Quantize(out)
	for i, c := range codes.Codes {
		out[i] = float32(c) * codes.Scales[i/quant.Int8Block]
	}
	return dense(x.Shape()[0], x.Shape()[1], out), nil
}

// normed returns the norm of every run of len(n.Gain) values.
func normed(n *arch.Norm, x []float32) []float32 {
	out := make([]float32, len(x))
	w := len(n.Gain)
	for from := 0; from < len(x); from += w {
		sum := 0.0
		for _, v := range x[from : from+w] {
			sum += float64(v) * float64(v)
		}
		scale := 1 / math.Sqrt(sum/float64(w)+float64(n.Epsilon))
		for i, v := range x[from : from+w] {
			out[from+i] = float32(float64(v)*scale) * n.Gain[i]
		}
	}
	return out
}

// rotate turns the pairs of one head of a row at a position.
func rotate(r *arch.Rope, position int, head []float32) {
	n := len(r.Freqs)
	for i, freq := range r.Freqs {
		a, b := i, i+n
		if r.Pairing == arch.Adjacent {
			a, b = 2*i, 2*i+1
		}
		sin, cos := math.Sincos(float64(position) * freq)
		x, y, m := float64(head[a]), float64(head[b]), float64(r.Magnitude)
		head[a] = float32(m * (x*cos - y*sin))
		head[b] = float32(m * (x*sin + y*cos))
	}
}

// softmax turns scores into weights in place.
func softmax(x []float32) {
	top := math.Inf(-1)
	for _, v := range x {
		top = max(top, float64(v))
	}
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(float64(v) - top)
	}
	for i, v := range x {
		x[i] = float32(math.Exp(float64(v)-top) / sum)
	}
}

// rounded returns what the KV format keeps of a value.
func (n *net) rounded(v float32) float32 {
	switch n.kv {
	case quant.F16:
		return quant.F16ToFloat32(quant.Float32ToF16(v))
	case quant.BF16:
		return quant.BF16ToFloat32(quant.Float32ToBF16(v))
	}
	return v
}
