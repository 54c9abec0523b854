package kvcache_test

import (
	"fmt"

	"github.com/hotpath-go/hotpath/kvcache"
)

// A prompt is computed once; the next call finds it to the exact token and writes on in place.
func Example() {
	cache, err := kvcache.New(kvcache.Options{Blocks: 64, Scratch: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	prompt := make([]int32, 40)
	for i := range prompt {
		prompt[i] = int32(i)
	}
	var common kvcache.Namespace

	first, _ := cache.NewSequence(common, nil, prompt)
	_, _, err = first.Reserve(40) // then the step runs on first.Blocks()
	fmt.Println(len(first.Blocks()), "blocks", err)
	first.Seal(40) // the step has finished: others may find its rows
	first.Release()

	next := append(prompt, 100, 101, 102)
	hit, _ := cache.Match(common, next, len(next)-1)
	fmt.Println(hit.Len, "of", len(next), "tokens cached")
	second, _ := cache.NewSequence(common, hit, next)
	_, copied, _ := second.Reserve(len(next))
	fmt.Println("copied:", copied)
	second.Release()
	// Output:
	// 3 blocks <nil>
	// 40 of 43 tokens cached
	// copied: false
}
