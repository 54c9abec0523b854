// Package decide turns typed questions about a state into token spans and label logits, and the
// logits into answers with probabilities. Nothing is generated.
//
// A [Request] holds a [State] (text, JSON, a chat prompt or tokens) and [Question]s made with
// [Boolean], [Choice] and [Score]. A [Decider], such as an engine, answers them with a [Result].
// A [Compiler] makes a [Plan] that can be used for many states.
//
// # Where the question stands
//
// State and question are encoded apart, so that the tokens of a chat state are the first ones of what
// Generate computes for the same prompt, and the tokens of a question are the same after every state.
// The [Border] of a Result says how they meet. The reply that the question asks for opens with the
// template's closed reasoning section; where there is none the model is refused with [ErrReasoning].
//
// # How an option is read
//
// By [Label] the question ends where yes, a digit or a letter would be the next token; an option's
// logit is the log-sum-exp over the spellings of its label. By [Code] and [Path] it is the sum of the
// log-probabilities of a few tokens, which options share as far as they are the same. By [Each] it is
// the log-odds of yes after a question about that option alone. The probabilities are the softmax over
// the options. The label mass says how much the whole vocabulary gives to all of them together: when
// it is low the model wanted to say something else, and the probabilities mean little.
//
// A model's file may declare a read of its own, as JSON, under the GGUF key hotpath.decision or as
// hotpath_decision in config.json; control tokens are found outside the fields alone:
//
//	{"read": "each", "state": "<|state|> {state}", "question": "<|question|> {question}",
//	 "option": "{name}[ : {description}]<|mark|>", "level": "{index}: {name}<|mark|>",
//	 "yes": "<|yes|>", "no": "", "words": true}
//
// Beside it, or alone with {"read": "label"}, may stand "spellings": "max": of the spellings of a label
// the likeliest counts alone, and not their sum.
//
// What stands in brackets is left out where its field is empty; level is for scores and else option;
// words asks for lower case, single spaces, and names split into words. Messages are written by the
// model's chat template, which must do that itself.
//
// Two more members may follow, each an object by kind of question ("boolean", "choice", "score"):
//
//	"temperature": {"choice": 1.2}, "evidence": {"choice": 0.3}
//
// The temperature, 1 where none is given, divides the logits unless a [Calibrator] was fitted for the
// question. The evidence is the weight, 0 where none is given, of the words that an option shares with
// the state, before the temperature: the file has a number for each token, 0 or more, in the array
// hotpath.idf (hotpath_idf in config.json), and an option's logit gains the weight times the sum over
// the distinct tokens of its own prompt that the state has too, over the root of one more than how
// many distinct tokens with a number it has. The array hotpath.fold, where there is one, gives for each
// token the one that stands for it in all this. [Answer].Evidence tells what came of it.
//
// # What an option stands for
//
// [Opt] names an option by a text or a bool, and answers give it back with its type, as [Answer].Chosen.
// With [Option].Value the model is shown a name of its own. The text "true" and the bool true may
// stand beside each other: then the model is shown the options' values as JSON.
//
// # Caveats
//
// Options that share one prompt influence each other: their order may move the probabilities. Orders
// averages over several and tells the spread; Each does not depend on it. Probabilities are those of
// the model, and calibrated only where a [Calibrator] was fitted for such questions. Three
// definitions of confidence are in use in the field under one name; [Answer].ConfidenceIs says which
// one an answer holds.
package decide
