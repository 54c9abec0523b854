package backend_test

import (
	"context"
	"fmt"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/backend/cpu"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/tokenizer"
)

// A prompt goes into pool block 0; two spans branch off it into scratch, in one step, and neither
// sees the other.
func Example() {
	ctx := context.Background()
	m, err := model.Stories().Load(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	r, err := cpu.New().Open(ctx, m, backend.Options{BlockSize: 16, PoolBlocks: 4, ScratchBlocks: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()

	run := func(b *backend.Batch) []backend.Result {
		step, err := r.Submit(ctx, b)
		if err != nil {
			fmt.Println(err)
			return nil
		}
		var out backend.Output
		if err := step.Wait(&out); err != nil {
			fmt.Println(err)
			return nil
		}
		return out.Results
	}
	block := []kvcache.BlockID{0}
	prompt := m.Tokenizer.Encode([]int32{1}, "Lily saw a", tokenizer.Text)
	run(&backend.Batch{Seqs: []backend.Seq{{Spans: []backend.Span{{Tokens: prompt, Dst: block}}}}})

	n := len(prompt)
	branch := func(text string, scratch kvcache.BlockID) backend.Span {
		tokens := m.Tokenizer.Encode(nil, text, tokenizer.Text)
		return backend.Span{
			Tokens: tokens, Pos: n, Dst: []kvcache.BlockID{scratch},
			Want: []backend.Want{{Row: len(tokens) - 1, LogSumExp: true, Labels: []int32{1, 2}}},
		}
	}
	for _, result := range run(&backend.Batch{Seqs: []backend.Seq{{
		Context: []backend.Segment{{Blocks: block, Len: n}},
		Spans:   []backend.Span{branch("big", 4), branch("small", 5)},
	}}}) {
		fmt.Println(len(result.Labels), "labels,", len(result.Logits), "other logits")
	}
	// Output:
	// 2 labels, 0 other logits
	// 2 labels, 0 other logits
}
