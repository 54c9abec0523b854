package engine

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/sample"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/chat/parse"
	"github.com/hotpath-go/hotpath/sched"
)

// maxChoices bounds GenerateRequest.N.
const maxChoices = 128

// Generate returns the whole continuation of a prompt. Beside an error that ends it early it
// returns what there was until then.
func (e *Engine) Generate(ctx context.Context, r GenerateRequest) (*Generation, error) {
	in, err := e.input(r.Prompt)
	if err != nil {
		return nil, err
	}
	return e.generate(ctx, &r, in)
}

func (e *Engine) generate(ctx context.Context, r *GenerateRequest, in input) (*Generation, error) {
	choices, err := e.generations(ctx, r, in, nil)
	if err != nil {
		return nil, err
	}
	return collect(ctx, choices)
}

// collect waits for all choices.
func collect(ctx context.Context, choices []*generation) (out *Generation, err error) {
	defer func() {
		for _, g := range choices { // after a panic in the caller's OnDecision
			g.loop.end(g, context.Canceled)
		}
	}()
	for _, g := range choices {
		g.await(ctx)
		if err == nil {
			err = g.err
		}
	}
	out = &choices[0].out
	for _, g := range choices[1:] {
		out.Others = append(out.Others, g.out)
	}
	return out, err
}

// Stream yields the events of a continuation as they come, until the last one, whose Done is set,
// or an error, beside which Done holds what there was until then. With several choices their events
// come mixed, each choice's in order. Leaving the loop cancels the generation.
func (e *Engine) Stream(ctx context.Context, r GenerateRequest) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		in, err := e.input(r.Prompt)
		if err != nil {
			yield(Event{}, err)
			return
		}
		e.stream(ctx, &r, in, nil)(yield)
	}
}

// stream yields the events of a continuation of in. started is told of the generations.
func (e *Engine) stream(ctx context.Context, r *GenerateRequest, in input, started func([]*generation)) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		ready := make(chan struct{}, 1)
		choices, err := e.generations(ctx, r, in, ready)
		if err != nil {
			yield(Event{}, err)
			return
		}
		if started != nil {
			started(choices)
		}
		for len(choices) > 0 {
			quiet := true
			for _, g := range slices.Clone(choices) {
				events, over := g.read()
				g.consult(ctx)
				for _, ev := range events {
					if !yield(ev, nil) {
						return
					}
				}
				quiet = quiet && len(events) == 0 && !over
				if over {
					choices = slices.DeleteFunc(choices, func(o *generation) bool { return o == g })
					if !yield(Event{Choice: g.choice, Done: &g.out}, g.err) || g.err != nil {
						return
					}
				}
			}
			if quiet {
				<-ready
			}
		}
	}
}

// input is a prompt in tokens.
type input struct {
	tokens   []int32
	chat     bool   // the reply is a turn of a chat
	opening  string // text at the end of tokens that opens the reply
	tools    []chat.Tool
	warnings []string
}

func (e *Engine) input(p chat.Prompt) (in input, err error) {
	in = input{chat: p.Kind() == chat.KindMessages, tools: p.Tools()}
	enc, err := e.model.EncodeReply(p, e.opt.clock)
	if err != nil {
		return in, fmt.Errorf("%w: Prompt: %w", ErrRequest, err)
	}
	in.tokens, in.opening = enc.IDs, enc.Opening
	for _, i := range enc.Dropped {
		in.warnings = append(in.warnings, fmt.Sprintf("Prompt: the template shows nothing of message %d", i))
	}
	return in, nil
}

// generations checks the request and queues a generation for each choice that it asks for. Events
// are kept for a reader, who is told through ready, when that is not nil.
func (e *Engine) generations(ctx context.Context, r *GenerateRequest, in input, ready chan struct{}) ([]*generation, error) {
	begin := time.Now()
	if r.N < 0 || r.N > maxChoices {
		return nil, fmt.Errorf("%w: N: %d, must be 0 to %d", ErrRequest, r.N, maxChoices)
	}
	var choices []*generation
	for i := range max(r.N, 1) {
		g := &generation{choice: i, begin: begin, seed: r.Seed, ready: ready, records: ready != nil, slow: e.opt.slow}
		if ready == nil {
			g.ready = make(chan struct{}, 1)
		}
		if err := g.resolve(e, r, &in); err != nil {
			return nil, err
		}
		choices = append(choices, g)
	}
	for i, g := range choices {
		if err := e.startGeneration(ctx, g, r, in.tokens); err != nil {
			for _, started := range choices[:i] {
				e.loop.end(started, err)
			}
			return nil, err
		}
	}
	return choices, nil
}

