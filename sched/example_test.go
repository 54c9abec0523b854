package sched_test

import (
	"fmt"

	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/sched"
)

// The loop of an engine, without a backend: a prompt is prefilled in two chunks, and a decision
// about it runs beside the first decode, reading the same blocks.
func Example() {
	cache, _ := kvcache.New(kvcache.Options{Blocks: 64, Scratch: 8})
	s, _ := sched.New(cache, sched.Config{StepRows: 32})
	prompt := make([]int32, 48)
	s.Submit(sched.Request{Tokens: prompt, MaxTokens: 2, Tag: "answer"})
	for i := range 4 {
		if i == 2 {
			s.Submit(sched.Request{Tokens: prompt, Spans: []sched.Branch{{Tokens: []int32{7, 8}}, {Tokens: []int32{9}}}, Tag: "decision"})
		}
		plan := s.Plan()
		if len(plan.Items) == 0 {
			break
		}
		fmt.Println("step", plan.Step)
		for _, item := range plan.Items {
			fmt.Printf("  %v: %d spans", item.Job.Tag, len(item.Spans))
			for _, span := range item.Spans {
				fmt.Printf(", %d rows at %d", len(span.Tokens), span.Pos)
			}
			fmt.Println()
		}
		s.Settle(plan, 0) // the step has run
		for _, item := range plan.Items {
			if job, span := item.Job, item.Spans[0]; span.Index >= 0 {
				s.Finish(job) // both spans were in it: read, and answered
			} else if span.Last {
				job.Append(5) // the choice
				if len(job.History()) == len(prompt)+2 {
					s.Finish(job)
				}
			}
		}
	}
	// Output:
	// step 1
	//   answer: 1 spans, 32 rows at 0
	// step 2
	//   answer: 1 spans, 16 rows at 32
	// step 3
	//   answer: 1 spans, 1 rows at 48
	//   decision: 2 spans, 2 rows at 48, 1 rows at 48
}
