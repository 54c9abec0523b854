package arch

import "math"

// llama builds Llama 1 to 3, Mistral and the many models of that shape: pre-norm, grouped-query
// attention with a rotation of every head, SiLU gate.
func llama(w *weights) (*Program, error) {
	return decoder(w, func(i int) *Attention {
		return w.attention(i, (*weights).linear)
	})
}

// decoder builds the layers of a plain pre-norm decoder around an attention.
func decoder(w *weights, attention func(layer int) *Attention) (*Program, error) {
	layers := make([]Layer, 0, min(w.layers, maxLayers))
	for i := range w.layers {
		layers = append(layers, Layer{
			MixerNorm:   w.norm(block(i, "attn_norm"), w.width),
			Mixer:       attention(i),
			ForwardNorm: w.norm(block(i, "ffn_norm"), w.width),
			Forward: &Gated{
				Gate: w.linear(block(i, "ffn_gate"), w.inner, w.width),
				Up:   w.linear(block(i, "ffn_up"), w.inner, w.width),
				Down: w.linear(block(i, "ffn_down"), w.width, w.inner),
				Act:  SiLU,
			},
		})
		if w.err != nil {
			return nil, w.err
		}
	}
	return w.finish(layers)
}

// attention reads the projections of a layer; project reads those of q, k and v.
func (w *weights) attention(i int, project func(w *weights, name string, rows, cols int) Linear) *Attention {
	return &Attention{
		Heads:   w.heads,
		KVHeads: w.kvHeads,
		HeadDim: w.headDim,
		Scale:   float32(1 / math.Sqrt(float64(w.headDim))),
		Q:       project(w, block(i, "attn_q"), w.heads*w.headDim, w.width),
		K:       project(w, block(i, "attn_k"), w.kvHeads*w.headDim, w.width),
		V:       project(w, block(i, "attn_v"), w.kvHeads*w.headDim, w.width),
		Rope:    w.rotation(),
		O:       w.linear(block(i, "attn_output"), w.width, w.heads*w.headDim),
	}
}
