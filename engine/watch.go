package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hotpath-go/hotpath/decide"
)

// Watch asks the same questions again and again while a reply is written. Make one with Every.
type Watch struct {
	every int
	ask   decide.Request
	do    func(*decide.Result) Action
}

// Every returns a Watch that asks after every n tokens of the reply. The state is the conversation as
// far as the reply has come, so the request's State must be zero; it is hot, and the read lives in
// scratch; it is made in the namespace of the reply's prompt. Where the context has no room for the
// questions any more the reply goes on without, and says so in its Warnings. do is called in the goroutine that runs Generate or the loop over Stream, and says how the
// reply goes on; the reply waits for it.
func Every(n int, r decide.Request, do func(*decide.Result) Action) *Watch {
	return &Watch{every: n, ask: r, do: do}
}

// Action says how a reply goes on after a decision. The zero Action is Continue().
type Action struct {
	stop bool
	text string
}

// Continue goes on.
func Continue() Action { return Action{} }

// Stop ends the reply with FinishStop.
func Stop() Action { return Action{stop: true} }

// Append adds a text to the reply, as if the model had written it, and goes on from there.
func Append(text string) Action { return Action{text: text} }

// resolveWatch checks and compiles the questions of a Watch.
func (g *generation) resolveWatch(e *Engine, r *GenerateRequest, in *input) error {
	w := r.OnDecision
	switch {
	case w == nil:
		return nil
	case w.every < 1:
		return fmt.Errorf("%w: OnDecision: every %d tokens, must be at least 1", ErrRequest, w.every)
	case w.do == nil:
		return fmt.Errorf("%w: OnDecision: no function", ErrRequest)
	case !w.ask.State.IsZero():
		return fmt.Errorf("%w: OnDecision: State: must be zero, it is the reply so far", ErrRequest)
	case r.N > 1:
		return fmt.Errorf("%w: OnDecision: given for %d choices, must be 1", ErrRequest, r.N)
	case r.Constraint != nil || g.guide != nil:
		return fmt.Errorf("%w: OnDecision: given together with a constraint", ErrRequest)
	}
	plan, err := e.decisions.Compile(w.ask)
	if err != nil {
		return fmt.Errorf("%w: OnDecision: %w", ErrRequest, err)
	}
	ask := w.ask
	ask.Namespace = r.Namespace // the state is this prompt
	if ask.Caller == "" {
		ask.Caller = r.Caller
	}
	if ask.Priority == 0 {
		ask.Priority = r.Priority
	}
	ask.Plan, ask.Questions, ask.Instructions = plan, nil, ""
	g.watch, g.prompt = &Watch{every: w.every, ask: ask, do: w.do}, in.tokens
	if in.chat {
		t := transcript{model: e.model, clock: e.opt.clock}
		if g.closing, err = t.closing(); err != nil {
			return fmt.Errorf("%w: OnDecision: %w", ErrRequest, err)
		}
	}
	return nil
}

// pause stops the job where a decision is due; the loop's lock is held.
func (g *generation) pause() {
	if g.watch == nil || g.over || len(g.out.IDs)-g.watched < g.watch.every {
		return
	}
	g.watched = len(g.out.IDs)
	g.job.SetReady(false)
	g.mu.Lock()
	g.asking = true
	g.mu.Unlock()
	g.signal(false)
}

// await waits for the end, making the decisions that are due meanwhile.
func (g *generation) await(ctx context.Context) {
	for {
		select {
		case <-g.done:
			return
		case <-g.ready:
			g.consult(ctx)
		}
	}
}

// consult makes the decision that is due, if one is, and lets the reply go on as it says.
func (g *generation) consult(ctx context.Context) {
	g.mu.Lock()
	asking := g.asking
	g.asking = false
	g.mu.Unlock()
	if !asking {
		return
	}
	r := g.watch.ask
	r.State = decide.Tokens(slices.Concat(g.prompt, g.soFar(), g.closing)...)
	res, err := g.loop.e.Decide(context.WithValue(ctx, insider{}, true), r)
	if errors.Is(err, ErrTooLong) {
		g.unwatch()
		return
	}
	if err != nil {
		g.loop.end(g, err)
		return
	}
	g.act(g.watch.do(res))
}

// unwatch goes on without decisions, for which the context has no room any more.
func (g *generation) unwatch() {
	l := g.loop
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.poke()
	if g.over {
		return
	}
	g.out.Warnings = append(g.out.Warnings, fmt.Sprintf("OnDecision: no room for its questions after %d tokens of the reply", len(g.out.IDs)))
	g.watch = nil
	g.job.SetReady(true)
}

// act goes on as a decision says.
func (g *generation) act(a Action) {
	l := g.loop
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.poke()
	if g.over {
		return
	}
	if a.stop {
		g.end(FinishStop, &Event{Choice: g.choice})
		return
	}
	for _, id := range l.e.model.Tokenizer.EncodeInside(nil, a.text, 0) {
		if g.show(id, nil) {
			return
		}
		if err := g.job.Append(id); err != nil {
			l.failed(g, fmt.Errorf("%w: %w", ErrInternal, err))
			return
		}
	}
	g.job.SetReady(true)
}
