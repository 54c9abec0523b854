// Package reference is the backend that the others are compared with: slow and obvious.
//
// Everything is float32 on gorgonia.org/tensor, with all matrices expanded when the model is opened;
// sums of norms and softmax are float64. A step recomputes every sequence from its first token. Of
// its blocks it remembers for each slot which token was written there; segments only tell it which
// tokens a sequence consists of, so that it cannot share a mistake of a paged cache. Keys and values
// are rounded to the KV format after the rotation, since that is what another backend reads back;
// activations only if [WithRoundedActivations] asks for it.
//
// It knows causal masks, one step in flight and every want. The bytes of an exported block say
// nothing about tokens, so only blocks that a Runner of the same [Backend] exported can be imported
// and read.
//
// Linking it adds about 14 MB to a program. Time grows with the square of the sequence's length.
package reference
