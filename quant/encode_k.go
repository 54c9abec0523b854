package quant

import "math"

// Both searches below try a ladder of scales around the one that just covers the range, round the
// values to codes, and solve for the scale (and minimum) of the least squared error given the codes.

// fitScale returns the scale s for which values s*q, q in [-32, 31], come closest to x.
func fitScale(x []float32) float32 {
	top := extreme(x)
	if top == 0 {
		return 0
	}
	var best, bestGain float64
	for step := -9; step <= 9; step++ {
		inv := -(32 + 0.1*float64(step)) / float64(top)
		var sum, squares float64
		for _, v := range x {
			q := float64(code(float32(float64(v)*inv), -32, 31))
			sum += float64(v) * q
			squares += q * q
		}
		// With the best scale sum/squares the error falls by sum*sum/squares.
		if squares > 0 && sum*sum/squares > bestGain {
			best, bestGain = sum/squares, sum*sum/squares
		}
	}
	return float32(best)
}

// fitRange returns a scale and a minimum, both at least 0, for which values scale*q - minimum, q
// in [0, 15], come closest to x.
func fitRange(x []float32) (scale, minimum float32) {
	low, high := float64(min(x[0], 0)), float64(x[0])
	var sumX float64
	for _, v := range x {
		low, high = min(low, float64(v)), max(high, float64(v))
		sumX += float64(v)
	}
	if high <= low {
		return 0, float32(-low)
	}
	n := float64(len(x))
	bestError := math.Inf(1)
	for step := -10; step <= 10; step++ {
		inv := (15 + 0.1*float64(step)) / (high - low)
		var q1, q2, qx float64
		for _, v := range x {
			q := float64(code(float32((float64(v)-low)*inv), 0, 15))
			q1, q2, qx = q1+q, q2+q*q, qx+q*float64(v)
		}
		d := n*q2 - q1*q1
		if d <= 0 {
			continue
		}
		s, m := (n*qx-q1*sumX)/d, (q2*sumX-q1*qx)/d
		if m > 0 {
			s, m = qx/q2, 0
		}
		if s <= 0 {
			continue
		}
		var e float64
		for _, v := range x {
			q := float64(code(float32((float64(v)-m)/s), 0, 15))
			e += (s*q + m - float64(v)) * (s*q + m - float64(v))
		}
		if e < bestError {
			bestError, scale, minimum = e, float32(s), float32(-m)
		}
	}
	if math.IsInf(bestError, 1) {
		return float32((high - low) / 15), float32(-low)
	}
	return scale, minimum
}

func encodeQ4_K(dst []byte, src []float32) {
	for ; len(src) >= 256; dst, src = dst[144:], src[256:] {
		clear(dst[:144])
		var scales, minima [8]float32
		var topScale, topMin float32
		for j := range 8 {
			scales[j], minima[j] = fitRange(src[32*j:][:32])
			topScale, topMin = max(topScale, scales[j]), max(topMin, minima[j])
		}
		d, invD := putScale(dst, topScale/63)
		m, invM := putScale(dst[2:], topMin/63)
		for j := range 8 {
			sc, mn := code(scales[j]*invD, 0, 63), code(minima[j]*invM, 0, 63)
			putScaleMin(dst[4:16], j, byte(sc), byte(mn))
			scale, minimum := d*float32(sc), m*float32(mn)
			if scale == 0 {
				continue
			}
			qs := dst[16+j>>1*32:]
			for i, v := range src[32*j:][:32] {
				qs[i] |= byte(code((v+minimum)/scale, 0, 15)) << (j & 1 * 4)
			}
		}
	}
}

// putScaleMin is the inverse of ScaleMin, over bytes that start at zero.
func putScaleMin(s []byte, j int, scale, minimum byte) {
	if j < 4 {
		s[j] |= scale
		s[j+4] |= minimum
		return
	}
	s[j+4] |= scale&15 | minimum<<4
	s[j-4] |= scale >> 4 << 6
	s[j] |= minimum >> 4 << 6
}

func encodeQ6_K(dst []byte, src []float32) {
	for ; len(src) >= 256; dst, src = dst[210:], src[256:] {
		clear(dst[:210])
		var scales [16]float32
		for j := range scales {
			scales[j] = fitScale(src[16*j:][:16])
		}
		d, inv := putScale(dst[208:], extreme(scales[:])/-128)
		for j := range scales {
			sc := code(scales[j]*inv, -128, 127)
			dst[192+j] = byte(sc)
			scale := d * float32(sc)
			if scale == 0 {
				continue
			}
			for i, v := range src[16*j:][:16] {
				putQ6(dst, 16*j+i, byte(code(v/scale, -32, 31)+32))
			}
		}
	}
}

// putQ6 stores the code of element e, 0 to 63, in a Q6_K block whose codes start at zero.
func putQ6(block []byte, e int, q byte) {
	part, quarter, lane := e>>7, e>>5&3, e&31
	block[64*part+quarter&1*32+lane] |= q & 15 << (quarter >> 1 * 4)
	block[128+32*part+lane] |= q >> 4 << (2 * quarter)
}
