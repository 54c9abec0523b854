package sched

import (
	"errors"
	"fmt"
	"time"

	"github.com/hotpath-go/hotpath/kvcache"
)

// Settle says that the plan's step has finished, after took (0: not measured). Its rows are
// sealed and enter the prefix index. Then the engine appends what it chose, adds spans, and
// finishes jobs.
func (s *Scheduler) Settle(p *Plan, took time.Duration) error {
	if len(p.Items) == 0 {
		return nil
	}
	s.measure(p, took)
	var err error
	for i := range p.Items {
		item := &p.Items[i]
		j := item.Job
		if j.stage != running || j.broken {
			continue
		}
		for _, sp := range item.Spans {
			if sp.Index >= 0 || j.seq == nil {
				j.branches[sp.Index+1].finished = sp.To
				continue
			}
			if e := j.seq.Seal(min(sp.To, len(j.tokens)-j.drafts)); e != nil {
				err = errors.Join(err, fmt.Errorf("sched: job of %q: %w", j.Caller, e))
			}
		}
	}
	s.done(p)
	return err
}

// Abort says that the plan's step failed or never ran. None of its rows count. Jobs that are not
// finished run again from what was sealed before; with two steps in flight, abort the later one too.
func (s *Scheduler) Abort(p *Plan) {
	if len(p.Items) == 0 {
		return
	}
	for i := range p.Items {
		p.Items[i].Job.broken = true
	}
	s.done(p)
	for _, j := range p.forked { // its state was never copied
		if j.stage != running {
			continue
		}
		if j.broken = true; j.inFlight == 0 {
			s.preempt(j)
		}
	}
}

// done counts the step down and lets go of what waited for it.
func (s *Scheduler) done(p *Plan) {
	s.flight--
	p.underWay = false
	for i := range p.Items {
		j := p.Items[i].Job
		if i > 0 && p.Items[i-1].Job == j {
			continue
		}
		if p.counted(i) {
			continue
		}
		j.inFlight--
		switch {
		case j.inFlight > 0:
		case j.stage == leaving:
			j.release()
			j.stage = gone
		case j.stage == running && j.broken:
			s.preempt(j)
		}
	}
}

// counted says whether an earlier item of the plan is of the same job.
func (p *Plan) counted(i int) bool {
	j := p.Items[i].Job
	if !j.isDecision() {
		return false
	}
	for k := range i {
		if p.Items[k].Job == j {
			return true
		}
	}
	return false
}

// warmup is how many measured steps it takes until the fitted cost replaces the configured one.
const warmup = 16

// forget is the weight that a measured step loses with each later one.
const forget = 0.998

func (s *Scheduler) measure(p *Plan, took time.Duration) {
	s.stats.Steps++
	s.stats.Rows += uint64(p.Rows)
	history := 0
	groups := map[kvcache.BlockID]*Job{}
	for i := range p.Items {
		j := p.Items[i].Job
		for _, sp := range p.Items[i].Spans {
			if sp.Index >= 0 {
				s.stats.Decisions += uint64(len(sp.Tokens))
			} else {
				history += len(sp.Tokens)
			}
		}
		if j.isDecision() && j.stage != gone {
			if b := j.leading(); b != kvcache.NoBlock {
				if first := groups[b]; first == nil {
					groups[b] = j
				} else if first != j {
					s.stats.Merged++
				}
			}
		}
	}
	s.stats.Decodes += uint64(p.Shape.Decodes)
	s.stats.Prefills += uint64(history - p.Shape.Decodes)
	if took <= 0 {
		return
	}
	if p.Predicted > 0 {
		s.stats.Predicted += p.Predicted
		s.stats.Measured += took
		s.stats.PredictionMiss += (took - p.Predicted).Abs()
	}
	if s.cfg.Fixed {
		return
	}
	s.fitter.Add(Sample{p.Shape, took}, forget)
	if n := s.fitter.Samples(); n >= warmup && s.stats.Steps%warmup == 0 {
		s.cfg.Cost = s.fitter.Cost()
	}
}
