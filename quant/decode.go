package quant

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Decode writes the values of src, stored in format f, to dst. len(dst) must be whole blocks and
// src exactly as long as they need. Decoding is exact but for formats with a minimum (Q4_1, Q5_1,
// Q2_K, Q4_K, Q5_K), whose values are rounded once. Any bytes decode to something.
func Decode(dst []float32, f Format, src []byte) error {
	decode := decoder(f)
	if decode == nil {
		return fmt.Errorf("%w: cannot decode %v", ErrFormat, f)
	}
	if err := checkLengths(f, len(dst), len(src)); err != nil {
		return err
	}
	decode(dst, src)
	return nil
}

// CanDecode reports whether Decode knows the format.
func CanDecode(f Format) bool { return decoder(f) != nil }

func checkLengths(f Format, values, bytes int) error {
	want, err := f.RowBytes(values)
	if err != nil {
		return err
	}
	if bytes != want {
		return fmt.Errorf("%w: %d values in %v take %d bytes, have %d", ErrLength, values, f, want, bytes)
	}
	return nil
}

// decoder returns the loop over blocks of a format, nil where there is none.
func decoder(f Format) func(dst []float32, src []byte) {
	switch f {
	case F32:
		return decodeF32
	case F16:
		return decodeF16
	case BF16:
		return decodeBF16
	case Q8_0:
		return decodeQ8_0
	case Q4_0:
		return decodeQ4_0
	case Q4_1:
		return decodeQ4_1
	case Q5_0:
		return decodeQ5_0
	case Q5_1:
		return decodeQ5_1
	case Q2_K:
		return decodeQ2_K
	case Q3_K:
		return decodeQ3_K
	case Q4_K:
		return decodeQ4_K
	case Q5_K:
		return decodeQ5_K
	case Q6_K:
		return decodeQ6_K
	case IQ4_NL:
		return decodeIQ4_NL
	case IQ4_XS:
		return decodeIQ4_XS
	case MXFP4:
		return decodeMXFP4
	case NVFP4:
		return decodeNVFP4
	case TQ1_0:
		return decodeTQ1_0
	case TQ2_0:
		return decodeTQ2_0
	case Q1_0:
		return decodeQ1_0
	case Q2_0:
		return decodeQ2_0
	}
	return nil
}

// half reads a little-endian half-precision float at the start of b.
func half(b []byte) float32 { return F16ToFloat32(binary.LittleEndian.Uint16(b)) }

func decodeF32(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

func decodeF16(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = half(src[2*i:])
	}
}

func decodeBF16(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = BF16ToFloat32(binary.LittleEndian.Uint16(src[2*i:]))
	}
}

// Q8_0: scale, 32 signed codes.
func decodeQ8_0(dst []float32, src []byte) {
	for ; len(dst) >= 32; dst, src = dst[32:], src[34:] {
		d := half(src)
		for i, q := range src[2:34] {
			dst[i] = d * float32(int8(q))
		}
	}
}

// The formats of 32 values in nibbles: byte i holds value i low and value i+16 high.

// Q4_0: scale, nibbles with an offset of 8.
func decodeQ4_0(dst []float32, src []byte) {
	for ; len(dst) >= 32; dst, src = dst[32:], src[18:] {
		d := half(src)
		for i, q := range src[2:18] {
			dst[i] = d * float32(int(q&15)-8)
			dst[i+16] = d * float32(int(q>>4)-8)
		}
	}
}

// Q4_1: scale, minimum, nibbles.
func decodeQ4_1(dst []float32, src []byte) {
	for ; len(dst) >= 32; dst, src = dst[32:], src[20:] {
		d, m := half(src), half(src[2:])
		for i, q := range src[4:20] {
			dst[i] = float32(d*float32(q&15)) + m
			dst[i+16] = float32(d*float32(q>>4)) + m
		}
	}
}

// Q5_0: scale, 32 fifth bits, nibbles; an offset of 16.
func decodeQ5_0(dst []float32, src []byte) {
	for ; len(dst) >= 32; dst, src = dst[32:], src[22:] {
		d, high := half(src), binary.LittleEndian.Uint32(src[2:])
		for i, q := range src[6:22] {
			dst[i] = d * float32(int(uint32(q&15)|high>>i&1<<4)-16)
			dst[i+16] = d * float32(int(uint32(q>>4)|high>>(i+16)&1<<4)-16)
		}
	}
}

// Q5_1: scale, minimum, 32 fifth bits, nibbles.
func decodeQ5_1(dst []float32, src []byte) {
	for ; len(dst) >= 32; dst, src = dst[32:], src[24:] {
		d, m, high := half(src), half(src[2:]), binary.LittleEndian.Uint32(src[4:])
		for i, q := range src[8:24] {
			dst[i] = float32(d*float32(uint32(q&15)|high>>i&1<<4)) + m
			dst[i+16] = float32(d*float32(uint32(q>>4)|high>>(i+16)&1<<4)) + m
		}
	}
}
