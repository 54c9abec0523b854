package constrain_test

import (
	"fmt"

	"github.com/hotpath-go/hotpath/engine/constrain"
)

func Example() {
	// A vocabulary of single bytes, some words, and a token that ends the text.
	var v constrain.Vocab
	for b := range 128 {
		v.Tokens = append(v.Tokens, []byte{byte(b)})
	}
	v.Tokens = append(v.Tokens, []byte(`{"team":"`), []byte("sales"), []byte("billing"), []byte("shop"), []byte(`"}`), nil)
	v.End = []int32{int32(len(v.Tokens) - 1)}

	compiler, err := constrain.NewCompiler(v, constrain.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := compiler.Compile(constrain.JSONSchema([]byte(`{
		"type": "object",
		"properties": {"team": {"enum": ["sales", "support"]}},
		"required": ["team"],
		"additionalProperties": false}`), constrain.WhitespaceNone))
	if err != nil {
		fmt.Println(err)
		return
	}
	s := g.Start()
	text := s.Forced(nil) // needs no model
	s.AcceptBytes(text)
	fmt.Printf("forced: %s\n", text)
	mask := s.Mask(nil)
	for id, b := range v.Tokens {
		if mask[id/32]>>(id%32)&1 != 0 {
			fmt.Printf("allowed: %s\n", b)
		}
	}
	// Output:
	// forced: {"team":"s
	// allowed: a
	// allowed: u
}
