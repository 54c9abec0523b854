package kvcache

// pool counts the references and sealed rows of a fixed number of blocks and knows which block is
// handed out next: one that the index does not know, else the policy's victim. It knows no tokens.
// The methods with capital letters are its face to the rest of the package, here and in index.
type pool struct {
	size   int
	ref    []int32
	sealed []int32  // rows below this never change again
	writer []uint64 // the sequence that may write at and above sealed; 0: nobody
	kept   []bool   // the index knows it
	hits   []uint32 // matches that found it idle, since it was kept
	depth  []int32
	since  []int64   // clock when it became idle
	stamp  []uint32  // counts Take: tells one content from the next
	free   []BlockID // neither referenced nor kept; taken from the end
	idle   int       // kept and not referenced: what the policy orders
	policy Policy

	clock int64     // nanoseconds, set by the owner before it calls
	ages  histogram // how long evicted blocks had been idle
}

// newPool returns a pool in which every block is free.
func newPool(blocks, size int, policy Policy) *pool {
	p := &pool{
		size: size, policy: policy,
		ref: make([]int32, blocks), sealed: make([]int32, blocks), writer: make([]uint64, blocks),
		kept: make([]bool, blocks), hits: make([]uint32, blocks), depth: make([]int32, blocks),
		since: make([]int64, blocks), stamp: make([]uint32, blocks),
		free: make([]BlockID, blocks),
	}
	for i := range p.free {
		p.free[i] = BlockID(blocks - 1 - i)
	}
	return p
}

// Available is how many blocks Take can hand out.
func (p *pool) Available() int { return len(p.free) + p.idle }

// Take hands out a block with one reference and no sealed row. When evicted is true the block was
// kept until now and the caller must drop its key.
func (p *pool) Take(writer uint64) (b BlockID, evicted, ok bool) {
	if n := len(p.free); n > 0 {
		b, p.free = p.free[n-1], p.free[:n-1]
	} else if b, ok = p.policy.Evict(); ok {
		p.idle--
		p.kept[b] = false
		evicted = true
		p.ages.add(p.clock - p.since[b])
	} else {
		return NoBlock, false, false
	}
	p.ref[b], p.sealed[b], p.writer[b] = 1, 0, writer
	p.stamp[b]++
	return b, evicted, true
}

// Hit adds a reference and counts a match that found the block idle.
func (p *pool) Hit(b BlockID) {
	if p.ref[b] == 0 {
		p.hits[b]++
	}
	p.Ref(b)
}

// Ref adds a reference.
func (p *pool) Ref(b BlockID) {
	if p.ref[b] == 0 {
		p.policy.Remove(b)
		p.idle--
	}
	p.ref[b]++
}

// Unref drops a reference; the last one makes the block evictable when kept, else free.
func (p *pool) Unref(b BlockID) {
	p.ref[b]--
	if p.ref[b] > 0 {
		return
	}
	p.writer[b] = 0
	if p.kept[b] {
		p.since[b] = p.clock
		p.policy.Add(b, Use{Depth: int(p.depth[b]), Hits: p.hits[b]})
		p.idle++
	} else {
		p.free = append(p.free, b)
	}
}

// Keep says that the index now knows the block, depth blocks from its sequence's start.
func (p *pool) Keep(b BlockID, depth int) {
	if !p.kept[b] {
		p.kept[b], p.hits[b], p.depth[b] = true, 0, int32(depth)
	}
}

// Forget says that the index no longer knows the block.
func (p *pool) Forget(b BlockID) {
	if !p.kept[b] {
		return
	}
	p.kept[b] = false
	if p.ref[b] == 0 {
		p.policy.Remove(b)
		p.idle--
		p.free = append(p.free, b)
	}
}

// Seal raises the sealed length; a full block has no writer any more.
func (p *pool) Seal(b BlockID, rows int) {
	if int32(rows) > p.sealed[b] {
		p.sealed[b] = int32(rows)
	}
	if int(p.sealed[b]) == p.size {
		p.writer[b] = 0
	}
}

// Claim makes the sequence the writer of the block's rows from slot on, if that changes no sealed
// row and takes the right from nobody.
func (p *pool) Claim(b BlockID, slot int, writer uint64) bool {
	if int(p.sealed[b]) > slot || (p.writer[b] != 0 && p.writer[b] != writer) {
		return false
	}
	p.writer[b] = writer
	return true
}

// Writable says whether Claim would succeed.
func (p *pool) Writable(b BlockID, slot int, writer uint64) bool {
	return int(p.sealed[b]) <= slot && (p.writer[b] == 0 || p.writer[b] == writer)
}

// Yield gives up the right to write.
func (p *pool) Yield(b BlockID, writer uint64) {
	if p.writer[b] == writer {
		p.writer[b] = 0
	}
}
