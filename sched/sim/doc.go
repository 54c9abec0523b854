// Package sim plays recorded traffic against the real cache and scheduler, without a model.
//
// [HitRate] asks how much of the prompts a cache of a given size would find, for any eviction
// policy, the best possible one included. [Run] plays calls in simulated time with a cost model in
// place of a backend, and reports what each call waited for. Traces come from [ReadMooncake] and
// [ReadAzure]; measured steps, to fit a cost model to, from [ReadSteps].
//
// Everything is deterministic. Functions may be called from several goroutines.
package sim
