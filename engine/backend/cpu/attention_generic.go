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

// keysAt reads value d of the 16 positions of a tile.
func keysAt(dst *[16]float32, f quant.Format, tile []byte, d int) {
	switch f {
	case quant.BF16:
		src := (*[62]byte)(tile[d&^1*32+d&1*2:])
		for i := range dst {
			dst[i] = quant.BF16ToFloat32(binary.LittleEndian.Uint16(src[4*i:]))
		}
	case quant.F16:
		src := (*[32]byte)(tile[32*d:])
		for i := range dst {
			dst[i] = quant.F16ToFloat32(binary.LittleEndian.Uint16(src[2*i:]))
		}
	default:
		src := (*[64]byte)(tile[64*d:])
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
		}
	}
}

// valuesAt reads values d to d+15 of a position of a tile of heads of dim values.
func valuesAt(dst *[16]float32, f quant.Format, tile []byte, slot, d, dim int) {
	switch f {
	case quant.BF16:
		src := (*[62]byte)(tile[slot&^1*2*dim+4*d+slot&1*2:])
		for i := range dst {
			dst[i] = quant.BF16ToFloat32(binary.LittleEndian.Uint16(src[4*i:]))
		}
	case quant.F16:
		src := (*[32]byte)(tile[2*(slot*dim+d):])
		for i := range dst {
			dst[i] = quant.F16ToFloat32(binary.LittleEndian.Uint16(src[2*i:]))
		}
	default:
		src := (*[64]byte)(tile[4*(slot*dim+d):])
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
		}
	}
}

func scoresGeneric(f quant.Format) scoresKernel {
	size := f.BlockBytes()
	return func(out []float32, q []float32, rows, dim int, tiles []*byte) {
		var key [16]float32
		for t, p := range tiles {
			tile := bytesAt(p, dim*blockSize*size)
			var sums [maxTileRows][16]float32
			for d := range dim {
				keysAt(&key, f, tile, d)
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
	size := f.BlockBytes()
	return func(out []float32, weights []float32, rows, dim int, tiles []*byte, lo, hi int) {
		var value [16]float32
		for j := lo; j < hi; j++ {
			tile := bytesAt(tiles[j/blockSize], dim*blockSize*size)
			for d := 0; d < dim; d += 16 {
				valuesAt(&value, f, tile, j%blockSize, d, dim)
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
