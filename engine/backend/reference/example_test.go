package reference_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/backend/reference"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model"
)

// Two steps: a prompt into block 3, then one row that continues it.
func Example() {
	ctx := context.Background()
	m, err := model.Stories().Load(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	r, err := reference.New().Open(ctx, m, backend.Options{BlockSize: 16, PoolBlocks: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()

	blocks := []kvcache.BlockID{3}
	tokens := []int32{1, 403, 407, 261} // "Once upon a"
	var before []backend.Segment
	var out backend.Output
	for range 2 {
		pos := 0
		if len(before) > 0 {
			pos = before[0].Len
		}
		last := len(tokens) - pos - 1
		step, err := r.Submit(ctx, &backend.Batch{Seqs: []backend.Seq{{
			Context: before,
			Spans: []backend.Span{{
				Tokens: tokens[pos:], Pos: pos, Dst: blocks,
				Want: []backend.Want{{Row: last, TopK: 1}},
			}},
		}}})
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := step.Wait(&out); err != nil {
			fmt.Println(err)
			return
		}
		before = []backend.Segment{{Blocks: blocks, Len: len(tokens)}}
		tokens = append(slices.Clone(tokens), out.Results[0].TopIDs[0])
	}
	fmt.Printf("%q\n", m.Tokenizer.Decode(tokens, true))
	// Output: "Once upon a time,"
}
