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
// state leaves pool and index as they were. Questions that need more scratch than there is are
// computed in several waves.
func (e *Engine) Decide(ctx context.Context, r decide.Request) (*decide.Result, error) {
	begin := time.Now()
	if err := r.Check(); err != nil {
		return nil, err
	}
	plan, err := e.decisions.Compile(r)
	if err != nil {
		return nil, err
	}
	state, cut, err := e.state(&r, plan)
	if err != nil {
		return nil, err
	}
	prior, err := e.prior(ctx, &r, plan, state.Form)
	if err != nil {
		return nil, err
	}
	d, err := e.read(ctx, &r, plan, state, begin)
	if err != nil {
		return nil, err
	}
	answers, err := plan.Answer(r, state, d.readings, prior)
	if err != nil {
		return nil, err
	}
	d.usage.Total = time.Since(begin)
	return &decide.Result{
		Answers: answers, Usage: d.usage, Border: state.Border, Cut: cut, Warnings: plan.Warnings(r, state),
		Model: e.info.Model, Numerics: e.info.Numerics,
	}, nil
}

// Compile compiles a request's questions for the engine's model. The plan may then stand in for
// them in any number of requests.
func (e *Engine) Compile(_ context.Context, r decide.Request) (*decide.Plan, error) {
	return e.decisions.Compile(r)
}

// state encodes the request's state, so that the longest question fits into the context behind it.
func (e *Engine) state(r *decide.Request, plan *decide.Plan) (decide.Encoded, *decide.Cut, error) {
	state, err := e.decisions.Encode(r.State, r.Border)
	if err != nil {
		return state, nil, err
	}
	depth, err := plan.Depth(state.Form)
	if err != nil {
		return state, nil, err
	}
	room := e.info.Context - depth
	if len(state.Tokens) <= room {
		return state, nil, nil
	}
	n := len(state.Tokens)
	state, cut, err := e.decisions.EncodeWithin(r.State, r.Border, r.Truncate, room)
	if err == nil && len(state.Tokens) > room {
		err = fmt.Errorf("%w: %w: State: %d tokens and the longest question %d more, the context is %d",
			decide.ErrState, ErrTooLong, n, depth, e.info.Context)
	}
	return state, cut, err
}

// Binding returns what a calibrator fitted on this engine is bound to.
func (e *Engine) Binding() (decide.Binding, error) { return e.decisions.Binding() }

// prior returns what an empty state gives to the options, where the request asks for it: kept from
// an earlier request, or read now.
func (e *Engine) prior(ctx context.Context, r *decide.Request, plan *decide.Plan, form decide.Border) (decide.Prior, error) {
	if r.Prior == 0 {
		return nil, nil
	}
	if p, ok := e.decisions.Prior(plan, form); ok {
		return p, nil
	}
	empty, err := e.decisions.Empty(form)
	if err != nil {
		return nil, err
	}
	d, err := e.read(ctx, r, plan, empty, time.Now())
	if err != nil {
		return nil, err
	}
	return e.decisions.KeepPrior(plan, empty, d.readings)
}

// read runs the plan's spans behind a state and waits for their readings.
func (e *Engine) read(ctx context.Context, r *decide.Request, plan *decide.Plan, state decide.Encoded, begin time.Time) (*decision, error) {
	spans, err := plan.Spans(state.Form)
	if err != nil {
		return nil, err
	}
	return e.readSpans(ctx, spans, sched.Request{
		Caller: r.Caller, Namespace: kvcache.Namespace{Salt: r.Namespace}, Priority: r.Priority, Tokens: state.Tokens,
	}, r.SkipMass, begin)
}

