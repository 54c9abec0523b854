package engine

import (
	"context"
	"fmt"
	"math"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/sched"
)

// Matrix is a dense matrix of float32, row after row. Package dense turns one into a tensor and back.
type Matrix = backend.Matrix

// Hidden returns the rows after the final norm, one for each token of the prompt. The rows are
// computed anew, since the cache keeps keys and values alone, and leave nothing in it.
func (e *Engine) Hidden(ctx context.Context, p chat.Prompt) (Matrix, error) {
	tokens, err := e.model.Encode(p, e.opt.clock)
	if err != nil {
		return Matrix{}, fmt.Errorf("%w: prompt: %w", ErrRequest, err)
	}
	if len(tokens) > e.info.Context {
		return Matrix{}, fmt.Errorf("%w: prompt: %d tokens, the context is %d", ErrTooLong, len(tokens), e.info.Context)
	}
	h := &hiddenRows{rows: backend.NewMatrix(len(tokens), e.model.Program.Width)}
	// A namespace that nobody else has: a hit would leave out rows.
	name := kvcache.Namespace{Salt: fmt.Sprintf("hidden %p", h)}
	if err := e.loop.start(ctx, h, sched.Request{Namespace: name, Tokens: tokens, Private: true}); err != nil {
		return Matrix{}, err
	}
	<-h.done
	return h.rows, h.err
}

// Pooling says how the hidden rows of a text become one.
type Pooling uint8

// The poolings.
const (
	PoolMean Pooling = iota // the mean of all rows
	PoolLast                // the last row
)

// Embed returns one row for each prompt: its hidden rows pooled and scaled to length 1.
func (e *Engine) Embed(ctx context.Context, pooling Pooling, prompts ...chat.Prompt) (Matrix, error) {
	if pooling > PoolLast {
		return Matrix{}, fmt.Errorf("%w: pooling: %d, the poolings are %d to %d", ErrRequest, pooling, PoolMean, PoolLast)
	}
	out := backend.NewMatrix(len(prompts), e.model.Program.Width)
	for i, p := range prompts {
		rows, err := e.Hidden(ctx, p)
		if err != nil {
			return Matrix{}, fmt.Errorf("prompt %d of %d: %w", i+1, len(prompts), err)
		}
		pool(out.Row(i), rows, pooling)
	}
	return out, nil
}

// pool writes the pooled rows, scaled to length 1, to dst. Sums run in float64.
func pool(dst []float32, rows Matrix, pooling Pooling) {
	first := rows.Rows - 1
	if pooling == PoolMean {
		first = 0
	}
	sum := make([]float64, rows.Cols)
	for i := first; i < rows.Rows; i++ {
		for j, x := range rows.Row(i) {
			sum[j] += float64(x)
		}
	}
	length := 0.0
	for _, x := range sum {
		length += x * x
	}
	if length = math.Sqrt(length); length == 0 {
		return
	}
	for j, x := range sum {
		dst[j] = float32(x / length)
	}
}

// hiddenRows is a Hidden under way.
type hiddenRows struct {
	call
	rows Matrix
	err  error
}

func (h *hiddenRows) common() *call  { return &h.call }
func (h *hiddenRows) admitted()      {}
func (h *hiddenRows) fail(err error) { h.err = err }

func (h *hiddenRows) want(dst []backend.Want, s *sched.Span) []backend.Want {
	for i := range s.Tokens {
		dst = append(dst, backend.Want{Row: i, Hidden: true})
	}
	return dst
}

func (h *hiddenRows) settle(_ *sched.Item, s *sched.Span, results []backend.Result) {
	for i := range results {
		if err := results[i].Err; err != nil {
			h.loop.failed(h, err)
			return
		}
		copy(h.rows.Row(s.From+i), results[i].Hidden)
	}
	// After a preemption rows come again: the last one ends it.
	if s.To == h.rows.Rows {
		h.finish(h)
	}
}
