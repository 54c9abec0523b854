package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/sample"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/sched"
)

// Generate returns the whole continuation of a prompt. Beside an error that ends it early it
// returns what there was until then.
func (e *Engine) Generate(ctx context.Context, r GenerateRequest) (*Generation, error) {
	g, err := e.generation(ctx, &r, false)
	if err != nil {
		return nil, err
	}
	<-g.done
	return &g.out, g.err
}

// Stream yields the events of a continuation as they come, until the last one, whose Done is set,
// or an error, beside which Done holds what there was until then. Leaving the loop cancels the
// generation.
func (e *Engine) Stream(ctx context.Context, r GenerateRequest) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		g, err := e.generation(ctx, &r, true)
		if err != nil {
			yield(Event{}, err)
			return
		}
		for {
			events, over := g.read()
			for _, ev := range events {
				if !yield(ev, nil) {
					return
				}
			}
			if over {
				yield(Event{Done: &g.out}, g.err)
				return
			}
		}
	}
}

// generation is a Generate or Stream under way.
type generation struct {
	call
	params  sample.Params
	seed    uint64
	history *sample.Counts // nil unless a penalty looks at it
	emit    emitter
	ends    []int32           // ids that end it
	most    int               // tokens
	asked   [2]backend.Sample // of this step and the one before, which may be under way
	begin   time.Time
	slow    SlowReader

	out Generation // the loop's until done is closed, then the caller's
	err error

	streams bool
	mu      sync.Mutex // guards what follows; the loop's lock may be held before it, never after
	events  []Event
	ready   chan struct{} // capacity 1: there are events, or the end
	ended   bool
	behind  *time.Timer // runs while the reader is too far behind
}

// generation checks the request and queues it.
func (e *Engine) generation(ctx context.Context, r *GenerateRequest, streams bool) (*generation, error) {
	g := &generation{begin: time.Now(), seed: r.Seed, streams: streams, slow: e.opt.slow, ready: make(chan struct{}, 1)}
	if err := g.resolve(r, e.info.Vocab); err != nil {
		return nil, err
	}
	prompt, err := e.model.Encode(r.Prompt, e.opt.clock)
	if err != nil {
		return nil, fmt.Errorf("%w: Prompt: %w", ErrRequest, err)
	}
	room := e.info.Context - len(prompt)
	if room < 1 {
		return nil, fmt.Errorf("%w: Prompt: %d tokens, the context of %d leaves no room for one more", ErrTooLong, len(prompt), e.info.Context)
	}
	if r.MaxTokens < 0 {
		return nil, fmt.Errorf("%w: MaxTokens: %d, must not be negative", ErrRequest, r.MaxTokens)
	}
	if g.most = r.MaxTokens; g.most == 0 || g.most > room {
		if g.most > room {
			g.out.Warnings = append(g.out.Warnings, fmt.Sprintf("MaxTokens: %d, the context of %d leaves room for %d", g.most, e.info.Context, room))
		}
		g.most = room
	}
	g.ends = slices.Clone(r.StopIDs)
	if !r.IgnoreEOS {
		g.ends = append(g.ends, e.model.Tokenizer.EOG()...)
	}
	g.emit = emitter{stream: e.model.Tokenizer.NewStream(true), stops: slices.Clone(r.Stop)}
	// The text goes on from the prompt's: its last tokens tell whether a space is at the start.
	for _, id := range prompt[max(0, len(prompt)-8):] {
		g.emit.stream.Push(id)
	}
	if g.history != nil {
		g.history.AddPrompt(prompt...)
	}
	g.out.Model, g.out.Numerics = e.info.Model, e.info.Numerics
	g.out.Usage.PromptTokens = len(prompt)
	err = e.loop.start(ctx, g, sched.Request{
		Caller: r.Caller, Namespace: kvcache.Namespace{Salt: r.Namespace}, Priority: r.Priority,
		Tokens: prompt, MaxTokens: g.most,
		// A choice that looks at the tokens before it cannot be made ahead of them.
		Async: g.history == nil && e.caps.Wants.Has(backend.WantSample),
	})
	return g, err
}

// resolve checks the sampling of a request.
func (g *generation) resolve(r *GenerateRequest, vocab int) error {
	for name, ids := range map[string][]int32{"StopIDs": r.StopIDs, "Banned": r.Banned} {
		for i, id := range ids {
			if id < 0 || int(id) >= vocab {
				return fmt.Errorf("%w: %s[%d]: id %d, the vocabulary has %d", ErrRequest, name, i, id, vocab)
			}
		}
	}
	for i, b := range r.Bias {
		if b.ID < 0 || int(b.ID) >= vocab {
			return fmt.Errorf("%w: Bias[%d]: id %d, the vocabulary has %d", ErrRequest, i, b.ID, vocab)
		}
	}
	for i, s := range r.Stop {
		if s == "" {
			return fmt.Errorf("%w: Stop[%d]: empty", ErrRequest, i)
		}
		if !utf8.ValidString(s) { // it could end a text within a character
			return fmt.Errorf("%w: Stop[%d]: %q is not valid UTF-8", ErrRequest, i, s)
		}
	}
	p, err := r.Sampling.Resolve(sample.Params{
		Bias: slices.Clone(r.Bias), Banned: slices.Clone(r.Banned),
		LogProbs: r.LogProbs || r.TopLogProbs > 0, TopLogProbs: r.TopLogProbs,
	})
	if err != nil {
		return fmt.Errorf("%w: Sampling: %w", ErrRequest, err)
	}
	g.params = p
	if p.FrequencyPenalty != 0 || p.PresencePenalty != 0 || p.RepetitionPenalty != 0 && p.RepetitionPenalty != 1 {
		g.history = &sample.Counts{}
	}
	return nil
}

