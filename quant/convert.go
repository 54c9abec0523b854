package quant

import (
	"encoding/binary"
	"fmt"
)

// Native reports whether kernels exist for the format: F32, F16, BF16, Q8_0, Q4_0, Q4_K, Q6_K.
func (f Format) Native() bool { return DotInt8(f) != nil || DotFloat(f) != nil }

// Convert returns the tensor in a native format that is never coarser than its own: itself where
// that is native already. The result's data is new memory, or t's where nothing had to change.
//
//	Q5_0, IQ4_NL         Q8_0, exact
//	Q3_K                 Q6_K, exact
//	MXFP4                Q8_0 where all its scales are half-precision floats, else BF16; exact
//	NVFP4                BF16, exact
//	Q4_1, Q5_1, IQ4_XS,  Q8_0, rounded to 255 steps a block
//	Q2_K, Q5_K, others   or F32 where a scale would be no normal half-precision float
//
// It fails with ErrFormat for a format that Decode does not know.
func Convert(t Tensor) (Tensor, error) {
	if t.Format.Native() {
		return t, nil
	}
	if !CanDecode(t.Format) {
		return Tensor{}, fmt.Errorf("%w: %v has no decoder", ErrFormat, t.Format)
	}
	to, recode := target(t)
	if out, ok, err := convert(t, to, recode); ok || err != nil {
		return out, err
	}
	out, _, err := convert(t, F32, nil)
	return out, err
}

// convert reports false where Q8_0 cannot hold the values as finely as they are.
func convert(t Tensor, to Format, recode func(dst, src []byte)) (Tensor, bool, error) {
	size, err := to.RowBytes(t.Cols)
	if err != nil {
		return Tensor{}, false, err
	}
	out := Tensor{Format: to, Rows: t.Rows, Cols: t.Cols, Data: make([]byte, t.Rows*size)}
	row := make([]float32, t.Cols)
	for i := range t.Rows {
		if recode != nil {
			recode(out.Row(i), t.Row(i))
			continue
		}
		if err := Decode(row, t.Format, t.Row(i)); err != nil {
			return Tensor{}, false, err
		}
		if to == Q8_0 && !fitsQ8_0(row) {
			return Tensor{}, false, nil
		}
		if err := Encode(out.Row(i), to, row); err != nil {
			return Tensor{}, false, fmt.Errorf("row %d: %w", i, err)
		}
	}
	return out, true, nil
}

// fitsQ8_0 reports whether every block's scale is zero or a normal half-precision float.
func fitsQ8_0(row []float32) bool {
	for ; len(row) >= 32; row = row[32:] {
		v := extreme(row[:32])
		if scale := max(v, -v) / 127; scale != 0 && !(scale >= 1.0/(1<<14) && scale <= 65504) {
			return false
		}
	}
	return true
}

// target returns the format that a tensor becomes, and the function that moves codes over as they
// are, nil where values are decoded and encoded.
func target(t Tensor) (Format, func(dst, src []byte)) {
	switch t.Format {
	case Q5_0:
		return Q8_0, recodeQ5_0
	case IQ4_NL:
		return Q8_0, recodeIQ4_NL
	case Q3_K:
		return Q6_K, recodeQ3_K
	case NVFP4:
		return BF16, nil
	case MXFP4:
		for b := 0; b < len(t.Data); b += 17 {
			if e := t.Data[b]; e < 128-24 || e > 128+15 {
				return BF16, nil
			}
		}
		return Q8_0, recodeMXFP4
	}
	if t.Cols%Q8_0.BlockLen() != 0 {
		return F32, nil
	}
	return Q8_0, nil
}

func recodeQ5_0(dst, src []byte) {
	for ; len(src) >= 22; dst, src = dst[34:], src[22:] {
		copy(dst, src[:2])
		high := binary.LittleEndian.Uint32(src[2:])
		for i, q := range src[6:22] {
			dst[2+i] = byte(uint32(q&15)|high>>i&1<<4) - 16
			dst[18+i] = byte(uint32(q>>4)|high>>(i+16)&1<<4) - 16
		}
	}
}

func recodeIQ4_NL(dst, src []byte) {
	for ; len(src) >= 18; dst, src = dst[34:], src[18:] {
		copy(dst, src[:2])
		for i, q := range src[2:18] {
			dst[2+i], dst[18+i] = byte(iq4[q&15]), byte(iq4[q>>4])
		}
	}
}

func recodeMXFP4(dst, src []byte) {
	for ; len(src) >= 17; dst, src = dst[34:], src[17:] {
		binary.LittleEndian.PutUint16(dst, Float32ToF16(scaleE8M0(src[0])))
		for i, q := range src[1:17] {
			dst[2+i], dst[18+i] = byte(fp4[q&15]), byte(fp4[q>>4])
		}
	}
}

func recodeQ3_K(dst, src []byte) {
	for ; len(src) >= 110; dst, src = dst[210:], src[110:] {
		clear(dst[:210])
		copy(dst[208:210], src[108:110])
		for j := range 16 {
			dst[192+j] = byte(scaleQ3(src[96:108], j))
		}
		for e := range 256 {
			putQ6(dst, e, byte(codeQ3(src[32:96], src[:32], e)+32))
		}
	}
}