// startGeneration queues a resolved generation.
func (e *Engine) startGeneration(ctx context.Context, g *generation, r *GenerateRequest, prompt []int32) error {
	tokens := prompt
	if g.guide != nil && !g.waits {
		var forced []int32
		forced, g.mask = g.guide.next()
		if len(forced) >= g.most || g.mask == nil {
			return fmt.Errorf("%w: Constraint: begins with %d forced tokens, there is room for %d", ErrRequest, len(forced), g.most)
		}
		g.forced = forced
		tokens = append(slices.Clip(prompt), forced...)
		if g.thinkOpen >= 0 && len(forced) == 0 {
			g.mask = append(sample.Mask(nil), g.mask...)
			g.mask.Set(g.thinkOpen)
		}
	}
	return e.loop.start(ctx, g, sched.Request{
		Caller: r.Caller, Namespace: kvcache.Namespace{Salt: r.Namespace}, Priority: r.Priority,
		Tokens: tokens, MaxTokens: g.most - (len(tokens) - len(prompt)),
		// A choice that looks at the tokens before it cannot be made ahead of them.
		Async: g.history == nil && g.guide == nil && g.watch == nil && g.lookup == 0 && e.caps.Wants.Has(backend.WantSample),
	})
}

// resolve checks the request and sets up the generation.
func (g *generation) resolve(e *Engine, r *GenerateRequest, in *input) error {
	prompt := in.tokens
	if err := r.check(e.info.Vocab); err != nil {
		return err
	}
	g.promptLen = len(prompt)
	g.out.Warnings = slices.Clone(in.warnings)
	room := e.info.Context - len(prompt)
	if room < 1 {
		return fmt.Errorf("%w: Prompt: %d tokens, the context of %d leaves no room for one more", ErrTooLong, len(prompt), e.info.Context)
	}
	if g.most = r.MaxTokens; g.most == 0 || g.most > room {
		if g.most > room {
			g.out.Warnings = append(g.out.Warnings, fmt.Sprintf("MaxTokens: %d, the context of %d leaves room for %d", g.most, e.info.Context, room))
		}
		g.most = room
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
		g.history.AddPrompt(prompt...)
	}
	g.ends = slices.Clone(r.StopIDs)
	if !r.IgnoreEOS {
		g.ends = append(g.ends, e.model.Tokenizer.EOG()...)
	}
	if err := g.resolveReply(e, r, in); err != nil {
		return err
	}
	if err := g.resolveWatch(e, r, in); err != nil {
		return err
	}
	if g.lookup = r.Lookup; g.lookup > 0 && (g.history != nil || g.guide != nil || g.watch != nil || g.params.LogProbs) {
		g.lookup = 0
		g.out.Warnings = append(g.out.Warnings, "Lookup: not used with penalties, log-probabilities, a constraint or OnDecision")
	}
	g.out.Model, g.out.Numerics = e.info.Model, e.info.Numerics
	g.out.Usage.PromptTokens = len(prompt)
	return nil
}

// resolveReply says how the reply is read and what constrains it.
func (g *generation) resolveReply(e *Engine, r *GenerateRequest, in *input) (err error) {
	format := parse.Plain
	if in.chat {
		format = parse.ForTemplate(e.model.Template)
		o := parse.Options{Tools: in.tools, Opened: in.opening, NoCalls: r.ToolChoice == ToolNone}
		if g.reply.parser, err = parse.New(format, o); err != nil {
			return fmt.Errorf("%w: %w", ErrInternal, err)
		}
	} else if r.ToolChoice != "" && r.ToolChoice != ToolAuto && r.ToolChoice != ToolNone {
		return fmt.Errorf("%w: ToolChoice: %q on a prompt without messages", ErrRequest, r.ToolChoice)
	}
	// Markers must be seen by the parser; without one, control tokens are no part of the text.
	skip := g.reply.parser == nil
	g.reply.stream, g.reply.stop.stops = e.model.Tokenizer.Continue(skip), slices.Clone(r.Stop)
	if !slices.ContainsFunc(in.tokens, func(id int32) bool { return !e.model.Tokenizer.IsControl(id) }) {
		g.reply.stream = e.model.Tokenizer.NewStream(skip) // the text begins here
	}
	if g.guide, err = e.guideOf(r, format, in); err != nil {
		return err
	}
	g.thinkOpen = -1
	if g.guide != nil {
		g.waits = g.reply.thinking()
		var open string
		open, g.thinkClose = format.Reasoning()
		if id, ok := e.model.Tokenizer.ID(open); ok && open != "" && !g.waits && r.Constraint != nil {
			g.thinkOpen = id
		}
	}
	return nil
}

// check refuses what is wrong whatever the prompt.
func (r *GenerateRequest) check(vocab int) error {
	if r.MaxTokens < 0 {
		return fmt.Errorf("%w: MaxTokens: %d, must not be negative", ErrRequest, r.MaxTokens)
	}
	if r.Lookup < 0 || r.Lookup > maxLookup {
		return fmt.Errorf("%w: Lookup: %d, must be 0 to %d", ErrRequest, r.Lookup, maxLookup)
	}
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
	return nil
}
