package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
)

// agent is stories260K with a chat template that lists tools first, as most do.
type agent struct{}

func (agent) String() string { return "agent" }

func (agent) Load(ctx context.Context) (*model.Model, error) {
	m, err := model.Stories().Load(ctx)
	if err != nil {
		return nil, err
	}
	return model.New("agent", m.Program, m.Tokenizer,
		"{% for t in tools or [] %}tool: {{ t.function.name }}\n{% endfor %}"+
			"{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}")
}

// An agent asks about the very prompt that it will send, and sends it: its state is computed once.
func ExampleEngine_Decide() {
	ctx := context.Background()
	eng, err := engine.Open(ctx, agent{}) // or model.File("qwen3-4b-q4_k.gguf")
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()

	p := chat.Messages(
		chat.System("You look after a garden of words."),
		chat.User("Please put the red ball into the box, and tell Lily about it when it is there."),
	).WithTools(
		chat.Tool{Name: "move", Parameters: json.RawMessage(`{"type":"object"}`)},
		chat.Tool{Name: "tell", Parameters: json.RawMessage(`{"type":"object"}`)},
	)
	res, err := eng.Decide(ctx, decide.Request{
		State: decide.Chat(p),
		Questions: []decide.Question{
			decide.Boolean("tools", "Does the last request need a tool?"),
			decide.Choice("tool", "Which one comes first?",
				decide.Opt("move", "put things into other things"),
				decide.Opt("tell", "speak to somebody"),
				decide.Opt("none", "answer directly")),
			decide.Score("risk", "How risky is it to act without asking?", "harmless", "reversible", "destructive"),
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	gen, err := eng.Generate(ctx, engine.GenerateRequest{Prompt: p, MaxTokens: 5})
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range res.Answers {
		fmt.Println(a.ID, a.Kind, len(a.Probabilities), a.Method)
	}
	fmt.Println("steps:", res.Usage.Steps)
	fmt.Println("the call found the state there:", gen.Usage.CachedTokens >= res.Usage.StateTokens)
	// Output:
	// tools boolean 2 label
	// tool choice 3 label
	// risk score 3 label
	// steps: 1
	// the call found the state there: true
}
