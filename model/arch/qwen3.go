package arch

// qwen3 builds the dense Qwen 3: llama with a norm on every head of q and k before the rotation.
func qwen3(w *weights) (*Program, error) {
	return decoder(w, func(i int) *Attention {
		a := w.attention(i, (*weights).linear)
		q, k := w.norm(block(i, "attn_q_norm"), w.headDim), w.norm(block(i, "attn_k_norm"), w.headDim)
		a.QNorm, a.KNorm = &q, &k
		return a
	})
}
