package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/sample"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
)

func session(t testing.TB, e *engine.Engine, p chat.Prompt) *engine.Session {
	t.Helper()
	s, err := e.NewSession(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func offTopic() decide.Request {
	return decide.Request{Questions: []decide.Question{decide.Boolean("off", "Is this off topic?")}}
}

// TestSession holds a conversation: nothing that was computed is computed twice, replies included.
func TestSession(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	e := openFor(t, chatty{hermes}, engine.WithStepRows(64))
	s := session(t, e, chat.Messages(chat.System("You tell stories to small children.")))
	computed := 0
	for i, say := range []string{"A story about a dog, please.", "And what did the cat do?", "How does it end?"} {
		if err := s.Append(chat.User(say)); err != nil {
			t.Fatal(err)
		}
		res, err := s.Decide(ctx, offTopic())
		if err != nil {
			t.Fatal(err)
		}
		if res.Usage.StateTokens != s.Tokens() {
			t.Errorf("turn %d: state of %d tokens, the conversation has %d", i, res.Usage.StateTokens, s.Tokens())
		}
		g, err := s.Generate(ctx, engine.GenerateRequest{MaxTokens: 20})
		if err != nil {
			t.Fatal(err)
		}
		// All but the reply's opening, the last token and what one block may lack was there.
		if missing := g.Usage.PromptTokens - g.Usage.CachedTokens; missing > 16+12 {
			t.Errorf("turn %d: %d of %d prompt tokens were not cached", i, missing, g.Usage.PromptTokens)
		}
		computed += res.Usage.ComputedTokens + g.Usage.ComputedTokens
		if n := len(e.Stats().Cache.Holders); n != 1 {
			t.Errorf("turn %d: %d holds", i, n)
		}
	}
	if m := s.Messages(); len(m) != 7 || m[6].Role != chat.RoleAssistant || len(m[6].IDs) == 0 {
		t.Errorf("%d turns", len(m))
	}
	if most := 2*s.Tokens() + 3*120; computed > most {
		t.Errorf("%d rows computed for a conversation of %d tokens", computed, s.Tokens())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(e.Stats().Cache.Holders); n != 0 {
		t.Errorf("%d holds after Close", n)
	}
}

// TestSessionIsStateless: the same turns given whole, with the replies' ids, say the same.
func TestSessionIsStateless(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	e := openFor(t, chatty{hermes})
	r := engine.GenerateRequest{MaxTokens: 16, Sampling: sample.Settings{Temperature: new(1.0)}, Seed: 3}
	s := session(t, e, chat.Messages(chat.User("Tell me of Lily.")))
	p := chat.Messages(chat.User("Tell me of Lily."))
	for range 3 {
		a, err := s.Generate(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		r := r
		r.Prompt = p
		b := generate(t, e, r)
		if a.Text != b.Text || !slices.Equal(a.IDs, b.IDs) {
			t.Fatalf("session %q, stateless %q", a.Text, b.Text)
		}
		p = p.With(b.Message, chat.User("And then?"))
		if err := s.Append(chat.User("And then?")); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFork lets two sessions go on from one conversation: each as it would alone, over shared blocks.
func TestFork(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	e := openFor(t, chatty{hermes})
	s := session(t, e, chat.Messages(chat.User("Once there was a very big and very friendly dog who lived in a park.")))
	if _, err := s.Generate(ctx, engine.GenerateRequest{MaxTokens: 30}); err != nil {
		t.Fatal(err)
	}
	f, err := s.Fork()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	blocks := e.Stats().Cache
	say := func(s *engine.Session, text string) *engine.Generation {
		t.Helper()
		if err := s.Append(chat.User(text)); err != nil {
			t.Fatal(err)
		}
		g, err := s.Generate(ctx, engine.GenerateRequest{MaxTokens: 12})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	if e.Stats().Cache.Referenced != blocks.Referenced {
		t.Error("a fork took blocks")
	}
	a, b := say(s, "Did it sleep?"), say(f, "Did it eat?")
	if a.Usage.CachedTokens < 60 || b.Usage.CachedTokens < 60 {
		t.Errorf("%d and %d tokens cached", a.Usage.CachedTokens, b.Usage.CachedTokens)
	}
	alone := openFor(t, chatty{hermes})
	for text, want := range map[string]*engine.Generation{"Did it sleep?": a, "Did it eat?": b} {
		s := session(t, alone, chat.Messages(chat.User("Once there was a very big and very friendly dog who lived in a park.")))
		if _, err := s.Generate(ctx, engine.GenerateRequest{MaxTokens: 30}); err != nil {
			t.Fatal(err)
		}
		if g := say(s, text); g.Text != want.Text {
			t.Errorf("%q: %q alone, %q forked", text, g.Text, want.Text)
		}
	}
}

// TestDecideWhileStreaming asks between two events of the session's own stream.
func TestDecideWhileStreaming(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	e := openFor(t, chatty{hermes})
	quiet := session(t, e, chat.Messages(chat.User("A story, please.")))
	plain, err := quiet.Generate(ctx, engine.GenerateRequest{MaxTokens: 40})
	if err != nil {
		t.Fatal(err)
	}
	s := session(t, e, chat.Messages(chat.User("A story, please.")))
	var text strings.Builder
	events, last := 0, 0
	for ev, err := range s.Stream(ctx, engine.GenerateRequest{MaxTokens: 40}) {
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(ev.Text)
		if events++; events%10 == 0 {
			res, err := s.Decide(ctx, offTopic())
			if err != nil {
				t.Fatal(err)
			}
			if res.Usage.StateTokens < last {
				t.Errorf("state of %d tokens after one of %d", res.Usage.StateTokens, last)
			}
			last = res.Usage.StateTokens
			if _, err := s.Generate(ctx, engine.GenerateRequest{}); !errors.Is(err, engine.ErrSession) {
				t.Errorf("a second reply: %v", err)
			}
			if err := s.Append(chat.User("x")); !errors.Is(err, engine.ErrSession) {
				t.Errorf("a turn while a reply is written: %v", err)
			}
		}
	}
	if text.String() != plain.Text {
		t.Errorf("%q, undisturbed %q", text.String(), plain.Text)
	}
	if s.Tokens() < last {
		t.Errorf("%d tokens, a decision saw %d", s.Tokens(), last)
	}
	if s.Tokens() != quiet.Tokens() {
		t.Errorf("%d tokens, undisturbed %d", s.Tokens(), quiet.Tokens())
	}
}

func TestSessionOfText(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	e := openFor(t, model.Embedded())
	s := session(t, e, chat.Text(once))
	a, err := s.Generate(ctx, engine.GenerateRequest{MaxTokens: 10})
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Generate(ctx, engine.GenerateRequest{MaxTokens: 10})
	if err != nil {
		t.Fatal(err)
	}
	if whole := generate(t, e, engine.GenerateRequest{Prompt: chat.Text(once), MaxTokens: 20}); a.Text+b.Text != whole.Text {
		t.Errorf("%q then %q, in one %q", a.Text, b.Text, whole.Text)
	}
	if res, err := s.Decide(ctx, offTopic()); err != nil || res.Border != decide.BorderRaw {
		t.Errorf("%v, %v", res, err)
	}
}

func TestBadSessions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	raw, talk := openFor(t, model.Embedded()), openFor(t, chatty{hermes})
	if _, err := raw.NewSession(ctx, chat.Messages(chat.User("x"))); !errors.Is(err, chat.ErrNoTemplate) {
		t.Errorf("turns without a template: %v", err)
	}
	if err := session(t, raw, chat.Text("x")).Append(chat.User("x")); !errors.Is(err, engine.ErrRequest) {
		t.Errorf("a turn after text: %v", err)
	}
	empty := session(t, talk, chat.Prompt{})
	if _, err := empty.Generate(ctx, engine.GenerateRequest{}); !errors.Is(err, engine.ErrRequest) {
		t.Errorf("reply to nothing: %v", err)
	}
	if _, err := empty.Decide(ctx, offTopic()); !errors.Is(err, engine.ErrRequest) {
		t.Errorf("decision on nothing: %v", err)
	}
	if err := empty.Append(chat.User("now")); err != nil {
		t.Error(err)
	}
	if _, err := empty.Generate(ctx, engine.GenerateRequest{MaxTokens: 2}); err != nil {
		t.Error(err)
	}
	if _, err := empty.Generate(ctx, engine.GenerateRequest{MaxTokens: 2}); !errors.Is(err, engine.ErrRequest) {
		t.Errorf("reply to a reply: %v", err)
	}
	if _, err := empty.Generate(ctx, engine.GenerateRequest{Prompt: chat.Text("x")}); !errors.Is(err, engine.ErrRequest) {
		t.Errorf("another prompt: %v", err)
	}
	if _, err := empty.Generate(ctx, engine.GenerateRequest{N: 2}); !errors.Is(err, engine.ErrRequest) {
		t.Errorf("two replies: %v", err)
	}
	if err := empty.Close(); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func() error{
		"Append":   func() error { return empty.Append(chat.User("x")) },
		"Generate": func() error { _, err := empty.Generate(ctx, engine.GenerateRequest{}); return err },
		"Decide":   func() error { _, err := empty.Decide(ctx, offTopic()); return err },
		"Fork":     func() error { _, err := empty.Fork(); return err },
	} {
		if err := f(); !errors.Is(err, engine.ErrSession) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
	// A reply that is left early is not appended.
	s := session(t, talk, chat.Messages(chat.User("x")))
	n := s.Tokens()
	for range s.Stream(ctx, engine.GenerateRequest{MaxTokens: 50}) {
		break
	}
	if s.Tokens() != n || len(s.Messages()) != 1 {
		t.Errorf("%d tokens after a reply that was left, %d before", s.Tokens(), n)
	}
	if _, err := s.Generate(ctx, engine.GenerateRequest{MaxTokens: 2}); err != nil {
		t.Errorf("after a reply that was left: %v", err)
	}
}
