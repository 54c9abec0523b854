package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"time"

	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
)

// A prefix is computed once and pinned, and another process starts warm from a snapshot.
func ExampleEngine_Snapshot() {
	ctx := context.Background()
	system := chat.Text("Once upon a time, there was a little girl named Lily. She loved to play outside in the park.")
	eng, err := engine.Open(ctx, model.Stories())
	if err != nil {
		log.Fatal(err)
	}
	hold, err := eng.Warm(ctx, system, time.Hour) // pinned, capped, visible in Stats
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("held:", hold.Tokens(), "tokens by", eng.Stats().Cache.Holders[0].Name)
	var saved bytes.Buffer // or eng.SnapshotFile(ctx, "prefix.kv"), which is crash-safe
	if err := eng.Snapshot(ctx, &saved); err != nil {
		log.Fatal(err)
	}
	if err := eng.Close(); err != nil {
		log.Fatal(err)
	}

	again, err := engine.Open(ctx, model.Stories())
	if err != nil {
		log.Fatal(err)
	}
	defer again.Close()
	if err := again.Restore(ctx, &saved); err != nil { // refused if model, KV format or numerics differ
		log.Fatal(err)
	}
	gen, err := again.Generate(ctx, engine.GenerateRequest{Prompt: system, MaxTokens: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("cached:", gen.Usage.CachedTokens, "of", gen.Usage.PromptTokens)
	// Output:
	// held: 32 tokens by Warm
	// cached: 31 of 32
}
