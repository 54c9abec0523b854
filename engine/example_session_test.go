package engine_test

import (
	"context"
	"fmt"
	"log"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
)

// storyteller is stories260K with a small chat template, which its own file does not have.
type storyteller struct{}

func (storyteller) String() string { return "storyteller" }

func (storyteller) Load(ctx context.Context) (*model.Model, error) {
	m, err := model.Stories().Load(ctx)
	if err != nil {
		return nil, err
	}
	return model.New("storyteller", m.Program, m.Tokenizer,
		"{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}")
}

// A conversation stays hot between calls, and another can branch off it.
func ExampleSession() {
	ctx := context.Background()
	eng, err := engine.Open(ctx, storyteller{})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()

	s, err := eng.NewSession(ctx, chat.Messages(chat.System("You tell stories.")))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if err := s.Append(chat.User("Tell me about a little girl and a red ball in the park.")); err != nil {
		log.Fatal(err)
	}
	d, err := s.Decide(ctx, decide.Request{Questions: []decide.Question{decide.Boolean("off", "Is this off topic?")}})
	if err != nil {
		log.Fatal(err)
	}
	out, err := s.Generate(ctx, engine.GenerateRequest{MaxTokens: 30})
	if err != nil {
		log.Fatal(err)
	}
	branch, err := s.Fork() // shares every block
	if err != nil {
		log.Fatal(err)
	}
	defer branch.Close()
	fmt.Println("border:", d.Border)
	fmt.Println("the reply's prompt was there:", out.Usage.CachedTokens >= d.Usage.StateTokens-1)
	fmt.Println("turns:", len(s.Messages()), len(branch.Messages()))
	// Output:
	// border: turn
	// the reply's prompt was there: true
	// turns: 3 3
}

// A reply is watched while it is written.
func ExampleEvery() {
	ctx := context.Background()
	eng, err := engine.Open(ctx, model.Stories())
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	asked := 0
	leavesTopic := []decide.Question{decide.Boolean("left", "Does the story leave its topic?")}
	gen, err := eng.Generate(ctx, engine.GenerateRequest{
		Prompt:    chat.Text("Once upon a time, there was a little girl named Lily."),
		MaxTokens: 200,
		OnDecision: engine.Every(16, decide.Request{Questions: leavesTopic}, func(r *decide.Result) engine.Action {
			if asked++; asked == 3 || r.Boolean("left").Probability > 0.99 {
				return engine.Stop()
			}
			return engine.Continue() // or engine.Append(text)
		}),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(asked, "decisions,", len(gen.IDs), "tokens,", gen.Finish)
	// Output: 3 decisions, 48 tokens, stop
}