func (g *generation) common() *call { return &g.call }

func (g *generation) admitted() { g.out.Usage.Queued = time.Since(g.begin) }

func (g *generation) want(dst []backend.Want, s *sched.Span) []backend.Want {
	if !s.Last {
		return dst
	}
	w := &g.asked[s.To%len(g.asked)]
	*w = backend.Sample{
		Params: &g.params, History: g.history,
		Key: sample.Key{Seed: g.seed, Position: uint64(s.To)},
	}
	return append(dst, backend.Want{Row: len(s.Tokens) - 1, Sample: w})
}

func (g *generation) settle(_ *sched.Item, s *sched.Span, results []backend.Result) {
	if len(results) == 0 {
		return // a part of the prompt
	}
	r := &results[0]
	if r.Err != nil {
		g.loop.failed(g, r.Err)
		return
	}
	if len(g.out.IDs) == 0 {
		g.out.Usage.First = time.Since(g.begin)
	}
	g.loop.counted.Generated++
	id := r.Choice.Token
	ev := Event{IDs: []int32{id}}
	g.out.IDs = append(g.out.IDs, id)
	if g.params.LogProbs {
		ev.LogProbs = []LogProb{g.logProb(&r.Choice)}
		g.out.LogProbs = append(g.out.LogProbs, ev.LogProbs...)
	}
	stopped := slices.Contains(g.ends, id)
	if !stopped {
		ev.Text, stopped = g.emit.push(id)
	}
	switch {
	case stopped:
		g.out.Finish = FinishStop
	case len(g.out.IDs) == g.most:
		g.out.Finish = FinishLength
	}
	if g.out.Finish != "" {
		if !stopped || slices.Contains(g.ends, id) {
			text, hit := g.emit.flush()
			ev.Text += text
			if hit {
				g.out.Finish = FinishStop
			}
		}
		g.push(ev)
		g.complete()
		g.finish(g)
		g.signal(true)
		return
	}
	g.push(ev)
	if g.history != nil {
		g.history.AddOutput(id)
	}
	if err := g.job.Append(id); err != nil {
		g.loop.failed(g, fmt.Errorf("%w: %w", ErrInternal, err))
	}
}

func (g *generation) logProb(c *sample.Choice) LogProb {
	name := func(id int32) string {
		t, _ := g.loop.e.model.Tokenizer.Token(id)
		return string(t.Bytes)
	}
	p := LogProb{ID: c.Token, Text: name(c.Token), LogProb: c.LogProb}
	for _, t := range c.Top {
		p.Top = append(p.Top, LogProb{ID: t.ID, Text: name(t.ID), LogProb: t.Value})
	}
	return p
}

// push hands an event to the reader, and pauses the job when the reader is too far behind.
func (g *generation) push(ev Event) {
	g.out.Text += ev.Text
	if !g.streams {
		return
	}
	g.mu.Lock()
	g.events = append(g.events, ev)
	if len(g.events) >= g.slow.Events && g.behind == nil && g.out.Finish == "" {
		g.job.SetReady(false)
		g.behind = time.AfterFunc(g.slow.After, func() {
			g.loop.end(g, fmt.Errorf("%w: %d events unread for %v", ErrSlowReader, g.slow.Events, g.slow.After))
		})
	}
	g.mu.Unlock()
	g.signal(false)
}

// read waits for events and takes them. over says that none follow.
func (g *generation) read() (events []Event, over bool) {
	for {
		g.mu.Lock()
		events, g.events = g.events, nil
		over = g.ended
		behind := g.behind
		g.behind = nil
		g.mu.Unlock()
		if behind != nil && behind.Stop() {
			g.loop.resume(g)
		}
		if len(events) > 0 || over {
			return events, over
		}
		<-g.ready
	}
}

// resume lets a job run on whose reader has caught up.
func (l *loop) resume(t task) {
	l.mu.Lock()
	if c := t.common(); !c.over {
		c.job.SetReady(true)
	}
	l.mu.Unlock()
	l.poke()
}

func (g *generation) signal(ended bool) {
	g.mu.Lock()
	g.ended = g.ended || ended
	if ended && g.behind != nil {
		g.behind.Stop()
	}
	g.mu.Unlock()
	select {
	case g.ready <- struct{}{}:
	default:
	}
}

func (g *generation) fail(err error) {
	g.err = err
	g.out.Finish = FinishError
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		g.out.Finish = FinishCancelled
	}
	g.complete()
	g.signal(true)
}

// complete fills in the usage.
func (g *generation) complete() {
	u, j := &g.out.Usage, g.job.Usage
	u.CachedTokens, u.ComputedTokens, u.Steps = j.Cached, j.Computed, j.Steps
	u.GeneratedTokens = len(g.out.IDs)
	u.Total = time.Since(g.begin)
}
