package arch

// qwen2 builds Qwen 2 and 2.5: llama with a bias on q, k and v.
func qwen2(w *weights) (*Program, error) {
	return decoder(w, func(i int) *Attention {
		return w.attention(i, (*weights).biased)
	})
}
