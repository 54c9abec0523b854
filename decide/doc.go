// Package decide turns typed questions about a state into token spans and label logits, and the
// logits into answers with probabilities.
//
// A [Request] holds a [State] (text, JSON, a chat prompt or tokens) and [Question]s made with
// [Boolean], [Choice] and [Score]. A [Decider], such as an engine, answers them with a [Result].
// [Compile] makes a [Plan] that can be used for many states.
//
// # How an option is read
//
// The question is written after the state and ends where a label (yes, a letter, a digit) would be
// the next token. An option's logit is the log-sum-exp over the spellings of its label; the
// probabilities are the softmax over the options; nothing is generated. The label mass says how
// much the whole vocabulary gives to the labels together: when it is low the model wanted to say
// something else, and the probabilities mean little.
//
// # Caveats
//
// Options share one prompt, so their order may move the probabilities. Probabilities are those of
// the model, and calibrated only where a [Calibrator] was fitted for such questions. Three
// definitions of confidence are in use in the field under one name; [Answer].ConfidenceIs says which
// one an answer holds.
package decide
