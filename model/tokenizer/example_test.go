package tokenizer_test

import (
	"encoding/json"
	"fmt"
	"log"

	"github.com/hotpath-go/hotpath/model/tokenizer"
)

// A vocabulary of a few letters, with the blank written as Ġ, and one control token.
func tiny() []byte {
	type object = map[string]any
	b, err := json.Marshal(object{
		"added_tokens": []object{{"id": 11, "content": "<|end|>", "special": true}},
		"pre_tokenizer": object{"type": "Sequence", "pretokenizers": []object{
			{"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
		}},
		"decoder": object{"type": "ByteLevel"},
		"model": object{
			"type": "BPE",
			"vocab": object{
				"c": 0, "a": 1, "t": 2, "s": 3, "Ġ": 4, "at": 5, "cat": 6, "Ġcat": 7,
				"<": 8, "|": 9, ">": 10, "e": 12, "n": 13, "d": 14,
			},
			"merges": []string{"a t", "c at", "Ġ cat"},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	return b
}

func Example() {
	t, err := tokenizer.FromJSON(tiny(), nil)
	if err != nil {
		log.Fatal(err)
	}
	// Text from outside never becomes a control token; scaffolding does.
	fmt.Println(t.Encode(nil, "cat cats<|end|>", tokenizer.Text))
	ids := t.Encode(nil, "cat cats<|end|>", tokenizer.Special)
	fmt.Println(ids, t.IsControl(ids[len(ids)-1]))
	fmt.Printf("%q\n", t.Decode(ids, true))

	// Decoding as the ids come.
	s := t.NewStream(true)
	for _, id := range ids {
		fmt.Printf("%q ", s.Push(id))
	}
	fmt.Printf("%q\n", s.Flush())
	// Output:
	// [6 7 3 8 9 12 13 14 9 10]
	// [6 7 3 11] true
	// "cat cats"
	// "cat" " cat" "s" "" ""
}
