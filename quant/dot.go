package quant

import (
	"encoding/binary"
	"math"
)

// Dot products of a row of weights, as stored, with a row of activations. They are the
// specification of the backends' kernels: simple, and with one order of summation, which depends
// on the length alone. Lengths must agree; the callers have checked them.

// DotInt8 returns a function for rows of a block format with integer activations, nil where there
// is none: Q8_0, Q4_0, Q4_K and Q6_K have one. Integer sums run over a (sub-)block, and each is
// added to the result in turn, scaled.
func DotInt8(f Format) func(w []byte, x Int8Row) float32 {
	switch f {
	case Q8_0:
		return dotQ8_0
	case Q4_0:
		return dotQ4_0
	case Q4_K:
		return dotQ4_K
	case Q6_K:
		return dotQ6_K
	}
	return nil
}

// DotFloat returns a function for rows of a float format with float32 activations, nil where there
// is none: F32, F16 and BF16 have one. Element i is added to partial sum i mod 8.
func DotFloat(f Format) func(w []byte, x []float32) float32 {
	switch f {
	case F32:
		return dotF32
	case F16:
		return dotF16
	case BF16:
		return dotBF16
	}
	return nil
}

func dotQ8_0(w []byte, x Int8Row) float32 {
	var acc float32
	for b, scale := range x.Scales {
		codes, qs := (*[32]int8)(x.Codes[32*b:]), (*[32]byte)(w[34*b+2:])
		var sum int32
		for i, q := range qs {
			sum += int32(int8(q)) * int32(codes[i])
		}
		acc += float32(float32(sum) * (half(w[34*b:]) * scale))
	}
	return acc
}

func dotQ4_0(w []byte, x Int8Row) float32 {
	var acc float32
	for b, scale := range x.Scales {
		codes, qs := (*[32]int8)(x.Codes[32*b:]), (*[16]byte)(w[18*b+2:])
		sum := -8 * (x.Sums[2*b] + x.Sums[2*b+1])
		for i, q := range qs {
			sum += int32(q&15)*int32(codes[i]) + int32(q>>4)*int32(codes[i+16])
		}
		acc += float32(float32(sum) * (half(w[18*b:]) * scale))
	}
	return acc
}

func dotQ4_K(w []byte, x Int8Row) float32 {
	var acc float32
	for b := 0; b < len(x.Scales); b += 8 {
		block := (*[144]byte)(w[b/8*144:])
		d, dmin := half(block[:]), half(block[2:])
		for j := range 8 {
			codes, qs := (*[32]int8)(x.Codes[32*(b+j):]), (*[32]byte)(block[16+j>>1*32:])
			shift := j & 1 * 4
			var sum int32
			for i, q := range qs {
				sum += int32(q>>shift&15) * int32(codes[i])
			}
			sc, m := ScaleMin(block[4:16], j)
			scale := x.Scales[b+j]
			acc += float32(float32(sum) * (d * float32(sc) * scale))
			acc -= float32(float32(x.Sums[2*(b+j)]+x.Sums[2*(b+j)+1]) * (dmin * float32(m) * scale))
		}
	}
	return acc
}

func dotQ6_K(w []byte, x Int8Row) float32 {
	var acc float32
	for b := 0; b < len(x.Scales); b += 8 {
		block := (*[210]byte)(w[b/8*210:])
		d := half(block[208:])
		for j := range 16 { // sub-block j is half of quarter j/2%4 of 128 values
			quarter, lane := j>>1&3, j&1<<4
			low := (*[16]byte)(block[j>>3<<6+quarter&1<<5+lane:])
			high := (*[16]byte)(block[128+j>>3<<5+lane:])
			codes := (*[16]int8)(x.Codes[32*b+16*j:])
			sum := -32 * x.Sums[2*b+j]
			for i, c := range codes {
				q := low[i]>>(quarter>>1<<2)&15 | high[i]>>(2*quarter)&3<<4
				sum += int32(q) * int32(c)
			}
			acc += float32(float32(sum) * (d * float32(int8(block[192+j])) * x.Scales[b+j>>1]))
		}
	}
	return acc
}

// fold adds eight partial sums as a tree.
func fold(s *[8]float32) float32 {
	return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

func dotF32(w []byte, x []float32) float32 {
	var s [8]float32
	n := len(x) &^ 7
	for i := 0; i < n; i += 8 {
		v, b := (*[8]float32)(x[i:]), (*[32]byte)(w[4*i:])
		for k := range s {
			s[k] += float32(math.Float32frombits(binary.LittleEndian.Uint32(b[4*k:])) * v[k])
		}
	}
	for i, v := range x[n:] {
		s[i] += float32(math.Float32frombits(binary.LittleEndian.Uint32(w[4*(n+i):])) * v)
	}
	return fold(&s)
}

func dotF16(w []byte, x []float32) float32 {
	var s [8]float32
	for i, v := range x {
		s[i&7] += float32(half(w[2*i:]) * v)
	}
	return fold(&s)
}

func dotBF16(w []byte, x []float32) float32 {
	var s [8]float32
	for i, v := range x {
		s[i&7] += float32(BF16ToFloat32(binary.LittleEndian.Uint16(w[2*i:])) * v)
	}
	return fold(&s)
}
