package cpu_test

import (
	"context"
	"fmt"
	"log"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/backend/cpu"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model"
)

// A step by hand: three tokens into block 0, and the most likely token after them.
func Example() {
	ctx := context.Background()
	m, err := model.Stories().Load(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	r, err := cpu.New(cpu.WithPath("generic")).Open(ctx, m, backend.Options{BlockSize: 16, PoolBlocks: 4})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()

	step, err := r.Submit(ctx, &backend.Batch{Seqs: []backend.Seq{{Spans: []backend.Span{{
		Tokens: m.Tokenizer.Encode([]int32{1}, "Once upon", 0),
		Dst:    []kvcache.BlockID{0},
		Want:   []backend.Want{{Row: 1, TopK: 1}},
	}}}}})
	if err != nil {
		log.Fatal(err)
	}
	var out backend.Output
	if err := step.Wait(&out); err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Caps().Numerics, len(out.Results[0].TopIDs))
	// Output: cpu/generic/rounded/kv-BF16/1 1
}
