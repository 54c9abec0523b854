//go:build !noasm

package cpu

import "math"

// The operators on rows with NEON. Kernels take whole registers of four values; what is left goes
// through the same kernels, padded.

// padded4 returns four values of which the first are x's, the others pad.
func padded4(x []float32, pad float32) [4]float32 {
	v := [4]float32{pad, pad, pad, pad}
	copy(v[:], x)
	return v
}

func addRowNEON(dst, src []float32) {
	n := len(src) &^ 3
	if n > 0 {
		addNEON(&dst[0], &src[0], n)
	}
	addGeneric(dst[n:], src[n:])
}

// sum4 folds four sums.
func sum4(s *[4]float32) float32 { return (s[0] + s[2]) + (s[1] + s[3]) }

func normNEON(dst, src, gain []float32, epsilon float32) {
	var sums [4]float32
	n := len(src) &^ 3
	tail, tailGain := padded4(src[n:], 0), padded4(gain[n:], 0)
	if n > 0 {
		squaresNEON(&sums, &src[0], n)
	}
	squaresNEON(&sums, &tail[0], 4)
	factor := rsqrt(sum4(&sums)/float32(len(src)) + epsilon)
	if n > 0 {
		scaleNEON(&dst[0], &src[0], &gain[0], &factor, n)
	}
	scaleNEON(&tail[0], &tail[0], &tailGain[0], &factor, 4)
	copy(dst[n:], tail[:])
}

func siluRowNEON(up, gate []float32) {
	n := len(gate) &^ 3
	if n > 0 {
		siluNEON(&up[0], &gate[0], n)
	}
	if n < len(gate) {
		u, g := padded4(up[n:], 0), padded4(gate[n:], 0)
		siluNEON(&u[0], &g[0], 4)
		copy(up[n:], u[:])
	}
}

func blendRowNEON(acc, part []float32, a, b float32) {
	ab := [2]float32{a, b}
	n := len(part) &^ 3
	if n > 0 {
		blendNEON(&acc[0], &part[0], &ab, n)
	}
	if n < len(part) {
		x, y := padded4(acc[n:len(part)], 0), padded4(part[n:], 0)
		blendNEON(&x[0], &y[0], &ab, 4)
		copy(acc[n:len(part)], x[:])
	}
}

func rotateRowNEON(a, b, cos, sin []float32) {
	n := len(cos) &^ 3
	if n > 0 {
		rotateNEON(&a[0], &b[0], &cos[0], &sin[0], n)
	}
	if m := len(cos); n < m {
		x, y, c, s := padded4(a[n:m], 0), padded4(b[n:m], 0), padded4(cos[n:], 0), padded4(sin[n:], 0)
		rotateNEON(&x[0], &y[0], &c[0], &s[0], 4)
		copy(a[n:m], x[:])
		copy(b[n:m], y[:])
	}
}

var negInf = float32(math.Inf(-1))

func max4(v *[4]float32) float32 { return max(max(v[0], v[2]), max(v[1], v[3])) }

func softmaxNEON(scores []float32, n int, scale float32) (top, sum float32) {
	whole := (n + 3) &^ 3
	for i := n; i < whole; i++ {
		scores[i] = negInf // its weight is 0
	}
	best := [4]float32{negInf, negInf, negInf, negInf}
	largestNEON(&best, &scores[0], &scale, whole)
	st := [2]float32{scale, max4(&best)}
	var sums [4]float32
	expStoreNEON(&sums, &scores[0], &st, whole)
	clear(scores[whole:])
	return st[1], sum4(&sums)
}

func sumExpNEON(x []float32) (top, sum float32) {
	n := len(x) &^ 3
	tail := padded4(x[n:], negInf)
	best, one := tail, float32(1)
	if n > 0 {
		largestNEON(&best, &x[0], &one, n)
	}
	st := [2]float32{1, max4(&best)}
	var sums [4]float32
	if n > 0 {
		expSumNEON(&sums, &x[0], &st, n)
	}
	expSumNEON(&sums, &tail[0], &st, 4)
	return st[1], sum4(&sums)
}
