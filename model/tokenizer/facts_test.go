package tokenizer

import (
	"slices"
	"testing"

	"github.com/hotpath-go/hotpath/internal/ggufbuild"
	"github.com/hotpath-go/hotpath/model/gguf"
)

// What the published files say about their tokens.
func TestPublishedFacts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		size     int
		bos, eos int32 // -1: none
		addBOS   bool
		eog      []int32
		kinds    map[string]Kind
	}{
		{"llama2_sp", 32000, 1, 2, true, []int32{2}, map[string]Kind{"<unk>": Unknown, "<s>": Control, "<0x0A>": Byte, "▁the": Normal}},
		{"mistral_v01", 32000, 1, 2, true, []int32{2}, nil},
		{"stories260K", 512, 1, 2, true, []int32{2}, nil},
		{"qwen3", 151669, -1, 151645, false, []int32{151643, 151645}, map[string]Kind{"<think>": UserDefined, "<|im_end|>": Control, "Ġthe": Normal}},
		{"llama3", 128256, 128000, 128001, false, []int32{128001, 128009}, map[string]Kind{"<|eot_id|>": Control}},
		{"gpt4o", 200019, 199999, 199999, false, []int32{199999}, nil},
		{"gemma3", 262145, 2, 106, true, []int32{1, 106}, map[string]Kind{"</s>": UserDefined, "<end_of_turn>": Control}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tok := load(t, c.name)
			if tok.Size() != c.size {
				t.Errorf("size %d, want %d", tok.Size(), c.size)
			}
			if id, ok := tok.BOS(); id != c.bos || ok != (c.bos >= 0) {
				t.Errorf("BOS %d %v, want %d", id, ok, c.bos)
			}
			if id, ok := tok.EOS(); id != c.eos || ok != (c.eos >= 0) {
				t.Errorf("EOS %d %v, want %d", id, ok, c.eos)
			}
			if tok.AddBOS() != c.addBOS || tok.AddEOS() {
				t.Errorf("add BOS %v, EOS %v, want %v, false", tok.AddBOS(), tok.AddEOS(), c.addBOS)
			}
			if got := tok.EOG(); !slices.Equal(got, c.eog) {
				t.Errorf("EOG %v, want %v", got, c.eog)
			}
			for text, kind := range c.kinds {
				id, ok := tok.ID(text)
				tk, _ := tok.Token(id)
				if !ok || tk.Text != text || tk.Kind != kind {
					t.Errorf("%q: %v %+v, want kind %v", text, ok, tk, kind)
				}
			}
		})
	}
	// The hole that gpt4o leaves.
	if tk, ok := load(t, "gpt4o").Token(200000); ok {
		t.Errorf("token 200000 exists: %+v", tk)
	}
}

func TestTokenBytes(t *testing.T) {
	t.Parallel()
	tok := build(t, smallFile())
	for text, want := range map[string]string{"Ġwor": " wor", "Ċ": "\n", "<think>": "<think>", "Ã": "\xc3"} {
		id, _ := tok.ID(text)
		if tk, ok := tok.Token(id); !ok || string(tk.Bytes) != want {
			t.Errorf("%q: bytes %q, want %q", text, tk.Bytes, want)
		}
	}
	spm := stories(t)
	for text, want := range map[string]string{"▁": " ", "<0xE2>": "\xe2"} {
		id, _ := spm.ID(text)
		if tk, ok := spm.Token(id); !ok || string(tk.Bytes) != want {
			t.Errorf("%q: bytes %q, want %q", text, tk.Bytes, want)
		}
	}
}

// What callers change in returned slices stays with them.
func TestResultsAreCopies(t *testing.T) {
	t.Parallel()
	tok := stories(t)
	tok.EOG()[0] = 99
	tok.Template().Prefix[0] = 99
	tk, _ := tok.Token(5)
	tk.Bytes[0] = 'X'
	again, _ := tok.Token(5)
	if tok.EOG()[0] == 99 || tok.Template().Prefix[0] == 99 || again.Bytes[0] == 'X' {
		t.Error("the tokenizer changed")
	}
}

func TestHash(t *testing.T) {
	t.Parallel()
	hash := func(change func(f, model object)) [32]byte {
		f := smallFile()
		change(f, f["model"].(object))
		return build(t, f).Hash()
	}
	same := func(f, m object) {}
	base := hash(same)
	if hash(same) != base {
		t.Error("equal files, other hash")
	}
	for name, change := range map[string]func(f, m object){
		"merge order": func(f, m object) {
			l := slices.Clone(m["merges"].([][2]string))
			l[0], l[1] = l[1], l[0]
			m["merges"] = l
		},
		"fewer merges":  func(f, m object) { m["merges"] = m["merges"].([][2]string)[:5] },
		"ignore_merges": func(f, m object) { m["ignore_merges"] = true },
		"normalizer":    func(f, m object) { f["normalizer"] = object{"type": "NFC"} },
		"special":       func(f, m object) { f["added_tokens"].([]object)[2]["special"] = true },
		"lstrip":        func(f, m object) { f["added_tokens"].([]object)[2]["lstrip"] = true },
		"pattern": func(f, m object) {
			f["pre_tokenizer"] = object{"type": "ByteLevel", "add_prefix_space": false}
		},
	} {
		if hash(change) == base {
			t.Errorf("%s: same hash", name)
		}
	}
}

