package tokenizer

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/hotpath-go/hotpath/model/embedded"
	"github.com/hotpath-go/hotpath/model/gguf"
)

type object = map[string]any

// byteLevelFile is a tokenizer.json with the 256 byte symbols, the given merges, and the given
// added tokens, whose ids follow the vocabulary's.
func byteLevelFile(merges [][2]string, added ...object) object {
	if merges == nil {
		merges = [][2]string{}
	}
	vocab := object{}
	for _, r := range byteRunes() {
		vocab[string(r)] = len(vocab)
	}
	for _, m := range merges {
		if _, ok := vocab[m[0]+m[1]]; !ok {
			vocab[m[0]+m[1]] = len(vocab)
		}
	}
	for i, a := range added {
		a["id"] = len(vocab) + i
	}
	return object{
		"added_tokens": added,
		"pre_tokenizer": object{"type": "Sequence", "pretokenizers": []object{
			{"type": "Split", "pattern": object{"Regex": patternQwen2}, "behavior": "Isolated"},
			{"type": "ByteLevel", "add_prefix_space": false, "use_regex": false},
		}},
		"decoder": object{"type": "ByteLevel"},
		"model":   object{"type": "BPE", "vocab": vocab, "merges": merges},
	}
}

var smallMerges = [][2]string{
	{"h", "e"}, {"l", "l"}, {"he", "ll"}, {"hell", "o"}, {"Ġ", "w"}, {"Ġw", "o"}, {"Ġwo", "r"},
	{"a", "b"}, {"ab", "ab"}, {"b", "a"}, {"1", "2"}, {"Ġ", "Ġ"},
}

// smallFile has special, marker and plain added tokens.
func smallFile() object {
	return byteLevelFile(smallMerges,
		object{"content": "<|end|>", "special": true},
		object{"content": "<|im_start|>", "special": true},
		object{"content": "<think>", "special": false},
		object{"content": "<b>", "special": false},
		object{"content": "<|", "special": false},
	)
}

func build(t testing.TB, file object) *Tokenizer {
	t.Helper()
	tok, err := FromJSON(encode(t, file), nil)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func encode(t testing.TB, file any) []byte {
	t.Helper()
	b, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// stories is the vocabulary of stories260K: SentencePiece with byte fallback.
func stories(t testing.TB) *Tokenizer {
	t.Helper()
	f, err := gguf.Parse(embedded.Stories())
	if err != nil {
		t.Fatal(err)
	}
	tok, err := FromGGUF(f.Meta())
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// gemmaLike is a vocabulary of the merge-ranked kind on escaped text, without a leading blank.
func gemmaLike(t testing.TB) *Tokenizer {
	t.Helper()
	vocab := object{"<unk>": 0}
	for b := range 256 {
		vocab[fmt.Sprintf("<0x%02X>", b)] = len(vocab)
	}
	for _, s := range []string{"▁", "a", "b", "c", ">", "\n", "é", "中"} {
		vocab[s] = len(vocab)
	}
	merges := [][2]string{{"▁", "▁"}, {"▁", "a"}, {"a", "b"}, {"▁a", "b"}, {">", "▁"}, {"b", "c"}, {"\n", "\n"}}
	for _, m := range merges {
		vocab[m[0]+m[1]] = len(vocab)
	}
	return build(t, object{
		"added_tokens": []object{
			{"id": 0, "content": "<unk>", "special": true},
			{"id": len(vocab), "content": "<end_of_turn>", "special": true},
		},
		"normalizer":    object{"type": "Replace", "pattern": object{"String": " "}, "content": "▁"},
		"pre_tokenizer": object{"type": "Split", "pattern": object{"String": " "}, "behavior": "MergedWithPrevious"},
		"decoder": object{"type": "Sequence", "decoders": []object{
			{"type": "Replace", "pattern": object{"String": "▁"}, "content": " "},
			{"type": "ByteFallback"}, {"type": "Fuse"},
		}},
		"model": object{
			"type": "BPE", "vocab": vocab, "merges": merges,
			"unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true,
		},
	})
}
