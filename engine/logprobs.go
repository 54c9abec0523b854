package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/tokenizer"
	"github.com/hotpath-go/hotpath/sched"
)

// LogProbs returns what the model gives to each token of a continuation of a prompt, one after the
// other: natural logarithms, of the whole vocabulary at temperature 1. The continuation is text, in
// which nothing becomes a control token. The prompt is computed once and stays cached; the
// continuation is read in scratch.
func (e *Engine) LogProbs(ctx context.Context, p chat.Prompt, continuation string) ([]LogProb, error) {
	prompt, err := e.model.Encode(p, e.opt.clock)
	if err != nil {
		return nil, fmt.Errorf("%w: prompt: %w", ErrRequest, err)
	}
	next := e.model.Tokenizer.EncodeInside(nil, continuation, tokenizer.Text)
	if len(next) == 0 {
		return nil, fmt.Errorf("%w: continuation: empty", ErrRequest)
	}
	if n := len(prompt) + len(next); n > e.info.Context {
		return nil, fmt.Errorf("%w: prompt of %d tokens and continuation of %d, the context is %d", ErrTooLong, len(prompt), len(next), e.info.Context)
	}
	all := append(prompt, next...)
	out := make([]LogProb, 0, len(next))
	// The row before a token gives its probability. What is longer than half the scratch goes in pieces.
	piece := max(e.caps.ScratchBlocks/2, 1) * e.caps.BlockSize
	for from := len(prompt) - 1; from < len(all)-1; from += piece {
		to := min(from+piece, len(all)-1)
		span := decide.Span{Tokens: all[from:to]}
		for i := range span.Tokens {
			span.Reads = append(span.Reads, decide.Read{Row: i, Labels: all[from+i+1 : from+i+2], LogSumExp: true})
		}
		d, err := e.readSpans(ctx, []decide.Span{span}, sched.Request{Tokens: all[:from]}, false, time.Now())
		if err != nil {
			return nil, err
		}
		for i, r := range d.readings {
			id := all[from+i+1]
			t, _ := e.model.Tokenizer.Token(id)
			out = append(out, LogProb{ID: id, Text: string(t.Bytes), LogProb: float64(r.Labels[0]) - float64(r.LogSumExp)})
		}
	}
	return out, nil
}
