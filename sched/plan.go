package sched

import (
	"slices"
	"time"

	"github.com/hotpath-go/hotpath/kvcache"
)

// Plan is one step: what to copy first, and which rows run. Its items map one to one to the
// sequences of a batch, in order.
type Plan struct {
	Step       uint64
	Copies     []kvcache.Copy // run these in order, before the step
	StateMoves []kvcache.StateCopy
	Items      []Item
	Rows       int

	Admitted []*Job    // left the queue for this step, with Usage.Cached set. A warm one may want no row.
	Failed   []Failure // ended here; no further Finish is needed

	Shape     Shape
	Predicted time.Duration // 0: nothing was measured yet

	forked   []*Job    // whose states are among StateMoves
	underWay bool      // not given back yet
	segs     []Segment // memory of most items' contexts and spans
	spans    []Span
}

// Failure is a job that the scheduler ended, and why.
type Failure struct {
	Job *Job
	Err error
}

// Segment is a run of positions in given blocks. Blocks[0] holds position Start.
type Segment struct {
	Blocks     []kvcache.BlockID
	Start, Len int
}

// Item is what one job runs over one context. A decision whose spans have got differently far has
// several.
type Item struct {
	Job     *Job
	Context []Segment
	State   kvcache.StateID // the recurrent state to start from
	Spans   []Span
	Row     int // number of its first row in the step
}

// Span is a run of rows.
type Span struct {
	Index    int // of a decision's spans; -1: the history, that is the prompt and what follows, or the state
	From, To int // rows of the span; for the history these are absolute positions
	Tokens   []int32
	Parent   int               // 1 + index in the item of the span it continues; 0: the context
	Pos      int               // absolute position of the first row
	Dst      []kvcache.BlockID // Dst[0] holds Pos
	Save     kvcache.StateID   // where the recurrent state after the last row goes; 0: nowhere
	Last     bool              // To is the end of what is known: the place of reads and choices
}

// scratchpad is memory that planning reuses.
type scratchpad struct {
	turns      []turn
	jobs       []*Job
	ends       []int
	served     []float64
	candidates []candidate
	picked     []*Job
	order      []place
}

// Plan decides the next step. Steps must run in the order of their plans, and each plan must be
// given back once, to Settle or to Abort. Call it only while fewer than InFlight steps are under
// way. A plan without items needs no step and is not given back. A plan's memory is used again by
// the first Plan after it was given back.
func (s *Scheduler) Plan() *Plan {
	s.now = s.cfg.Now()
	p := s.fresh()
	s.expire(p)
	for passes := len(s.queue) / maxAttempts; s.admit(p) && len(s.running) == 0 && passes > 0; passes-- {
		// Nothing runs, so no later plan would look at the rest of the queue.
	}
	in := input{
		limits: limits{rows: s.cfg.StepRows, shares: s.cfg.Shares, stretch: s.cfg.Stretch, minPrefill: s.cfg.MinPrefill},
		cost:   s.cfg.Cost, size: s.cache.BlockSize(),
	}
	var skip map[*Job]bool
	for tries := 0; ; tries++ {
		in.candidates, in.served = s.candidates(skip), s.served()
		in.blocks = s.cache.Available()
		out := choose(in)
		switch {
		case out.preempt >= 0:
			s.preempt(s.scratch.picked[out.preempt])
			continue
		case out.starved >= 0:
			// Steps under way hold what could be freed: leave this one out for now.
			if skip == nil {
				skip = map[*Job]bool{}
			}
			skip[s.scratch.picked[out.starved]] = true
			continue
		}
		if s.build(p, out); len(p.Items) > 0 || out.shape.Rows == 0 || tries > 100 {
			return p
		}
		// Others took the blocks meanwhile, by a match or a restore: choose again.
	}
}

