package tokenizer

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hotpath-go/hotpath/internal/ggufbuild"
	"github.com/hotpath-go/hotpath/model/gguf"
)

// exercise checks what holds for every tokenizer and text.
func exercise(t *testing.T, tok *Tokenizer, text string) {
	t.Helper()
	for _, mode := range []Mode{Text, Special} {
		ids := tok.Encode(nil, text, mode)
		for _, id := range ids {
			if _, ok := tok.Token(id); !ok {
				t.Fatalf("%q: id %d is not in the vocabulary of %d", text, id, tok.Size())
			}
			if mode == Text && tok.IsControl(id) {
				t.Fatalf("%q: control token %d", text, id)
			}
		}
		for _, skip := range []bool{false, true} {
			whole := tok.Decode(ids, skip)
			if !utf8.ValidString(whole) {
				t.Fatalf("%q: decoded %q is not UTF-8", text, whole)
			}
			if got := streamed(tok, ids, skip); got != whole {
				t.Fatalf("%q: streamed %q, decoded %q", text, got, whole)
			}
		}
	}
	tok.EOG()
	tok.Template()
	if tok.Hash() == [32]byte{} {
		t.Fatal("no hash")
	}
}

func FuzzFromJSON(f *testing.F) {
	bytes := object{
		"added_tokens":   []object{{"id": 6, "content": "<e>", "special": true, "lstrip": true}, {"id": 7, "content": "<f>", "normalized": true}},
		"pre_tokenizer":  object{"type": "ByteLevel", "add_prefix_space": false},
		"post_processor": object{"type": "BertProcessing", "cls": []any{"a", 0}, "sep": []any{"b", 1}},
		"decoder":        object{"type": "ByteLevel"},
		"model": object{
			"type": "BPE", "vocab": object{"a": 0, "b": 1, "Ġ": 2, "ab": 3, "Ġab": 4, "é": 5}, "merges": []any{[]string{"a", "b"}, []string{"Ġ", "ab"}},
			"ignore_merges": true,
		},
	}
	f.Add(encode(f, bytes), []byte(`{"eos_token":"<e>","add_eos_token":true}`), "ab ab <e> <f>b")
	spm := object{
		"added_tokens":   []object{{"id": 0, "content": "<unk>", "special": true}},
		"normalizer":     object{"type": "Sequence", "normalizers": []object{{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": object{"String": " "}, "content": "▁"}, {"type": "NFC"}}},
		"pre_tokenizer":  object{"type": "Digits", "individual_digits": true},
		"post_processor": object{"type": "TemplateProcessing", "single": []object{{"SpecialToken": object{"id": "<unk>"}}, {"Sequence": object{"id": "A"}}}, "special_tokens": object{"<unk>": object{"ids": []int{0}}}},
		"decoder": object{"type": "Sequence", "decoders": []object{
			{"type": "Replace", "pattern": object{"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0},
		}},
		"model": object{
			"type": "BPE", "vocab": object{"<unk>": 0, "▁": 1, "a": 2, "▁a": 3, "<0x62>": 4, "é": 5}, "merges": []string{"▁ a"},
			"unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true,
		},
	}
	f.Add(encode(f, spm), []byte(nil), " a b é\xff")
	f.Fuzz(func(t *testing.T, file, config []byte, text string) {
		if tok, err := FromJSON(file, config); err == nil {
			exercise(t, tok, text)
		}
	})
}

func FuzzFromGGUF(f *testing.F) {
	for _, model := range []string{"gpt2", "llama", "gemma4"} {
		var file ggufbuild.File
		for _, p := range []ggufbuild.Pair{
			{Key: "model", Value: model}, {Key: "pre", Value: "qwen35"},
			{Key: "tokens", Value: []string{"<e>", "a", "b", "▁", "ab", "Ġ", "Ġa", "<0x62>"}},
			{Key: "token_type", Value: []int32{3, 1, 1, 1, 1, 1, 1, 6}},
			{Key: "scores", Value: []float32{0, 1, 2, 3, 4, 5, 6, 7}},
			{Key: "merges", Value: []string{"a b", "Ġ a"}},
			{Key: "eos_token_id", Value: uint32(0)},
		} {
			p.Key = prefixGGUF + p.Key
			file.Pairs = append(file.Pairs, p)
		}
		f.Add(file.Bytes(), "ab a<e>\n\n")
	}
	f.Fuzz(func(t *testing.T, b []byte, text string) {
		g, err := gguf.Parse(b)
		if err != nil {
			return
		}
		if tok, err := FromGGUF(g.Meta()); err == nil {
			exercise(t, tok, text)
		}
	})
}

func FuzzEncodeDecode(f *testing.F) {
	f.Add("hello  wor\r\n<|end|> ½12 e\u0301😀 ▁a")
	f.Add("<|im_start|>\xf0\x9f\x98<b>")
	bytes, chars, gemma := build(f, smallFile()), stories(f), gemmaLike(f)
	f.Fuzz(func(t *testing.T, text string) {
		for name, tok := range map[string]*Tokenizer{"bytes": bytes, "chars": chars, "gemma": gemma} {
			exercise(t, tok, text)
			ids := tok.Encode(nil, text, Text)
			if again := tok.Encode(nil, text, Text); !slices.Equal(ids, again) {
				t.Fatalf("%s: %q: %v, then %v", name, text, ids, again)
			}
			if got, want := tok.Decode(ids, false), decodable(tok, text); utf8.ValidString(text) && got != want {
				t.Fatalf("%s: %q came back as %q", name, want, got)
			}
		}
		if got := bytes.Decode(bytes.Encode(nil, text, Special), false); utf8.ValidString(text) && got != text {
			t.Fatalf("%q came back as %q", text, got)
		}
	})
}

func FuzzStream(f *testing.F) {
	f.Add([]byte("\x01\xf0\x9f\x98\x80\xff\x00a"))
	bytes, chars := build(f, smallFile()), stories(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		for name, tok := range map[string]*Tokenizer{"bytes": bytes, "chars": chars} {
			var ids []int32
			for i := 0; i+1 < len(raw); i += 2 {
				ids = append(ids, int32(raw[i])|int32(raw[i+1]&3)<<8-2)
			}
			s := tok.NewStream(true)
			var b strings.Builder
			for _, id := range ids {
				out := s.Push(id)
				if !utf8.ValidString(out) {
					t.Fatalf("%s: %v: %q is not UTF-8", name, ids, out)
				}
				b.WriteString(out)
			}
			b.WriteString(s.Flush())
			if got, want := b.String(), tok.Decode(ids, true); got != want {
				t.Fatalf("%s: %v: streamed %q, decoded %q", name, ids, got, want)
			}
		}
	})
}
