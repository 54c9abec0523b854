package engine_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
)

var leaves = decide.Request{Questions: []decide.Question{decide.Boolean("left", "Does it leave the topic?")}}

// TestWatchContinues asks every few tokens and changes nothing.
func TestWatchContinues(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]chat.Prompt{"text": chat.Text(once), "chat": chat.Messages(chat.User("A story, please."))} {
		e := openFor(t, chatty{hermes})
		r := engine.GenerateRequest{Prompt: p, MaxTokens: 50}
		plain := generate(t, e, r)
		var states []int
		r.OnDecision = engine.Every(8, leaves, func(res *decide.Result) engine.Action {
			states = append(states, res.Usage.StateTokens)
			return engine.Continue()
		})
		if got := generate(t, e, r); got.Text != plain.Text || !slices.Equal(got.IDs, plain.IDs) {
			t.Errorf("%s: %q, unwatched %q", name, got.Text, plain.Text)
		}
		if len(states) != 6 {
			t.Errorf("%s: %d decisions in 50 tokens", name, len(states))
		}
		for i := 1; i < len(states); i++ {
			if states[i] != states[i-1]+8 {
				t.Errorf("%s: states of %v tokens", name, states)
			}
		}
		text := ""
		states = nil
		for ev, err := range e.Stream(context.Background(), r) {
			if err != nil {
				t.Fatal(err)
			}
			text += ev.Text
		}
		if text != plain.Text || len(states) != 6 {
			t.Errorf("%s, streamed: %q after %d decisions", name, text, len(states))
		}
	}
}

// TestWatchActs stops a reply, and writes into one.
func TestWatchActs(t *testing.T) {
	t.Parallel()
	e := openFor(t, model.Stories())
	r := engine.GenerateRequest{Prompt: chat.Text(once), MaxTokens: 60}
	plain := generate(t, e, r)
	n := 0
	r.OnDecision = engine.Every(10, leaves, func(*decide.Result) engine.Action {
		if n++; n == 3 {
			return engine.Stop()
		}
		return engine.Continue()
	})
	if g := generate(t, e, r); len(g.IDs) != 30 || g.Finish != engine.FinishStop || !slices.Equal(g.IDs, plain.IDs[:30]) {
		t.Errorf("stopped after %d tokens, %s", len(g.IDs), g.Finish)
	}
	const said = " But the wolf said: go home!"
	r.OnDecision = engine.Every(10, leaves, func(*decide.Result) engine.Action {
		if n++; n == 4 {
			return engine.Append(said)
		}
		return engine.Continue()
	})
	g := generate(t, e, r)
	if !strings.Contains(g.Text, said) || !slices.Equal(g.IDs[:10], plain.IDs[:10]) {
		t.Errorf("%q does not say %q", g.Text, said)
	}
	// What follows is what the model says to the text with the words in it.
	head, _, _ := strings.Cut(g.Text, said)
	after := generate(t, e, engine.GenerateRequest{Prompt: chat.Text(once + head + said), MaxTokens: 60})
	if rest := g.Text[len(head)+len(said):]; !strings.HasPrefix(after.Text, rest) {
		t.Errorf("%q follows, alone %q", rest, after.Text)
	}
}

func TestBadWatch(t *testing.T) {
	t.Parallel()
	e := openFor(t, model.Stories())
	do := func(*decide.Result) engine.Action { return engine.Continue() }
	about := leaves
	about.State = decide.Text("x")
	for name, r := range map[string]engine.GenerateRequest{
		"never":        {OnDecision: engine.Every(0, leaves, do)},
		"no function":  {OnDecision: engine.Every(1, leaves, nil)},
		"no questions": {OnDecision: engine.Every(1, decide.Request{}, do)},
		"own state":    {OnDecision: engine.Every(1, about, do)},
		"choices":      {OnDecision: engine.Every(1, leaves, do), N: 2},
	} {
		r.Prompt = chat.Text(once)
		if _, err := e.Generate(context.Background(), r); !errors.Is(err, engine.ErrRequest) || !strings.Contains(err.Error(), "OnDecision") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLogProbs agrees with what greedy decoding reports of its own tokens, in pieces or whole.
func TestLogProbs(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	e := openFor(t, model.Stories())
	g := generate(t, e, engine.GenerateRequest{Prompt: chat.Text(once), MaxTokens: 40, LogProbs: true})
	for name, e := range map[string]*engine.Engine{"whole": e, "pieces": openFor(t, model.Stories(), blocks(64, 2))} {
		got, err := e.LogProbs(ctx, chat.Text(once), g.Text)
		if err != nil {
			t.Fatal(err)
		}
		// The text may be encoded in other tokens than it was chosen in, but not by greedy stories.
		if len(got) != len(g.LogProbs) {
			t.Fatalf("%s: %d tokens, generated %d", name, len(got), len(g.LogProbs))
		}
		for i := range got {
			// The sum over the vocabulary comes in float32.
			if got[i].ID != g.LogProbs[i].ID || math.Abs(got[i].LogProb-g.LogProbs[i].LogProb) > 1e-5 {
				t.Errorf("%s: token %d: %v, generated %v", name, i, got[i], g.LogProbs[i])
			}
		}
	}
	if got, err := e.LogProbs(ctx, chat.Tokens(1), "Once"); err != nil || len(got) == 0 {
		t.Errorf("after the first token: %v, %v", got, err)
	}
	for name, c := range map[string]struct {
		p    chat.Prompt
		text string
		want error
	}{
		"no continuation": {chat.Text(once), "", engine.ErrRequest},
		"no prompt":       {chat.Text(""), "x", engine.ErrRequest},
		"too long":        {chat.Text(once), strings.Repeat("x", 600), engine.ErrTooLong},
	} {
		if _, err := e.LogProbs(ctx, c.p, c.text); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
