package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/sched"
)

// Hold pins a prefix in the pool. It is safe for concurrent use.
type Hold struct {
	hold *kvcache.Hold
	loop *loop
}

// Tokens returns how many tokens are pinned.
func (h *Hold) Tokens() int { return h.hold.Tokens() }

// Expires returns when the hold ends by itself; zero: only by Release.
func (h *Hold) Expires() time.Time { return h.hold.Expires() }

// Release lets the prefix go: its blocks stay cached until others need the room. Releasing twice,
// or after the hold has expired, does nothing.
func (h *Hold) Release() {
	h.hold.Release()
	h.loop.poke() // somebody may wait for the room
}

// Warm computes a prompt, as far as Decide and Generate would share it, and pins its blocks for ttl;
// 0 pins until Release. What is held counts against a cap, a quarter of the pool: beyond it the
// error wraps kvcache.ErrHoldCap and the prefix is cached but not pinned.
func (e *Engine) Warm(ctx context.Context, p chat.Prompt, ttl time.Duration) (*Hold, error) {
	if ttl < 0 {
		return nil, fmt.Errorf("%w: ttl: %v, must not be negative", ErrRequest, ttl)
	}
	tokens, err := e.warmTokens(p)
	if err != nil {
		return nil, fmt.Errorf("%w: prompt: %w", ErrRequest, err)
	}
	if len(tokens) > e.info.Context {
		return nil, fmt.Errorf("%w: prompt: %d tokens, the context is %d", ErrTooLong, len(tokens), e.info.Context)
	}
	w := &warming{tokens: len(tokens), ttl: ttl, cache: e.cache}
	if err := e.loop.start(ctx, w, sched.Request{Tokens: tokens}); err != nil {
		return nil, err
	}
	<-w.done
	if w.err != nil {
		return nil, w.err
	}
	return &Hold{w.hold, e.loop}, nil
}

// warmTokens returns what Decide and Generate share of a prompt: of messages, what comes before the
// border.
func (e *Engine) warmTokens(p chat.Prompt) ([]int32, error) {
	if p.Kind() == chat.KindMessages {
		if state, err := e.decisions.Encode(decide.Chat(p), decide.BorderNone); err == nil {
			return state.Tokens, nil
		}
	}
	return e.model.Encode(p, e.opt.clock) // no decision can be made on it: as Generate reads it
}

// warming is a Warm under way.
type warming struct {
	call
	cache  *kvcache.Cache
	tokens int
	ttl    time.Duration
	hold   *kvcache.Hold
	err    error
}

func (w *warming) common() *call { return &w.call }

func (w *warming) fail(err error) { w.err = err }

// admitted holds at once what was hot already.
func (w *warming) admitted() { w.pin() }

func (w *warming) want(dst []backend.Want, _ *sched.Span) []backend.Want { return dst }

func (w *warming) settle(*sched.Item, *sched.Span, []backend.Result) { w.pin() }

// pin holds the prefix when all of it is computed.
func (w *warming) pin() {
	if w.job.Finished() < w.tokens {
		return
	}
	hit, err := w.job.Sequence().Hit(w.tokens)
	if err == nil {
		if w.hold, err = w.cache.Hold(hit, "Warm", w.ttl); err != nil {
			hit.Release()
		}
	}
	if err != nil {
		w.loop.failed(w, err)
		return
	}
	w.finish(w)
}
