// Package embedded carries the model that the module ships: stories260K, a Llama of 260 thousand
// parameters trained on short stories (karpathy/tinyllamas, MIT, see stories260K.LICENSE). It writes
// stories; its decisions mean nothing.
//
// A program that does not call [Weights] does not carry the file.
package embedded

import _ "embed"

//go:embed stories260K.gguf
var weights []byte

// Name is the model's name.
const Name = "stories260K"

// Weights returns the GGUF file. It must not be changed.
func Weights() []byte { return weights }
