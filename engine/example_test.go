package engine_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/backend/cpu"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/quant"
)

// A decision is read off a state's blocks; the generation that follows finds them there.
func Example() {
	ctx := context.Background()
	eng, err := engine.Open(ctx, model.Stories())
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()

	const state = "Once upon a time, there was a little girl named Lily. She loved to play outside in the park."
	res, err := eng.Decide(ctx, decide.Request{
		State:     decide.Text(state),
		Questions: []decide.Question{decide.Boolean("girl", "Is the story about a girl?")},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("state:", res.Usage.StateTokens, "tokens,", res.Usage.CachedTokens, "cached")

	gen, err := eng.Generate(ctx, engine.GenerateRequest{Prompt: chat.Text(state), MaxTokens: 13})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("prompt:", gen.Usage.PromptTokens, "tokens,", gen.Usage.CachedTokens, "cached")
	fmt.Println(gen.Text)
	// Output:
	// state: 32 tokens, 0 cached
	// prompt: 32 tokens, 31 cached
	//  One day, she saw a big, red ball.
}

// Leaving the loop cancels the generation.
func ExampleEngine_Stream() {
	ctx := context.Background()
	eng, err := engine.Open(ctx, model.Stories())
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()

	length := 0
	for ev, err := range eng.Stream(ctx, engine.GenerateRequest{Prompt: chat.Text("Once upon a time")}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(ev.Text)
		if length += len(ev.Text); length > 30 {
			break
		}
	}
	// Output: , there was a little girl named
}

// Open with choices: the first backend that opens is taken, and Info says why not the others.
func ExampleOpen() {
	ctx := context.Background()
	eng, err := engine.Open(ctx, model.Stories(), // or model.File: a GGUF file, or a safetensors folder
		engine.WithContextLength(256),
		engine.WithKV(engine.KV{Format: quant.F32, Bytes: 8 << 20, Scratch: 1 << 20}),
		engine.WithWorkers(1),
		engine.WithProgress(func(p engine.Progress) {
			if p.Fraction() == 1 {
				fmt.Println("loaded", p.Stage)
			}
		}),
		engine.WithLogger(slog.New(slog.DiscardHandler)),
		engine.WithBackend(cpu.New()))
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()

	info := eng.Info()
	fmt.Println(info.Model, info.Backend.Effective, info.KV.Effective, info.Context)
	fmt.Println(info.PoolBlocks, "blocks of", info.BlockSize, "positions")
	// Output:
	// loaded weights
	// stories260K cpu F32 256
	// 409 blocks of 16 positions
}
