package sched

import (
	"fmt"
	"slices"
	"time"

	"github.com/hotpath-go/hotpath/kvcache"
)

// Shares are the parts of a step's rows that decodes, decisions and prefills get for sure when
// they want them; what one does not use goes to the others. Each is 0 to 1, together at most 1.
type Shares struct{ Decode, Decide, Prefill float64 }

// Config of New. Zero values mean the defaults given here.
type Config struct {
	StepRows   int     // most rows a step; 512
	StepSpans  int     // most spans a step; no limit
	Running    int     // most jobs admitted at a time; 256
	InFlight   int     // steps under way at a time; 1
	Shares     Shares  // Decode 0.5, Decide 0.25, Prefill 0.25
	Stretch    float64 // a step with decodes lasts at most this many times a decode-only one; 4. Negative: no limit
	MinPrefill int     // rows of prefill, and of decisions, that a step carries in spite of Stretch; 32

	QueueRequests int // most jobs in the queue; 1024
	QueueTokens   int // most tokens of them; 1<<20
	Overtakes     int // admissions past a waiting job that found no room before it is waited for; 64

	// TailRows is up to how many rows of a decision's state are recomputed in scratch, taking no
	// pool block, where the cache covers all before them; a block. Negative: none.
	TailRows int

	Cost  Cost // what steps cost, until enough of them were measured
	Fixed bool // never refit Cost
	Now   func() time.Time
}

// Scheduler decides which rows run in each step. It belongs to one goroutine, the one that runs the
// loop Submit (admit), Plan, run the step, Settle; only the cache may be used by others.
type Scheduler struct {
	cache      *kvcache.Cache
	cfg        Config
	queue      []*Job // in order of arrival; preempted ones keep theirs
	queued     int    // tokens
	running    []*Job
	arrivals   uint64
	departures uint64
	accounts   map[string]*account
	active     []*account
	now        time.Time
	steps      uint64
	flight     int
	fitter     Fitter
	stats      Stats
	scratch    scratchpad
	plans      []Plan // a ring: those under way, and the one being made
	forked     []fork
}

// fork is a job whose recurrent state must be copied before the next step.
type fork struct {
	job  *Job
	move kvcache.StateCopy
}

// Stats of the scheduler.
type Stats struct {
	Queued, QueuedTokens, Running       int
	Steps, Rows                         uint64
	Decodes, Prefills, Decisions        uint64 // rows
	Admitted, Finished, Preempted       uint64
	Merged                              uint64 // decisions that ran in a step with another on the same blocks
	Followed                            uint64 // jobs that waited for a prefix another one was computing
	Cost                                Cost
	Predicted, Measured, PredictionMiss time.Duration // sums over settled steps; Miss of absolute differences
}

