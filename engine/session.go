package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model/chat"
)

// ErrSession is returned by a session that is closed, or busy with a reply.
var ErrSession = errors.New("engine: session")

// Session is a conversation that stays hot: it holds the blocks of what was computed between calls, as
// far as the cap on holds allows (a quarter of the pool for all of them), and it holds tokens, not
// text: replies are kept as the exact ids generated, reasoning included, and never rendered again. It
// is a Generator and a decide.Decider.
//
// Its methods are safe for concurrent use, but one reply is written at a time: Append, Generate,
// Stream, DropReasoning and Fork return ErrSession while another one is. Decide may run beside it: it
// then asks about the conversation as far as the reply has come.
//
// What it holds is of one namespace, that of the last Generate, Stream or Decide: a call in another one
// lets go of the blocks before.
type Session struct {
	e *Engine

	mu      sync.Mutex
	t       *transcript
	hold    *kvcache.Hold // of what was computed; nil: nothing yet, or the cap on holds is reached
	space   string        // the namespace of the last request, and of the hold
	closed  bool
	writing bool
	live    *generation // the reply under way
}

var (
	_ Generator      = (*Session)(nil)
	_ decide.Decider = (*Session)(nil)
	_ Generator      = (*Engine)(nil)
	_ decide.Decider = (*Engine)(nil)
)

// NewSession starts a conversation from a prompt: messages with their tools, none yet, or raw text or
// token ids, which go on without turns. Nothing is computed yet. The caller closes it.
func (e *Engine) NewSession(ctx context.Context, p chat.Prompt) (*Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t, err := newTranscript(e.model, p, e.opt.clock)
	if err != nil {
		return nil, err
	}
	return &Session{e: e, t: t}, nil
}

// Append adds turns to the conversation. It computes nothing. Results of tools may come together or
// one by one. An assistant's turn is taken as complete: the next reply needs another turn after it.
func (s *Session) Append(ms ...chat.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.idle(); err != nil {
		return err
	}
	return s.t.append(ms...)
}

// Tokens returns how many tokens the conversation has, up to the end of its last turn.
func (s *Session) Tokens() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.t.tokens)
}

// Messages returns the turns so far.
func (s *Session) Messages() []chat.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]chat.Message(nil), s.t.prompt.Turns()...)
}

// DropReasoning takes the reasoning out of the replies so far. The turns are rendered anew, so that
// what follows the first of them is computed again.
func (s *Session) DropReasoning() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.idle(); err != nil {
		return err
	}
	if err := s.t.dropReasoning(); err != nil {
		return err
	}
	s.release()
	s.pin()
	return nil
}

// idle says why the conversation cannot be changed; the lock is held.
func (s *Session) idle() error {
	switch {
	case s.closed:
		return fmt.Errorf("%w: closed", ErrSession)
	case s.writing:
		return fmt.Errorf("%w: a reply is being written", ErrSession)
	}
	return nil
}

// Generate writes the next reply and appends it. The request's Prompt must be zero. A reply that ends
// with an error is not appended. The error is ErrRequest where the last turn is an assistant's.
func (s *Session) Generate(ctx context.Context, r GenerateRequest) (*Generation, error) {
	in, err := s.begin(&r)
	if err != nil {
		return nil, err
	}
	var whole *Generation
	defer func() {
		if whole == nil { // refused, failed, or OnDecision panicked
			s.end(nil)
		}
	}()
	choices, err := s.e.generations(ctx, &r, in, nil)
	if err != nil {
		return nil, err
	}
	s.started(choices)
	g, err := collect(ctx, choices)
	if err != nil {
		return g, err
	}
	whole = g
	return g, s.end(g)
}

