package cpu

import "math"

// The functions below are the specification of the vector versions: the same polynomials in the
// same order. Products are rounded before they are added, on every processor.

const (
	log2E  = 1.44269504
	ln2Hi  = 0.693359375 // 9 bits: its product with an exponent is exact
	ln2Lo  = -2.12194440e-4
	expMin = -87.3 // below it the result is 0, above -expMin infinite
	expC2  = 0.5
	expC3  = 0.16666577
	expC4  = 0.041666556
	expC5  = 0.008363203
	expC6  = 0.0013926213
)

// expGeneric returns e^x with a relative error below 2e-7, 0 below expMin, and NaN for NaN.
func expGeneric(x float32) float32 {
	if x != x {
		return x
	}
	if x < expMin {
		return 0
	}
	if x > -expMin {
		return float32(math.Inf(1))
	}
	const shift = 3 << 22 // adding it rounds to an integer
	n := float32(x*log2E) + shift
	k := int32(math.Float32bits(n)) - 0x4b400000
	n -= shift
	r := x - float32(n*ln2Hi)
	r -= float32(n * ln2Lo)
	p := float32(r*expC6) + expC5
	p = float32(r*p) + expC4
	p = float32(r*p) + expC3
	p = float32(r*p) + expC2
	q := float32(r*r*p) + r
	q++
	return math.Float32frombits(uint32(int32(math.Float32bits(q)) + k<<23))
}

// fold adds eight partial sums as a tree.
func fold(s *[8]float32) float32 {
	return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

// rsqrt returns 1/sqrt(x), each operation rounded to the nearest.
func rsqrt(x float32) float32 { return 1 / float32(math.Sqrt(float64(x))) }

func normGeneric(dst, src, gain []float32, epsilon float32) {
	var s [8]float32
	for i, v := range src {
		s[i&7] += float32(v * v)
	}
	scale := rsqrt(fold(&s)/float32(len(src)) + epsilon)
	for i, v := range src {
		dst[i] = v * scale * gain[i]
	}
}

func addGeneric(dst, src []float32) {
	for i, v := range src {
		dst[i] += v
	}
}

func siluGeneric(up, gate []float32) {
	for i, g := range gate {
		up[i] *= g / (1 + expGeneric(-g))
	}
}

func rotateGeneric(a, b, cos, sin []float32) {
	for i, x := range a {
		y := b[i]
		a[i] = float32(x*cos[i]) - float32(y*sin[i])
		b[i] = float32(x*sin[i]) + float32(y*cos[i])
	}
}

func softmaxGeneric(scores []float32, n int, scale float32) (top, sum float32) {
	top = float32(math.Inf(-1))
	for _, v := range scores[:n] {
		if v *= scale; v > top || v != v {
			top = v
		}
	}
	var s [8]float32
	for i, v := range scores[:n] {
		w := expGeneric(float32(v*scale) - top)
		scores[i] = w
		s[i&7] += w
	}
	clear(scores[n:])
	return top, fold(&s)
}

func blendGeneric(acc, part []float32, a, b float32) {
	for i, v := range part {
		acc[i] = float32(acc[i]*a) + float32(v*b)
	}
}

func sumExpGeneric(x []float32) (top, sum float32) {
	top = float32(math.Inf(-1))
	for _, v := range x {
		if v > top || v != v {
			top = v
		}
	}
	var s [8]float32
	for i, v := range x {
		s[i&7] += expGeneric(v - top)
	}
	return top, fold(&s)
}

func rotateAdjacentGeneric(x, cos, sin []float32) {
	for i, c := range cos {
		a, b, s := x[2*i], x[2*i+1], sin[i]
		x[2*i] = float32(a*c) - float32(b*s)
		x[2*i+1] = float32(a*s) + float32(b*c)
	}
}
