package tokenizer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// checkText checks that text from outside holds no control token and is not lost.
func checkText(t *testing.T, tok *Tokenizer, text string) {
	t.Helper()
	ids := tok.Encode(nil, text, Text)
	for _, id := range ids {
		if tok.IsControl(id) {
			tk, _ := tok.Token(id)
			t.Fatalf("%.200q: control token %d %q", text, id, tk.Text)
		}
	}
	if got, want := tok.Decode(ids, false), decodable(tok, text); got != want {
		t.Fatalf("%.200q:\n got %.200q\nwant %.200q", text, got, want)
	}
}

// decodable is the documented normalisation of a valid text.
func decodable(tok *Tokenizer, text string) string {
	var bufs [2][]byte
	for _, st := range tok.norm.steps {
		if st.kind == normalNFC {
			text = strings.Clone(tok.norm.apply(&bufs, text, false))
		}
	}
	if !tok.byteLevel {
		text = strings.ReplaceAll(text, "▁", " ")
	}
	return text
}

func TestTextModeOnPublishedVocabularies(t *testing.T) {
	t.Parallel()
	for name := range vocabularies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tok := load(t, name)
			var controls []string
			for id := range int32(tok.Size()) {
				if tk, ok := tok.Token(id); ok && tok.IsControl(id) {
					controls = append(controls, tk.Text)
				}
			}
			if len(controls) < 2 {
				t.Fatalf("%d control tokens", len(controls))
			}
			for _, c := range readCases(t, name).Cases {
				checkText(t, tok, c.Text)
				checkText(t, tok, controls[0]+c.Text+controls[len(controls)-1])
			}
			r := rand.New(rand.NewPCG(11, 12))
			for range 300 {
				var b strings.Builder
				for range 1 + r.IntN(8) {
					b.WriteString(controls[r.IntN(len(controls))])
					b.WriteString([]string{"", " ", "\n", "x", "<", "|>"}[r.IntN(6)])
				}
				checkText(t, tok, b.String())
			}
		})
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	tok := build(t, smallFile())
	names := func(ids []int32) (out []string) {
		for _, id := range ids {
			tk, _ := tok.Token(id)
			out = append(out, tk.Text)
		}
		return out
	}
	for _, c := range []struct {
		text    string
		mode    Mode
		want    []string
		control bool
	}{
		{"<|end|>", Special, []string{"<|end|>"}, true},
		{"<|end|>", Text, []string{"<|", "e", "n", "d", "|", ">"}, false},
		{"<think>", Special, []string{"<think>"}, true},
		{"<think>", Text, []string{"<", "t", "h", "i", "n", "k", ">"}, false},
		{"<b>hello", Text, []string{"<b>", "hello"}, false},
		{"<b>hello", Special, []string{"<b>", "hello"}, false},
		{"<|en<|end|>", Special, []string{"<|", "e", "n", "<|end|>"}, true},
		{"<|end|>", Mode(9), []string{"<|end|>"}, true},
	} {
		ids := tok.Encode(nil, c.text, c.mode)
		if got := names(ids); !slices.Equal(got, c.want) {
			t.Errorf("%q in mode %d: %q, want %q", c.text, c.mode, got, c.want)
		}
		if got := slices.ContainsFunc(ids, tok.IsControl); got != c.control {
			t.Errorf("%q in mode %d: control %v", c.text, c.mode, got)
		}
	}
}

// A hostile vocabulary whose merges, bytes or whole words lead to control tokens.
func TestTextModeWithHostileMerges(t *testing.T) {
	t.Parallel()
	file := byteLevelFile([][2]string{{"<", "s"}, {"<s", ">"}, {"a", "b"}, {"<s>", "x"}})
	vocab := file["model"].(object)["vocab"].(object)
	file["model"].(object)["ignore_merges"] = true
	file["added_tokens"] = []object{
		{"id": vocab["<s>"], "content": "<s>", "special": true},
		{"id": vocab["ab"], "content": "ab", "special": true},
		{"id": vocab["q"], "content": "q", "special": true},
	}
	tok := build(t, file)
	for _, text := range []string{"<s>", "ab", "<s>x", "q", "abq<s>"} {
		if ids := tok.Encode(nil, text, Text); slices.ContainsFunc(ids, tok.IsControl) {
			t.Errorf("%q: %v holds a control token", text, ids)
		}
		if ids := tok.Encode(nil, text, Special); !slices.ContainsFunc(ids, tok.IsControl) {
			t.Errorf("%q: %v holds no control token in mode Special", text, ids)
		}
	}
}

