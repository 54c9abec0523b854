package cpu

import (
	"encoding/binary"
	"math"

	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model/arch"
	"github.com/hotpath-go/hotpath/quant"
)

// cache holds the keys and values of all blocks. The memory of an attention layer is one run of
// blocks; a block is a tile of keys and a tile of values for each head, for 16 positions.
//
// A tile of keys holds value d of all positions side by side, so that a register of scores needs no
// horizontal sums. A tile of values holds position after position. In BF16 two neighbours share 32
// bits, because that is what the processor's dot product and the cheapest conversion want: values
// d and d+1 of a position in keys, positions p and p+1 in values. Heads are padded with zeros to
// whole registers of 16 values.
type cache struct {
	format quant.Format
	size   int // bytes of a value: 2 or 4
	blocks int
	layers []layerCache
	memory []byte
	bytes  int64 // of a block over all layers
}

type layerCache struct {
	data    []byte
	heads   int
	dim     int // values of a head
	padded  int // the same in whole registers
	tile    int // bytes of the keys (or values) of a head in a block
	stride  int // bytes of a block
	storage quant.Format
}

func padded(dim int) int { return (dim + 15) &^ 15 }

func openCache(list []*arch.Attention, format quant.Format, blocks int) (*cache, error) {
	c := &cache{format: format, size: format.BlockBytes(), blocks: blocks}
	var total int
	for _, a := range list {
		l := layerCache{heads: a.KVHeads, dim: a.HeadDim, padded: padded(a.HeadDim), storage: format}
		l.tile = l.padded * blockSize * c.size
		l.stride = 2 * l.heads * l.tile
		c.layers = append(c.layers, l)
		c.bytes += int64(l.stride)
		total += l.stride * blocks
	}
	memory, err := reserve(total)
	if err != nil {
		return nil, err
	}
	c.memory = memory
	for i := range c.layers {
		n := c.layers[i].stride * blocks
		c.layers[i].data, memory = memory[:n:n], memory[n:]
	}
	return c, nil
}

func (c *cache) close() {
	unreserve(c.memory)
	c.memory, c.layers = nil, nil
}

func (l *layerCache) keys(block kvcache.BlockID, head int) []byte {
	at := int(block)*l.stride + 2*head*l.tile
	return l.data[at : at+l.tile : at+l.tile]
}

func (l *layerCache) values(block kvcache.BlockID, head int) []byte {
	at := int(block)*l.stride + (2*head+1)*l.tile
	return l.data[at : at+l.tile : at+l.tile]
}

// keyAt and valueAt return where value d of a slot lies in a tile, counted in values.
func (l *layerCache) keyAt(slot, d int) int {
	if l.storage == quant.BF16 {
		return d&^1*blockSize + 2*slot + d&1
	}
	return d*blockSize + slot
}

func (l *layerCache) valueAt(slot, d int) int {
	if l.storage == quant.BF16 {
		return slot&^1*l.padded + 2*d + slot&1
	}
	return slot*l.padded + d
}

// store writes one position's key and value of a head. It writes no byte of another position, which
// another worker may be writing.
func (l *layerCache) store(block kvcache.BlockID, head, slot int, key, value []float32) {
	k, v := l.keys(block, head), l.values(block, head)
	switch l.storage {
	case quant.BF16:
		k, v = k[4*slot:], v[slot&^1*2*l.padded+slot&1*2:]
		for d := 0; d < len(key); d += 2 {
			pair := uint32(quant.Float32ToBF16(key[d]))
			if d+1 < len(key) {
				pair |= uint32(quant.Float32ToBF16(key[d+1])) << 16
			}
			binary.LittleEndian.PutUint32(k[2*blockSize*d:], pair)
		}
		for d, x := range value {
			binary.LittleEndian.PutUint16(v[4*d:], quant.Float32ToBF16(x))
		}
	case quant.F16:
		k, v = k[2*slot:], v[2*slot*l.padded:]
		for d, x := range key {
			binary.LittleEndian.PutUint16(k[2*blockSize*d:], quant.Float32ToF16(x))
		}
		for d, x := range value {
			binary.LittleEndian.PutUint16(v[2*d:], quant.Float32ToF16(x))
		}
	default:
		k, v = k[4*slot:], v[4*slot*l.padded:]
		for d, x := range key {
			binary.LittleEndian.PutUint32(k[4*blockSize*d:], math.Float32bits(x))
		}
		for d, x := range value {
			binary.LittleEndian.PutUint32(v[4*d:], math.Float32bits(x))
		}
	}
}

