package sample

import "math/bits"

// Key names one random number. Choices of one request differ in Choice, the tokens of a choice
// in Position; nothing else enters, so a request draws the same numbers whatever runs beside it.
type Key struct {
	Seed     uint64
	Choice   uint32
	Position uint64 // of the token that is chosen
}

// Uniform returns the key's number, in [0, 1) with 53 random bits.
func (k Key) Uniform() float64 {
	r := philox([4]uint32{uint32(k.Position), uint32(k.Position >> 32), k.Choice, 0},
		[2]uint32{uint32(k.Seed), uint32(k.Seed >> 32)})
	return float64(uint64(r[0])<<21|uint64(r[1])>>11) * 0x1p-53
}

// philox is Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
// 1, 2, 3" (2011): ten rounds of a keyed bijection of the counter.
func philox(ctr [4]uint32, key [2]uint32) [4]uint32 {
	for range 10 {
		h0, l0 := bits.Mul32(0xD2511F53, ctr[0])
		h1, l1 := bits.Mul32(0xCD9E8D57, ctr[2])
		ctr = [4]uint32{h1 ^ ctr[1] ^ key[0], l1, h0 ^ ctr[3] ^ key[1], l0}
		key[0] += 0x9E3779B9
		key[1] += 0xBB67AE85
	}
	return ctr
}
