package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/sched"
)

// flight is a step under way: its plan, the batch that it became, and its outcome. Its memory is
// used again when the step is settled.
type flight struct {
	plan    *sched.Plan
	batch   backend.Batch
	step    backend.Step
	waited  bool
	started time.Time
	out     backend.Output
	wants   []backend.Want // of all spans, in order, as the tasks asked
	asked   []int          // how many wants each span has

	spans    []backend.Span
	segments []backend.Segment
	blocks   []kvcache.BlockID
	lowered  []backend.Want // wants as the runner is asked
	moves    []backend.Move
}

// plan chooses the rows of the next step and builds its batch; nil when nothing can run.
func (l *loop) plan() *flight {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.sched.Plan()
	for _, f := range p.Failed {
		t := f.Job.Tag.(task)
		if err := f.Err; err == sched.ErrDeadline {
			l.failed(t, fmt.Errorf("%w: %w", context.DeadlineExceeded, err))
		} else {
			l.failed(t, err)
		}
	}
	for _, j := range p.Admitted {
		if t := j.Tag.(task); !t.common().over {
			t.admitted()
		}
	}
	if len(p.Items) == 0 {
		if len(p.Admitted)+len(p.Failed) > 0 {
			l.poke() // a plan looks at a part of the queue: plan again before sleeping
		}
		return nil
	}
	f := &flight{}
	if n := len(l.spare); n > 0 {
		f, l.spare = l.spare[n-1], l.spare[:n-1]
	}
	f.build(p, l.e.caps)
	return f
}

// build turns a plan into a batch. Block tables are copied: the scheduler may change its own while
// the step runs.
func (f *flight) build(p *sched.Plan, caps backend.Caps) {
	f.plan, f.step, f.waited = p, nil, false
	f.wants, f.asked, f.lowered = f.wants[:0], f.asked[:0], f.lowered[:0]
	f.spans, f.segments, f.blocks, f.moves = f.spans[:0], f.segments[:0], f.blocks[:0], f.moves[:0]
	f.batch.Seqs = f.batch.Seqs[:0]
	for i := range p.Items {
		item := &p.Items[i]
		t := item.Job.Tag.(task)
		seq := backend.Seq{State: item.State}
		first := len(f.segments)
		for _, s := range item.Context {
			f.segments = append(f.segments, backend.Segment{Blocks: f.keep(s.Blocks), Start: s.Start, Len: s.Len})
		}
		seq.Context = f.segments[first:len(f.segments):len(f.segments)]
		first = len(f.spans)
		for j := range item.Spans {
			s := &item.Spans[j]
			n := len(f.wants)
			f.wants = t.want(f.wants, s)
			f.asked = append(f.asked, len(f.wants)-n)
			from := len(f.lowered)
			for _, w := range f.wants[n:] {
				f.lowered = append(f.lowered, lower(w, caps.Wants))
			}
			f.spans = append(f.spans, backend.Span{
				Parent: s.Parent, Tokens: s.Tokens, Pos: s.Pos, Dst: f.keep(s.Dst), Save: s.Save,
				Want: f.lowered[from:len(f.lowered):len(f.lowered)],
			})
		}
		seq.Spans = f.spans[first:len(f.spans):len(f.spans)]
		f.batch.Seqs = append(f.batch.Seqs, seq)
	}
	for _, c := range p.Copies {
		f.moves = append(f.moves, backend.Move{From: c.From, To: c.To, Rows: c.Rows})
	}
	for _, c := range p.StateMoves {
		f.moves = append(f.moves, backend.Move{FromState: c.From, ToState: c.To})
	}
}

func (f *flight) keep(b []kvcache.BlockID) []kvcache.BlockID {
	n := len(f.blocks)
	f.blocks = append(f.blocks, b...)
	return f.blocks[n:len(f.blocks):len(f.blocks)]
}

// lower replaces what the runner cannot compute by the logits from which it follows.
func lower(w backend.Want, has backend.WantSet) backend.Want {
	lacks := w.Labels != nil && !has.Has(backend.WantLabels) ||
		w.LogSumExp && !has.Has(backend.WantLogSumExp) ||
		w.TopK > 0 && !has.Has(backend.WantTopK) ||
		w.Sample != nil && !has.Has(backend.WantSample)
	if lacks {
		return backend.Want{Row: w.Row, Logits: true, Hidden: w.Hidden}
	}
	return w
}

// submit starts the step. When it cannot be started its calls end with the reason.
func (l *loop) submit(f *flight) {
	f.started = time.Now()
	err := guard(func() (err error) {
		if len(f.moves) > 0 {
			if err := l.e.runner.Copy(context.Background(), f.moves); err != nil {
				return err
			}
		}
		f.step, err = l.e.runner.Submit(context.Background(), &f.batch)
		return err
	})
	if err != nil {
		l.settle(f, err)
		return
	}
	l.flights = append(l.flights, f)
}

// wait waits for the step to end.
func (l *loop) wait(f *flight) error {
	f.waited = true
	return guard(func() error { return f.step.Wait(&f.out) })
}

// settle seals what the step computed and gives its outputs to the calls. After an error the calls
// whose rows it carried end with it; all others go on.
func (l *loop) settle(f *flight, err error) {
	// A step that was submitted behind another one began when that one ended.
	now := time.Now()
	took := now.Sub(f.started)
	if l.ended.After(f.started) {
		took = now.Sub(l.ended)
	}
	l.ended = now
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && len(f.out.Results) != len(f.wants) {
		err = fmt.Errorf("%w: the backend gave %d results for %d wants", ErrInternal, len(f.out.Results), len(f.wants))
	}
	if err != nil {
		for i := range f.plan.Items {
			l.failed(f.plan.Items[i].Job.Tag.(task), err)
		}
		l.sched.Abort(f.plan)
		l.spare = append(l.spare, f)
		return
	}
	if err := l.sched.Settle(f.plan, took); err != nil {
		panic(err) // our own bookkeeping is wrong: turn ends every call
	}
	at, span := 0, 0
	for i := range f.plan.Items {
		item := &f.plan.Items[i]
		t := item.Job.Tag.(task)
		for j := range item.Spans {
			n := f.asked[span]
			span++
			if !t.common().over {
				results := f.out.Results[at : at+n]
				for k := range results {
					l.derive(&f.wants[at+k], &f.lowered[at+k], &results[k])
				}
				t.settle(item, &item.Spans[j], results)
			}
			at += n
		}
	}
	f.plan = nil
	l.spare = append(l.spare, f)
}

// derive computes from the logits what the runner could not.
func (l *loop) derive(want, lowered *backend.Want, r *backend.Result) {
	if r.Err != nil || want.Logits || !lowered.Logits {
		return
	}
	hidden, logits := r.Hidden, r.Logits
	r.Fill(want, logits, &l.sampler)
	r.Hidden, r.Logits = hidden, logits[:0]
}