// copyKeys copies the stored bytes of slots lo to hi-1 from one tile of keys to another.
func (l *layerCache) copyKeys(dst, src []byte, lo, hi int) {
	unit := l.storage.BlockBytes() // of a slot in a line of the tile
	if l.storage == quant.BF16 {
		unit *= 2
	}
	for line := 0; line < l.tile; line += blockSize * unit {
		copy(dst[line+lo*unit:line+hi*unit], src[line+lo*unit:])
	}
}

// copyValues copies the stored bytes of slots lo to hi-1 from one tile of values to another.
func (l *layerCache) copyValues(dst, src []byte, lo, hi int) {
	row := l.padded * l.storage.BlockBytes()
	if l.storage == quant.BF16 { // two slots share a row, in turns
		if lo&1 == 1 {
			copyHalves(dst[(lo-1)*row+2:], src[(lo-1)*row+2:], l.padded)
			lo++
		}
		if hi&1 == 1 && hi > lo {
			copyHalves(dst[(hi-1)*row:], src[(hi-1)*row:], l.padded)
			hi--
		}
	}
	if lo < hi {
		copy(dst[lo*row:hi*row], src[lo*row:])
	}
}

// copyHalves copies every other one of n pairs of 16 bits.
func copyHalves(dst, src []byte, n int) {
	for i := range n {
		*(*[2]byte)(dst[4*i:]) = [2]byte(src[4*i:])
	}
}

// copyRows copies slots lo to hi-1 of a block to another block, byte for byte.
func (c *cache) copyRows(to, from kvcache.BlockID, lo, hi int) {
	for i := range c.layers {
		l := &c.layers[i]
		if lo == 0 && hi == blockSize {
			copy(l.data[int(to)*l.stride:][:l.stride], l.data[int(from)*l.stride:][:l.stride])
			continue
		}
		for h := range l.heads {
			l.copyKeys(l.keys(to, h), l.keys(from, h), lo, hi)
			l.copyValues(l.values(to, h), l.values(from, h), lo, hi)
		}
	}
}

// canonical is the size of one position over all layers in the canonical layout.
func (c *cache) canonical() int {
	n := 0
	for i := range c.layers {
		n += 2 * c.layers[i].heads * c.layers[i].dim * c.size
	}
	return n
}

// export writes the first rows of a block in the canonical layout, import reads them.
func (c *cache) export(block kvcache.BlockID, rows int, dst []byte) {
	c.canonicalRows(block, rows, func(tile []byte, at int) { dst = dst[copy(dst, tile[at:at+c.size]):] })
}

func (c *cache) restore(block kvcache.BlockID, rows int, src []byte) {
	c.canonicalRows(block, rows, func(tile []byte, at int) { src = src[copy(tile[at:at+c.size], src):] })
}

func (c *cache) canonicalRows(block kvcache.BlockID, rows int, visit func(tile []byte, at int)) {
	for i := range c.layers {
		l := &c.layers[i]
		for slot := range rows {
			for h := range l.heads {
				for d := range l.dim {
					visit(l.keys(block, h), l.keyAt(slot, d)*c.size)
				}
			}
		}
		for slot := range rows {
			for h := range l.heads {
				for d := range l.dim {
					visit(l.values(block, h), l.valueAt(slot, d)*c.size)
				}
			}
		}
	}
}
