package quant

import "math"

// F16ToFloat32 returns the value of a half-precision float, exactly. A NaN keeps its payload.
func F16ToFloat32(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp := uint32(h>>10) & 31
	man := uint32(h & 0x3ff)
	switch {
	case exp == 31:
		return math.Float32frombits(sign | 0xff<<23 | man<<13)
	case exp != 0:
		return math.Float32frombits(sign | (exp+112)<<23 | man<<13)
	}
	// Zero and subnormals: man * 2^-24 is exact.
	return math.Float32frombits(sign | math.Float32bits(float32(man)*(1.0/(1<<24))))
}

// Float32ToF16 rounds to the nearest half-precision float, ties to even. Values from 65520 on
// become infinite; a NaN stays one and becomes quiet.
func Float32ToF16(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b>>16) & 0x8000
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		return sign | 0x7e00 | uint16(b>>13)&0x3ff
	case b >= 0x477ff000: // 65520 rounds up
		return sign | 0x7c00
	case b >= 0x38800000: // 2^-14: the normal numbers
		b -= 112 << 23
		return sign | uint16((b+0xfff+b>>13&1)>>13)
	}
	// Adding 1/2 leaves, in the low bits of the sum, the value in steps of 2^-24, rounded to even.
	return sign | uint16(math.Float32bits(math.Float32frombits(b)+0.5)-0x3f000000)
}

// BF16ToFloat32 returns the value of a bfloat16, exactly.
func BF16ToFloat32(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// Float32ToBF16 rounds to the nearest bfloat16, ties to even. A NaN stays one and becomes quiet.
func Float32ToBF16(f float32) uint16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}
