package quant

// The K formats: 256 values in sub-blocks of 16 or 32, whose scales (and minima) are small
// integers on one or two half-precision factors.

// ScaleMin unpacks the 6-bit scale and minimum of sub-block j, 0 to 7, from the 12 bytes that a block
// of Q4_K or Q5_K has for them.
func ScaleMin(s []byte, j int) (scale, minimum byte) {
	if j < 4 {
		return s[j] & 63, s[j+4] & 63
	}
	return s[j+4]&15 | s[j-4]>>6<<4, s[j+4]>>4 | s[j]>>6<<4
}

// scaleQ3 unpacks the 6-bit scale of sub-block k from the 12 bytes of Q3_K; it has an offset of 32.
func scaleQ3(s []byte, k int) int {
	low := s[k&7] >> (k >> 3 * 4) & 15
	return int(low|s[8+k&3]>>(k>>2*2)&3<<4) - 32
}

// Q2_K: 16 bytes of scale and minimum nibbles, 64 bytes of 2-bit codes, scale, minimum.
func decodeQ2_K(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[84:] {
		scales, qs := src[:16], src[16:80]
		d, dmin := half(src[80:]), half(src[82:])
		for e := range 256 {
			q := qs[e>>7<<5|e&31] >> (e >> 5 & 3 * 2) & 3
			s := scales[e>>4]
			dst[e] = float32(d*float32(s&15)*float32(q)) - float32(dmin*float32(s>>4))
		}
	}
}

// Q3_K: 32 bytes of third bits, 64 bytes of 2-bit codes, 12 bytes of scales, scale.
func decodeQ3_K(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[110:] {
		high, qs, scales := src[:32], src[32:96], src[96:108]
		d := half(src[108:])
		for e := range 256 {
			dst[e] = d * float32(scaleQ3(scales, e>>4)) * float32(codeQ3(qs, high, e))
		}
	}
}

// codeQ3 returns the code of element e, from -4 to 3.
func codeQ3(qs, high []byte, e int) int {
	q := int(qs[e>>7<<5|e&31] >> (e >> 5 & 3 * 2) & 3)
	return q - 4 + int(high[e&31]>>(e>>5)&1<<2)
}

// Q4_K: scale, minimum, 12 bytes of scales and minima, nibbles: 32 bytes hold two sub-blocks of 32.
func decodeQ4_K(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[144:] {
		d, dmin := half(src), half(src[2:])
		for j := range 8 {
			sc, m := ScaleMin(src[4:16], j)
			scale, minimum := d*float32(sc), dmin*float32(m)
			qs := src[16+j>>1*32:][:32]
			shift := j & 1 * 4
			for i, q := range qs {
				dst[32*j+i] = float32(scale*float32(q>>shift&15)) - minimum
			}
		}
	}
}

// Q5_K: as Q4_K, with 32 bytes of fifth bits before the nibbles, bit j for sub-block j.
func decodeQ5_K(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[176:] {
		d, dmin, high := half(src), half(src[2:]), src[16:48]
		for j := range 8 {
			sc, m := ScaleMin(src[4:16], j)
			scale, minimum := d*float32(sc), dmin*float32(m)
			qs := src[48+j>>1*32:][:32]
			shift := j & 1 * 4
			for i, q := range qs {
				dst[32*j+i] = float32(scale*float32(q>>shift&15|high[i]>>j&1<<4)) - minimum
			}
		}
	}
}

// Q6_K: 128 bytes of low nibbles, 64 bytes of high 2-bit pairs, 16 signed scales, scale.
func decodeQ6_K(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[210:] {
		d := half(src[208:])
		for half := range 2 {
			low, high, scales := src[64*half:][:64], src[128+32*half:][:32], src[192+8*half:][:8]
			out := dst[128*half:][:128]
			for i := range 32 {
				l0, l1, h := low[i], low[i+32], high[i]
				s := i >> 4
				out[i] = d * float32(int8(scales[s])) * float32(int(l0&15|h&3<<4)-32)
				out[i+32] = d * float32(int8(scales[s+2])) * float32(int(l1&15|h>>2&3<<4)-32)
				out[i+64] = d * float32(int8(scales[s+4])) * float32(int(l0>>4|h>>4&3<<4)-32)
				out[i+96] = d * float32(int8(scales[s+6])) * float32(int(l1>>4|h>>6<<4)-32)
			}
		}
	}
}

// CodeQ6 returns the code of element e, 0 to 63 with an offset of 32, of a block of Q6_K.
func CodeQ6(block []byte, e int) byte {
	part, quarter, lane := e>>7, e>>5&3, e&31
	low := block[64*part+quarter&1*32+lane] >> (quarter >> 1 * 4) & 15
	return low | block[128+32*part+lane]>>(2*quarter)&3<<4
}