// readSpans runs spans behind the tokens of a request and waits for their readings.
func (e *Engine) readSpans(ctx context.Context, spans []decide.Span, r sched.Request, skipMass bool, begin time.Time) (*decision, error) {
	d := &decision{request: r, skipMass: skipMass, begin: begin, positionBytes: e.caps.BlockBytes / int64(e.caps.BlockSize)}
	d.usage.StateTokens = len(r.Tokens)
	n := 0
	for i := range spans {
		n += len(spans[i].Reads)
	}
	d.readings = make([]decide.Reading, n)
	d.waves = split(spans, len(r.Tokens), e.caps.BlockSize, e.caps.ScratchBlocks)
	if err := e.loop.start(ctx, d, d.next()); err != nil {
		return nil, err
	}
	<-d.done
	return d, d.err
}

// decision is a Decide under way.
type decision struct {
	call
	request  sched.Request // without spans
	waves    []wave        // still to run, the one under way first
	left     int           // reads of that one still to come
	readings []decide.Reading
	skipMass bool

	usage         decide.Usage
	begin         time.Time
	step          int   // of its job, the last one whose context was counted
	positionBytes int64 // of keys and values
	err           error
}

// next returns the request of the first wave.
func (d *decision) next() sched.Request {
	r := d.request
	w := &d.waves[0]
	r.Spans = make([]sched.Branch, len(w.spans))
	d.left, d.step = 0, 0
	for i, s := range w.spans {
		r.Spans[i] = sched.Branch{Parent: s.Parent, Tokens: s.Tokens}
		d.left += len(s.Reads)
	}
	return r
}

func (d *decision) common() *call { return &d.call }

func (d *decision) admitted() {
	if d.usage.Queued == 0 {
		d.usage.Queued = time.Since(d.begin)
	}
}

func (d *decision) fail(err error) { d.err = err }

// reads returns the reads of a span whose rows are in [from, to), with the number of the first.
func (d *decision) reads(s *sched.Span) (reads []decide.Read, number int) {
	if s.Index < 0 {
		return nil, 0 // the state
	}
	w := &d.waves[0]
	all := w.spans[s.Index].Reads
	lo := 0
	for lo < len(all) && all[lo].Row < s.From {
		lo++
	}
	hi := lo
	for hi < len(all) && all[hi].Row < s.To {
		hi++
	}
	return all[lo:hi], w.first[s.Index] + lo
}

func (d *decision) want(dst []backend.Want, s *sched.Span) []backend.Want {
	reads, _ := d.reads(s)
	for _, r := range reads {
		sum := r.LogSumExp && !(r.Mass && d.skipMass)
		dst = append(dst, backend.Want{Row: r.Row - s.From, Labels: r.Labels, LogSumExp: sum})
	}
	return dst
}

func (d *decision) settle(item *sched.Item, s *sched.Span, results []backend.Result) {
	if item.Job != d.job {
		return // of a wave that has ended
	}
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
	if d.left > 0 {
		return
	}
	j := d.job.Usage
	if d.usage.Steps == 0 {
		d.usage.CachedTokens = j.Cached
	}
	d.usage.ComputedTokens += j.Computed
	d.usage.Steps += j.Steps
	if d.waves = d.waves[1:]; len(d.waves) > 0 {
		if err := d.loop.follow(d, d.next()); err != nil {
			d.loop.failed(d, err)
		}
		return
	}
	d.loop.counted.Decisions++
	d.finish(d)
}

// follow replaces a task's job by another one; the lock is held.
func (l *loop) follow(t task, r sched.Request) error {
	c := t.common()
	r.Tag, r.Deadline = t, c.job.Deadline
	r.Continues = true
	job, err := l.sched.Submit(r)
	if err != nil {
		return err
	}
	l.sched.Finish(c.job)
	c.job = job
	return nil
}

// count adds what the span's rows had to attend to: the state once a step, its own rows, and the
// scratch before them.
func (d *decision) count(item *sched.Item, s *sched.Span) {
	if &item.Spans[0] == s {
		rows := 0
		for _, c := range item.Context {
			if c.Start > 0 || d.step != d.job.Usage.Steps {
				rows += c.Len
			}
		}
		d.step = d.job.Usage.Steps
		d.usage.KVBytesRead += int64(rows) * d.positionBytes
	}
	if s.Index < 0 && d.job.Sequence() == nil {
		d.usage.Recomputed += s.To - s.From
	}
}
