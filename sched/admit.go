package sched

import (
	"cmp"
	"errors"
	"slices"

	"github.com/hotpath-go/hotpath/kvcache"
)

// maxAttempts bounds the prefix searches that one step spends on the queue.
const maxAttempts = 64

// retryAfterSteps is how long a job that lacked blocks is passed over while no more are available
// than it lacked: what it needs only falls where others compute its prefix.
const retryAfterSteps = 16

// admit moves jobs from the queue to the running ones, in fair order. One that finds no room is
// skipped, not waited for, until it has been overtaken too often: then only reads may pass. It
// returns whether the rest of the queue is still to be looked at.
func (s *Scheduler) admit(p *Plan) (more bool) {
	if len(s.queue) == 0 {
		return false
	}
	low := highest // value of the least valuable running job
	for _, j := range s.running {
		j.boost = 0
		low = min(low, j.value())
	}
	for _, j := range s.queue {
		j.follows()
	}
	turns := s.scratch.turns[:0]
	for i, j := range s.queue {
		turns = append(turns, j.turn(i))
	}
	s.scratch.turns = turns
	jobs := append(s.scratch.jobs[:0], s.queue...)
	s.scratch.jobs = jobs
	served := s.served()
	free := s.cache.Available() - s.committed()
	attempts, waitFor := 0, false
	skipped := 0
	fairly(turns, served, func(i int) (int, bool) {
		j := jobs[i]
		if more = attempts >= maxAttempts; more || len(s.running) >= s.cfg.Running {
			return 0, false
		}
		if j.paused || j.follows() || waitFor && !j.isDecision() {
			return 0, true
		}
		if len(s.running) > 0 && j.noRoom && free < j.lacking && j.Priority <= low && s.steps-j.tried < retryAfterSteps {
			skipped++
			waitFor = waitFor || j.overtaken >= s.cfg.Overtakes
			return 0, true
		}
		attempts++
		j.tried, j.lacking = s.steps, 0
		took, rows, err := s.try(j, free, waitFor)
		var room *kvcache.CapacityError
		if errors.As(err, &room) && room.Err == kvcache.ErrFull && !waitFor && s.makeRoom(j, room.Need-room.Have) {
			free = s.cache.Available() - s.committed()
			took, rows, err = s.try(j, free, waitFor)
		}
		switch {
		case err == nil:
			free -= took
			p.Admitted = append(p.Admitted, j)
			if skipped > 0 {
				s.overtake(jobs, j)
			}
			return rows, true
		case errors.Is(err, errFollows):
			return 0, true
		case errors.As(err, &room) && !impossible(err):
			j.noRoom = true
			if room.Err == kvcache.ErrFull {
				j.lacking = room.Need
			}
			skipped++
			waitFor = waitFor || j.overtaken >= s.cfg.Overtakes
			return 0, true
		default:
			s.Finish(j)
			p.Failed = append(p.Failed, Failure{j, err})
			return 0, true
		}
	})
	return more
}

// overtake counts an admission past every job that found no room before.
func (s *Scheduler) overtake(jobs []*Job, by *Job) {
	for _, o := range jobs {
		if o.noRoom && o != by && o.stage == queued {
			o.overtaken++
		}
	}
}

func impossible(err error) bool {
	return errors.Is(err, kvcache.ErrTooLarge) || errors.Is(err, kvcache.ErrHeld) || errors.Is(err, kvcache.ErrScratch)
}

// errFollows says that the job waits for a prefix that another one computes.
var errFollows = errors.New("sched: follows another job")

