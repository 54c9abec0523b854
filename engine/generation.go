package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/sample"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/sched"
)

// generation is one choice of a Generate or Stream under way.
type generation struct {
	call
	choice    int
	params    sample.Params
	seed      uint64
	history   *sample.Counts // nil unless a penalty looks at it
	reply     reply
	ends      []int32 // ids that end it
	most      int     // tokens
	promptLen int
	begin     time.Time
	slow      SlowReader

	guide      *guide      // what constrains it; nil for nothing
	waits      bool        // the guide begins when the reasoning ends
	thinkOpen  int32       // a token that may open reasoning where the guide would begin; -1: none
	thinkClose string      // the text that ends reasoning
	tail       []byte      // of the reply so far, as long as that
	mask       sample.Mask // of the next token; nil: all
	lookup     int         // tokens of a draft; 0: none are made

	forced  []int32          // tokens before the first choice
	asked   []backend.Sample // of the step under way, and the one before
	turn    int
	choices []sample.Choice // of the rows of a draft that have come so far

	out Generation // the loop's until done is closed, then the caller's
	err error

	watch   *Watch
	prompt  []int32 // of the watch's decisions
	closing []int32 // ends a turn for them
	asking  bool    // a decision is to be made before the generation goes on
	watched int     // tokens at the last one

	ready   chan struct{} // capacity 1: there are events, a decision to be made, or the end
	records bool          // events are kept for a reader
	mu      sync.Mutex    // guards what follows; the loop's lock may be held before it, never after
	events  []Event
	ended   bool
	behind  *time.Timer // runs while the reader is too far behind
}

func (g *generation) common() *call { return &g.call }

func (g *generation) admitted() { g.out.Usage.Queued = time.Since(g.begin) }

// started shows what the reply begins with before anything is chosen.
func (g *generation) started() {
	for _, id := range g.forced {
		if g.show(id, nil) {
			return
		}
	}
}

// known returns how many tokens of the history are certain: drafts come after them.
func (g *generation) known() int { return g.promptLen + len(g.out.IDs) }

// want asks for a choice after the last known token and after each drafted one.
func (g *generation) want(dst []backend.Want, s *sched.Span) []backend.Want {
	first := len(s.Tokens) - 1
	if g.lookup > 0 {
		first = max(g.known()-1-s.From, 0)
	} else if !s.Last {
		return dst
	}
	n := len(s.Tokens) - first
	if n <= 0 {
		return dst
	}
	// Those of the step before may be in use: two of one each, or, where drafts are made, one step.
	if need := max(n, 2); len(g.asked) < need {
		g.asked = make([]backend.Sample, need)
	}
	for i := range n {
		g.turn++
		w := &g.asked[g.turn%len(g.asked)]
		*w = backend.Sample{
			Params: &g.params, History: g.history, Mask: g.mask,
			Key: sample.Key{Seed: g.seed, Choice: uint32(g.choice), Position: uint64(s.From + first + i + 1)},
		}
		dst = append(dst, backend.Want{Row: first + i, Sample: w})
	}
	return dst
}

func (g *generation) settle(_ *sched.Item, s *sched.Span, results []backend.Result) {
	for i := range results {
		if err := results[i].Err; err != nil {
			g.loop.failed(g, err)
			return
		}
	}
	if len(results) == 0 {
		return // a part of the prompt
	}
	if len(g.out.IDs) == 0 {
		g.out.Usage.First = time.Since(g.begin)
	}
	var err error
	if g.lookup == 0 {
		err = g.choose(&results[0].Choice)
	} else {
		for i := range results {
			g.choices = append(g.choices, results[i].Choice)
		}
		if !s.Last {
			return // the rest of the draft comes in another step
		}
		err = g.verify()
		g.choices = g.choices[:0]
	}
	if err != nil {
		g.loop.failed(g, fmt.Errorf("%w: %w", ErrInternal, err))
	}
}

// choose takes a chosen token and, under a constraint, the tokens that it forces.
func (g *generation) choose(c *sample.Choice) error {
	tokens := []int32{c.Token}
	if g.guide != nil && !g.waits {
		if c.Token == g.thinkOpen && len(g.out.IDs) == 0 {
			g.waits = true
		} else if keep, err := g.guide.accept(c.Token); err != nil {
			return err
		} else if !keep {
			tokens = nil
		}
	}
	for _, id := range tokens {
		if g.show(id, c) {
			return nil
		}
	}
	if g.waits {
		t, _ := g.loop.e.model.Tokenizer.Token(c.Token)
		g.tail = append(g.tail, t.Bytes...)
		g.tail = g.tail[max(len(g.tail)-len(g.thinkClose), 0):]
	}
	if g.guide != nil {
		forced, over := g.steer()
		for _, id := range forced {
			tokens = append(tokens, id)
			if g.show(id, nil) {
				return nil
			}
		}
		if over {
			g.end(FinishStop, &Event{Choice: g.choice})
			return nil
		}
	}
	for _, id := range tokens {
		if err := g.job.Append(id); err != nil {
			return err
		}
	}
	g.pause()
	return nil
}

