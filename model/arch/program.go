package arch

import "github.com/hotpath-go/hotpath/quant"

// Program is the forward pass of a model as data: token embedding, layers, final norm, heads.
// Backends walk it and know no family names. A Program is read-only after it is built and may be
// shared between goroutines; its tensors are views that live as long as the model.
//
// With x the row of Width values that a position carries, rms(v) = v / sqrt(mean(v^2) + Epsilon):
//
//	x = Embedding[token]
//	each layer: x += Mixer(Norm(x)); x += FeedForward(Norm(x))
//	logits = Head . Norm(x)
type Program struct {
	Family    string       // the architecture's name in the file, for messages only
	Width     int          // values in a row between layers
	Vocab     int          // rows of Embedding and Head
	Context   int          // positions the model was trained for
	Embedding quant.Tensor // Vocab x Width
	Layers    []Layer
	Norm      Norm         // before the head
	Head      quant.Tensor // Vocab x Width; the Embedding itself when tied
	Tied      bool         // Head is the Embedding
}

// Layer is one residual block: a mixer over positions, then a feed-forward over the row.
type Layer struct {
	MixerNorm   Norm
	Mixer       Mixer
	ForwardNorm Norm
	Forward     FeedForward
}

// Norm is a root-mean-square normalisation with a gain per value.
type Norm struct {
	Gain    []float32
	Epsilon float32
}

// Linear is y = Weight . x + Bias, where Weight is Rows (out) x Cols (in) and Bias may be nil.
type Linear struct {
	Weight quant.Tensor
	Bias   []float32
}

// Mixer is one of the few ways in which a position reads other positions: *Attention.
// Backends switch over the concrete types and refuse the ones they do not know.
type Mixer interface{ mixer() }

// FeedForward is one of the few ways in which a row is transformed alone: *Gated.
type FeedForward interface{ feedForward() }

// Attention is softmax attention over the cached keys and values of a sequence. Query head h
// reads key and value head h / (Heads/KVHeads).
type Attention struct {
	Heads   int
	KVHeads int
	HeadDim int
	Scale   float32 // multiplies every score
	Q, K, V Linear  // Width -> Heads*HeadDim, KVHeads*HeadDim, KVHeads*HeadDim
	QNorm   *Norm   // per head over HeadDim values, before the rotation; nil for none
	KNorm   *Norm
	Rope    *Rope  // nil for no rotation
	O       Linear // Heads*HeadDim -> Width
}

// Gated is Down . (Act(Gate . x) * (Up . x)).
type Gated struct {
	Gate, Up, Down Linear
	Act            Activation
}

// Activation names the function of a gate.
type Activation uint8

// The activations.
const (
	SiLU Activation = iota // x / (1 + exp(-x))
)

func (*Attention) mixer()   {}
func (*Gated) feedForward() {}

// Rope is a rotary position embedding. All scalings (linear, llama3, YaRN) are folded into Freqs
// and Magnitude. The pair i of a head's values is rotated by the angle position * Freqs[i] and
// both values are multiplied by Magnitude; values past 2*len(Freqs) stay as they are.
type Rope struct {
	Pairing   Pairing
	Freqs     []float64 // radians per position, one per pair
	Magnitude float32   // 1 unless YaRN says otherwise
}

// Pairing says which two values of a head form pair i of n.
type Pairing uint8

// The pairings.
const (
	Halves   Pairing = iota // values i and i+n
	Adjacent                // values 2i and 2i+1
)

// Attentions returns the attention mixers in layer order; each has its own part of a KV block.
func (p *Program) Attentions() []*Attention {
	var list []*Attention
	for i := range p.Layers {
		if a, ok := p.Layers[i].Mixer.(*Attention); ok {
			list = append(list, a)
		}
	}
	return list
}

// KVBytes returns the bytes of keys and values that one position takes over all attention layers
// in a KV format of one value a block (F32, F16, BF16).
func (p *Program) KVBytes(kv quant.Format) int {
	n := 0
	for _, a := range p.Attentions() {
		n += 2 * a.KVHeads * a.HeadDim
	}
	return n * kv.BlockBytes()
}

// Tensors returns the matrices in the order in which a forward pass meets them, the head last.
func (p *Program) Tensors() []quant.Tensor {
	list := []quant.Tensor{p.Embedding}
	for i := range p.Layers {
		switch m := p.Layers[i].Mixer.(type) {
		case *Attention:
			list = append(list, m.Q.Weight, m.K.Weight, m.V.Weight, m.O.Weight)
		}
		switch f := p.Layers[i].Forward.(type) {
		case *Gated:
			list = append(list, f.Gate.Weight, f.Up.Weight, f.Down.Weight)
		}
	}
	return append(list, p.Head)
}