// New returns a scheduler over the cache.
func New(cache *kvcache.Cache, cfg Config) (*Scheduler, error) {
	if cache == nil {
		return nil, fmt.Errorf("%w: no cache", ErrConfig)
	}
	for _, f := range []struct {
		name  string
		field *int
		def   int
	}{
		{"StepRows", &cfg.StepRows, 512}, {"Running", &cfg.Running, 256}, {"InFlight", &cfg.InFlight, 1},
		{"MinPrefill", &cfg.MinPrefill, 32}, {"QueueRequests", &cfg.QueueRequests, 1024},
		{"QueueTokens", &cfg.QueueTokens, 1 << 20}, {"Overtakes", &cfg.Overtakes, 64}, {"StepSpans", &cfg.StepSpans, 1 << 30},
	} {
		if *f.field < 0 {
			return nil, fmt.Errorf("%w: %s: %d, at least 0", ErrConfig, f.name, *f.field)
		}
		if *f.field == 0 {
			*f.field = f.def
		}
	}
	if cfg.Shares == (Shares{}) {
		cfg.Shares = Shares{Decode: 0.5, Decide: 0.25, Prefill: 0.25}
	}
	s := cfg.Shares
	if !(s.Decode >= 0 && s.Decide >= 0 && s.Prefill >= 0 && s.Decode+s.Decide+s.Prefill <= 1+1e-9) {
		return nil, fmt.Errorf("%w: Shares: %v, %v and %v, each at least 0, together at most 1", ErrConfig, s.Decode, s.Decide, s.Prefill)
	}
	if cfg.InFlight > 2 {
		return nil, fmt.Errorf("%w: InFlight: %d, range 1 to 2", ErrConfig, cfg.InFlight)
	}
	if cfg.Stretch == 0 {
		cfg.Stretch = 4
	} else if !(cfg.Stretch > 0) {
		cfg.Stretch = 0
	}
	if cfg.TailRows == 0 {
		cfg.TailRows = cache.BlockSize()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Scheduler{cache: cache, cfg: cfg, accounts: map[string]*account{}}, nil
}

// Submit queues a request. It fails at once, and nothing behind it waits, where the request could
// never run: a *kvcache.CapacityError with ErrTooLarge, ErrHeld or ErrScratch, ErrRequest, or a
// *BusyError where the queue is full.
func (s *Scheduler) Submit(r Request) (*Job, error) {
	if err := s.valid(&r); err != nil {
		return nil, err
	}
	for _, q := range []struct {
		field      string
		have, most int
	}{
		{"requests", len(s.queue) + 1, s.cfg.QueueRequests},
		{"tokens", s.queued + len(r.Tokens), s.cfg.QueueTokens},
	} {
		// One request alone may be longer than the bound: it could never enter otherwise.
		if q.have > q.most && len(s.queue) > 0 && !r.Continues {
			return nil, &BusyError{Field: q.field, Have: q.have, Most: q.most, RetryAfter: s.retryAfter()}
		}
	}
	s.arrivals++
	j := &Job{Request: r, sched: s, arrival: s.arrivals, tokens: r.Tokens[:len(r.Tokens):len(r.Tokens)]}
	j.account = s.join(r.Caller)
	s.enqueue(j)
	return j, nil
}

func (s *Scheduler) valid(r *Request) error {
	size := s.cache.BlockSize()
	if err := r.Namespace.Check(); err != nil {
		return err
	}
	if r.MaxTokens < 0 || r.ExtraScratch < 0 {
		return fmt.Errorf("%w: MaxTokens %d, ExtraScratch %d, at least 0", ErrRequest, r.MaxTokens, r.ExtraScratch)
	}
	if len(r.Tokens) == 0 && len(r.Spans) == 0 {
		return fmt.Errorf("%w: no tokens", ErrRequest)
	}
	if len(r.Spans) > 0 {
		blocks := r.ExtraScratch
		ends := make([]int, len(r.Spans))
		for i, b := range r.Spans {
			if b.Parent < 0 || b.Parent > i {
				return fmt.Errorf("%w: span %d: parent %d, range 0 to %d", ErrRequest, i, b.Parent, i)
			}
			if len(b.Tokens) == 0 {
				return fmt.Errorf("%w: span %d: no tokens", ErrRequest, i)
			}
			pos := len(r.Tokens)
			if b.Parent > 0 {
				pos = ends[b.Parent-1]
			}
			blocks += kvcache.BlocksFor(pos, len(b.Tokens), size)
			ends[i] = pos + len(b.Tokens)
		}
		if total := s.cache.ScratchBlocks(); blocks > total {
			return &kvcache.CapacityError{Err: kvcache.ErrScratch, Need: blocks, Have: total}
		}
	}
	// The last token is chosen and never computed.
	return s.cache.Fits(r.Namespace, r.Tokens, len(r.Tokens)+max(0, r.MaxTokens-1))
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("%v: %d %s, limit %d; retry after %v", ErrBusy, e.Have, e.Field, e.Most, e.RetryAfter)
}

func (e *BusyError) Unwrap() error { return ErrBusy }

// retryAfter guesses how long the queue takes to drain by half.
func (s *Scheduler) retryAfter() time.Duration {
	d := s.cfg.Cost.Time(chunk(0, s.cfg.StepRows, true)) * time.Duration(1+s.queued/s.cfg.StepRows/2)
	return min(max(d, 10*time.Millisecond), time.Minute)
}

func (s *Scheduler) enqueue(j *Job) {
	j.stage = queued
	at := len(s.queue)
	for at > 0 && s.queue[at-1].arrival > j.arrival {
		at--
	}
	s.queue = append(s.queue, nil)
	copy(s.queue[at+1:], s.queue[at:])
	s.queue[at] = j
	s.queued += len(j.tokens)
}

func (s *Scheduler) dequeue(j *Job) {
	for i, o := range s.queue {
		if o == j {
			s.queue = append(s.queue[:i], s.queue[i+1:]...)
			s.queued -= len(j.tokens)
			return
		}
	}
}

// Append adds a token to a generation's history, so that it wants one more row. With steps in
// flight the row may already be under way, in the name of the step that chose the token.
func (j *Job) Append(token int32) error {
	if j.stage != running && j.stage != queued {
		return ErrFinished
	}
	if j.drafts > 0 {
		return fmt.Errorf("%w: append before %d drafts are accepted or not", ErrRequest, j.drafts)
	}
	if len(j.tokens)-len(j.Tokens) >= j.MaxTokens {
		return fmt.Errorf("%w: %d tokens appended, limit %d", ErrRequest, j.MaxTokens+1, j.MaxTokens)
	}
	if j.stage == queued {
		j.sched.queued++
	}
	j.tokens = append(j.tokens, token)
	if j.seq != nil {
		j.seq.Append(token)
	}
	return nil
}

// Draft adds guessed tokens to the history. Their rows run like others but are not finished by
// Settle: Accept says how many were right. Models with recurrent state cannot go back, so they take
// no drafts.
func (j *Job) Draft(tokens ...int32) error {
	if j.stage != running || j.seq == nil {
		return ErrFinished
	}
	if j.sched.cache.HasStates() {
		return fmt.Errorf("%w: drafts with a recurrent state", ErrRequest)
	}
	if room := j.MaxTokens - (len(j.tokens) - len(j.Tokens)); len(tokens) > room {
		return fmt.Errorf("%w: %d drafted tokens, room for %d", ErrRequest, len(tokens), room)
	}
	j.drafts += len(tokens)
	j.tokens = append(j.tokens, tokens...)
	j.seq.Append(tokens...)
	return nil
}

// Accept keeps the first n drafted tokens, whose rows are now finished, and drops the others. No
// step may be under way on the job.
func (j *Job) Accept(n int) error {
	if n < 0 || n > j.drafts || j.inFlight > 0 || j.seq == nil {
		return fmt.Errorf("%w: %d drafts accepted of %d, %d steps under way", ErrRequest, n, j.drafts, j.inFlight)
	}
	keep := len(j.tokens) - j.drafts + n
	j.tokens, j.drafts = j.tokens[:keep], 0
	if err := j.seq.Seal(min(keep, j.scheduled)); err != nil {
		return err
	}
	j.scheduled = min(keep, j.scheduled)
	return j.seq.Truncate(keep)
}

// SetReady pauses the job while ready is false: a slow reader. It keeps its blocks until somebody
// else, of whatever priority, needs them.
func (j *Job) SetReady(ready bool) { j.paused = !ready }

// Finish ends the job: it is done, was cancelled, or failed. Its blocks go back now, or when the
// step under way on it ends. Finishing twice does nothing.
func (s *Scheduler) Finish(j *Job) {
	switch j.stage {
	case queued:
		s.dequeue(j)
	case running:
		s.remove(j)
		j.decided()
	default:
		return
	}
	s.stats.Finished++
	s.leave(j.account)
	j.stage = leaving
	if j.inFlight == 0 {
		j.release()
		j.stage = gone
	}
}

// decided lets the cache watch what becomes of the state that a decision has read.
func (j *Job) decided() {
	if !j.isDecision() || j.broken {
		return
	}
	hit := j.hit
	if j.seq != nil {
		var err error
		if hit, err = j.seq.Hit(j.seq.Sealed()); err != nil {
			return
		}
		defer hit.Release()
	}
	j.sched.cache.Decided(j.Caller, hit)
}

func (s *Scheduler) remove(j *Job) {
	for i, o := range s.running {
		if o == j {
			s.running = append(s.running[:i], s.running[i+1:]...)
			return
		}
	}
}

// release gives back all that the job holds in the cache.
func (j *Job) release() {
	if j.seq != nil {
		j.seq.Release()
	}
	if j.hit != nil {
		j.hit.Release()
	}
	s := j.sched
	s.forked = slices.DeleteFunc(s.forked, func(f fork) bool { return f.job == j })
	for _, br := range j.branches {
		if br.state != 0 {
			s.cache.GiveState(br.state)
		}
	}
	if j.scratch != nil {
		s.cache.GiveScratch(j.scratch)
	}
	j.seq, j.hit, j.scratch, j.unused, j.branches = nil, nil, nil, nil, nil
	j.scheduled, j.rowsOf, j.leader, j.boost = 0, 0, nil, 0
}

// Fork starts a second running job with the history that j has, sharing the blocks of its finished
// rows: another choice of n, or a branch of a session. Its caller and limits are j's.
func (s *Scheduler) Fork(j *Job, tag any) (*Job, error) {
	if j.stage != running || j.seq == nil || j.isDecision() || j.drafts > 0 {
		return nil, fmt.Errorf("%w: fork needs a running generation without drafts", ErrRequest)
	}
	seq, err := j.seq.Fork()
	if err != nil {
		return nil, err
	}
	s.arrivals++
	f := &Job{
		Request: j.Request, sched: s, arrival: s.arrivals, stage: running,
		tokens: append([]int32(nil), j.tokens...), seq: seq, scheduled: seq.Sealed(),
	}
	f.Tag, f.Usage.Cached, f.high = tag, seq.Sealed(), seq.Sealed()
	f.account = s.join(j.Caller)
	if m, ok := seq.StateCopy(); ok {
		s.forked = append(s.forked, fork{f, m})
	}
	s.running = append(s.running, f)
	s.stats.Admitted++
	return f, nil
}

// Idle says that no job is queued or running.
func (s *Scheduler) Idle() bool { return len(s.queue) == 0 && len(s.running) == 0 }

// InFlight returns how many steps are under way.
func (s *Scheduler) InFlight() int { return s.flight }

// AddSpans adds spans to a running decision, branching off its state (parent 0) or off its span
// parent-1. They take their scratch from what ExtraScratch reserved. It returns the first one's
// index.
func (j *Job) AddSpans(spans ...Branch) (first int, err error) {
	if j.stage != running || len(j.branches) == 0 {
		return 0, ErrFinished
	}
	first = len(j.branches) - 1
	old := len(j.branches)
	unused := j.unused
	for i, b := range spans {
		if b.Parent < 0 || b.Parent > first+i || len(b.Tokens) == 0 {
			err = fmt.Errorf("%w: span %d: parent %d, range 0 to %d; %d tokens", ErrRequest, first+i, b.Parent, first+i, len(b.Tokens))
		} else {
			err = j.branch(b)
		}
		if err != nil {
			for _, b := range j.branches[old:] {
				j.rowsOf -= len(b.tokens)
			}
			j.branches, j.unused = j.branches[:old], unused
			return 0, err
		}
	}
	j.Spans = append(j.Spans[:len(j.Spans):len(j.Spans)], spans...)
	j.ExtraScratch = len(j.unused)
	return first, nil
}

// branch gives a span its place in the job's scratch.
func (j *Job) branch(b Branch) error {
	pos := len(j.tokens)
	if b.Parent > 0 {
		p := j.branches[b.Parent]
		pos = p.pos + len(p.tokens)
	}
	n := kvcache.BlocksFor(pos, len(b.Tokens), j.sched.cache.BlockSize())
	if n > len(j.unused) {
		return &kvcache.CapacityError{Err: kvcache.ErrScratch, Need: n, Have: len(j.unused)}
	}
	j.branches = append(j.branches, branch{parent: b.Parent, tokens: b.Tokens, pos: pos, blocks: j.unused[:n:n]})
	j.unused = j.unused[n:]
	j.rowsOf += len(b.Tokens)
	return nil
}

// Stats returns the counters as they are now.
func (s *Scheduler) Stats() Stats {
	st := s.stats
	st.Queued, st.QueuedTokens, st.Running, st.Cost = len(s.queue), s.queued, len(s.running), s.cfg.Cost
	return st
}