// try admits a job, if it fits, and returns the pool blocks and rows that this commits.
func (s *Scheduler) try(j *Job, free int, readsOnly bool) (blocks, rows int, err error) {
	size := s.cache.BlockSize()
	most := len(j.tokens)
	if j.wantsLast() {
		most--
	}
	covered, idle := s.cache.Peek(j.Namespace, j.tokens, most)
	missing := len(j.tokens) - covered
	if s.follow(j, covered, most) {
		return 0, 0, errFollows
	}
	// A state of which nothing is cached is worth keeping, however short.
	reads := j.isDecision() && missing <= s.cfg.TailRows && (covered > 0 || missing == 0) && s.scratchFor(j, covered) <= s.cache.ScratchBlocks()
	blocks = idle
	if !reads {
		blocks += kvcache.BlocksFor(0, len(j.tokens), size) - kvcache.BlocksFor(0, covered, size)
		if covered%size != 0 {
			blocks++ // the last block of the hit may have to be copied
		}
	}
	if readsOnly && !reads {
		return 0, 0, &kvcache.CapacityError{Err: kvcache.ErrFull, Need: blocks}
	}
	// Jobs that decode take a block each before long; leave them one, or they preempt the newcomer.
	spare := len(s.running)
	if reads {
		spare = 0
	}
	if blocks > 0 && blocks+spare > free {
		full := &kvcache.CapacityError{Err: kvcache.ErrFull, Need: blocks + spare, Have: free}
		if len(s.running) > 0 || s.flight > 0 {
			return 0, 0, full
		}
		if err := s.cache.Fits(j.Namespace, j.tokens, len(j.tokens)); err != nil {
			return 0, 0, err
		}
		// One block less does without the part of the hit that would have to be copied: it is computed
		// again, in a block that the copy would have taken.
		if reads || blocks-1 > free || covered%size == 0 {
			return 0, 0, full
		}
		most = covered - covered%size
		covered, _ = s.cache.Peek(j.Namespace, j.tokens, most)
		blocks--
		missing = len(j.tokens) - covered
	}
	var scratch []kvcache.BlockID
	if j.isDecision() {
		from := covered
		if !reads {
			from = len(j.tokens)
		}
		if scratch, err = s.cache.TakeScratch(s.scratchFor(j, from)); err != nil {
			return 0, 0, err
		}
	}
	hit, err := s.cache.Match(j.Namespace, j.tokens, most)
	if err == nil {
		if j.Usage.Preempted == 0 {
			j.Usage.Cached = hit.Len
			s.cache.Called(j.Caller, hit)
		}
		err = s.start(j, hit, reads, scratch)
	}
	if err != nil {
		s.cache.GiveScratch(scratch)
		return 0, 0, err
	}
	return blocks, missing + j.rowsOf, nil
}

// makeRoom preempts running jobs that are worth less than j, the least valuable first, if that
// gives the blocks that j lacks.
func (s *Scheduler) makeRoom(j *Job, lacks int) bool {
	var victims []*Job
	for _, o := range s.running {
		if o.preemptible() && o.value() < j.Priority {
			victims = append(victims, o)
		}
	}
	slices.SortFunc(victims, func(a, b *Job) int {
		return cmp.Or(cmp.Compare(a.value(), b.value()), cmp.Compare(b.arrival, a.arrival))
	})
	for i, o := range victims {
		// A victim also takes with it what it still needs, and its claim to a spare block.
		lacks -= o.seq.Frees() + o.seq.Need(len(o.tokens)) + 1
		if lacks <= 0 {
			for _, o := range victims[:i+1] {
				s.preempt(o)
			}
			return true
		}
	}
	return false
}

// A slow reader is worth less than anything, and nothing is worth more than highest.
const (
	lowest  = -1 << 62
	highest = 1 << 62
)

// value is the priority by which the job keeps its blocks.
func (j *Job) value() int {
	if j.paused {
		return lowest
	}
	return max(j.Priority, j.boost)
}

// preemptible says that the job's blocks could be taken from it now.
func (j *Job) preemptible() bool {
	return j.seq != nil && j.inFlight == 0 && (!j.isDecision() || j.scheduled < len(j.tokens))
}

// scratchFor returns the scratch blocks of a decision whose state is recomputed in scratch from
// the given position on.
func (s *Scheduler) scratchFor(j *Job, from int) int {
	size := s.cache.BlockSize()
	n := j.ExtraScratch + kvcache.BlocksFor(from, len(j.tokens)-from, size)
	ends := s.scratch.ends[:0]
	for _, b := range j.Spans {
		pos := len(j.tokens)
		if b.Parent > 0 {
			pos = ends[b.Parent-1]
		}
		n += kvcache.BlocksFor(pos, len(b.Tokens), size)
		ends = append(ends, pos+len(b.Tokens))
	}
	s.scratch.ends = ends
	return n
}

