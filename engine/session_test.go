package engine_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/engine/sample"
	"github.com/hotpath-go/hotpath/internal/testdata"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/tokenizer"
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
			if _, err := s.Fork(); !errors.Is(err, engine.ErrSession) {
				t.Errorf("a fork while a reply is written: %v", err)
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
	e := openFor(t, model.Stories())
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

// TestSessionDecidesAsTheEngine asks before any reply: the same messages give the same answer, also
// under templates that want a question inside the last turn.
func TestSessionDecidesAsTheEngine(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	files, err := filepath.Glob(filepath.Join(testdata.Path(t, "tokenizer-cases/templates"), "*.jinja"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d templates, %v", len(files), err)
	}
	borders := map[decide.Border]bool{}
	for _, f := range files {
		e := openFor(t, chatty{string(testdata.Read(t, "tokenizer-cases/templates/"+filepath.Base(f)))})
		p := chat.Messages(chat.User("Will it rain in the park today?"))
		r := offTopic()
		r.State = decide.Chat(p)
		want, err := e.Decide(ctx, r)
		if err != nil {
			t.Fatal(filepath.Base(f), err)
		}
		s := session(t, e, p)
		got, err := s.Decide(ctx, offTopic())
		if err != nil {
			t.Fatal(filepath.Base(f), err)
		}
		if got.Border != want.Border || got.Usage.StateTokens != want.Usage.StateTokens || got.Answers[0].Probability != want.Answers[0].Probability {
			t.Errorf("%s: session %v after %d tokens: %v; engine %v after %d: %v", filepath.Base(f), got.Border, got.Usage.StateTokens,
				got.Answers[0].Probability, want.Border, want.Usage.StateTokens, want.Answers[0].Probability)
		}
		borders[want.Border] = true
		if _, err := s.Generate(ctx, engine.GenerateRequest{MaxTokens: 2}); err != nil {
			t.Fatal(err)
		}
		if got, err = s.Decide(ctx, offTopic()); err != nil || got.Border != decide.BorderAppended {
			t.Errorf("%s: after a reply %v, %v", filepath.Base(f), got, err)
		}
	}
	if !borders[decide.BorderInside] || !borders[decide.BorderTurn] {
		t.Errorf("the templates give the borders %v alone", borders)
	}
}

// TestSessionHoldsWhatLives: no hold stays on tokens that the conversation does not have any more,
// or on a namespace that it left.
func TestSessionHoldsWhatLives(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	src := chatty{strings.Replace(hermes, "{%- if tools", "{# <think></think> #}{%- if tools", 1)}
	m, err := src.Load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	p := chat.Messages(chat.User("Does it rain?"))
	prompt, err := m.Encode(p, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	script := "<think>\n" + strings.Repeat("It rains today and it will rain again. ", 8) + "\n</think>\n\nYes."
	ids := m.Tokenizer.EncodeInside(nil, script, tokenizer.Text)
	e := openFor(t, src, blocks(120, 8), engine.WithBackend(&backendtest.Fake{Logits: func(history []int32, logits []float32) {
		next := m.Tokenizer.EOG()[0]
		if at := len(history) - len(prompt); at >= 0 && at < len(ids) {
			next = ids[at]
		}
		logits[next] = 1e6
	}}))
	held := func() (n int) {
		for _, h := range e.Stats().Cache.Holders {
			n += h.Tokens
		}
		return n
	}
	s := session(t, e, p)
	g, err := s.Generate(ctx, engine.GenerateRequest{MaxTokens: 400})
	if err != nil || g.Reasoning == "" {
		t.Fatal(err, g)
	}
	before := held()
	if err := s.DropReasoning(); err != nil {
		t.Fatal(err)
	}
	if n := held(); before <= s.Tokens() || n > s.Tokens() {
		t.Errorf("%d tokens held with the reasoning and %d without, of a conversation of %d", before, n, s.Tokens())
	}
	if err := s.Append(chat.User(strings.Repeat("And then what will it do? ", 8))); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Decide(ctx, offTopic()); err != nil {
		t.Fatal(err)
	}
	most := held()
	if most == 0 {
		t.Error("nothing held after a decision")
	}
	// The same tokens elsewhere: what is held is there, and stays when others need the room.
	r := offTopic()
	r.Namespace = "elsewhere"
	if _, err := s.Decide(ctx, r); err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		other := chat.Text(strings.Repeat(fmt.Sprint(i, " others "), 60))
		if _, err := e.Generate(ctx, engine.GenerateRequest{Prompt: other, MaxTokens: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(e.Stats().Cache.Holders); n != 1 || held() != most || e.Stats().Cache.Evicted == 0 {
		t.Errorf("%d holds of %d tokens, %d in the namespace before; %d blocks evicted", n, held(), most, e.Stats().Cache.Evicted)
	}
	g, err = s.Generate(ctx, engine.GenerateRequest{MaxTokens: 4, Namespace: "elsewhere"})
	if err != nil || g.Usage.CachedTokens < most {
		t.Errorf("%v: %d held, %d of them found", err, most, g.Usage.CachedTokens)
	}
}

// TestSessionOutlivesACallback that panics: the reply ends and the session takes the next one.
func TestSessionOutlivesACallback(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	e := openFor(t, chatty{hermes})
	s := session(t, e, chat.Messages(chat.User("A story, please.")))
	n := s.Tokens()
	r := engine.GenerateRequest{MaxTokens: 200, IgnoreEOS: true}
	r.OnDecision = engine.Every(4, leaves, func(*decide.Result) engine.Action { panic("the caller's") })
	func() {
		defer func() {
			if v := recover(); v != "the caller's" {
				t.Errorf("recovered %v", v)
			}
		}()
		_, _ = s.Generate(ctx, r)
	}()
	if s.Tokens() != n || len(s.Messages()) != 1 {
		t.Errorf("%d tokens, %d before", s.Tokens(), n)
	}
	if _, err := s.Generate(ctx, engine.GenerateRequest{MaxTokens: 2}); err != nil {
		t.Error(err)
	}
	if err := e.Shutdown(ctx); err != nil { // it waits for a reply that was left behind
		t.Error(err)
	}
}

func TestBadSessions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	raw, talk := openFor(t, model.Stories()), openFor(t, chatty{hermes})
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
	// An assistant's turn from outside is complete as well.
	if err := empty.Append(chat.User("x"), chat.Assistant("Once")); err != nil {
		t.Fatal(err)
	}
	if _, err := empty.Generate(ctx, engine.GenerateRequest{MaxTokens: 2}); !errors.Is(err, engine.ErrRequest) {
		t.Errorf("reply to an assistant's turn: %v", err)
	}
	if err := empty.Append(chat.User("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := empty.Generate(ctx, engine.GenerateRequest{MaxTokens: 2}); err != nil {
		t.Error(err)
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
