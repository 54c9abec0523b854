package sched

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hotpath-go/hotpath/internal/race"
	"github.com/hotpath-go/hotpath/kvcache"
)

// traffic drives a scheduler with random calls on a small pool, as an engine would, and knows from
// the plain model what each must answer.
type traffic struct {
	t     *testing.T
	r     *rand.Rand
	c     *kvcache.Cache
	s     *Scheduler
	d     *device
	live  map[*Job]*call
	under []under
	holds []*kvcache.Hold
	now   time.Time
	done  int
	fault int  // of 100 steps, how many fail
	lazy  bool // steps run when they are waited for, not when they are planned
}

type under struct {
	p   *Plan
	out [][]uint64
	bad bool
}

// call is what a job must come to.
type call struct {
	history []int32 // of a generation: prompt and the choices so far
	want    []uint64
	got     map[int]uint64 // of a decision: digests after its spans
	grew    bool
}

func newTraffic(t *testing.T, seed uint64, flight, states int) *traffic {
	w := &traffic{t: t, r: rand.New(rand.NewPCG(seed, 2)), live: map[*Job]*call{}, now: time.Unix(1, 0)}
	const blocks, scratch, size = 14, 12, 4
	clock := func() time.Time { return w.now }
	var err error
	w.c, err = kvcache.New(kvcache.Options{Blocks: blocks, BlockSize: size, Scratch: scratch, States: states, HoldShare: 0.3, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	w.s, err = New(w.c, Config{
		StepRows: 12, Running: 6, InFlight: flight, QueueRequests: 8, Overtakes: 3, StepSpans: 7, MinPrefill: 2, Now: clock,
		Cost: Cost{1e-3, 1e-3, 1e-3, 0, 0},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.d = newDevice(blocks+scratch, size, states)
	return w
}

func (w *traffic) tokens(most int) []int32 {
	out := make([]int32, 1+w.r.IntN(most))
	for i := range out {
		if w.r.IntN(10) == 0 {
			out[i] = int32(w.r.IntN(3))
		}
	}
	return out
}

func (w *traffic) submit() {
	req := Request{
		Caller: string(rune('a' + w.r.IntN(3))), Priority: w.r.IntN(2), Tokens: w.tokens(24),
		Async: w.r.IntN(2) == 0, Private: w.r.IntN(8) == 0,
	}
	for range w.r.IntN(3) {
		req.Marks = append(req.Marks, 1+w.r.IntN(len(req.Tokens)))
	}
	c := &call{}
	switch w.r.IntN(5) {
	case 0: // warm
	case 1, 2:
		req.MaxTokens = 1 + w.r.IntN(9)
	default:
		for i := range 1 + w.r.IntN(3) {
			req.Spans = append(req.Spans, Branch{Parent: w.r.IntN(i + 1), Tokens: w.tokens(4)})
		}
		if w.r.IntN(3) == 0 {
			req.ExtraScratch = 2
		}
		c.got = map[int]uint64{}
		c.want = w.ends(req.Tokens, req.Spans)
	}
	if w.r.IntN(9) == 0 {
		req.Deadline = w.now.Add(time.Duration(w.r.IntN(9)) * time.Millisecond)
	}
	c.history = slices.Clone(req.Tokens)
	j, err := w.s.Submit(req)
	if err == nil {
		w.live[j] = c
	}
}

// ends returns the digest after each span.
func (w *traffic) ends(state []int32, spans []Branch) []uint64 {
	var out []uint64
	for _, s := range spans {
		h := digest(state)
		if s.Parent > 0 {
			h = out[s.Parent-1]
		}
		for _, t := range s.Tokens {
			h = mix(h, t)
		}
		out = append(out, h)
	}
	return out
}

func (w *traffic) finish(j *Job) {
	w.s.Finish(j)
	delete(w.live, j)
	w.done++
}

func (w *traffic) plan() {
	if len(w.under) >= w.s.cfg.InFlight {
		return
	}
	p := w.s.Plan()
	for _, f := range p.Failed {
		delete(w.live, f.Job)
	}
	for _, j := range p.Admitted {
		if j.MaxTokens == 0 && !j.isDecision() && j.Finished() == len(j.Tokens) {
			w.finish(j)
		}
	}
	if len(p.Items) == 0 {
		return
	}
	u := under{p: p, bad: w.r.IntN(100) < w.fault}
	if n := len(w.under); n > 0 && w.under[n-1].bad {
		u.bad = true // what follows a failed step cannot run
	}
	if !w.lazy {
		w.run(&u)
	}
	w.under = append(w.under, u)
}

func (w *traffic) run(u *under) {
	if !u.bad {
		var err error
		if u.out, err = w.d.run(u.p); err != nil {
			w.t.Fatalf("step %d: %v", u.p.Step, err)
		}
		return
	}
	w.d.step++
	for _, it := range u.p.Items { // it failed half-way: garbage in its rows
		for _, sp := range it.Spans {
			for k := range sp.Tokens {
				*w.d.at(sp.Dst, sp.Pos, sp.Pos+k) = 7
			}
			if sp.Save != 0 {
				w.d.states[sp.Save] = 7
			}
		}
	}
}

func (w *traffic) settle() {
	if len(w.under) == 0 {
		return
	}
	u := w.under[0]
	w.under = w.under[1:]
	if w.lazy {
		w.run(&u)
	}
	if u.bad {
		if w.r.IntN(2) == 0 { // an engine ends the jobs of a failed step; or it tries again
			for _, it := range u.p.Items {
				if _, ok := w.live[it.Job]; ok {
					w.finish(it.Job)
				}
			}
		}
		w.s.Abort(u.p)
		return
	}
	if err := w.s.Settle(u.p, time.Duration(1+w.r.IntN(9))*time.Millisecond); err != nil {
		w.t.Fatal(err)
	}
	for i, it := range u.p.Items {
		c, ok := w.live[it.Job]
		if !ok || !it.Job.Running() || it.Job.broken {
			continue
		}
		for k, sp := range it.Spans {
			if sp.Last {
				w.last(it.Job, c, sp, u.out[i][k])
			}
		}
		if w.complete(it.Job, c) {
			w.finish(it.Job)
		}
	}
}

// last takes in the digest after the last row of a span.
func (w *traffic) last(j *Job, c *call, sp Span, h uint64) {
	switch {
	case sp.Index >= 0:
		if h != c.want[sp.Index] {
			w.t.Fatalf("span %d of a decision on %d tokens reads another history", sp.Index, len(j.Tokens))
		}
		c.got[sp.Index] = h
	case j.isDecision():
	case j.drafts > 0:
		w.accept(j, c)
	default:
		if h != digest(c.history) {
			w.t.Fatalf("row %d of a generation holds another history", sp.To)
		}
		if len(c.history)-len(j.Tokens) < j.MaxTokens {
			w.token(j, c)
			if room := j.MaxTokens - (len(c.history) - len(j.Tokens)); room > 2 && w.r.IntN(6) == 0 && j.inFlight == 0 && len(w.d.states) == 1 {
				guess := []int32{chosen(digest(c.history)), int32(w.r.IntN(5))}
				if err := j.Draft(guess...); err != nil {
					w.t.Fatal(err)
				}
			}
		}
	}
}

func (w *traffic) token(j *Job, c *call) {
	t := chosen(digest(c.history))
	c.history = append(c.history, t)
	if err := j.Append(t); err != nil {
		w.t.Fatal(err)
	}
}

// accept keeps the drafts that the model would have chosen, and its own choice after them.
func (w *traffic) accept(j *Job, c *call) {
	n := 0
	drafts := slices.Clone(j.tokens[len(j.tokens)-j.drafts:])
	for n < len(drafts) && drafts[n] == chosen(digest(c.history)) {
		c.history = append(c.history, drafts[n])
		n++
	}
	if err := j.Accept(n); err != nil {
		w.t.Fatal(err)
	}
	if len(c.history)-len(j.Tokens) < j.MaxTokens {
		w.token(j, c)
	}
}

func (w *traffic) complete(j *Job, c *call) bool {
	if !j.isDecision() {
		if j.MaxTokens == 0 {
			return j.Finished() == len(j.Tokens)
		}
		return len(c.history)-len(j.Tokens) >= j.MaxTokens
	}
	if len(c.got) < len(c.want) {
		return false
	}
	if j.ExtraScratch > 0 && !c.grew { // codes branch off later
		c.grew = true
		more := Branch{Parent: 1 + w.r.IntN(len(c.want)), Tokens: w.tokens(2)}
		spans := append(slices.Clone(j.Spans), more)
		if _, err := j.AddSpans(more); err != nil {
			return true // its position needs more blocks than were set aside
		}
		c.want = w.ends(j.Tokens, spans)
		return false
	}
	return true
}

func (w *traffic) event() {
	w.now = w.now.Add(time.Millisecond)
	switch op := w.r.IntN(100); {
	case op < 22:
		w.submit()
	case op < 25: // cancel anywhere
		if j := w.any(); j != nil {
			w.finish(j)
		}
	case op < 27:
		if j := w.any(); j != nil {
			j.SetReady(false)
		}
	case op < 32:
		if j := w.any(); j != nil {
			j.SetReady(true)
		}
	case op < 34:
		toks := w.tokens(12)
		if hit, err := w.c.Match(kvcache.Namespace{}, toks, len(toks)); err == nil {
			if h, err := w.c.Hold(hit, "test", time.Duration(w.r.IntN(30))*time.Millisecond); err == nil {
				w.holds = append(w.holds, h)
			} else {
				hit.Release()
			}
		}
	case op < 37:
		if n := len(w.holds); n > 0 {
			w.holds[n-1].Release()
			w.holds = w.holds[:n-1]
		}
	case op == 37:
		if j := w.any(); j != nil && len(w.live) < 12 {
			if f, err := w.s.Fork(j, nil); err == nil {
				c := w.live[j]
				w.live[f] = &call{history: slices.Clone(c.history)}
				if len(c.history) == len(j.Tokens) { // its first choice is still to come
					w.finish(f)
				} else if j.inFlight > 0 {
					w.finish(f)
				}
			}
		}
	case op < 70:
		w.plan()
	default:
		w.settle()
	}
}

func (w *traffic) any() *Job {
	jobs := make([]*Job, 0, len(w.live))
	for j := range w.live {
		jobs = append(jobs, j)
	}
	if len(jobs) == 0 {
		return nil
	}
	slices.SortFunc(jobs, func(a, b *Job) int { return int(a.arrival) - int(b.arrival) })
	return jobs[w.r.IntN(len(jobs))]
}

// drain stops the traffic; everything that is left must come to its end.
func (w *traffic) drain() {
	for _, h := range w.holds {
		h.Release()
	}
	for j := range w.live {
		j.SetReady(true)
	}
	w.fault = 0
	for step := 0; len(w.live) > 0; step++ {
		if step > 5000 {
			for j := range w.live {
				w.t.Errorf("stuck: stage %d, %d tokens, max %d, %d scheduled, %d in flight, decision %v", j.stage, len(j.tokens), j.MaxTokens, j.scheduled, j.inFlight, j.isDecision())
			}
			w.t.Fatal("no end in sight")
		}
		w.now = w.now.Add(time.Millisecond)
		w.plan()
		w.settle()
	}
	for len(w.under) > 0 {
		w.settle()
	}
	st := w.c.Stats()
	if st.Free+st.Cached != st.Blocks || st.ScratchFree != st.Scratch || st.StatesFree+st.Checkpoints != st.States {
		w.t.Fatalf("something is lost: %+v", st)
	}
	if !w.s.Idle() || w.s.InFlight() != 0 || len(w.s.active) != 0 {
		w.t.Fatalf("%+v, %d accounts", w.s.Stats(), len(w.s.active))
	}
}

// TestTrafficAgainstModel: whatever is submitted, cancelled, paused, preempted or made to fail,
// each answer is the one its tokens alone determine, and nothing is lost.
func TestTrafficAgainstModel(t *testing.T) {
	t.Parallel()
	events := 40_000
	if race.Enabled || testing.Short() {
		events = 5_000
	}
	for flight := 1; flight <= 2; flight++ {
		for _, states := range []int{0, 24} {
			for i, fault := range []int{0, 5, 0, 5} {
				lazy := i >= 2
				t.Run(fmt.Sprintf("%d in flight, %d states, %d%% faults, lazy %v", flight, states, fault, lazy), func(t *testing.T) {
					t.Parallel()
					w := newTraffic(t, uint64(flight*100+states+i), flight, states)
					w.fault, w.lazy = fault, lazy
					for range events {
						w.event()
						if err := w.c.Check(); err != nil {
							t.Fatal(err)
						}
					}
					w.drain()
					if s := w.s.Stats(); events > 10_000 && (s.Preempted == 0 || s.Merged == 0 || s.Followed == 0 || w.done < events/20) {
						t.Errorf("too quiet a test: %d done, %+v", w.done, s)
					}
				})
			}
		}
	}
}