// ggufFile makes metadata from pairs, with defaults for a small byte-level vocabulary.
func ggufFile(t testing.TB, pairs map[string]any) *gguf.Metadata {
	t.Helper()
	var f ggufbuild.File
	for k, v := range pairs {
		if v != nil {
			f.Pairs = append(f.Pairs, ggufbuild.Pair{Key: prefixGGUF + k, Value: v})
		}
	}
	g, err := gguf.Parse(f.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return g.Meta()
}

// smallGGUF is smallFile as metadata of a GGUF file.
func smallGGUF(pre string) map[string]any {
	var tokens []string
	var types []int32
	for _, r := range byteRunes() {
		tokens, types = append(tokens, string(r)), append(types, 1)
	}
	var merges []string
	for _, m := range smallMerges {
		tokens, types = append(tokens, m[0]+m[1]), append(types, 1)
		merges = append(merges, m[0]+" "+m[1])
	}
	for _, a := range []struct {
		text string
		kind int32
	}{{"<|end|>", 3}, {"<|im_start|>", 3}, {"<think>", 4}, {"<b>", 4}, {"<|", 4}} {
		tokens, types = append(tokens, a.text), append(types, a.kind)
	}
	return map[string]any{"model": "gpt2", "pre": pre, "tokens": tokens, "token_type": types, "merges": merges}
}

func TestGGUFEqualsJSON(t *testing.T) {
	t.Parallel()
	a := build(t, smallFile())
	b, err := FromGGUF(ggufFile(t, smallGGUF("qwen2")))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"hello wor ab12", "<|end|> <think><b><|x", "e\u0301 \n\n  hi"} {
		for _, mode := range []Mode{Text, Special} {
			// The JSON form of this test has no NFC.
			text := string(appendNFC(nil, text))
			if x, y := a.Encode(nil, text, mode), b.Encode(nil, text, mode); !slices.Equal(x, y) {
				t.Errorf("%q mode %d: JSON %v, GGUF %v", text, mode, x, y)
			}
		}
	}
}

func TestGGUFEnds(t *testing.T) {
	t.Parallel()
	file := smallGGUF("llama-bpe")
	tokens := file["tokens"].([]string)
	id := func(text string) uint32 { return uint32(slices.Index(tokens, text)) }
	file["bos_token_id"] = id("<|im_start|>")
	file["eos_token_id"] = id("hello") // a plain token that the file declares the end
	file["eot_token_id"] = id("<|end|>")
	file["add_eos_token"] = true
	tok, err := FromGGUF(ggufFile(t, file))
	if err != nil {
		t.Fatal(err)
	}
	if bos, ok := tok.BOS(); !ok || bos != int32(id("<|im_start|>")) || !tok.AddBOS() {
		t.Errorf("BOS %d %v, added %v", bos, ok, tok.AddBOS())
	}
	want := Template{[]int32{int32(id("<|im_start|>"))}, []int32{int32(id("hello"))}}
	if tpl := tok.Template(); !slices.Equal(tpl.Prefix, want.Prefix) || !slices.Equal(tpl.Suffix, want.Suffix) {
		t.Errorf("template %v, want %v", tpl, want)
	}
	if got, want := tok.EOG(), []int32{int32(id("hello")), int32(id("<|end|>"))}; !slices.Equal(got, want) {
		t.Errorf("EOG %v, want %v", got, want)
	}
	if ids := tok.Encode(nil, "hello", Text); slices.ContainsFunc(ids, tok.IsControl) {
		t.Errorf("text became the end token: %v", ids)
	}
}

func TestGemma4(t *testing.T) {
	t.Parallel()
	tokens := []string{"<pad>", "<eos>", "<bos>", "<unk>", "<turn|>"}
	types := []int32{3, 3, 3, 2, 3}
	for b := range 256 {
		tokens, types = append(tokens, byteTokenName(byte(b))), append(types, 6)
	}
	first := len(tokens)
	for _, s := range []string{"▁", "a", "b", "\n", "ab", "▁ab", "\n\n\n", "▁▁", "a"} {
		tokens, types = append(tokens, s), append(types, 1)
	}
	tok, err := FromGGUF(ggufFile(t, map[string]any{
		"model": "gemma4", "tokens": tokens, "token_type": types,
		"merges":       []string{"▁ ▁", "a b", "▁ ab"},
		"bos_token_id": uint32(2), "eos_token_id": uint32(1), "unknown_token_id": uint32(3), "add_bos_token": false,
	}))
	if err != nil {
		t.Fatal(err)
	}
	id := func(s string) int32 {
		i, ok := tok.ID(s)
		if !ok {
			t.Fatalf("no %q", s)
		}
		return i
	}
	if id("a") != int32(first+8) {
		t.Errorf("a text given twice has id %d, want the later %d", id("a"), first+8)
	}
	for text, want := range map[string][]int32{
		" ab":      {id("▁ab")},
		"ab ab":    {id("ab"), id("▁ab")},
		"ab\n\n\n": {id("ab"), id("\n\n\n")}, // whole, although no merge makes it
		"\n\n":     {id("\n"), id("\n")},
		"é":        {id("<0xC3>"), id("<0xA9>")},
		"<turn|>":  {id("<turn|>")},
	} {
		if got := tok.Encode(nil, text, Special); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
		if got := tok.Decode(want, false); got != text {
			t.Errorf("%q decodes to %q", text, got)
		}
	}
	if !tok.AddBOS() || !slices.Equal(tok.EOG(), []int32{1, 4}) {
		t.Errorf("add BOS %v, EOG %v", tok.AddBOS(), tok.EOG())
	}
}

