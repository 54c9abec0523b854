package kvcache

import (
	"math/bits"
	"time"
)

// Stats is a snapshot of the cache's counters. Token counts are of Match calls.
type Stats struct {
	Blocks     int // pool blocks in all
	Free       int // neither referenced nor indexed
	Cached     int // indexed, not referenced: evictable
	Referenced int
	Indexed    int // in the prefix index, referenced or not
	Held       int // under at least one hold
	Holders    []Holder

	Scratch     int // scratch blocks in all
	ScratchFree int

	States      int // recurrent states in all
	StatesFree  int
	Checkpoints int

	Queries, QueryTokens, HitTokens uint64
	Stored, Evicted, Deduplicated   uint64 // blocks
	Copied                          uint64 // blocks copied on write
	EvictedAge                      AgeStats

	// Survival is the share of decisions' state tokens that the same caller's next call reused.
	Survival Survival
}

// AgeStats tells how long evicted blocks had gone unused.
type AgeStats struct {
	Count  uint64
	Mean   time.Duration
	Median time.Duration // upper edge of its power-of-two bucket
	Max    time.Duration
}

// Survival counts the state tokens of decisions that were followed by a call of the same caller.
type Survival struct {
	Decided uint64 // tokens
	Reused  uint64 // tokens
}

// Share returns Reused ÷ Decided, and false before there is anything to divide.
func (s Survival) Share() (float64, bool) {
	if s.Decided == 0 {
		return 0, false
	}
	return float64(s.Reused) / float64(s.Decided), true
}

// histogram counts durations by the power of two above them.
type histogram struct {
	bucket [65]uint64
	count  uint64
	sum    float64
	max    int64
}

func (h *histogram) add(v int64) {
	v = max(v, 0)
	h.bucket[bits.Len64(uint64(v))]++
	h.count++
	h.sum += float64(v)
	h.max = max(h.max, v)
}

func (h *histogram) stats() AgeStats {
	a := AgeStats{Count: h.count, Max: time.Duration(h.max)}
	if h.count == 0 {
		return a
	}
	a.Mean = time.Duration(h.sum / float64(h.count))
	seen := uint64(0)
	for i, n := range h.bucket {
		if seen += n; 2*seen >= h.count {
			a.Median = time.Duration(min(uint64(1)<<i-1, uint64(h.max)))
			break
		}
	}
	return a
}
