// Package quant holds the number formats of weights and of the KV cache: the float types and the
// quant blocks of GGUF files. A [Format] names one; a [Tensor] is a matrix of weights in one.
package quant
