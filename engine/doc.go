// Package engine runs a language model in the process: it writes text and answers typed questions
// about a state, from one paged cache of keys and values.
//
// [Open] loads a model and starts an [Engine]. [Engine.Generate] and [Engine.Stream] continue a
// prompt; [Engine.Decide] reads answers off the model at the place where the state's blocks already
// are, without generating anything; [Engine.Warm] computes a prefix ahead and pins it. Code that
// uses an engine should ask for a [Generator] or a decide.Decider, which fakes satisfy too.
//
// # How it works
//
// One goroutine plans steps, submits them to the backend and hands out what they give. Prompts are
// computed in chunks, generations a row at a time, decisions in scratch beside them; all of them
// share a step. A prefix that was computed once is found again by its tokens, whoever asks.
//
// The same call gives the same bits, whatever else runs and whatever is cached, for one numerics id
// ([Info].Numerics).
//
// # Caveats
//
// A call whose context ends returns at once; its blocks are freed when the step under way ends. The
// reader of a Stream that falls behind is paused, and ended after a limit ([WithSlowReader]).
// Nothing is cut to fit: what is too long is refused. Close ends every call with ErrClosed.
package engine
