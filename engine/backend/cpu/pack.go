package cpu

import (
	"encoding/binary"

	"github.com/hotpath-go/hotpath/quant"
)

// Panels: 16 rows of a matrix interleaved, so that a register holds the same values of all of them.
// Rows past the end of the matrix are zeros. The layouts are those that the kernels in _gen read.

func panelOf(t quant.Tensor, panel int, visit func(lane int, row []byte)) {
	for lane := range min(panelRows, t.Rows-panel*panelRows) {
		visit(lane, t.Row(panel*panelRows+lane))
	}
}

// packF32: value k of all rows.
func packF32(dst []byte, t quant.Tensor, panel int) {
	panelOf(t, panel, func(lane int, row []byte) {
		for k := range t.Cols {
			copy(dst[64*k+4*lane:][:4], row[4*k:])
		}
	})
}

// packF16: value k of all rows.
func packF16(dst []byte, t quant.Tensor, panel int) {
	panelOf(t, panel, func(lane int, row []byte) {
		for k := range t.Cols {
			copy(dst[32*k+2*lane:][:2], row[2*k:])
		}
	})
}

// packBF16: values k and k+1 of all rows.
func packBF16(dst []byte, t quant.Tensor, panel int) {
	panelOf(t, panel, func(lane int, row []byte) {
		for k := range t.Cols {
			copy(dst[k/2*64+4*lane+k%2*2:][:2], row[2*k:])
		}
	})
}

// pairedBytes is the size of n blocks of codes whose scales stand in pairs before them.
func pairedBytes(n, codes int) int { return (n+1)/2*64 + n*codes }

// paired returns where the scale and the codes of block b lie.
func paired(b, codes int) (scale, at int) {
	pair := b / 2 * (64 + 2*codes)
	return pair + b%2*32, pair + 64 + b%2*codes
}

// packQ8_0 returns the packer of Q8_0: 16 scales; then codes k to k+3 of all rows, whose bits are
// flipped by flip: 0x80808080 makes them unsigned with an offset of 128.
func packQ8_0(flip uint32) func(dst []byte, t quant.Tensor, panel int) {
	return func(dst []byte, t quant.Tensor, panel int) {
		panelOf(t, panel, func(lane int, row []byte) {
			for b := range t.Cols / 32 {
				scale, at := paired(b, 512)
				src, out := (*[34]byte)(row[34*b:]), (*[512 - 60]byte)(dst[at+4*lane:])
				*(*[2]byte)(dst[scale+2*lane:]) = [2]byte(src[:2])
				for q := range 8 {
					binary.LittleEndian.PutUint32(out[64*q:], binary.LittleEndian.Uint32(src[2+4*q:])^flip)
				}
			}
		})
	}
}

// packQ4_0: 16 scales; then codes k to k+3 of all rows in low nibbles, k+16 to k+19 in high ones,
// which is where the stored block has them.
func packQ4_0(dst []byte, t quant.Tensor, panel int) {
	panelOf(t, panel, func(lane int, row []byte) {
		for b := range t.Cols / 32 {
			scale, at := paired(b, 256)
			src, out := (*[18]byte)(row[18*b:]), (*[256 - 60]byte)(dst[at+4*lane:])
			*(*[2]byte)(dst[scale+2*lane:]) = [2]byte(src[:2])
			for q := range 4 {
				*(*[4]byte)(out[64*q:]) = [4]byte(src[2+4*q:])
			}
		}
	})
}

const (
	q4KPair  = 64 + 2*256      // two sub-blocks
	q4KPanel = 64 + 4*q4KPair  // a superblock
	q6KGroup = 64 + 512 + 256  // four sub-blocks
	q6KPanel = 64 + 4*q6KGroup // a superblock
)

// packQ4_K: scales and minima of the superblock; then, for each pair of sub-blocks, their 6-bit
// scales and minima as bytes, and their codes as in Q4_0.
func packQ4_K(dst []byte, t quant.Tensor, panel int) {
	panelOf(t, panel, func(lane int, row []byte) {
		for b := range t.Cols / 256 {
			src, out := row[144*b:][:144], dst[q4KPanel*b:][:q4KPanel]
			copy(out[2*lane:][:2], src)
			copy(out[32+2*lane:][:2], src[2:])
			for j := range 8 {
				pair := out[64+j/2*q4KPair:][:q4KPair]
				sc, m := quant.ScaleMin(src[4:16], j)
				pair[j%2*32+lane], pair[j%2*32+16+lane] = sc, m
				codes, shift := src[16+j/2*32:][:32], j%2*4
				for i := range 16 {
					low, high := codes[i]>>shift&15, codes[16+i]>>shift&15
					pair[64+j%2*256+i/4*64+4*lane+i%4] = low | high<<4
				}
			}
		}
	})
}

// packQ6_K: scales of the superblock; then, for each 64 values, four sub-scales, eight registers of
// nibbles (values 4n.. low, 32+4n.. high) and four of pairs of high bits (values 4n, 16+4n, 32+4n,
// 48+4n from the lowest bits on).
func packQ6_K(dst []byte, t quant.Tensor, panel int) {
	panelOf(t, panel, func(lane int, row []byte) {
		for b := range t.Cols / 256 {
			src, out := row[210*b:][:210], dst[q6KPanel*b:][:q6KPanel]
			copy(out[2*lane:][:2], src[208:])
			for g := range 4 {
				group := out[64+g*q6KGroup:][:q6KGroup]
				for s := range 4 {
					group[16*s+lane] = src[192+4*g+s]
				}
				for i := range 64 {
					code := quant.CodeQ6(src, 64*g+i)
					n := i % 32
					group[64+n/4*64+4*lane+n%4] |= code & 15 << (i / 32 * 4)
					h := i % 16
					group[64+512+h/4*64+4*lane+h%4] |= code >> 4 << (i / 16 * 2)
				}
			}
		}
	})
}
