package decide_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/quant"
)

// runnable gives a vocabulary the smallest program that a fake device runs.
func runnable(t testing.TB, m *model.Model) *model.Model {
	t.Helper()
	tiny := backendtest.Tiny(t, backendtest.Shape{
		Name: "small", Layers: 1, Width: 32, Heads: 2, KVHeads: 2, HeadDim: 16, Inner: 32, Vocab: m.Tokenizer.Size(),
		Format: quant.Q8_0,
	})
	tiny.Program.Context = 8192
	r, err := model.New(m.Name, tiny.Program, m.Tokenizer, m.Template)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSharedWithGenerate runs a generation and a decision on the same conversation, in both orders: the
// second one computes no token of the state.
func TestSharedWithGenerate(t *testing.T) {
	t.Parallel()
	for _, s := range suites(t) {
		m := runnable(t, s.model(t))
		fake := &backendtest.Fake{}
		t.Cleanup(func() { fake.Verify(t) })
		e := openEngine(t, m, engine.WithBackend(fake), engine.WithClock(noon), engine.WithContextLength(8192))
		for _, c := range s.Cases {
			p := promptOf(t, c.Context)
			prompt, err := m.Encode(p, noon)
			if err != nil {
				continue // refused: TestBorders counts them
			}
			questions := decide.Request{State: decide.Chat(p), Questions: []decide.Question{
				decide.Boolean("b", "Is it so?"), decide.Choice("c", "Which?", decide.Names("one", "two", "three")...),
			}}
			for _, first := range []string{"generate", "decide"} {
				// A namespace is a cache of its own.
				g := engine.GenerateRequest{Prompt: p, MaxTokens: 3, Namespace: s.name + c.Name + first}
				d := questions
				d.Namespace = g.Namespace
				name := s.name + "/" + c.Name + ", first " + first
				var gen *engine.Generation
				var res *decide.Result
				var err, wrong error
				if first == "generate" {
					gen, err = e.Generate(t.Context(), g)
					res, wrong = e.Decide(t.Context(), d)
				} else {
					res, wrong = e.Decide(t.Context(), d)
					gen, err = e.Generate(t.Context(), g)
				}
				if err != nil || wrong != nil {
					t.Errorf("%s: %v, %v", name, err, wrong)
					continue
				}
				if first == "decide" {
					// The last token of a prompt is computed always, to have logits. A cold state of up to a
					// block is read in scratch: it takes no block of the pool, and leaves none.
					if want := min(res.Usage.StateTokens, len(prompt)-1); gen.Usage.CachedTokens < want && res.Usage.StateTokens > e.Info().BlockSize {
						t.Errorf("%s: %v, the state has %d tokens (%v)", name, gen.Usage, res.Usage.StateTokens, res.Border)
					}
				} else if u := res.Usage; u.CachedTokens != u.StateTokens || u.Recomputed != 0 {
					t.Errorf("%s: %v, recomputed %d (%v)", name, u, u.Recomputed, res.Border)
				}
			}
		}
	}
}

// TestWarmForBoth: a warm conversation is hot for a decision and for a generation.
func TestWarmForBoth(t *testing.T) {
	t.Parallel()
	m := tinyChat(t)
	e := openEngine(t, m)
	p := chat.Messages(chat.System("You are a cat."), chat.User("What do you see in the garden?"))
	hold, err := e.Warm(t.Context(), p, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hold.Release)
	res, err := e.Decide(t.Context(), decide.Request{State: decide.Chat(p), Questions: []decide.Question{decide.Boolean("b", "Is it?")}})
	if err != nil || res.Usage.CachedTokens != hold.Tokens() || res.Usage.StateTokens != hold.Tokens() {
		t.Errorf("%v, %v, held %d", res, err, hold.Tokens())
	}
	gen, err := e.Generate(t.Context(), engine.GenerateRequest{Prompt: p, MaxTokens: 1})
	if err != nil || gen.Usage.CachedTokens != hold.Tokens() {
		t.Errorf("%v, %v, held %d", gen, err, hold.Tokens())
	}
}

// TestManyQuestionsCostAsOne: on a hot state sixteen questions are one step, which reads the state's
// keys and values once, as for one question; what they share is computed once, and the plan told the
// rows before.
func TestManyQuestionsCostAsOne(t *testing.T) {
	t.Parallel()
	m := tinyChat(t)
	fake := &backendtest.Fake{}
	t.Cleanup(func() { fake.Verify(t) })
	e := openEngine(t, m, engine.WithBackend(fake), engine.WithContextLength(4096))
	state := decide.Text(strings.Repeat("The cat sat in the garden. ", 80))
	usage := func(n int) decide.Usage {
		t.Helper()
		r := decide.Request{State: state, Instructions: "Read the story."}
		for i := range n {
			r.Questions = append(r.Questions, decide.Boolean(fmt.Sprint(i), fmt.Sprintf("Is it %d?", i)))
		}
		plan, err := e.Compile(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := plan.Rows(decide.BorderTurn)
		if err != nil {
			t.Fatal(err)
		}
		res, err := e.Decide(t.Context(), decide.Request{State: state, Plan: plan})
		if err != nil {
			t.Fatal(err)
		}
		if u := res.Usage; u.ComputedTokens != rows+u.StateTokens-u.CachedTokens {
			t.Errorf("%d questions: %v, planned %d rows", n, u, rows)
		}
		return res.Usage
	}
	if cold := usage(1); cold.CachedTokens != 0 || cold.StateTokens < 1500 {
		t.Fatalf("%v", cold)
	}
	one, many := usage(1), usage(16)
	info := e.Info()
	position := int64(info.BlockBytes) / int64(info.BlockSize)
	for _, u := range []decide.Usage{one, many} {
		if u.Steps != 1 || u.CachedTokens != u.StateTokens || u.Recomputed != 0 || u.KVBytesRead != int64(u.StateTokens)*position {
			t.Errorf("%v, recomputed %d, read %d bytes; the state has %d", u, u.Recomputed, u.KVBytesRead, int64(u.StateTokens)*position)
		}
	}
	if own := many.ComputedTokens - one.ComputedTokens; own < 15 || own > 16*one.ComputedTokens/2 {
		t.Errorf("15 more questions are %d more rows than the %d of one: what they share is computed again", own, one.ComputedTokens)
	}
}
