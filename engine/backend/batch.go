package backend

import (
	"github.com/hotpath-go/hotpath/engine/sample"
	"github.com/hotpath-go/hotpath/kvcache"
)

// Batch is the work of one step. Rows are numbered in the order of Seqs, Spans and Tokens.
type Batch struct{ Seqs []Seq }

// Seq is a context and the spans that continue it.
type Seq struct {
	// Context is what the spans may attend to, in order of position, without gaps from position 0.
	// Scratch rows of earlier steps are ordinary segments.
	Context []Segment
	State   kvcache.StateID // recurrent state at the context's end, for programs that have one; 0: none
	Spans   []Span
}

// Segment is a run of positions that lie in given blocks. Position p lies in
// Blocks[p/BlockSize - Start/BlockSize], in slot p mod BlockSize.
type Segment struct {
	Blocks []kvcache.BlockID
	Start  int // absolute position of the first row
	Len    int // rows
}

// Span is a run of new rows. A row attends to the context, to the rows of its ancestors, and to its
// own span as Mask says. Two spans of a Seq that are not ancestors never see each other, so both may
// hold the same positions. A context never names rows that the same step writes.
type Span struct {
	Parent int // 1 + index of the span it continues, which comes before it; 0: the context
	// Tokens are ids of the vocabulary. With more than one step in flight, -1-i stands for the token
	// that row i of the step submitted before this one chose; that row must have exactly one Want
	// with a Sample. Where it made no choice, or its step failed, the row here is computed from
	// nothing: its Results carry Err, and nothing may read it.
	Tokens []int32
	// Pos is the absolute position of the first row: where the context or the parent ends.
	Pos int
	// Dst are the blocks where the rows' keys and values go, Dst[0] holding Pos: the sequence's own
	// blocks, or scratch. A row's slot is its position modulo the block size.
	Dst  []kvcache.BlockID
	Mask Mask
	Save kvcache.StateID // where the recurrent state after the last row goes; 0: nowhere
	Want []Want          // in rising order of Row
}

// Mask says which rows of its own span a row attends to.
type Mask uint8

// The masks.
const (
	Causal        Mask = iota // itself and the rows before it
	Bidirectional             // all
)

// Want asks for outputs of one row. Each Want gets one Result.
type Want struct {
	Row       int     // row of the span, from 0
	Logits    bool    // the logits of the whole vocabulary
	Labels    []int32 // the logits of these ids, bit-equal to those of Logits
	LogSumExp bool    // log of the sum of exp of all logits
	TopK      int     // the largest logits with their ids; ties by lower id
	Sample    *Sample // a chosen token
	Hidden    bool    // the row after the final norm
}

// Sample asks the device to choose a token from a row's logits. Mask and History are the host's
// and must not change until Wait returns: a sequence whose choices depend on the tokens before runs
// one step at a time.
type Sample struct {
	Params  *sample.Params
	Mask    sample.Mask    // allowed ids; nil: all
	History *sample.Counts // tokens so far, for penalties; nil: none
	Key     sample.Key     // seed, choice and position: the whole source of randomness
}

// Output holds one Result for each Want, in the order of Seqs, Spans and Want. Buffers are reused
// from one Wait to the next; the caller owns them.
type Output struct{ Results []Result }

// Result is what a Want asked for; what it did not ask for is empty. Err says why there is nothing:
// ErrNaN when a logit that had to be computed is not a number, or an error of package sample. The
// other rows of the step are not touched by it, and Wait returns no error for it.
type Result struct {
	Err       error
	Logits    []float32
	Labels    []float32
	LogSumExp float32
	TopIDs    []int32
	TopLogits []float32
	Choice    sample.Choice
	Hidden    []float32
}

// Rows returns the number of rows in the batch.
func (b *Batch) Rows() int {
	n := 0
	for i := range b.Seqs {
		for j := range b.Seqs[i].Spans {
			n += len(b.Seqs[i].Spans[j].Tokens)
		}
	}
	return n
}

// Wants returns the number of wants in the batch.
func (b *Batch) Wants() int {
	n := 0
	for i := range b.Seqs {
		for j := range b.Seqs[i].Spans {
			n += len(b.Seqs[i].Spans[j].Want)
		}
	}
	return n
}
