// Package sample chooses the next token from a row of logits.
//
// A [Sampler] holds the buffers and does the work; [Params] says how, [Counts] is the history
// that penalties look at, a [Mask] says which tokens a grammar allows, and a [Key] names the one
// random number that the choice uses:
//
//	var s sample.Sampler
//	var history sample.Counts
//	history.AddPrompt(prompt...)
//	c, err := s.Choose(logits, &params, nil, &history, sample.Key{Seed: 7, Position: 0})
//	history.AddOutput(c.Token)
//
// A choice is a pure function of those five arguments. No state is carried from one call to the
// next, so the same request gives the same tokens whatever runs beside it.
//
// The steps, in this order:
//
//  1. repetition, frequency and presence penalties;
//  2. bias; banned tokens and tokens outside the mask are taken out;
//  3. at temperature 0 the largest logit wins; what follows is for temperatures above 0;
//  4. division by the temperature;
//  5. top-k, then top-p over what top-k left, then min-p;
//  6. a draw from what is left, in order of descending logit.
//
// Equal logits are ordered by token id, lowest first, everywhere.
//
// Log-probabilities are natural logarithms. By default they are those of the model's own
// distribution: before every step above, at temperature 1, over the whole vocabulary.
package sample
