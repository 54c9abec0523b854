package sched

import (
	"slices"
	"testing"
)

// four submits a generation, a decision on its prompt, another caller's decision on the same cold
// state, and a prompt that shares half of it.
func (w *traffic) four() (jobs []*Job) {
	state := make([]int32, 18)
	half := append(slices.Clone(state[:9]), 1, 2, 1, 2, 1)
	for i, r := range []Request{
		{Caller: "a", Tokens: state, MaxTokens: 7, Async: true},
		{Caller: "b", Tokens: state, Spans: []Branch{{Tokens: []int32{1, 1, 2}}, {Tokens: []int32{2}}, {Parent: 1, Tokens: []int32{0, 1}}}, ExtraScratch: 2},
		{Caller: "c", Tokens: append(slices.Clone(state), 2, 2), Spans: []Branch{{Tokens: []int32{1, 2}}}},
		{Caller: "d", Tokens: half, MaxTokens: 5, Async: true},
	} {
		j, err := w.s.Submit(r)
		if err != nil {
			w.t.Fatal(i, err)
		}
		c := &call{history: slices.Clone(r.Tokens)}
		if j.isDecision() {
			c.got, c.want = map[int]uint64{}, w.ends(r.Tokens, r.Spans)
		}
		w.live[j] = c
		jobs = append(jobs, j)
	}
	return jobs
}

// TestCancelAtEveryPoint: whichever job is cancelled, before or after whichever plan or settling,
// the others come to their answers and nothing is lost.
func TestCancelAtEveryPoint(t *testing.T) {
	t.Parallel()
	for flight := 1; flight <= 2; flight++ {
		for _, states := range []int{0, 24} {
			for victim := range 4 {
				for point := 0; ; point++ {
					w := newTraffic(t, 1, flight, states)
					w.lazy = point%2 == 0
					j := w.four()[victim]
					for range point {
						w.half()
					}
					if w.live[j] == nil { // it had ended before
						break
					}
					w.finish(j)
					w.drain()
					if w.done != 4 {
						t.Fatalf("%d jobs ended", w.done)
					}
					if err := w.c.Check(); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
}

// half plans when it may, else settles: so that every state in between comes up.
func (w *traffic) half() {
	before := len(w.under)
	if w.plan(); len(w.under) == before {
		w.settle()
	}
}

// TestFailAtEveryStep: whichever step fails, jobs that are tried again come to their answers.
func TestFailAtEveryStep(t *testing.T) {
	t.Parallel()
	for flight := 1; flight <= 2; flight++ {
		for _, states := range []int{0, 24} {
			for n := 0; ; n++ {
				w := newTraffic(t, uint64(n), flight, states)
				w.four()
				failed := false
				for steps := 0; len(w.live) > 0 && steps < 500; steps++ {
					if steps == n {
						w.fault, failed = 100, true
					}
					w.half()
					w.fault = 0
				}
				w.drain()
				if w.done != 4 {
					t.Fatalf("failing at %d: %d jobs ended", n, w.done)
				}
				if !failed {
					break
				}
			}
		}
	}
}
