package engine_test

import (
	"testing"
	"time"

	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/model/chat"
)

// TestRepeatOnAFullPool asks for the same prompt again where the pool holds one full context and no
// more: what a copy would need more is computed again.
func TestRepeatOnAFullPool(t *testing.T) {
	t.Parallel()
	for context := 16; context <= 128; context += 16 {
		e := open(t, engine.WithContextLength(context), blocks(int64(context/16), 64))
		for n := 1; n < context; n += 5 {
			r := engine.GenerateRequest{Prompt: chat.Tokens(sequence(n, n)...), IgnoreEOS: true}
			first := generate(t, e, r)
			done := make(chan *engine.Generation, 1)
			go func() { g, _ := e.Generate(t.Context(), r); done <- g }()
			select {
			case again := <-done:
				if again == nil || again.Text != first.Text {
					t.Fatalf("context %d, prompt of %d: another text the second time", context, n)
				}
			case <-time.After(20 * time.Second): // not a time: for ever is the failure
				t.Fatalf("context %d, prompt of %d: the second call does not end", context, n)
			}
		}
	}
}
