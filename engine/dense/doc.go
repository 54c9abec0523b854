// Package dense lends the engine's matrices to the tensor library gorgonia.org/tensor and takes them
// back, without copying. Hidden states and logits come as backend.Matrix, so that a program that does
// no tensor arithmetic does not link the library (14 MB).
//
//	d, err := dense.ToDense(m) // shares m.Data
//	y, err := tensor.MatMul(d, weights)
//	m, err = dense.FromDense(y)
//
// Tensors made here carry [Engine]. It computes what the library's own engine gets wrong without
// saying so: a softmax over the last axis of rows that differ much (NaN, or lost digits), and products
// with views whose rows do not follow each other in memory (the strides are ignored, so the numbers
// are those of other elements). The first is computed right, the second refused. For both to hold,
// every operand must carry this engine; [WithEngine] gives it to tensors made elsewhere.
//
// Products run on gonum's BLAS, on as many cores as GOMAXPROCS allows, and skip zeros of the left
// operand: 0 * NaN is 0 there.
package dense
