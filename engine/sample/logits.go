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
	for i := next(row, 0, m); i < len(row); i = next(row, i, m) {
		if m = row[i]; m != m {
			return math.NaN()
		}
	}
	if math.IsInf(float64(m), 0) {
		return float64(m)
	}
	top, total := float64(m), 0.0
	for len(row) > 0 {
		n := min(Segment, len(row))
		total += expSum(row[:n], top)
		row = row[n:]
	}
	return top + math.Log(total)
}

// expSum adds exp(v - top) in four lanes, which are then added in pairs.
func expSum(row []float32, top float64) float64 {
	var a, b, c, d float64
	for ; len(row) >= 4; row = row[4:] {
		a += exp(max(float64(row[0])-top, lowest))
		b += exp(max(float64(row[1])-top, lowest))
		c += exp(max(float64(row[2])-top, lowest))
		d += exp(max(float64(row[3])-top, lowest))
	}
	for _, v := range row {
		a += exp(max(float64(v)-top, lowest))
	}
	return (a + b) + (c + d)
}
