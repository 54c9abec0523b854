package backendtest_test

import (
	"context"
	"fmt"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model"
)

// A fake tells what a device would pass over: here a context that names a row nobody has written.
func ExampleFake() {
	ctx := context.Background()
	m, err := model.Stories().Load(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	var fake backendtest.Fake
	r, err := fake.Open(ctx, m, backend.Options{BlockSize: 16, PoolBlocks: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()

	blocks := []kvcache.BlockID{2}
	for _, s := range []backend.Seq{
		{Spans: []backend.Span{{Tokens: []int32{1, 403, 407}, Dst: blocks}}},
		{
			Context: []backend.Segment{{Blocks: blocks, Len: 4}},
			Spans:   []backend.Span{{Tokens: []int32{261}, Pos: 4, Dst: blocks}},
		},
	} {
		step, err := r.Submit(ctx, &backend.Batch{Seqs: []backend.Seq{s}})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(step.Wait(new(backend.Output)))
	}
	fmt.Println(fake.Count(backendtest.OpStep), "steps,", len(fake.Problems()), "problem")
	// Output:
	// <nil>
	// seq 0: segment 0: position 3 in block 2: backend: bad batch: never written
	// 2 steps, 1 problem
}
