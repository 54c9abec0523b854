package sample

import (
	"cmp"
	"math"
	"slices"
)

// Logit is a token and its logit.
type Logit struct {
	ID    int32
	Value float32
}

// descending orders by logit, largest first, then by id.
func descending(a, b Logit) int {
	if a.Value != b.Value {
		return cmp.Compare(b.Value, a.Value)
	}
	return cmp.Compare(a.ID, b.ID)
}

// TopK appends to dst the k largest logits of the row among the allowed ids, in descending order,
// ties by id; fewer when fewer are allowed. A NaN is ErrNaN. -Inf counts as a value.
func TopK(dst []Logit, row []float32, mask Mask, k int) ([]Logit, error) {
	if k <= 0 {
		return dst, nil
	}
	base := len(dst)
	low := float32(math.NaN()) // compares with nothing: every logit counts while the heap fills
	for i := mask.next(row, 0, low); i < len(row); i = mask.next(row, i+1, low) {
		l := Logit{int32(i), row[i]}
		if l.Value != l.Value {
			return dst[:base], ErrNaN
		}
		if len(dst)-base < k {
			dst = append(dst, l)
			up(dst[base:])
		} else {
			dst[base] = l
			down(dst[base:])
		}
		if len(dst)-base == k {
			low = dst[base].Value // an equal logit further on has a higher id
		}
	}
	slices.SortFunc(dst[base:], descending)
	return dst, nil
}

// up and down restore a heap whose root is the last in descending order.
func up(h []Logit) {
	for i := len(h) - 1; i > 0; {
		p := (i - 1) / 2
		if descending(h[i], h[p]) < 0 {
			return
		}
		h[i], h[p] = h[p], h[i]
		i = p
	}
}

func down(h []Logit) {
	for i := 0; ; {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && descending(h[c], h[c+1]) < 0 {
			c++
		}
		if descending(h[c], h[i]) < 0 {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}

// Segment is the number of logits that LogSumExp adds up before it adds the segment's sum to
// the total. It never depends on anything, so the result is one function of the row.
const Segment = 256

// LogSumExp returns the natural logarithm of the sum of the exponentials of the row, in float64.
// It is -Inf for an empty row or one of -Inf alone, +Inf if any logit is +Inf, and NaN if any is NaN.
func LogSumExp(row []float32) float64 {
	m := float32(math.Inf(-1))
	for _, v := range row {
		if !(v <= m) {
			if v != v {
				return math.NaN()
			}
			m = v
		}
	}
	if math.IsInf(float64(m), 0) {
		return float64(m)
	}
	top, total := float64(m), 0.0
	for len(row) > 0 {
		n := min(Segment, len(row))
		var lane [4]float64
		for i, v := range row[:n] {
			lane[i&3] += exp(float64(v) - top)
		}
		total += (lane[0] + lane[1]) + (lane[2] + lane[3])
		row = row[n:]
	}
	return top + math.Log(total)
}

// The Taylor coefficients of 2^r, ln(2)^k/k!.
const (
	c1  = math.Ln2
	c2  = c1 * math.Ln2 / 2
	c3  = c2 * math.Ln2 / 3
	c4  = c3 * math.Ln2 / 4
	c5  = c4 * math.Ln2 / 5
	c6  = c5 * math.Ln2 / 6
	c7  = c6 * math.Ln2 / 7
	c8  = c7 * math.Ln2 / 8
	c9  = c8 * math.Ln2 / 9
	c10 = c9 * math.Ln2 / 10
	c11 = c10 * math.Ln2 / 11
)

// exp is e^x for x <= 0, with a relative error below 2e-13 and the same bits on every
// architecture (math.Exp has not; the conversions forbid fusing). Below -700 it is 0.
func exp(x float64) float64 {
	if !(x > -700) {
		return 0
	}
	const shift = 3 << 51 // adding it rounds to an integer in the low bits
	t := float64(x * math.Log2E)
	n := t + shift
	r := t - (n - shift)
	r2 := float64(r * r)
	r4 := float64(r2 * r2)
	a := (1 + float64(c1*r)) + float64(r2*(c2+float64(c3*r)))
	b := (c4 + float64(c5*r)) + float64(r2*(c6+float64(c7*r)))
	c := (c8 + float64(c9*r)) + float64(r2*(c10+float64(c11*r)))
	p := a + float64(r4*(b+float64(r4*c)))
	return math.Float64frombits(math.Float64bits(p) + math.Float64bits(n)<<52)
}
