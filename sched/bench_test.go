package sched

import (
	"fmt"
	"testing"

	"github.com/hotpath-go/hotpath/kvcache"
)

// decoding returns a scheduler with 256 generations past prompts of 1,000 tokens.
func decoding(b *testing.B) *Scheduler {
	c, err := kvcache.New(kvcache.Options{Blocks: 80_000})
	if err != nil {
		b.Fatal(err)
	}
	s, err := New(c, Config{StepRows: 8192, Running: 256, QueueTokens: 1 << 30, Fixed: true, Cost: Cost{1e-3, 1e-5, 1e-5, 0, 0}})
	if err != nil {
		b.Fatal(err)
	}
	for i := range 256 {
		toks := make([]int32, 1000)
		for k := range toks {
			toks[k] = int32(i)
		}
		if _, err := s.Submit(Request{Caller: fmt.Sprint(i % 16), Tokens: toks, MaxTokens: 3900}); err != nil {
			b.Fatal(err)
		}
	}
	for settle(b, s, s.Plan()) != 256 {
	}
	return s
}

func settle(b *testing.B, s *Scheduler, p *Plan) int {
	if err := s.Settle(p, 1e6); err != nil {
		b.Fatal(err)
	}
	for _, it := range p.Items {
		if it.Spans[0].Last {
			if err := it.Job.Append(1); err != nil {
				b.Fatal(err)
			}
		}
	}
	return p.Rows
}

// BenchmarkPlan plans, and settles, a decode step of 256 sequences.
func BenchmarkPlan(b *testing.B) {
	for _, whole := range []bool{false, true} {
		b.Run(map[bool]string{false: "plan", true: "plan and settle"}[whole], func(b *testing.B) {
			s := decoding(b)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%3000 == 2999 {
					b.StopTimer()
					s = decoding(b)
					b.StartTimer()
				}
				p := s.Plan()
				if !whole {
					b.StopTimer()
				}
				if n := settle(b, s, p); n != 256 {
					b.Fatalf("%d rows", n)
				}
				if !whole {
					b.StartTimer()
				}
			}
		})
	}
}

// BenchmarkPlanQueue plans beside 1,000 queued prompts of 4,000 tokens that find no room.
func BenchmarkPlanQueue(b *testing.B) {
	c, err := kvcache.New(kvcache.Options{Blocks: 20_000})
	if err != nil {
		b.Fatal(err)
	}
	s, err := New(c, Config{StepRows: 8192, QueueTokens: 1 << 30, Fixed: true, Cost: Cost{1e-3, 1e-5, 1e-5, 0, 0}})
	if err != nil {
		b.Fatal(err)
	}
	submit := func(n, tokens int) {
		for range n {
			toks := make([]int32, tokens)
			for k := range toks {
				toks[k] = int32(s.arrivals + 1)
			}
			if _, err := s.Submit(Request{Caller: fmt.Sprint(s.arrivals % 16), Tokens: toks, MaxTokens: 10_000}); err != nil {
				b.Fatal(err)
			}
		}
	}
	submit(64, 4800)
	for settle(b, s, s.Plan()) != 64 {
	}
	submit(1000, 4000)
	b.ReportAllocs()
	for b.Loop() {
		p := s.Plan()
		b.StopTimer()
		settle(b, s, p)
		b.StartTimer()
	}
}
