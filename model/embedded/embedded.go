// Package embedded carries the models that the module ships: stories260K, a Llama of 260 thousand
// parameters trained on short stories (karpathy/tinyllamas, MIT, see stories260K.LICENSE). It writes
// stories; its decisions mean nothing.
//
// A program that does not call [Stories] does not carry the file.
package embedded

import _ "embed"

//go:embed stories260K.gguf
var stories []byte

// StoriesName is the name of the model of [Stories].
const StoriesName = "stories260K"

// Stories returns the GGUF file of stories260K. It must not be changed.
func Stories() []byte { return stories }