// start makes the job a running one with the blocks it was given.
func (s *Scheduler) start(j *Job, hit *kvcache.Hit, reads bool, scratch []kvcache.BlockID) error {
	if reads {
		j.hit = hit
		j.scheduled = len(j.tokens)
	} else {
		seq, err := s.cache.NewSequence(j.Namespace, hit, j.tokens)
		if err != nil {
			hit.Release()
			return err
		}
		if j.Private {
			seq.SetPrivate()
		}
		seq.Mark(j.Marks...)
		j.seq, j.scheduled = seq, seq.Sealed()
	}
	j.scratch, j.unused = scratch, scratch
	j.branches, j.rowsOf = nil, 0
	if j.isDecision() {
		tail := branch{parent: -1, pos: len(j.tokens)}
		if reads {
			n := kvcache.BlocksFor(hit.Len, len(j.tokens)-hit.Len, s.cache.BlockSize())
			tail = branch{parent: -1, pos: hit.Len, tokens: j.tokens[hit.Len:], blocks: j.unused[:n:n]}
			j.unused = j.unused[n:]
			j.rowsOf = len(tail.tokens)
		}
		j.branches = append(make([]branch, 0, len(j.Spans)+1), tail)
		for _, b := range j.Spans {
			if err := j.branch(b); err != nil { // counted by scratchFor: cannot be
				j.scratch = nil
				j.release()
				return err
			}
		}
	}
	s.dequeue(j)
	j.stage, j.leader, j.noRoom, j.overtaken = running, nil, false, 0
	s.running = append(s.running, j)
	s.stats.Admitted++
	return nil
}

// follow finds a running job that is computing a prefix of j's tokens which the cache lacks, by a
// block or more. j then waits for it: the prefix is computed once. Should that job leave, what it
// finished stays in the index, and the first of those who waited computes the rest.
func (s *Scheduler) follow(j *Job, covered, most int) bool {
	size := s.cache.BlockSize()
	if most-covered < size {
		return false
	}
	probe := j.tokens[covered : covered+size]
	for _, o := range s.running {
		if o.seq == nil || o.paused || o.broken || o.Private || o.Namespace != j.Namespace {
			continue
		}
		end := min(most, len(o.tokens)-o.drafts)
		if end-covered < size || o.seq.Sealed() >= end || !equal(o.tokens[covered:covered+size], probe) {
			continue
		}
		n := 0
		for n < end && o.tokens[n] == j.tokens[n] {
			n++
		}
		if n-covered >= size && n > o.seq.Sealed() {
			if j.leader == nil {
				s.stats.Followed++
			}
			j.leader, j.target = o, n
			o.boost = max(o.boost, j.Priority)
			return true
		}
	}
	j.leader = nil
	return false
}

// follows says whether the job's leader still computes for it, and lends it the job's priority.
func (j *Job) follows() bool {
	o := j.leader
	if o == nil {
		return false
	}
	if o.stage == running && o.seq != nil && !o.paused && !o.broken && o.seq.Sealed() < j.target {
		o.boost = max(o.boost, j.Priority)
		return true
	}
	return false
}

func equal(a, b []int32) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// committed returns the blocks that running jobs still need for the tokens they have.
func (s *Scheduler) committed() int {
	n := 0
	for _, j := range s.running {
		if j.seq != nil {
			n += j.seq.Need(len(j.tokens))
		}
	}
	return n
}

// preempt takes a running job's blocks and puts it back in the queue, where it keeps its place.
// What it sealed stays in the index until evicted, so often little is computed again.
func (s *Scheduler) preempt(j *Job) {
	s.remove(j)
	j.release()
	j.drop()
	j.broken = false
	j.Usage.Preempted++
	s.stats.Preempted++
	s.enqueue(j)
}

// drop forgets drafts: they are guesses that can be made again.
func (j *Job) drop() {
	j.tokens = j.tokens[:len(j.tokens)-j.drafts]
	j.drafts = 0
}

// expire ends the queued jobs whose deadline has passed.
func (s *Scheduler) expire(p *Plan) {
	var late []*Job
	for _, j := range s.queue {
		if !j.Deadline.IsZero() && !s.now.Before(j.Deadline) {
			late = append(late, j)
		}
	}
	for _, j := range late {
		s.Finish(j)
		p.Failed = append(p.Failed, Failure{j, ErrDeadline})
	}
}
