package backendtest

import (
	"crypto/sha256"
	"fmt"
	"math"
	"testing"

	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/arch"
	"github.com/hotpath-go/hotpath/quant"
)

// Shape says what Tiny builds.
type Shape struct {
	Name      string
	Layers    int
	Width     int
	Heads     int
	KVHeads   int
	HeadDim   int
	Inner     int
	Vocab     int          // 0: 160
	Format    quant.Format // of the matrices; None: F32
	Embedding quant.Format // None: Format
	Pairing   arch.Pairing
	HeadNorm  bool // on every head of q and k
	Bias      bool // on q, k and v
	Untied    bool
	Magnitude float32 // of the rotation; 0: 1
}

// Shapes returns shapes that differ in everything that a backend may treat apart: head sizes above,
// below and beside a vector's length, group sizes, inner dimensions with tails, both pairings,
// norms and biases on heads, and every weight format that can be encoded.
func Shapes() []Shape {
	return []Shape{
		{Name: "llama", Layers: 2, Width: 64, Heads: 4, KVHeads: 2, HeadDim: 16, Inner: 96, Pairing: arch.Adjacent},
		{Name: "head8-tails", Layers: 2, Width: 72, Heads: 6, KVHeads: 3, HeadDim: 8, Inner: 172, Vocab: 101, Pairing: arch.Adjacent, Untied: true},
		{Name: "qwen3", Layers: 2, Width: 64, Heads: 4, KVHeads: 2, HeadDim: 32, Inner: 128, HeadNorm: true},
		{Name: "qwen2-group8", Layers: 1, Width: 96, Heads: 8, KVHeads: 1, HeadDim: 24, Inner: 96, Bias: true, Magnitude: 1.14},
		{Name: "head80", Layers: 1, Width: 160, Heads: 2, KVHeads: 1, HeadDim: 80, Inner: 160},
		{Name: "head96-mha", Layers: 1, Width: 96, Heads: 2, KVHeads: 2, HeadDim: 96, Inner: 64, Pairing: arch.Adjacent},
		{Name: "head128", Layers: 1, Width: 128, Heads: 2, KVHeads: 1, HeadDim: 128, Inner: 128, HeadNorm: true, Untied: true},
		{Name: "f16", Layers: 2, Width: 64, Heads: 4, KVHeads: 2, HeadDim: 16, Inner: 100, Format: quant.F16},
		{Name: "bf16", Layers: 2, Width: 64, Heads: 4, KVHeads: 2, HeadDim: 16, Inner: 100, Format: quant.BF16, HeadNorm: true},
		{Name: "q8_0", Layers: 2, Width: 64, Heads: 4, KVHeads: 2, HeadDim: 16, Inner: 96, Format: quant.Q8_0},
		{Name: "q4_0", Layers: 2, Width: 64, Heads: 4, KVHeads: 2, HeadDim: 16, Inner: 160, Format: quant.Q4_0, Embedding: quant.Q8_0},
		{Name: "q6_K", Layers: 1, Width: 256, Heads: 4, KVHeads: 2, HeadDim: 64, Inner: 256, Format: quant.Q6_K},
	}
}

// Rounded reports whether a backend may round activations where it multiplies with these weights.
func (s Shape) Rounded() bool { return s.Format != quant.None && s.Format != quant.F32 }

