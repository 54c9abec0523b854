package decide_test

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/quant"
)

func printBits(r *decide.Result) string {
	var b strings.Builder
	for _, a := range r.Answers {
		fmt.Fprintf(&b, "%s %v %s %x %x", a.ID, a.Method, a.Value, math.Float64bits(a.Confidence), math.Float64bits(a.Score))
		for _, p := range a.Probabilities {
			fmt.Fprintf(&b, " %x", math.Float64bits(p))
		}
		if a.LabelMass != nil {
			fmt.Fprintf(&b, " mass %x", math.Float64bits(*a.LabelMass))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestSameBits: every read gives the same bits alone and in company, on a cold and on a hot state, in
// one step and in many, in one wave and in several, and whatever questions are asked beside it.
func TestSameBits(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]*model.Model{"raw": stories(t), "chat": tinyChat(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := decide.Text(strings.Repeat("Once there was a little cat. ", 3) + "Tom saw it.")
			requests := map[string]decide.Request{}
			for id, q := range questions() {
				if id == "code" {
					q.Options = q.Options[:20] // the small context holds no more beside the state
				}
				q.ID = id
				requests[id] = decide.Request{State: state, Questions: []decide.Question{q}}
			}
			rotated := requests["choice"]
			rotated.Orders = 3
			requests["rotated"] = rotated
			kv := engine.KV{Format: quant.BF16, Bytes: 4 << 20, Scratch: 1 << 20}
			alone := openEngine(t, m, engine.WithKV(kv))
			want := map[string]string{}
			for id, r := range requests {
				r.Namespace = id // a cold state for each
				res, err := alone.Decide(t.Context(), r)
				if err != nil {
					t.Fatalf("%s: %v", id, err)
				}
				want[id] = printBits(res)
				hot, err := alone.Decide(t.Context(), r)
				if err != nil {
					t.Fatalf("%s: %v", id, err)
				}
				if got := printBits(hot); got != want[id] || hot.Usage.CachedTokens < hot.Usage.StateTokens-16 {
					t.Errorf("%s, hot (%v):\n%swant\n%s", id, hot.Usage, got, want[id])
				}
			}
			blockBytes := int64(alone.Info().BlockBytes)
			for variant, o := range map[string][]engine.Option{
				"steps of 7 rows": {engine.WithStepRows(7)},
				"little scratch":  {engine.WithKV(engine.KV{Format: quant.BF16, Bytes: 4 << 20, Scratch: 24 * blockBytes})},
				"one worker":      {engine.WithWorkers(1)},
				"company":         nil,
			} {
				e := openEngine(t, m, append([]engine.Option{engine.WithKV(kv)}, o...)...)
				var wait sync.WaitGroup
				if variant == "company" {
					for i := range 4 {
						wait.Go(func() {
							p := chat.Text(strings.Repeat("Once there was a little cat. ", 2) + fmt.Sprint(i))
							if _, err := e.Generate(t.Context(), engine.GenerateRequest{Prompt: p, MaxTokens: 30, IgnoreEOS: true}); err != nil {
								t.Error(err)
							}
						})
					}
				}
				for id, r := range requests {
					ask := func() {
						res, err := e.Decide(t.Context(), r)
						if err != nil {
							t.Errorf("%s, %s: %v", variant, id, err)
						} else if got := printBits(res); got != want[id] {
							t.Errorf("%s, %s:\n%swant\n%s", variant, id, got, want[id])
						}
					}
					if variant == "company" {
						wait.Go(ask)
					} else {
						ask()
					}
				}
				wait.Wait()
			}
			// All in one request.
			all := decide.Request{State: state}
			for id, r := range requests {
				if id != "rotated" {
					all.Questions = append(all.Questions, r.Questions...)
				}
			}
			res, err := alone.Decide(t.Context(), all)
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.SplitAfter(strings.TrimSuffix(printBits(res), "\n"), "\n") {
				if id := all.Questions[i].ID; strings.TrimSpace(line) != strings.TrimSpace(want[id]) {
					t.Errorf("beside others, %s:\n%swant\n%s", id, line, want[id])
				}
			}
		})
	}
}
