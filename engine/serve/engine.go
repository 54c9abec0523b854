package serve

import (
	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/model/chat"
)

// Engine is what a Handler serves. *engine.Engine is one.
type Engine interface {
	engine.Generator
	decide.Decider
	Info() engine.Info
	Stats() engine.Stats
	Tokenize(p chat.Prompt) ([]int32, error)
	EncodeText(text string, special bool) []int32
	Detokenize(ids []int32) (string, error)
}
