package engine

import (
	"fmt"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/quant"
)

// Info is what an engine is; it does not change while the engine is open.
type Info struct {
	Model         string // name
	Family        string // architecture
	ModelID       string // identity of weights, tokenizer and template, in hexadecimal
	Vocab         int    // rows of the embedding
	Context       int    // positions a sequence may have
	Template      bool   // the model has a chat template
	Backend       backend.Selection[string]
	Path          backend.Selection[string] // kernel path
	KV            backend.Selection[quant.Format]
	BlockSize     int // positions in a KV block
	BlockBytes    int64
	PoolBlocks    int
	ScratchBlocks int
	Workers       int
	Numerics      string // numerics id: equal ids give equal bits; the kernels' and, for the arithmetic of answers, the CPU architecture
}

// String prints the main facts in one line.
func (i Info) String() string {
	return fmt.Sprintf("%s (%s), backend %s %s, %d workers, context %d, KV %v: %d + %d blocks of %d positions, %.1f MiB",
		i.Model, i.Family, i.Backend.Effective, i.Path.Effective, i.Workers, i.Context, i.KV.Effective,
		i.PoolBlocks, i.ScratchBlocks, i.BlockSize, float64(i.BlockBytes*int64(i.PoolBlocks+i.ScratchBlocks))/(1<<20))
}

// Stats are counters since Open and the state of this moment.
type Stats struct {
	Running   int // requests that have blocks or scratch
	Waiting   int // requests that wait
	Steps     uint64
	Rows      uint64 // computed
	Decisions uint64 // answered
	Generated uint64 // tokens
	Failed    uint64 // requests that ended with an error other than their context's
	Cancelled uint64
	Cache     kvcache.Stats
}
