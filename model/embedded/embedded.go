// Package embedded carries the models that the module ships.
//
// hotpath-mini decides: a Qwen3 graph of 2.2 million parameters that was trained for routing. It
// chooses among options by name and description, answers a few kinds of yes-or-no questions and rates
// urgency and frustration. It does not write. MODEL.md says what it was trained on, how good it is
// and what it is not for; the folder train has the recipe.
//
// stories260K writes: a Llama of 260 thousand parameters trained on short stories
// (karpathy/tinyllamas, MIT, see stories260K.LICENSE). What it decides means nothing.
//
// A program carries only those files whose function it calls.
package embedded

import _ "embed"

var (
	//go:embed hotpath-mini.gguf
	mini []byte
	//go:embed stories260K.gguf
	stories []byte
)

// The names of the models of [Weights] and [Stories].
const (
	Name        = "hotpath-mini"
	StoriesName = "stories260K"
)

// Weights returns the GGUF file of hotpath-mini. It must not be changed.
func Weights() []byte { return mini }

// Stories returns the GGUF file of stories260K. It must not be changed.
func Stories() []byte { return stories }
