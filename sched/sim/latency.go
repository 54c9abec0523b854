package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/sched"
)

// Config of Run.
type Config struct {
	Blocks    int // of the pool
	BlockSize int // 0: the cache's default
	Scratch   int
	Sched     sched.Config // Now, Cost and Fixed are set by Run
	Cost      sched.Cost   // what steps take

	// Decide asks as many questions of QuestionRows tokens about each prompt before it is generated
	// on, as an agent's router does. 0: none.
	Decide, QuestionRows int

	BlockTokens int            // tokens of a block that a Call names; 0: 512
	Each        func(done int) // told how many calls have ended, now and then; may be nil
}

// Report is what a simulation measured, in simulated time.
type Report struct {
	Calls []Outcome
	Steps int
	Took  time.Duration // from the first arrival to the last end
	Cache kvcache.Stats
	Sched sched.Stats
}

// Outcome is what became of one call.
type Outcome struct {
	Call
	Err      error
	Decided  time.Duration // from arrival to the answers; 0 without Decide
	First    time.Duration // from arrival to the first token
	Slowest  time.Duration // longest wait between two tokens
	End      time.Duration // from arrival
	Computed int           // rows, of the decision too
}

// Run plays the calls in their own time against the real cache and scheduler, with the cost model
// in place of a backend. Prompts that name no blocks share nothing with others. It is
// deterministic.
func Run(calls []Call, cfg Config) (*Report, error) {
	w, err := newWorld(calls, cfg)
	if err != nil {
		return nil, err
	}
	for w.done < len(calls) {
		w.arrive()
		p := w.sched.Plan()
		for _, f := range p.Failed {
			w.end(f.Job.Tag.(*flow), f.Err)
		}
		if len(p.Items) == 0 {
			if w.next < len(calls) {
				w.now = max(w.now, calls[w.next].At)
				continue
			}
			if len(p.Failed) == 0 && w.done < len(calls) {
				return nil, fmt.Errorf("sim: %d calls wait and none runs at %v", len(calls)-w.done, w.now)
			}
			continue
		}
		took := cfg.Cost.Time(p.Shape)
		w.now += took
		w.report.Steps++
		if err := w.sched.Settle(p, took); err != nil {
			return nil, err
		}
		if err := w.settle(p); err != nil {
			return nil, err
		}
	}
	w.report.Took = w.now
	w.report.Cache, w.report.Sched = w.cache.Stats(), w.sched.Stats()
	if err := w.cache.Check(); err != nil {
		return nil, err
	}
	return &w.report, nil
}

type world struct {
	cfg    Config
	cache  *kvcache.Cache
	sched  *sched.Scheduler
	now    time.Duration
	next   int // call to arrive
	done   int
	report Report
}

// flow is a call on its way: its decision, then its generation.
type flow struct {
	out     *Outcome
	index   int
	tokens  []int32
	reads   int // answers still to come
	made    int // tokens
	last    time.Duration
	decided bool
}

func newWorld(calls []Call, cfg Config) (*world, error) {
	if cfg.BlockTokens == 0 {
		cfg.BlockTokens = 512
	}
	w := &world{cfg: cfg}
	clock := func() time.Time { return time.Unix(0, 0).Add(w.now) }
	var err error
	w.cache, err = kvcache.New(kvcache.Options{Blocks: cfg.Blocks, BlockSize: cfg.BlockSize, Scratch: cfg.Scratch, Now: clock})
	if err != nil {
		return nil, err
	}
	sc := cfg.Sched
	sc.Now, sc.Cost, sc.Fixed = clock, cfg.Cost, true
	if w.sched, err = sched.New(w.cache, sc); err != nil {
		return nil, err
	}
	w.report.Calls = make([]Outcome, len(calls))
	for i, c := range calls {
		w.report.Calls[i].Call = c
		if c.Caller == "" { // the trace does not tell: each is its own
			w.report.Calls[i].Caller = fmt.Sprint("call ", i)
		}
	}
	return w, nil
}

// arrive submits the calls whose time has come.
func (w *world) arrive() {
	for w.next < len(w.report.Calls) && w.report.Calls[w.next].At <= w.now {
		out := &w.report.Calls[w.next]
		f := &flow{out: out, index: w.next, tokens: prompt(out.Call, w.next, w.cfg.BlockTokens)}
		w.next++
		w.submit(f)
	}
}

// prompt makes tokens that are equal where the named blocks are.
func prompt(c Call, index, size int) []int32 {
	n := max(1, c.Input)
	out := make([]int32, n)
	for i := range out {
		if k := i / size; k < len(c.Blocks) {
			out[i] = int32(uint32(c.Blocks[k])*uint32(size)+uint32(i%size)) & 0x7fffffff
		} else { // nobody else's
			out[i] = int32((uint32(index)*2654435761 + uint32(i)) | 0x40000000)
		}
	}
	return out
}

func (w *world) submit(f *flow) {
	r := sched.Request{Caller: f.out.Caller, Tokens: f.tokens, Tag: f}
	if w.cfg.Decide > 0 && !f.decided {
		for q := range w.cfg.Decide {
			span := make([]int32, w.cfg.QuestionRows)
			for i := range span {
				span[i] = int32(q*1000 + i)
			}
			r.Spans = append(r.Spans, sched.Branch{Tokens: span})
		}
		f.reads = w.cfg.Decide
	} else {
		r.MaxTokens = max(1, f.out.Output)
	}
	if _, err := w.sched.Submit(r); err != nil {
		w.end(f, err)
	}
}

func (w *world) end(f *flow, err error) {
	f.out.Err = err
	f.out.End = w.now - f.out.At
	f.tokens = nil
	if w.done++; w.cfg.Each != nil && w.done%64 == 0 {
		w.cfg.Each(w.done)
	}
}

// settle is the engine's part after a step: choose, read, finish.
func (w *world) settle(p *sched.Plan) error {
	for _, it := range p.Items {
		j, f := it.Job, it.Job.Tag.(*flow)
		for _, sp := range it.Spans {
			f.out.Computed += sp.To - sp.From
			switch {
			case !sp.Last || !j.Running():
			case sp.Index >= 0:
				if f.reads--; f.reads == 0 {
					w.decided(f, j)
				}
			case len(j.Spans) == 0:
				if err := w.token(f, j); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (w *world) decided(f *flow, j *sched.Job) {
	f.decided = true
	f.out.Decided = w.now - f.out.At
	w.sched.Finish(j)
	w.submit(f)
}

func (w *world) token(f *flow, j *sched.Job) error {
	f.made++
	if f.made == 1 {
		f.out.First = w.now - f.out.At
	} else {
		f.out.Slowest = max(f.out.Slowest, w.now-f.last)
	}
	f.last = w.now
	if f.made >= max(1, f.out.Output) {
		w.sched.Finish(j)
		w.end(f, nil)
		return nil
	}
	return j.Append(int32(uint32(f.index)*40503+uint32(f.made)) | 0x40000000)
}

// Percentile returns the p-th (0 to 100) of what of gives for the calls that which admits and that
// ended well, and how many those are.
func (r *Report) Percentile(p float64, which func(*Outcome) bool, of func(*Outcome) time.Duration) (time.Duration, int) {
	var all []time.Duration
	for i := range r.Calls {
		if o := &r.Calls[i]; o.Err == nil && which(o) {
			all = append(all, of(o))
		}
	}
	if len(all) == 0 {
		return 0, 0
	}
	slices.Sort(all)
	return all[min(len(all)-1, int(p/100*float64(len(all))))], len(all)
}
