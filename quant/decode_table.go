package quant

import (
	"encoding/binary"
	"math"
)

// iq4 holds the values of the codes of IQ4_NL and IQ4_XS.
var iq4 = [16]int8{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

// fp4 holds twice the values of the four-bit floats (sign, 2 exponent bits, 1 mantissa bit).
var fp4 = [16]int8{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}

// IQ4_NL: as Q4_0, codes through a table.
func decodeIQ4_NL(dst []float32, src []byte) {
	for ; len(dst) >= 32; dst, src = dst[32:], src[18:] {
		d := half(src)
		for i, q := range src[2:18] {
			dst[i] = d * float32(iq4[q&15])
			dst[i+16] = d * float32(iq4[q>>4])
		}
	}
}

// scaleIQ4XS returns the signed scale of sub-block j of an IQ4_XS block.
func scaleIQ4XS(src []byte, j int) int {
	low := src[4+j>>1] >> (j & 1 * 4) & 15
	high := byte(binary.LittleEndian.Uint16(src[2:]) >> (2 * j) & 3)
	return int(low|high<<4) - 32
}

// IQ4_XS: scale, 8 high and 8 low parts of scales, 8 sub-blocks of 16 bytes as IQ4_NL's.
func decodeIQ4_XS(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[136:] {
		d := half(src)
		for j := range 8 {
			scale := d * float32(scaleIQ4XS(src, j))
			for i, q := range src[8+16*j:][:16] {
				dst[32*j+i] = scale * float32(iq4[q&15])
				dst[32*j+i+16] = scale * float32(iq4[q>>4])
			}
		}
	}
}

// scaleE8M0 returns half the power of two that an exponent byte stands for, since fp4 is doubled.
func scaleE8M0(e byte) float32 {
	if e < 2 {
		return math.Float32frombits(0x00200000 << e)
	}
	return math.Float32frombits(uint32(e-1) << 23)
}

// MXFP4: exponent byte, nibbles as Q4_0's.
func decodeMXFP4(dst []float32, src []byte) {
	for ; len(dst) >= 32; dst, src = dst[32:], src[17:] {
		d := scaleE8M0(src[0])
		for i, q := range src[1:17] {
			dst[i] = d * float32(fp4[q&15])
			dst[i+16] = d * float32(fp4[q>>4])
		}
	}
}

// scaleE4M3 returns half the value of an unsigned 8-bit float; the sign bit is ignored.
func scaleE4M3(b byte) float32 {
	exp, man := b>>3&15, float32(b&7)
	switch {
	case b == 0 || b == 0x7f:
		return 0
	case exp == 0:
		return man * (1.0 / 1024)
	}
	return (8 + man) * math.Float32frombits(uint32(exp-7+127-4)<<23)
}

// NVFP4: 4 scales, then for each sub-block of 16 values 8 bytes of nibbles.
func decodeNVFP4(dst []float32, src []byte) {
	for ; len(dst) >= 64; dst, src = dst[64:], src[36:] {
		for s := range 4 {
			d := scaleE4M3(src[s])
			for i, q := range src[4+8*s:][:8] {
				dst[16*s+i] = d * float32(fp4[q&15])
				dst[16*s+i+8] = d * float32(fp4[q>>4])
			}
		}
	}
}

// TQ1_0: 48 bytes of five ternary digits, 4 bytes of four, scale. A digit is read by multiplying
// the byte, a fraction of 256, by a power of three.
func decodeTQ1_0(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[54:] {
		d := half(src[52:])
		out := dst
		for _, part := range [...]struct{ from, to, digits int }{{0, 32, 5}, {32, 48, 5}, {48, 52, 4}} {
			power := byte(1)
			for range part.digits {
				for i, b := range src[part.from:part.to] {
					digit := int(uint16(b*power) * 3 >> 8)
					out[i] = float32(digit-1) * d
				}
				out = out[part.to-part.from:]
				power *= 3
			}
		}
	}
}

// TQ2_0: 64 bytes of 2-bit codes with an offset of 1, scale.
func decodeTQ2_0(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[66:] {
		d := half(src[64:])
		for e := range 256 {
			q := src[e>>7<<5|e&31] >> (e >> 5 & 3 * 2) & 3
			dst[e] = float32(int(q)-1) * d
		}
	}
}

// Q1_0: scale, 128 sign bits.
func decodeQ1_0(dst []float32, src []byte) {
	for ; len(dst) >= 128; dst, src = dst[128:], src[18:] {
		d := half(src)
		for e := range 128 {
			dst[e] = d * float32(int(src[2+e>>3]>>(e&7)&1)*2-1)
		}
	}
}

// Q2_0: scale, 64 codes of 2 bits with an offset of 1.
func decodeQ2_0(dst []float32, src []byte) {
	for ; len(dst) >= 64; dst, src = dst[64:], src[18:] {
		d := half(src)
		for e := range 64 {
			dst[e] = d * float32(int(src[2+e>>2]>>(e&3*2)&3)-1)
		}
	}
}
