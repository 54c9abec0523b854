// Package sched decides which rows run in each step. It returns plans (of a sequence or of scratch
// spans, a range of rows) and never sees a backend.
//
// # The types that matter
//
//   - [Scheduler]: Submit (queue a request), Plan (the next step), Settle or Abort (what became of
//     it), Finish (a job is over).
//   - [Job]: a request under way. Append a chosen token and it wants one more row; AddSpans and a
//     decision goes on; SetReady pauses it while its reader is behind.
//   - [Plan]: the items of a step, one to one the sequences of a backend's batch.
//
// The loop of an engine is
//
//	plan := s.Plan()
//	run plan.Copies, then a batch built from plan.Items, on the backend
//	s.Settle(plan, took)
//	for each item whose span is Last: choose a token and job.Append it, or read, or s.Finish(job)
//
// # Rules
//
// There is no prefill and no decode phase: a job wants the rows between what is scheduled and what
// it knows. A step has one budget of rows, of which decodes, decisions and prefills each have a
// guaranteed share. A step that carries decodes lasts at most Stretch times as long as the decodes
// alone would, by a cost model fitted to measured steps, but carries at least MinPrefill rows of
// prefill. Within a class, order is by priority, then by how little the caller was served, then by
// deadline and arrival.
//
// A job is admitted when there is room for all the tokens it has, besides what the running ones
// still need. When a running generation finds no block all the same, the least valuable running
// job (lowest priority, then latest) gives up its own and computes again later what the cache has
// not kept; the most valuable one always gets on, so there is no livelock.
//
// A prefix that a running job is computing is not computed twice: who else needs it waits, and
// takes over should the first one leave. Decisions on the same blocks run in the same step.
//
// A Scheduler belongs to one goroutine.
package sched
