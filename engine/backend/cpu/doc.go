// Package cpu runs models on the processor. It is the default backend: Go and assembly, no cgo.
//
// [New] returns the backend, Open a [Runner]. The kernel path ("avx512", "generic", ...) is the best
// that the processor has; [WithPath], the environment variable HOTPATH_CPU and the build tag noasm
// choose another. The numerics id in Caps names everything that two machines must share for their
// bits to be equal.
//
// Every output is a function of its inputs alone. The bits of a row do not depend on the rows beside
// it, on how a prefill is cut, on workers, or on whether keys lie in the pool or in scratch.
//
// # Arithmetic
//
// With [Rounded], the default, activations that meet weights of a quant format are rounded to 8-bit
// integers, in blocks of 32 with a scale each; where weights are F32, F16 or BF16 they stay float32.
// With [Float] they stay float32 for all formats and weights are expanded to float32 at Open: four to
// eight times the memory, for comparisons.
package cpu
