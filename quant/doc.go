// Package quant holds the number formats of weights and of the KV cache: the float types and the
// quant blocks of GGUF files. A [Format] names one; a [Tensor] is a matrix of weights in one.
//
// [Decode] reads every format but the IQ1, IQ2 and IQ3 families; [Encode] writes those for which
// backends have kernels, the native ones, and [Convert] brings a tensor of any other format into a
// native one. [DotInt8] and [DotFloat] are the products that specify those kernels, with activations
// as they are or rounded into an [Int8Row].
//
// Decoding is exact to the bit with respect to the engine that defined the blocks. Encoding is not
// meant to equal it: the search for scales is this package's own, and its error is no larger.
//
// All functions are safe for concurrent use on memory that nobody writes. Rows of blocks are
// little-endian whatever the processor is.
package quant