// Tiny builds a model of random weights, the same ones for the same shape. It has no tokenizer.
func Tiny(t testing.TB, s Shape) *model.Model {
	t.Helper()
	b := builder{t: t, state: mix(uint64(len(s.Name)))}
	for _, c := range []byte(s.Name) {
		b.state = mix(b.state ^ uint64(c))
	}
	s.Vocab = or(s.Vocab, 160)
	if s.Format == quant.None {
		s.Format = quant.F32
	}
	if s.Embedding == quant.None {
		s.Embedding = s.Format
	}
	if s.Magnitude == 0 {
		s.Magnitude = 1
	}
	rope := &arch.Rope{Pairing: s.Pairing, Freqs: make([]float64, s.HeadDim/2), Magnitude: s.Magnitude}
	for i := range rope.Freqs {
		rope.Freqs[i] = math.Pow(10000, -2*float64(i)/float64(s.HeadDim))
	}
	p := &arch.Program{
		Family: s.Name, Width: s.Width, Vocab: s.Vocab, Context: 1024,
		Embedding: b.matrix(s.Embedding, s.Vocab, s.Width, 1),
		Norm:      b.norm(s.Width, 1),
		Tied:      !s.Untied,
	}
	p.Head = p.Embedding
	if s.Untied {
		p.Head = b.matrix(s.Embedding, s.Vocab, s.Width, 1)
	}
	linear := func(rows, cols int, scale float64, bias bool) arch.Linear {
		l := arch.Linear{Weight: b.matrix(s.Format, rows, cols, scale)}
		if bias {
			l.Bias = b.vector(rows, 0.3)
		}
		return l
	}
	const sharp = 1.7 // attention, so that a wrong row shows in the logits
	for range s.Layers {
		a := &arch.Attention{
			Heads: s.Heads, KVHeads: s.KVHeads, HeadDim: s.HeadDim,
			Scale: float32(1 / math.Sqrt(float64(s.HeadDim))),
			Q:     linear(s.Heads*s.HeadDim, s.Width, sharp, s.Bias),
			K:     linear(s.KVHeads*s.HeadDim, s.Width, sharp, s.Bias),
			V:     linear(s.KVHeads*s.HeadDim, s.Width, 1, s.Bias),
			Rope:  rope,
			O:     linear(s.Width, s.Heads*s.HeadDim, 1, false),
		}
		if s.HeadNorm {
			q, k := b.norm(s.HeadDim, sharp), b.norm(s.HeadDim, sharp)
			a.QNorm, a.KNorm = &q, &k
		}
		p.Layers = append(p.Layers, arch.Layer{
			MixerNorm:   b.norm(s.Width, 1),
			Mixer:       a,
			ForwardNorm: b.norm(s.Width, 1),
			Forward: &arch.Gated{
				Gate: linear(s.Inner, s.Width, 1, false),
				Up:   linear(s.Inner, s.Width, 1, false),
				Down: linear(s.Width, s.Inner, 1, false),
				Act:  arch.SiLU,
			},
		})
	}
	m := &model.Model{Name: "tiny " + s.Name, Program: p, ID: sha256.Sum256([]byte(fmt.Sprintf("%+v", s)))}
	for _, w := range p.Tensors() {
		m.Size += int64(len(w.Data))
	}
	return m
}

// builder makes random weights from one stream.
type builder struct {
	t     testing.TB
	state uint64
}

// uniform returns a value from -1 to 1.
func (b *builder) uniform() float64 {
	b.state++
	return float64(int64(mix(b.state))) / (1 << 63)
}

func (b *builder) vector(n int, scale float64) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(scale * b.uniform())
	}
	return v
}

func (b *builder) norm(n int, gain float64) arch.Norm {
	g := b.vector(n, 0.3*gain)
	for i := range g {
		g[i] += float32(gain)
	}
	return arch.Norm{Gain: g, Epsilon: 1e-5}
}

// matrix has values of standard deviation scale / sqrt(cols).
func (b *builder) matrix(f quant.Format, rows, cols int, scale float64) quant.Tensor {
	b.t.Helper()
	n, err := f.RowBytes(cols)
	if err != nil {
		b.t.Fatal(err)
	}
	data := make([]byte, rows*n)
	if err := quant.Encode(data, f, b.vector(rows*cols, scale*math.Sqrt(3/float64(cols)))); err != nil {
		b.t.Fatal(err)
	}
	w, err := quant.NewTensor(f, rows, cols, data)
	if err != nil {
		b.t.Fatal(err)
	}
	return w
}
