//go:build !noasm

package sample

// next is nextGeneric. SSE is part of every amd64 processor, so there is nothing to detect.
func next(row []float32, i int, low float32) int {
	if len(row)-i >= 16 {
		i += nextBlocks(&row[i], len(row)-i, low)
	}
	return nextGeneric(row, i, low)
}

// nextBlocks returns the first place of n logits whose logit is above low or NaN; if there is
// none in the whole blocks of 16, the place where those end.
//
//go:noescape
func nextBlocks(p *float32, n int, low float32) int
