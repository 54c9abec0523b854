package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/sched"
)

// Decide answers the request's questions about its state. The state is prefilled once into the
// pool where it is not hot; the questions' own rows live in scratch, so that a decision on a hot
// state leaves pool and index as they were.
func (e *Engine) Decide(ctx context.Context, r decide.Request) (*decide.Result, error) {
	begin := time.Now()
	if err := r.Check(); err != nil {
		return nil, err
	}
	o := e.decideOptions()
	state, err := decide.Encode(e.model, r.State, o)
	if err != nil {
		return nil, err
	}
	plan, err := decide.Compile(e.model, r, o)
	if err != nil {
		return nil, err
	}
	d, err := newDecision(&r, plan, state.Border)
	if err != nil {
		return nil, err
	}
	if n := len(state.Tokens) + d.depth; n > e.info.Context {
		return nil, fmt.Errorf("%w: %w: State: %d tokens and the longest question %d more, the context is %d",
			decide.ErrState, ErrTooLong, len(state.Tokens), d.depth, e.info.Context)
	}
	d.begin, d.positionBytes = begin, e.caps.BlockBytes/int64(e.caps.BlockSize)
	d.usage.StateTokens = len(state.Tokens)
	err = e.loop.start(ctx, d, sched.Request{
		Caller: r.Caller, Namespace: kvcache.Namespace{Salt: r.Namespace}, Priority: r.Priority,
		Tokens: state.Tokens, Spans: d.branches,
	})
	if err != nil {
		return nil, err
	}
	<-d.done
	if d.err != nil {
		return nil, d.err
	}
	answers, err := plan.Answer(r, d.readings)
	if err != nil {
		return nil, err
	}
	d.usage.Total = time.Since(begin)
	return &decide.Result{
		Answers: answers, Usage: d.usage, Border: state.Border, Model: e.info.Model, Numerics: e.info.Numerics,
	}, nil
}

// Compile compiles a request's questions for the engine's model. The plan may then stand in for
// them in any number of requests.
func (e *Engine) Compile(_ context.Context, r decide.Request) (*decide.Plan, error) {
	return decide.Compile(e.model, r, e.decideOptions())
}

func (e *Engine) decideOptions() decide.Options { return decide.Options{Clock: e.opt.clock} }

// decision is a Decide under way.
type decision struct {
	call
	spans    []decide.Span
	branches []sched.Branch
	depth    int   // rows of the longest way through the spans
	first    []int // number of each span's first read
	readings []decide.Reading
	left     int // reads still to come
	skipMass bool

	usage         decide.Usage
	begin         time.Time
	step          int   // of usage.Steps, the last one whose context was counted
	positionBytes int64 // of keys and values
	err           error
}

func newDecision(r *decide.Request, plan *decide.Plan, border decide.Border) (*decision, error) {
	spans, err := plan.Spans(border)
	if err != nil {
		return nil, err
	}
	d := &decision{spans: spans, skipMass: r.SkipMass, branches: make([]sched.Branch, len(spans)), first: make([]int, len(spans))}
	ends := make([]int, len(spans))
	for i, s := range spans {
		d.branches[i] = sched.Branch{Parent: s.Parent, Tokens: s.Tokens}
		d.first[i] = d.left
		d.left += len(s.Reads)
		ends[i] = len(s.Tokens)
		if s.Parent > 0 {
			ends[i] += ends[s.Parent-1]
		}
		d.depth = max(d.depth, ends[i])
	}
	d.readings = make([]decide.Reading, d.left)
	return d, nil
}

func (d *decision) common() *call { return &d.call }

func (d *decision) admitted() { d.usage.Queued = time.Since(d.begin) }

func (d *decision) fail(err error) { d.err = err }

// reads returns the reads of a span whose rows are in [from, to), with the number of the first.
func (d *decision) reads(s *sched.Span) (reads []decide.Read, number int) {
	if s.Index < 0 {
		return nil, 0 // the state
	}
	all := d.spans[s.Index].Reads
	lo := 0
	for lo < len(all) && all[lo].Row < s.From {
		lo++
	}
	hi := lo
	for hi < len(all) && all[hi].Row < s.To {
		hi++
	}
	return all[lo:hi], d.first[s.Index] + lo
}

func (d *decision) want(dst []backend.Want, s *sched.Span) []backend.Want {
	reads, _ := d.reads(s)
	for _, r := range reads {
		dst = append(dst, backend.Want{Row: r.Row - s.From, Labels: r.Labels, LogSumExp: r.LogSumExp && !d.skipMass})
	}
	return dst
}

func (d *decision) settle(item *sched.Item, s *sched.Span, results []backend.Result) {
	d.count(item, s)
	_, number := d.reads(s)
	for i := range results {
		r := &results[i]
		if r.Err != nil {
			d.loop.failed(d, r.Err)
			return
		}
		d.readings[number+i] = decide.Reading{Labels: append([]float32(nil), r.Labels...), LogSumExp: r.LogSumExp}
		d.left--
	}
	if d.left == 0 {
		j := d.job.Usage
		d.usage.CachedTokens, d.usage.ComputedTokens, d.usage.Steps = j.Cached, j.Computed, j.Steps
		d.loop.counted.Decisions++
		d.finish(d)
	}
}

// count adds what the span's rows had to attend to: the state once a step, its own rows, and the
// scratch before them.
func (d *decision) count(item *sched.Item, s *sched.Span) {
	rows := s.To - s.From
	if &item.Spans[0] == s {
		for _, c := range item.Context {
			if c.Start > 0 || d.step != d.job.Usage.Steps {
				rows += c.Len
			}
		}
		d.step = d.job.Usage.Steps
	}
	d.usage.KVBytesRead += int64(rows) * d.positionBytes
	if s.Index < 0 && d.job.Sequence() == nil {
		d.usage.Recomputed += s.To - s.From
	}
}