// fresh returns an empty plan, in the memory of one that is over.
func (s *Scheduler) fresh() *Plan {
	if s.plans == nil {
		s.plans = make([]Plan, s.cfg.InFlight+1)
	}
	// Not by number: one under way may outlast any count of others that failed at once.
	i := slices.IndexFunc(s.plans, func(p Plan) bool { return !p.underWay })
	p := &s.plans[max(i, 0)]
	clear(p.Items)
	*p = Plan{
		Copies: p.Copies[:0], StateMoves: p.StateMoves[:0], Items: p.Items[:0], Admitted: p.Admitted[:0], Failed: p.Failed[:0],
		forked: p.forked[:0], segs: p.segs[:0], spans: p.spans[:0],
	}
	return p
}

// served lists the active accounts' counters, by slot.
func (s *Scheduler) served() []float64 {
	out := s.scratch.served[:0]
	for _, a := range s.active {
		out = append(out, a.served)
	}
	s.scratch.served = out
	return out
}

// turn is the job's place in a fair order.
func (j *Job) turn(i int) turn {
	t := turn{index: i, priority: max(j.Priority, j.boost), account: j.account.slot, arrival: j.arrival, weight: promptWeight}
	if !j.Deadline.IsZero() {
		t.deadline = j.Deadline.UnixNano()
	}
	return t
}

// candidates lists the running jobs that want rows; scratch.picked has them in the same order.
func (s *Scheduler) candidates(skip map[*Job]bool) []candidate {
	size := s.cache.BlockSize()
	out, picked := s.scratch.candidates[:0], s.scratch.picked[:0]
	for _, j := range s.running {
		c := candidate{turn: j.turn(0)}
		c.priority = j.value()
		c.victim = j.preemptible()
		if !j.paused && !j.broken && !skip[j] {
			j.wants(&c, size)
		}
		if c.want > 0 || c.victim {
			out, picked = append(out, c), append(picked, j)
		}
	}
	s.scratch.candidates, s.scratch.picked = out, picked
	return out
}

// wants fills in which rows the job could run now.
func (j *Job) wants(c *candidate, size int) {
	if j.seq == nil { // a decision that only reads
		c.class, c.want, c.context = decide, j.rowsOf, len(j.tokens)
		c.owned, c.group = c.want, j.group()
		return
	}
	c.context = j.scheduled
	history := len(j.tokens) - j.scheduled
	if history == 0 && j.pending() {
		history = 1
	}
	c.want = history
	switch {
	case history > 0 && j.isDecision(), history > 1+j.drafts:
		c.class = prefill
	case history > 0:
		c.class = decode
	case j.isDecision():
		c.class, c.want, c.owned, c.group = decide, j.rowsOf, j.rowsOf, j.group()
		return
	}
	if c.want == 0 {
		return
	}
	if c.first = j.seq.Need(j.scheduled + 1); j.scheduled%size != 0 {
		// The last block has room, after a copy where first is 1.
		c.owned = size - j.scheduled%size
	} else {
		c.first = 0
	}
	c.owned = max(c.owned, j.seq.Reserved()-j.scheduled)
	if history > 0 && j.isDecision() {
		c.want += j.rowsOf // the spans may follow in the same step; their blocks are scratch
	}
}

// pending says that the job can go on from a choice of the step under way.
func (j *Job) pending() bool {
	s := j.sched
	appended := len(j.tokens) - len(j.Tokens)
	return j.Async && s.cfg.InFlight > 1 && j.drafts == 0 && j.inFlight > 0 && j.lastStep == s.steps &&
		j.scheduled == len(j.tokens) && appended+1 < j.MaxTokens
}

// group names the blocks that a decision's rows attend to: the last full block stands for all
// before it.
func (j *Job) group() int {
	blocks := j.state()
	if len(blocks) == 0 {
		return 0
	}
	return int(blocks[max(0, len(blocks)-2)]) + 1
}

// state returns the pool blocks of a decision's state.
func (j *Job) state() []kvcache.BlockID {
	if j.seq != nil {
		return j.seq.Blocks()
	}
	return j.hit.Blocks
}
