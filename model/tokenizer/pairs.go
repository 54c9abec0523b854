package tokenizer

import (
	"math/bits"
	"math/rand/v2"
)

// pairTable maps pairs of non-negative int32 to (rank, id): open addressing, at most half full.
// The multiplier is random so that no file can aim at collisions; results do not depend on it.
type pairTable struct {
	slots []pairSlot
	mul   uint64
	shift uint8
}

type pairSlot struct {
	key  uint64
	rank uint32
	id   int32
}

const (
	noKey  = ^uint64(0)
	noRank = ^uint32(0)
)

func newPairTable(n int) pairTable {
	logSize := max(bits.Len(uint(2*n)), 3)
	p := pairTable{
		slots: make([]pairSlot, 1<<logSize),
		mul:   rand.Uint64() | 1,
		shift: uint8(64 - logSize),
	}
	for i := range p.slots {
		p.slots[i] = pairSlot{key: noKey, rank: noRank, id: -1}
	}
	return p
}

func pairKey(a, b int32) uint64 { return uint64(uint32(a))<<32 | uint64(uint32(b)) }

func (p *pairTable) home(key uint64) int { return int(key * p.mul >> p.shift) }

// find returns the rank and id of a pair, noRank when it is absent.
func (p *pairTable) find(a, b int32) (rank uint32, id int32) {
	key := pairKey(a, b)
	for i := p.home(key); ; i = (i + 1) & (len(p.slots) - 1) {
		if s := &p.slots[i]; s.key == key || s.key == noKey {
			return s.rank, s.id
		}
	}
}

// set stores a pair and reports whether it is new. The table must have been made large enough.
func (p *pairTable) set(a, b int32, rank uint32, id int32) bool {
	key := pairKey(a, b)
	for i := p.home(key); ; i = (i + 1) & (len(p.slots) - 1) {
		switch s := &p.slots[i]; s.key {
		case key:
			s.rank, s.id = rank, id
			return false
		case noKey:
			*s = pairSlot{key: key, rank: rank, id: id}
			return true
		}
	}
}
