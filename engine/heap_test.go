package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/constrain"
	"github.com/hotpath-go/hotpath/engine/sample"
	"github.com/hotpath-go/hotpath/internal/race"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/chat/parse"
)

// TestConstrainedHeapStaysFlat: generations under constraints, each with a schema of its own, leave
// nothing behind, whether they end, are cancelled or are left in the middle.
func TestConstrainedHeapStaysFlat(t *testing.T) { // not beside other tests: it measures the heap
	rounds := 150
	switch {
	case os.Getenv("HOTPATH_LONG") == "1":
		rounds = 10_000
	case race.Enabled:
		rounds = 40
	}
	e := openFor(t, chatty{speaking()[parse.Qwen3Coder]}, murmur(), engine.WithContextLength(512))
	heap := func() (uint64, int) {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc, runtime.NumGoroutine()
	}
	run := func(from, to int) {
		for i := from; i < to; i++ {
			schema := fmt.Appendf(nil, `{"type":"object","title":"%d","properties":{"p%d":{"type":"string","maxLength":5},"n":{"type":["integer","null"],"minimum":0,"maximum":%d}},"required":["p%d"],"additionalProperties":false}`, i, i%7, i%9+1, i%7)
			r := engine.GenerateRequest{MaxTokens: 150, Seed: uint64(i), Sampling: sample.Settings{Temperature: new(1.5)}}
			if i%2 == 0 {
				spec := constrain.JSONSchema(schema, constrain.WhitespaceNone)
				r.Prompt, r.Constraint = chat.Text(fmt.Sprint("Number ", i)), &spec
			} else {
				r.Prompt = chat.Messages(chat.User("go on")).WithTools(chat.Tool{Name: "call", Parameters: schema})
				r.ToolChoice = "call"
			}
			switch i % 10 {
			case 3: // left in the middle
				for _, err := range e.Stream(context.Background(), r) {
					if err != nil {
						t.Fatal(err)
					}
					break
				}
				continue
			case 4: // cancelled in the middle
				ctx, cancel := context.WithCancel(context.Background())
				for _, err := range e.Stream(ctx, r) {
					cancel()
					if err != nil && !errors.Is(err, context.Canceled) {
						t.Fatal(err)
					}
				}
				cancel()
				continue
			}
			g := generate(t, e, r)
			if r.Constraint != nil && !json.Valid([]byte(g.Text)) || r.Constraint == nil && len(g.ToolCalls) != 1 {
				t.Fatalf("%q, calls %v, finish %s", g.Text, g.ToolCalls, g.Finish)
			}
		}
	}
	run(0, rounds)
	before, goroutines := heap()
	run(rounds, 2*rounds)
	after, now := heap()
	if after > before+before/8+1<<20 {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
	if now > goroutines+2 {
		t.Errorf("%d goroutines, %d before", now, goroutines)
	}
	t.Logf("%d generations, heap %d and then %d bytes", 2*rounds, before, after)
}
