package sim

import (
	"container/heap"
	"container/list"
	"fmt"
	"math"

	"github.com/hotpath-go/hotpath/kvcache"
)

// WorkingSet returns how many different blocks the calls name.
func WorkingSet(calls []Call) int {
	seen := map[int32]struct{}{}
	for _, c := range calls {
		for _, b := range c.Blocks {
			seen[b] = struct{}{}
		}
	}
	return len(seen)
}

// Rate counts the blocks of prompts.
type Rate struct{ Asked, Hit int }

// Share returns Hit ÷ Asked, 0 for no calls.
func (r Rate) Share() float64 { return float64(r.Hit) / float64(max(1, r.Asked)) }

// Policy makes an eviction policy for a replay.
type Policy func(r *Replay) kvcache.Policy

// Replay is the state of a hit-rate simulation that a policy may look at: the future, too.
type Replay struct {
	Calls  []Call
	Blocks int // of the pool
	Now    int // number of the call that runs
	names  []int32
}

// Name returns the trace's name of what the pool's block holds.
func (r *Replay) Name(b kvcache.BlockID) int32 { return r.names[b] }

// Default is the policy that a cache has unless told otherwise.
func Default(r *Replay) kvcache.Policy { return kvcache.NewLRU(r.Blocks) }

// HitRate replays the calls one after the other against the real cache with the given number of
// blocks, each block of the trace being one of the pool's. each, if not nil, is told the number of
// every call before it runs.
func HitRate(calls []Call, blocks int, policy Policy, each func(i int)) (Rate, error) {
	r := &Replay{Calls: calls, Blocks: blocks, names: make([]int32, blocks)}
	c, err := kvcache.New(kvcache.Options{
		Blocks: blocks, BlockSize: 1, Policy: policy(r),
		Events: func(e kvcache.Event) {
			if e.Kind == kvcache.Stored {
				r.names[e.Block] = e.Tokens[0]
			}
		},
	})
	if err != nil {
		return Rate{}, err
	}
	var rate Rate
	var ns kvcache.Namespace
	for i, call := range calls {
		if r.Now = i; each != nil {
			each(i)
		}
		hit, err := c.Match(ns, call.Blocks, len(call.Blocks))
		if err != nil {
			return rate, err
		}
		rate.Asked += len(call.Blocks)
		rate.Hit += hit.Len
		s, err := c.NewSequence(ns, hit, call.Blocks)
		if err != nil {
			return rate, err
		}
		n := min(len(call.Blocks), blocks) // a prompt longer than the pool is kept in part
		if _, _, err = s.Reserve(n); err == nil {
			err = s.Seal(n)
		}
		s.Release()
		if err != nil {
			return rate, fmt.Errorf("sim: call %d: %w", i, err)
		}
	}
	return rate, nil
}

// PlainLRU is the baseline: blocks in a list by last use, a prompt's in order of position, with no
// thought of which continues which. It is a model of its own and does not use the cache.
func PlainLRU(calls []Call, blocks int) Rate {
	order := list.New()
	at := map[int32]*list.Element{}
	var rate Rate
	for _, call := range calls {
		rate.Asked += len(call.Blocks)
		for _, b := range call.Blocks {
			if at[b] == nil {
				break
			}
			rate.Hit++
		}
		for _, b := range call.Blocks {
			if e := at[b]; e != nil {
				order.MoveToBack(e)
				continue
			}
			at[b] = order.PushBack(b)
			if len(at) > blocks {
				delete(at, order.Remove(order.Front()).(int32))
			}
		}
	}
	return rate
}

// Optimum evicts the block that is used again last, if ever: no policy hits more.
func Optimum(r *Replay) kvcache.Policy {
	o := &optimum{replay: r, uses: map[int32][]int{}, stamp: make([]uint32, r.Blocks)}
	for i, c := range r.Calls {
		for _, b := range c.Blocks {
			o.uses[b] = append(o.uses[b], i)
		}
	}
	return o
}

type optimum struct {
	replay *Replay
	uses   map[int32][]int // calls that are still to come, by block
	queue  latest
	stamp  []uint32 // entries of the queue with another one are out of date
}

type wanted struct {
	block kvcache.BlockID
	next  int
	depth int
	stamp uint32
}

func (o *optimum) Add(b kvcache.BlockID, u kvcache.Use) {
	name := o.replay.Name(b)
	uses := o.uses[name]
	for len(uses) > 0 && uses[0] <= o.replay.Now {
		uses = uses[1:]
	}
	o.uses[name] = uses
	next := math.MaxInt
	if len(uses) > 0 {
		next = uses[0]
	}
	o.stamp[b]++
	heap.Push(&o.queue, wanted{b, next, u.Depth, o.stamp[b]})
}

func (o *optimum) Remove(b kvcache.BlockID) { o.stamp[b]++ }

func (o *optimum) Evict() (kvcache.BlockID, bool) {
	for len(o.queue) > 0 {
		if w := heap.Pop(&o.queue).(wanted); o.stamp[w.block] == w.stamp {
			return w.block, true
		}
	}
	return kvcache.NoBlock, false
}

// latest is a heap: used again last, then deepest, first.
type latest []wanted

func (h latest) Len() int { return len(h) }
func (h latest) Less(i, j int) bool {
	if h[i].next != h[j].next {
		return h[i].next > h[j].next
	}
	return h[i].depth > h[j].depth
}
func (h latest) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *latest) Push(x any)   { *h = append(*h, x.(wanted)) }
func (h *latest) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