// Pieces whose characters are no tokens themselves still form, and fall back to bytes when alone.
func TestScoresWithAbsentCharacters(t *testing.T) {
	t.Parallel()
	tokens, types, scores := []string{"<unk>"}, []int32{2}, []float32{0}
	for b := range 256 {
		tokens, types, scores = append(tokens, byteTokenName(byte(b))), append(types, 6), append(scores, 0)
	}
	for i, s := range []string{"▁", "né", "a", "▁né", "aa", "aaa"} {
		tokens, types, scores = append(tokens, s), append(types, 1), append(scores, -float32(i))
	}
	tok, err := FromGGUF(ggufFile(t, map[string]any{
		"model": "llama", "tokens": tokens, "token_type": types, "scores": scores, "unknown_token_id": uint32(0),
		"add_space_prefix": false,
	}))
	if err != nil {
		t.Fatal(err)
	}
	id := func(s string) int32 { i, _ := tok.ID(s); return i }
	for text, want := range map[string][]int32{
		" né":  {id("▁né")},
		"né":   {id("né")},
		"n":    {id("<0x6E>")},
		"aé":   {id("a"), id("<0xC3>"), id("<0xA9>")},
		"aaaa": {id("aa"), id("aa")},
	} {
		if got := tok.Encode(nil, text, Text); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestEveryPreNameLoads(t *testing.T) {
	t.Parallel()
	for _, pre := range []string{
		"llama3", "llama-v3", "llama-bpe", "lfm2", "falcon3", "dbrx", "smaug-bpe", "glm4", "chatglm-bpe", "qwen2", "stablelm2",
		"hunyuan", "deepseek-r1-qwen", "qwen35", "gpt-4o", "llama4", "tekken", "deepseek-v3", "gpt2", "gpt-2", "phi-2", "mpt", "olmo", "modern-bert",
		"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minicpm5", "falcon-h1", "pixtral", "midm-2.0",
	} {
		tok, err := FromGGUF(ggufFile(t, smallGGUF(pre)))
		if err != nil {
			t.Errorf("%s: %v", pre, err)
			continue
		}
		const text = "hello wor 123 it's 日本 \n x"
		if got := tok.Decode(tok.Encode(nil, text, Text), false); got != text {
			t.Errorf("%s: %q came back as %q", pre, text, got)
		}
	}
}

// Some files carry rules whose tokens were cut from the vocabulary; no text can apply them.
func TestGGUFMergesOfAbsentTokens(t *testing.T) {
	t.Parallel()
	file := smallGGUF("qwen2")
	file["merges"] = append([]string{"z z", "zz z", "h ello"}, file["merges"].([]string)...)
	tok, err := FromGGUF(ggufFile(t, file))
	if err != nil {
		t.Fatal(err)
	}
	z, _ := tok.ID("z")
	hello, _ := tok.ID("hello")
	if got := tok.Encode(nil, "zzzhello", Text); !slices.Equal(got, []int32{z, z, z, hello}) {
		t.Errorf("got %v", got)
	}
}

func TestTinyModelsLoad(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"llama-gqa8-f32", "gemma4-f32"} {
		loadGGUF(t, "tiny/models/"+name+".gguf.gz")
	}
}

// A text given twice: the end token may be the earlier one, the text still stands for the later.
func TestProtectedTwin(t *testing.T) {
	t.Parallel()
	file := smallGGUF("qwen2")
	tokens := append(file["tokens"].([]string), "hello")
	file["tokens"], file["token_type"] = tokens, append(file["token_type"].([]int32), 1)
	first, last := slices.Index(tokens, "hello"), len(tokens)-1
	file["eos_token_id"] = uint32(first)
	tok, err := FromGGUF(ggufFile(t, file))
	if err != nil {
		t.Fatal(err)
	}
	if id, _ := tok.ID("hello"); id != int32(last) {
		t.Errorf("hello has id %d, want %d", id, last)
	}
	if got := tok.Encode(nil, "hello", Text); !slices.Equal(got, []int32{int32(last)}) || !tok.IsControl(int32(first)) {
		t.Errorf("%v, control %v", got, tok.IsControl(int32(first)))
	}
}
