package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/backend/cpu"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/sched"
	"github.com/hotpath-go/hotpath/sched/sim"
)

// record measures steps of many shapes on the CPU backend and writes them for sim.ReadSteps.
func record(ctx context.Context, w io.Writer, path, model string, steps int) error {
	samples, err := measure(ctx, model, steps)
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := errors.Join(sim.WriteSteps(f, samples), f.Close()); err != nil {
		return err
	}
	var odd, even []sched.Sample
	for i, s := range samples {
		if i%2 == 1 {
			odd = append(odd, s)
		} else {
			even = append(even, s)
		}
	}
	fit := sim.Judge(sched.Fit(odd), even)
	fmt.Fprintf(w, "%d steps in %s; a model fitted to the odd ones misses the even ones by %.1f %% (median), %.1f %% (mean), %.1f %% (9 of 10 less)\n",
		len(samples), path, 100*fit.Median, 100*fit.Mean, 100*fit.P90)
	return nil
}

// measure runs traffic of the real scheduler on the CPU backend.
func measure(ctx context.Context, file string, steps int) ([]sched.Sample, error) {
	src := model.Stories()
	if file != "" {
		src = model.File(file)
	}
	m, err := src.Load(ctx)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	const blocks, scratch = 2048, 256
	run, err := cpu.New().Open(ctx, m, backend.Options{BlockSize: kvcache.DefaultBlockSize, PoolBlocks: blocks, ScratchBlocks: scratch})
	if err != nil {
		return nil, err
	}
	defer run.Close()
	caps := run.Caps()
	cache, err := kvcache.New(kvcache.Options{Blocks: blocks, Scratch: scratch})
	if err != nil {
		return nil, err
	}
	s, err := sched.New(cache, sched.Config{StepRows: min(256, caps.MaxRows), StepSpans: caps.MaxSpans, Fixed: true})
	if err != nil {
		return nil, err
	}
	t := recorder{s: s, run: run, r: rand.New(rand.NewPCG(1, 2)), longest: max(64, min(caps.Context, 2048)*3/4)}
	for len(t.samples) < steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := t.step(ctx); err != nil {
			return nil, err
		}
	}
	return t.samples, nil
}

type recorder struct {
	s       *sched.Scheduler
	run     backend.Runner
	r       *rand.Rand
	longest int
	out     backend.Output
	samples []sched.Sample
}

func (t *recorder) submit() error {
	r := sched.Request{Tokens: make([]int32, 1+t.r.IntN(t.longest)), MaxTokens: 1 + t.r.IntN(40)}
	for i := range r.Tokens {
		r.Tokens[i] = 1 + int32(t.r.IntN(200))
	}
	if t.r.IntN(3) == 0 {
		r.MaxTokens = 0
		for range 1 + t.r.IntN(8) {
			r.Spans = append(r.Spans, sched.Branch{Tokens: r.Tokens[:1+t.r.IntN(min(24, len(r.Tokens)))]})
		}
	}
	_, err := t.s.Submit(r)
	return err
}

// step plans and runs one step, several times over since others disturb the clock: the rows it
// writes are the same each time.
func (t *recorder) step(ctx context.Context) error {
	if st := t.s.Stats(); st.Running+st.Queued < 1+t.r.IntN(24) {
		if err := t.submit(); err != nil {
			return err
		}
	}
	p := t.s.Plan()
	if len(p.Items) == 0 {
		return nil
	}
	var moves []backend.Move
	for _, c := range p.Copies {
		moves = append(moves, backend.Move{From: c.From, To: c.To, Rows: c.Rows})
	}
	if len(moves) > 0 {
		if err := t.run.Copy(ctx, moves); err != nil {
			return err
		}
	}
	batch := toBatch(p)
	best := time.Duration(1<<63 - 1)
	for range 5 {
		began := time.Now()
		step, err := t.run.Submit(ctx, batch)
		if err != nil {
			return err
		}
		if err := step.Wait(&t.out); err != nil {
			return err
		}
		best = min(best, time.Since(began))
	}
	t.samples = append(t.samples, sched.Sample{Shape: p.Shape, Took: best})
	if err := t.s.Settle(p, 0); err != nil {
		return err
	}
	return t.settle(p)
}

func toBatch(p *sched.Plan) *backend.Batch {
	b := &backend.Batch{}
	for _, it := range p.Items {
		seq := backend.Seq{State: it.State}
		for _, s := range it.Context {
			seq.Context = append(seq.Context, backend.Segment(s))
		}
		for _, sp := range it.Spans {
			span := backend.Span{Parent: sp.Parent, Tokens: sp.Tokens, Pos: sp.Pos, Dst: sp.Dst, Save: sp.Save}
			if sp.Last {
				span.Want = []backend.Want{{Row: len(sp.Tokens) - 1, Logits: true}}
			}
			seq.Spans = append(seq.Spans, span)
		}
		b.Seqs = append(b.Seqs, seq)
	}
	return b
}

func (t *recorder) settle(p *sched.Plan) error {
	for _, it := range p.Items {
		j := it.Job
		switch last := it.Spans[len(it.Spans)-1]; {
		case !j.Running():
		case len(j.Spans) > 0:
			done := true
			for i, sp := range j.Spans {
				done = done && j.SpanFinished(i) == len(sp.Tokens)
			}
			if done {
				t.s.Finish(j)
			}
		case last.Last:
			if err := j.Append(1 + int32(t.r.IntN(200))); err != nil {
				return err
			}
			if len(j.History()) == len(j.Tokens)+j.MaxTokens {
				t.s.Finish(j)
			}
		}
	}
	return nil
}
