package quant

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Encode writes the values of src to dst in format f: F32, F16, BF16, Q8_0, Q4_0, Q4_K or Q6_K.
// len(src) must be whole blocks and dst exactly as long as they need. F16 and BF16 round to the
// nearest value, ties to even, and keep infinities and NaNs. The block formats refuse values that
// are not finite with ErrValue; a block too small for its half-precision scale becomes zeros.
func Encode(dst []byte, f Format, src []float32) error {
	encode := encoder(f)
	if encode == nil {
		return fmt.Errorf("%w: cannot encode %v", ErrFormat, f)
	}
	if err := checkLengths(f, len(src), len(dst)); err != nil {
		return err
	}
	if f.BlockLen() > 1 {
		for i, v := range src {
			if v-v != 0 {
				return fmt.Errorf("%w: value %d is %v, %v has none for it", ErrValue, i, v, f)
			}
		}
	}
	encode(dst, src)
	return nil
}

// CanEncode reports whether Encode knows the format.
func CanEncode(f Format) bool { return encoder(f) != nil }

func encoder(f Format) func(dst []byte, src []float32) {
	switch f {
	case F32:
		return encodeF32
	case F16:
		return encodeF16
	case BF16:
		return encodeBF16
	case Q8_0:
		return encodeQ8_0
	case Q4_0:
		return encodeQ4_0
	case Q4_K:
		return encodeQ4_K
	case Q6_K:
		return encodeQ6_K
	}
	return nil
}

func encodeF32(dst []byte, src []float32) {
	for i, v := range src {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
	}
}

func encodeF16(dst []byte, src []float32) {
	for i, v := range src {
		binary.LittleEndian.PutUint16(dst[2*i:], Float32ToF16(v))
	}
}

func encodeBF16(dst []byte, src []float32) {
	for i, v := range src {
		binary.LittleEndian.PutUint16(dst[2*i:], Float32ToBF16(v))
	}
}

// putScale stores a scale as half precision, at most its largest finite value, and returns what
// was stored with its reciprocal, 0 where the scale vanished.
func putScale(dst []byte, d float32) (stored, inverse float32) {
	h := Float32ToF16(max(-65504, min(65504, d)))
	binary.LittleEndian.PutUint16(dst, h)
	stored = F16ToFloat32(h)
	if stored == 0 {
		return 0, 0
	}
	return stored, 1 / stored
}

// code returns the nearest integer in [lo, hi].
func code(v float32, lo, hi int) int {
	return max(lo, min(hi, int(math.RoundToEven(float64(max(-1e6, min(1e6, v)))))))
}

// extreme returns the value of the largest magnitude, with its sign.
func extreme(src []float32) float32 {
	var m float32
	for _, v := range src {
		if max(v, -v) > max(m, -m) {
			m = v
		}
	}
	return m
}

func encodeQ8_0(dst []byte, src []float32) {
	for ; len(src) >= 32; dst, src = dst[34:], src[32:] {
		m := extreme(src[:32])
		_, inv := putScale(dst, max(m, -m)/127)
		for i, v := range src[:32] {
			dst[2+i] = byte(code(v*inv, -127, 127))
		}
	}
}

// The codes of Q4_0 reach -8 but only 7, so the value of the largest magnitude takes -8.
func encodeQ4_0(dst []byte, src []float32) {
	for ; len(src) >= 32; dst, src = dst[18:], src[32:] {
		_, inv := putScale(dst, extreme(src[:32])/-8)
		for i := range 16 {
			low, high := code(src[i]*inv, -8, 7)+8, code(src[i+16]*inv, -8, 7)+8
			dst[2+i] = byte(low | high<<4)
		}
	}
}