// Stream writes the next reply as Engine.Stream does, and appends it when it is done. Leaving the loop
// early cancels the reply and appends nothing. The request's Prompt must be zero.
func (s *Session) Stream(ctx context.Context, r GenerateRequest) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		in, err := s.begin(&r)
		if err != nil {
			yield(Event{}, err)
			return
		}
		var done *Generation
		defer func() {
			if done == nil {
				s.end(nil)
			}
		}()
		for ev, err := range s.e.stream(ctx, &r, in, s.started) {
			if ev.Done != nil && err == nil {
				done = ev.Done
				err = s.end(done)
			}
			if !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

// begin claims the conversation for a reply.
func (s *Session) begin(r *GenerateRequest) (input, error) {
	if !r.Prompt.IsZero() {
		return input{}, fmt.Errorf("%w: Prompt: a session goes on from its own", ErrRequest)
	}
	if r.N > 1 {
		return input{}, fmt.Errorf("%w: N: %d replies, a session takes 1; fork it for others", ErrRequest, r.N)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.idle(); err != nil {
		return input{}, err
	}
	in, err := s.t.reply()
	if err == nil {
		s.writing = true
		s.enter(r.Namespace)
	}
	return in, err
}

// enter goes on in a namespace: what is held of another one is of no use in it. The lock is held.
func (s *Session) enter(space string) {
	if space != s.space {
		s.release()
		s.space = space
	}
}

// release lets go of the blocks; the lock is held.
func (s *Session) release() {
	if s.hold != nil {
		s.hold.Release()
		s.hold = nil
		s.e.loop.poke()
	}
}

func (s *Session) started(choices []*generation) {
	s.mu.Lock()
	s.live = choices[0]
	s.mu.Unlock()
}

// end appends the reply, if there is one, and holds what is computed of the conversation now.
func (s *Session) end(g *Generation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing, s.live = false, nil
	if g == nil || s.closed {
		return nil
	}
	if err := s.t.keep(g); err != nil {
		return err
	}
	s.pin()
	return nil
}

// pin moves the hold to the blocks that cover most of the conversation. When that is over the cap on
// holds it holds what it held before.
func (s *Session) pin() {
	hit, err := s.e.cache.Match(kvcache.Namespace{Salt: s.space}, s.t.tokens, len(s.t.tokens))
	if err != nil {
		return
	}
	if s.hold != nil && hit.Len <= s.hold.Tokens() {
		hit.Release()
		return
	}
	if hit.Len == 0 {
		hit.Release()
		return
	}
	before := 0
	if s.hold != nil { // the cap counts blocks of both
		before = s.hold.Tokens()
		s.hold.Release()
	}
	if s.hold, err = s.e.cache.Hold(hit, "session", 0); err == nil {
		return
	}
	hit.Release()
	s.hold = nil
	if hit, err = s.e.cache.Match(kvcache.Namespace{Salt: s.space}, s.t.tokens, before); err != nil {
		return
	}
	if hit.Len == 0 {
		hit.Release()
	} else if s.hold, err = s.e.cache.Hold(hit, "session", 0); err != nil {
		hit.Release()
		s.hold = nil
	}
}

// Decide answers questions about the conversation when the request's State is zero, and about that
// State otherwise. While a reply is being written the conversation goes as far as the reply has come.
//
// Until a reply was generated this is what Engine.Decide answers over the same messages. From then on
// the state is the exact tokens, and questions follow them as a turn of their own (BorderAppended),
// also after a user's turn, where some templates would have them inside it.
func (s *Session) Decide(ctx context.Context, r decide.Request) (*decide.Result, error) {
	if !r.State.IsZero() {
		return s.e.Decide(ctx, r)
	}
	var err error
	if r.State, err = s.state(); err != nil {
		return nil, err
	}
	res, err := s.e.Decide(ctx, r)
	if err == nil {
		s.mu.Lock()
		if !s.closed && !s.writing {
			s.enter(r.Namespace)
			s.pin()
		}
		s.mu.Unlock()
	}
	return res, err
}

// state returns the conversation as it is now.
func (s *Session) state() (decide.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return decide.State{}, fmt.Errorf("%w: closed", ErrSession)
	}
	if err := s.t.ready(); err != nil {
		return decide.State{}, err
	}
	switch {
	case s.live != nil:
		tokens, err := s.t.replied(s.live.soFar())
		return decide.Tokens(tokens...), err
	case s.t.turns() && !s.t.exact:
		return decide.Chat(s.t.prompt), nil
	}
	return decide.Tokens(s.t.tokens...), nil
}

// soFar returns the tokens of a generation under way.
func (g *generation) soFar() []int32 {
	l := g.loop
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]int32(nil), g.out.IDs...)
}

// Fork returns a session with the same conversation that goes its own way. Both share every block. It
// returns ErrSession while a reply is written: the conversation has no end then to go on from.
func (s *Session) Fork() (*Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.idle(); err != nil {
		return nil, err
	}
	f := &Session{e: s.e, t: s.t.clone(), space: s.space}
	if s.hold != nil {
		f.pin()
	}
	return f, nil
}

// Close lets go of the blocks, which stay cached until others need the room. A reply under way goes on
// and is not appended. Closing twice is harmless.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.release()
	return nil
}
