package main

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hotpath-go/hotpath/sched/sim"
)

// conversations makes up traffic: agents that share one of a few system prompts and come back with
// all that was said before and a little more.
func conversations() []sim.Call {
	r := rand.New(rand.NewPCG(7, 7))
	next := int32(0)
	fresh := func(n int) (out []int32) {
		for range n {
			out = append(out, next)
			next++
		}
		return out
	}
	var systems [][]int32
	for range 8 {
		systems = append(systems, fresh(1+r.IntN(6)))
	}
	var calls []sim.Call
	for range 1500 {
		at := time.Duration(r.Int64N(int64(30 * time.Minute)))
		said := slices.Clone(systems[r.IntN(len(systems))])
		for range 1 + r.IntN(6) {
			said = append(said, fresh(1+r.IntN(4))...)
			calls = append(calls, sim.Call{At: at, Input: 512 * len(said), Output: 20 + r.IntN(200), Blocks: slices.Clone(said)})
			at += time.Duration(r.ExpFloat64() * float64(40*time.Second))
		}
	}
	slices.SortStableFunc(calls, func(a, b sim.Call) int { return int(a.At - b.At) })
	return calls
}
