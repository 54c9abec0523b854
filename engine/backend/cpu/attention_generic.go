package cpu

import (
	"encoding/binary"
	"math"

	"github.com/hotpath-go/hotpath/quant"
)

// maxTileRows is the most query rows that the attention kernels take at once.
const maxTileRows = 6

// scoresKernel writes out[r*partition+16*t+p], for rows r and tiles t, the product of query r with
// the key of position p of tile t: the sum over d of q[r*dim+d]*key[d], d rising. Queries are padded
// with zeros to dim, whole registers of 16 values.
type scoresKernel func(out []float32, q []float32, rows, dim int, tiles []*byte)

// valuesKernel adds to out[r*dim+d], for rows r, weights[r*partition+j]*value[d] of positions j from
// lo to hi-1 of the tiles, j rising.
type valuesKernel func(out []float32, weights []float32, rows, dim int, tiles []*byte, lo, hi int)

// pieces reads 16 values of a tile in a format as float32.
type pieces struct {
	keys   func(dst *[16]float32, tile []byte, d int)               // value d of all positions
	values func(dst *[16]float32, tile []byte, slot, d, padded int) // values d to d+15 of a position
}

func piecesOf(f quant.Format) pieces {
	read16 := func(dst *[16]float32, b []byte, stride int, decode func(uint16) float32) {
		for i := range dst {
			dst[i] = decode(binary.LittleEndian.Uint16(b[i*stride:]))
		}
	}
	read32 := func(dst *[16]float32, b []byte) {
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	}
	switch f {
	case quant.BF16:
		return pieces{
			func(dst *[16]float32, tile []byte, d int) { read16(dst, tile[d&^1*32+d&1*2:], 4, quant.BF16ToFloat32) },
			func(dst *[16]float32, tile []byte, slot, d, padded int) {
				read16(dst, tile[slot&^1*2*padded+4*d+slot&1*2:], 4, quant.BF16ToFloat32)
			},
		}
	case quant.F16:
		return pieces{
			func(dst *[16]float32, tile []byte, d int) { read16(dst, tile[32*d:], 2, quant.F16ToFloat32) },
			func(dst *[16]float32, tile []byte, slot, d, padded int) {
				read16(dst, tile[2*(slot*padded+d):], 2, quant.F16ToFloat32)
			},
		}
	}
	return pieces{
		func(dst *[16]float32, tile []byte, d int) { read32(dst, tile[64*d:]) },
		func(dst *[16]float32, tile []byte, slot, d, padded int) { read32(dst, tile[4*(slot*padded+d):]) },
	}
}

func scoresGeneric(f quant.Format) scoresKernel {
	read, size := piecesOf(f), f.BlockBytes()
	return func(out []float32, q []float32, rows, dim int, tiles []*byte) {
		var key [16]float32
		for t, p := range tiles {
			tile := bytesAt(p, dim*blockSize*size)
			var sums [maxTileRows][16]float32
			for d := range dim {
				read.keys(&key, tile, d)
				for r := range rows {
					x, s := q[r*dim+d], &sums[r]
					for i, k := range key {
						s[i] += float32(x * k)
					}
				}
			}
			for r := range rows {
				copy(out[r*partition+16*t:], sums[r][:])
			}
		}
	}
}

func valuesGeneric(f quant.Format) valuesKernel {
	read, size := piecesOf(f), f.BlockBytes()
	return func(out []float32, weights []float32, rows, dim int, tiles []*byte, lo, hi int) {
		var value [16]float32
		for j := lo; j < hi; j++ {
			tile := bytesAt(tiles[j/blockSize], dim*blockSize*size)
			for d := 0; d < dim; d += 16 {
				read.values(&value, tile, j%blockSize, d, dim)
				for r := range rows {
					w, s := weights[r*partition+j], (*[16]float32)(out[r*dim+d:])
					for i, v := range value {
						s[i] += float32(w * v)
					}
				}
			}
		}
	}
}