// steer asks the guide what comes next. over says that nothing may.
func (g *generation) steer() (forced []int32, over bool) {
	if g.waits && string(g.tail) == g.thinkClose {
		g.waits = false // the reader of the text may see it later: it waits for whole characters
	}
	if g.waits {
		g.mask = g.thoughts()
		return nil, false
	}
	forced, g.mask = g.guide.next()
	return forced, g.mask == nil
}

// thoughts is the mask of a reasoning section before a constraint: everything but its end.
func (g *generation) thoughts() sample.Mask {
	vocab := g.loop.e.info.Vocab
	mask := sample.NewMask(vocab)
	for i := range mask {
		mask[i] = ^uint32(0)
	}
	for _, id := range g.ends {
		mask.Clear(id)
	}
	return mask
}

// verify compares the choices with the draft: the drafted tokens up to the first other choice
// stand, and that choice comes after them. Then it drafts again.
func (g *generation) verify() error {
	draft := g.job.History()[g.known():]
	right := 0
	for right < len(draft) && right < len(g.choices)-1 && g.choices[right].Token == draft[right] {
		right++
	}
	if err := g.job.Accept(right); err != nil {
		return err
	}
	for i := range right + 1 {
		if g.show(g.choices[i].Token, &g.choices[i]) {
			return nil
		}
	}
	if err := g.job.Append(g.choices[right].Token); err != nil {
		return err
	}
	// The row after the draft needs a token to be left too.
	if n := min(g.lookup, g.most-len(g.out.IDs)-1); n > 0 {
		if next := lookup(g.job.History(), n); len(next) > 0 {
			return g.job.Draft(slices.Clone(next)...)
		}
	}
	return nil
}

// show adds a token to what the caller gets and reports whether it ends the generation. A forced
// token comes without a choice.
func (g *generation) show(id int32, c *sample.Choice) (ended bool) {
	ev := Event{Choice: g.choice, IDs: []int32{id}}
	g.out.IDs = append(g.out.IDs, id)
	g.loop.counted.Generated++
	if g.history != nil {
		g.history.AddOutput(id)
	}
	if g.params.LogProbs && c != nil {
		ev.LogProbs = []LogProb{g.logProb(c)}
		g.out.LogProbs = append(g.out.LogProbs, ev.LogProbs...)
	}
	switch {
	case slices.Contains(g.ends, id):
		g.end(FinishStop, &ev)
		return true
	case g.reply.push(id, &ev):
		g.out.Finish = FinishStop
		g.finishWith(&ev)
		return true
	case len(g.out.IDs) == g.most:
		g.end(FinishLength, &ev)
		return true
	}
	g.push(ev)
	return false
}

// end finishes the generation with what was held back.
func (g *generation) end(why Finish, ev *Event) {
	g.out.Finish = why
	if g.reply.flush(ev) {
		g.out.Finish = FinishStop
	}
	g.finishWith(ev)
}

func (g *generation) finishWith(ev *Event) {
	if g.out.Finish == FinishStop && len(g.reply.calls) > 0 {
		g.out.Finish = FinishTool
	}
	g.push(*ev)
	g.complete()
	g.finish(g)
	g.signal(true)
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

func (g *generation) fail(err error) {
	g.err = err
	g.out.Finish = FinishError
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		g.out.Finish = FinishCancelled
	}
	g.complete()
	g.signal(true)
}

// complete fills in what is known at the end.
func (g *generation) complete() {
	g.out.Text, g.out.Reasoning, g.out.ToolCalls = g.reply.text.String(), g.reply.reasoning.String(), g.reply.calls
	g.out.Message = chat.Message{
		Role: chat.RoleAssistant, Content: g.out.Text, Reasoning: g.out.Reasoning, ToolCalls: g.out.ToolCalls, IDs: g.out.IDs,
	}
	for _, name := range g.reply.unknown {
		g.out.Warnings = append(g.out.Warnings, fmt.Sprintf("ToolCalls: the prompt has no tool %q", name))
	}
	u, j := &g.out.Usage, g.job.Usage
	u.CachedTokens, u.ComputedTokens, u.Steps = j.Cached, j.Computed, j.Steps
	u.GeneratedTokens = len(g.out.IDs)
	u.Total = time.Since(g.begin)
}

// push hands an event to the reader, and pauses the job when the reader is too far behind.
func (g *generation) push(ev Event) {
	if !g.records {
		return
	}
	g.mu.Lock()
	g.events = append(g.events, ev)
	if len(g.events) >= g.slow.Events && g.behind == nil && g.out.Finish == "" && g.job != nil {
		g.job.SetReady(false)
		g.behind = time.AfterFunc(g.slow.After, func() {
			g.loop.end(g, fmt.Errorf("%w: %d events unread for %v", ErrSlowReader, g.slow.Events, g.slow.After))
		})
	}
	g.mu.Unlock()
	g.signal(false)
}

// read takes the events that are there. over says that none follow.
func (g *generation) read() (events []Event, over bool) {
	g.mu.Lock()
	events, g.events = g.events, nil
	over = g.ended
	behind := g.behind
	g.behind = nil
	asking := g.asking // a decision is due first: it lets the job go on
	g.mu.Unlock()
	if behind != nil && behind.Stop() && !asking {
		g.loop.resume(g)
	}
	return events, over
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

// signal tells the reader that there are events, or the end.
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
