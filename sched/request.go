package sched

import (
	"errors"
	"time"

	"github.com/hotpath-go/hotpath/kvcache"
)

// Errors of this package. What has to do with room is a *kvcache.CapacityError instead.
var (
	ErrConfig   = errors.New("sched: bad configuration")
	ErrRequest  = errors.New("sched: bad request")
	ErrBusy     = errors.New("sched: queue is full") // inside a *BusyError
	ErrDeadline = errors.New("sched: deadline passed in the queue")
	ErrFinished = errors.New("sched: job has finished")
)

// BusyError refuses a request because the queue is at its bound. It unwraps to ErrBusy.
type BusyError struct {
	Field      string // "requests" or "tokens"
	Have, Most int    // what the queue would hold with this request, and its bound
	RetryAfter time.Duration
}

// Request is what a caller asks for. The scheduler keeps Tokens and Spans and does not change them.
type Request struct {
	Caller    string // fairness is between callers; "" is one of them
	Namespace kvcache.Namespace
	Priority  int       // higher runs first
	Deadline  time.Time // zero: none. A job still queued then ends with ErrDeadline.

	// Tokens are a generation's prompt or a decision's state.
	Tokens []int32
	// Spans make it a decision: rows in scratch that branch off the state.
	Spans []Branch
	// ExtraScratch is how many scratch blocks AddSpans may use beyond Spans.
	ExtraScratch int
	// MaxTokens is the most tokens that Append adds. 0 without Spans only computes the tokens, for
	// a warm prefix: then no row's output is wanted and a hit may cover them all.
	MaxTokens int

	Marks   []int // positions whose recurrent state is worth a checkpoint
	Private bool  // nothing it computes enters the prefix index
	// Continues says that it goes on with a request that was let in before: the bounds of the queue do
	// not hold for it.
	Continues bool
	Async     bool // with steps in flight, go on from choices that are not known yet

	Tag any // the caller's own
}

// Branch is a span of a decision.
type Branch struct {
	Parent int // 1 + index of the span it continues; 0: the state
	Tokens []int32
}

// Job is a request under the scheduler. Its methods belong to the goroutine of the scheduler.
type Job struct {
	Request
	Usage Usage

	sched   *Scheduler
	arrival uint64
	stage   stage
	tokens  []int32 // prompt and appended tokens; survives preemption
	drafts  int     // of them, at the end, not accepted yet
	paused  bool

	seq       *kvcache.Sequence // nil: queued, or a decision that only reads
	hit       *kvcache.Hit      // a decision's state, when it only reads
	scheduled int               // rows of tokens that are finished or in a step under way
	branches  []branch          // [0] is the part of the state recomputed in scratch
	scratch   []kvcache.BlockID // all of the job's
	unused    []kvcache.BlockID // of them, not given to a branch yet

	account   *account
	leader    *Job   // computes a prefix this one waits for
	target    int    // how much of it
	boost     int    // highest priority among those that wait for this one
	noRoom    bool   // found no room when it was last tried
	lacking   int    // blocks that would have to be available
	tried     uint64 // in which step
	overtaken int    // admissions past this job since then
	broken    bool   // a step on it failed: to be run again from what is sealed
	high      int    // rows of the history that were scheduled before: more is recomputed
	inFlight  int    // steps under way
	lastRow   int    // number of its last row in its latest step
	lastStep  uint64
	rowsOf    int // scratch: rows still to schedule, all branches
}

type stage uint8

const (
	queued stage = iota
	running
	leaving // finished, with a step under way
	gone
)

// Usage counts what a job took.
type Usage struct {
	Cached     int // tokens of the prompt or state that the cache covered at first admission
	Computed   int // rows computed, recomputed ones included
	Recomputed int // rows computed again after preemption
	Preempted  int // times
	Steps      int
}

// branch is one span of a decision, or the tail of its state.
type branch struct {
	parent    int // index into branches; -1: the cached context
	tokens    []int32
	pos       int // of the first row
	blocks    []kvcache.BlockID
	scheduled int
	finished  int
	state     kvcache.StateID // after its scheduled rows, where a later step goes on from them
}

func (j *Job) isDecision() bool { return len(j.Spans) > 0 }

// wantsLast says that the logits of the last token are wanted, so a hit must leave it out.
func (j *Job) wantsLast() bool { return !j.isDecision() && j.MaxTokens > 0 }

// History returns the prompt and what was appended to it. It is a view.
func (j *Job) History() []int32 { return j.tokens }

// Sequence returns the job's sequence, or nil when it is queued or only reads.
func (j *Job) Sequence() *kvcache.Sequence { return j.seq }

// Running says whether the job is admitted.
func (j *Job) Running() bool { return j.stage == running }

// Finished returns the rows of the history (for a decision: of the state) that finished steps cover.
func (j *Job) Finished() int {
	switch {
	case j.seq != nil:
		return j.seq.Sealed()
	case len(j.branches) > 0 && j.hit != nil:
		return j.hit.Len + j.branches[0].finished
	}
	return 0
}

// SpanFinished returns how many rows of the decision's span i are finished; 0 while it is queued.
func (j *Job) SpanFinished(i int) int {
	if i < 0 || i+1 >= len(j.branches) {
		return 0
	}
	return j.branches[i+1].finished
}
