package cpu

import "math"

// Pi/2 in three parts; the first two have enough zero bits that their products with quarter turns
// below 2^20 are exact.
const (
	halfPi1 = 1.57079632673412561417e+00
	halfPi2 = 6.07710050630396597660e-11
	halfPi3 = 2.02226624879595063154e-21
)

// sincos returns the sine and cosine of an angle of at most some millions of radians, to about
// 1e-15, with the same bits on every processor.
func sincos(x float64) (sin, cos float64) {
	n := math.RoundToEven(float64(x * (2 / math.Pi)))
	r := x - float64(n*halfPi1)
	r -= float64(n * halfPi2)
	r -= float64(n * halfPi3)
	z := float64(r * r)
	// Taylor series: on a quarter turn the first terms left out are below 1e-17.
	s := 1.0
	for k := 16.0; k >= 2; k -= 2 {
		s = 1 - float64(s*z)/float64(k*(k+1))
	}
	s = float64(s * r)
	c := 1.0
	for k := 15.0; k >= 1; k -= 2 {
		c = 1 - float64(c*z)/float64(k*(k+1))
	}
	switch int64(n) & 3 {
	case 0:
		return s, c
	case 1:
		return c, -s
	case 2:
		return -s, -c
	}
	return -c, s
}
