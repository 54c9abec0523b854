package engine

import (
	"fmt"

	"github.com/hotpath-go/hotpath/model/arch"
	"github.com/hotpath-go/hotpath/quant"
)

const (
	blockSize      = 16
	minScratch     = 64     // blocks
	defaultContext = 32_768 // positions, where the model and the memory allow more
)

// memory is how the KV memory is divided.
type memory struct {
	format        quant.Format
	context       int // positions a sequence may have
	blockBytes    int64
	pool, scratch int // blocks
}

// divide sizes pool and scratch for a program. A context of 0 takes what the model was trained for,
// at most defaultContext, or what the default memory holds. available is what the process may use,
// 0 for unknown.
func divide(p *arch.Program, kv KV, context int, available int64) (memory, error) {
	m := memory{format: kv.Format, context: context}
	if m.format == quant.None {
		m.format = quant.BF16
	}
	m.blockBytes = max(int64(p.KVBytes(m.format))*blockSize, 1)
	if context == 0 {
		m.context = min(p.Context, defaultContext)
	}
	one := blocksOf(m.context) // blocks of a full context

	// By default pool and scratch together take a quarter of the memory at most, the scratch a ninth
	// of that: an eighth of the pool.
	pool := kv.Bytes / m.blockBytes
	if kv.Bytes == 0 {
		pool = 4 * one
		if available > 0 {
			pool = min(pool, available/4/m.blockBytes*8/9)
		}
		if pool < one && context != 0 {
			pool = one // asked for by name: tried, and refused below when it cannot be had
		}
	}
	if pool < 1 {
		bytes := kv.Bytes
		if bytes == 0 {
			bytes = available / 4
		}
		return m, fmt.Errorf("%w: %d bytes for keys and values, one block takes %d", ErrMemory, bytes, m.blockBytes)
	}
	if context == 0 {
		m.context = int(min(int64(m.context), pool*blockSize))
	}
	scratch := kv.Scratch / m.blockBytes
	if kv.Scratch == 0 {
		scratch = max(pool/8, minScratch)
	}
	if scratch < 1 {
		return m, fmt.Errorf("%w: WithKV: %d bytes of scratch, one block takes %d", ErrMemory, kv.Scratch, m.blockBytes)
	}
	const most = 1 << 30 // block ids
	if pool+scratch > most {
		return m, fmt.Errorf("%w: %d blocks, limit %d", ErrMemory, pool+scratch, most)
	}
	if need := (pool + scratch) * m.blockBytes; available > 0 && need > available {
		return m, fmt.Errorf("%w: pool and scratch for a context of %d need %d bytes, the process may use %d", ErrMemory, m.context, need, available)
	}
	m.pool, m.scratch = int(pool), int(scratch)
	return m, nil
}

// blocksOf returns how many blocks hold n positions.
func blocksOf(n int) int64 { return (int64(n) + blockSize - 1) / blockSize }