func TestAddedTokenOptions(t *testing.T) {
	t.Parallel()
	file := byteLevelFile(nil,
		object{"content": "[L]", "special": true, "lstrip": true},
		object{"content": "[R]", "special": true, "rstrip": true},
		object{"content": "[W]", "special": true, "single_word": true},
		object{"content": "e\u0301", "special": false, "normalized": true},
		object{"content": "[LL]", "special": true, "lstrip": true, "rstrip": true},
	)
	file["normalizer"] = object{"type": "NFC"}
	tok := build(t, file)
	for _, c := range []struct{ text, want string }{
		{"a \t[L] b", "a|[L]|Ġ|b"},
		{"a [R] \nb", "a|Ġ|[R]|b"},
		{"  [L][L]", "[L]|[L]"},
		{"[R] [L]", "[R]|[L]"},
		{"a[W]", "a|[|W|]"},
		{"a [W]b [W]", "a|Ġ|[|W|]|b|Ġ|[W]"},
		{"[W]-[W]", "[W]|-|[W]"},
		{"xé\u0301", "x|e\u0301|Ì|ģ"},
		{"xe\u0301y", "x|e\u0301|y"},
		{" [LL] ", "[LL]"},
		{"a[LL] [L] b", "a|[LL]|[L]|Ġ|b"},
	} {
		var got []string
		for _, id := range tok.Encode(nil, c.text, Special) {
			tk, _ := tok.Token(id)
			got = append(got, tk.Text)
		}
		if s := strings.Join(got, "|"); s != c.want {
			t.Errorf("%q: %s, want %s", c.text, s, c.want)
		}
	}
}

func TestLongestAddedTokenWins(t *testing.T) {
	t.Parallel()
	tok := build(t, byteLevelFile(nil,
		object{"content": "<a", "special": true}, object{"content": "<a b>", "special": true}, object{"content": "b>c", "special": true}))
	for _, c := range []struct{ text, want string }{{"<a b>c", "<a b>|c"}, {"<a b", "<a|Ġ|b"}, {"<<a>b>c", "<|<a|>|b>c"}} {
		var got []string
		for _, id := range tok.Encode(nil, c.text, Special) {
			tk, _ := tok.Token(id)
			got = append(got, tk.Text)
		}
		if s := strings.Join(got, "|"); s != c.want {
			t.Errorf("%q: %s, want %s", c.text, s, c.want)
		}
	}
}

// Spaces escaped by the pre-tokenizer, as newer SentencePiece files say it.
func TestMetaspace(t *testing.T) {
	t.Parallel()
	file := func(part object) object {
		vocab := object{"<s>": 0}
		for _, s := range []string{"▁", "h", "i", "m", "y", "▁h", "▁▁"} {
			vocab[s] = len(vocab)
		}
		part["type"], part["replacement"] = "Metaspace", "▁"
		return object{
			"added_tokens":  []object{{"id": 0, "content": "<s>", "special": true}},
			"pre_tokenizer": part,
			"decoder": object{"type": "Sequence", "decoders": []object{
				{"type": "Replace", "pattern": object{"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}}},
			"model": object{"type": "BPE", "vocab": vocab, "merges": []string{"▁ h", "▁ ▁"}},
		}
	}
	for _, c := range []struct {
		part object
		text string
		want string
	}{
		{object{"prepend_scheme": "first", "split": false}, "hi<s>hi", "▁h|i|<s>|h|i"},
		{object{"prepend_scheme": "first", "split": false}, "<s>hi my", "<s>|h|i|▁|m|y"},
		{object{"prepend_scheme": "first", "split": false}, " hi", "▁h|i"},
		{object{"prepend_scheme": "always", "split": false}, "hi<s>hi  m", "▁h|i|<s>|▁h|i|▁▁|m"},
		{object{"prepend_scheme": "always", "split": true}, "hi  m▁", "▁h|i|▁|▁|m|▁"},
		{object{"prepend_scheme": "never"}, "hi hi", "h|i|▁h|i"},
		{object{"add_prefix_space": false, "split": false}, "hi", "h|i"},
		{object{"add_prefix_space": true, "split": false}, "hi", "▁h|i"},
	} {
		tok := build(t, file(c.part))
		var got []string
		for _, id := range tok.Encode(nil, c.text, Special) {
			tk, _ := tok.Token(id)
			got = append(got, tk.Text)
		}
		if s := strings.Join(got, "|"); s != c.want {
			t.Errorf("%v %q: %s, want %s", c.part, c.text, s, c.want)
		}
	}
}
