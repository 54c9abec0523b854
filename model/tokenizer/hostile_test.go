package tokenizer

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
)

func TestHostileJSON(t *testing.T) {
	t.Parallel()
	model := func(f object) object { return f["model"].(object) }
	vocab := func(f object) object { return model(f)["vocab"].(object) }
	added := func(f object) []object { return f["added_tokens"].([]object) }
	split := func(pattern object, behavior string) object {
		return object{"type": "Split", "pattern": pattern, "behavior": behavior}
	}
	nested := func(key string, depth int) object {
		p := object{"type": "Sequence", key: []object{}}
		for range depth {
			p = object{"type": "Sequence", key: []object{p}}
		}
		return p
	}
	replace := func(from, to string) object {
		return object{"type": "Replace", "pattern": object{"String": from}, "content": to}
	}
	for name, c := range map[string]struct {
		change func(f object)
		want   error
		in     string // part of the message
	}{
		"no model":          {func(f object) { delete(f, "model") }, ErrUnsupported, "model.type"},
		"unigram":           {func(f object) { model(f)["type"] = "Unigram" }, ErrUnsupported, `"Unigram"`},
		"dropout":           {func(f object) { model(f)["dropout"] = 0.1 }, ErrUnsupported, "model.dropout"},
		"subword prefix":    {func(f object) { model(f)["continuing_subword_prefix"] = "##" }, ErrUnsupported, "continuing_subword_prefix"},
		"word suffix":       {func(f object) { model(f)["end_of_word_suffix"] = "</w>" }, ErrUnsupported, "end_of_word_suffix"},
		"vocab list":        {func(f object) { model(f)["vocab"] = []string{"a"} }, ErrFormat, "model.vocab"},
		"vocab null":        {func(f object) { model(f)["vocab"] = nil }, ErrFormat, "model.vocab"},
		"vocab empty":       {func(f object) { model(f)["vocab"] = object{}; model(f)["merges"] = []string{} }, ErrFormat, "no tokens"},
		"id text":           {func(f object) { vocab(f)["h"] = "7" }, ErrFormat, `"h"`},
		"id negative":       {func(f object) { vocab(f)["h"] = -1 }, ErrFormat, `"h"`},
		"id fraction":       {func(f object) { vocab(f)["h"] = 1.5 }, ErrFormat, `"h"`},
		"id exponent":       {func(f object) { vocab(f)["h"] = math.MaxFloat64 }, ErrFormat, `"h"`},
		"id far out":        {func(f object) { vocab(f)["h"] = 900_000_000 }, ErrFormat, "900000000"},
		"id twice":          {func(f object) { vocab(f)["zz"] = vocab(f)["h"] }, ErrFormat, "same id"},
		"long token":        {func(f object) { vocab(f)[strings.Repeat("x", 2000)] = 400 }, ErrLimit, "2000, limit 1024"},
		"merges object":     {func(f object) { model(f)["merges"] = object{} }, ErrFormat, "model.merges"},
		"merge of one":      {func(f object) { model(f)["merges"] = []any{"ab"} }, ErrFormat, "model.merges[0]"},
		"merge of three":    {func(f object) { model(f)["merges"] = []any{"a b c"} }, ErrFormat, "model.merges[0]"},
		"merge list of one": {func(f object) { model(f)["merges"] = []any{[]string{"a"}} }, ErrFormat, "model.merges[0]"},
		"merge list of 3":   {func(f object) { model(f)["merges"] = []any{[]string{"a", "b", "c"}} }, ErrFormat, "model.merges[0]"},
		"merge of numbers":  {func(f object) { model(f)["merges"] = []any{[]int{1, 2}} }, ErrFormat, "model.merges[0]"},
		"merge number":      {func(f object) { model(f)["merges"] = []any{5} }, ErrFormat, "model.merges[0]"},
		"merge empty part":  {func(f object) { model(f)["merges"] = []any{[]string{"", "a"}} }, ErrFormat, "empty part"},
		"merge absent left": {func(f object) { model(f)["merges"] = []any{"zz a"} }, ErrFormat, `"zz"`},
		"merge absent sum":  {func(f object) { model(f)["merges"] = []any{"h e", "z a"} }, ErrFormat, "model.merges[1]"},
		"unk absent":        {func(f object) { model(f)["unk_token"] = "<unk>" }, ErrFormat, "unk_token"},
		"added id taken":    {func(f object) { added(f)[0]["id"] = 5 }, ErrFormat, "added_tokens[0]"},
		"added id other":    {func(f object) { added(f)[0]["content"] = "h" }, ErrFormat, "added_tokens[0]"},
		"added id negative": {func(f object) { added(f)[0]["id"] = -5 }, ErrFormat, "added_tokens[0].id"},
		"added id far out":  {func(f object) { added(f)[0]["id"] = int64(1) << 40 }, ErrFormat, "added_tokens[0].id"},
		"added empty":       {func(f object) { added(f)[0]["content"] = "" }, ErrFormat, "added_tokens[0].content"},
		"added long":        {func(f object) { added(f)[0]["content"] = strings.Repeat("x", 2000) }, ErrLimit, "added_tokens[0]"},
		"added number":      {func(f object) { added(f)[0]["content"] = 5 }, ErrFormat, "added_tokens[0]"},
		"added object":      {func(f object) { f["added_tokens"] = object{} }, ErrFormat, "added_tokens"},
		"normalizer":        {func(f object) { f["normalizer"] = object{"type": "Lowercase"} }, ErrUnsupported, `"Lowercase"`},
		"normalizer regex": {func(f object) {
			f["normalizer"] = object{"type": "Replace", "pattern": object{"Regex": "x+"}, "content": "y"}
		}, ErrUnsupported, "normalizer.pattern.Regex"},
		"normalizer empty pattern": {func(f object) { f["normalizer"] = replace("", "y") }, ErrFormat, "normalizer.pattern"},
		"normalizer depth":         {func(f object) { f["normalizer"] = nested("normalizers", 20) }, ErrLimit, "limit 8"},
		"normalizer bomb": {func(f object) {
			f["normalizer"] = object{"type": "Sequence", "normalizers": []object{replace("a", "aaaa"), replace("a", "aaaa"), replace("a", "aaaa")}}
		}, ErrLimit, "growth"},
		"normalizer number":      {func(f object) { f["normalizer"] = 5 }, ErrFormat, "normalizer"},
		"pre-tokenizer":          {func(f object) { f["pre_tokenizer"] = object{"type": "Whitespace"} }, ErrUnsupported, `"Whitespace"`},
		"pre-tokenizer pattern":  {func(f object) { f["pre_tokenizer"] = split(object{"Regex": `\w+`}, "Isolated") }, ErrUnsupported, `\\w+`},
		"pre-tokenizer behavior": {func(f object) { f["pre_tokenizer"] = split(object{"Regex": patternQwen2}, "Removed") }, ErrUnsupported, "behavior"},
		"pre-tokenizer text":     {func(f object) { f["pre_tokenizer"] = split(object{"String": ""}, "Isolated") }, ErrFormat, "pattern.String"},
		"pre-tokenizer nothing":  {func(f object) { f["pre_tokenizer"] = split(object{}, "Isolated") }, ErrFormat, "pre_tokenizer.pattern"},
		"pre-tokenizer depth":    {func(f object) { f["pre_tokenizer"] = nested("pretokenizers", 20) }, ErrLimit, "limit 8"},
		"pre-tokenizer prefix":   {func(f object) { f["pre_tokenizer"] = object{"type": "ByteLevel"} }, ErrUnsupported, "add_prefix_space"},
		"decoder none":           {func(f object) { delete(f, "decoder") }, ErrUnsupported, "decoder"},
		"decoder":                {func(f object) { f["decoder"] = object{"type": "WordPiece"} }, ErrUnsupported, `"WordPiece"`},
		"decoder order": {func(f object) {
			f["decoder"] = object{"type": "Sequence", "decoders": []object{{"type": "Fuse"}, {"type": "ByteFallback"}}}
		}, ErrUnsupported, "decoder.decoders[1]"},
		"decoder strip": {func(f object) {
			f["decoder"] = object{"type": "Sequence", "decoders": []object{{"type": "Fuse"}, {"type": "Strip", "content": "x", "start": 1}}}
		}, ErrUnsupported, "decoder.decoders[1]"},
		"post-processor": {func(f object) { f["post_processor"] = object{"type": "Magic"} }, ErrUnsupported, `"Magic"`},
		"template absent": {func(f object) {
			f["post_processor"] = object{"type": "TemplateProcessing", "single": []object{{"SpecialToken": object{"id": "<s>"}}}}
		}, ErrFormat, "post_processor.single[0]"},
		"template id": {func(f object) {
			f["post_processor"] = object{
				"type":           "TemplateProcessing",
				"single":         []object{{"SpecialToken": object{"id": "<s>"}}, {"Sequence": object{"id": "A"}}},
				"special_tokens": object{"<s>": object{"ids": []int{99999}}},
			}
		}, ErrFormat, "id 99999"},
		"template of nothing": {func(f object) {
			f["post_processor"] = object{"type": "TemplateProcessing", "single": []object{}}
		}, ErrFormat, "no sequence"},
		"bert ids": {func(f object) {
			f["post_processor"] = object{"type": "BertProcessing", "cls": []any{"[CLS]", -3}, "sep": []any{"[SEP]", 1}}
		}, ErrFormat, "post_processor.cls"},
	} {
		f := smallFile()
		c.change(f)
		_, err := FromJSON(encode(t, f), nil)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.in) {
			t.Errorf("%s: %v, want %v naming %q", name, err, c.want, c.in)
		}
	}
}

func TestHostileBytes(t *testing.T) {
	t.Parallel()
	good := encode(t, smallFile())
	for name, b := range map[string][]byte{
		"nil": nil, "empty": {}, "null": []byte("null"), "list": []byte("[]"), "text": []byte(`"x"`),
		"cut": good[:len(good)-1], "cut early": good[:100], "tail": append(bytes.Clone(good), 'x'),
		"deep": []byte(strings.Repeat("[", 1<<20)), "twice": []byte(`{"model":{"type":"BPE","vocab":{"a":0,"a":1},"merges":[]}}`),
		"merge escape": []byte(`{"model":{"type":"BPE","vocab":{"a":0},"merges":["a\` + `ud800 b"]}}`),
	} {
		if _, err := FromJSON(b, nil); !errors.Is(err, ErrFormat) && !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]string{
		"list": `[]`, "number": `{"eos_token":5}`, "object": `{"eos_token":{"x":1}}`,
		"absent": `{"bos_token":"<nope>"}`, "flag": `{"add_bos_token":"yes"}`, "cut": `{"bos`,
	} {
		if _, err := FromJSON(good, []byte(c)); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "tokenizer_config.json") {
			t.Errorf("config %s: %v", name, err)
		}
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	good := encode(t, smallFile())
	for config, want := range map[string]struct {
		bos, eos string
		addBOS   bool
	}{
		`{}`: {"", "", false},
		`{"bos_token":"<|im_start|>","eos_token":{"content":"<|end|>"},"add_bos_token":true}`: {"<|im_start|>", "<|end|>", true},
		`{"bos_token":null,"eos_token":"hello"}`:                                              {"", "hello", false},
		`{"bos_token":"<think>","add_bos_token":false}`:                                       {"<think>", "", false},
	} {
		tok, err := FromJSON(good, []byte(config))
		if err != nil {
			t.Errorf("%s: %v", config, err)
			continue
		}
		name := func(id int32, ok bool) string {
			tk, _ := tok.Token(id)
			if ok != (tk.Text != "") || ok && !tok.IsControl(id) {
				t.Errorf("%s: id %d: %v %q, control %v", config, id, ok, tk.Text, tok.IsControl(id))
			}
			return tk.Text
		}
		bos, eos := name(tok.BOS()), name(tok.EOS())
		if bos != want.bos || eos != want.eos || tok.AddBOS() != want.addBOS || (len(tok.Template().Prefix) == 1) != want.addBOS {
			t.Errorf("%s: %q %q %v %v, want %+v", config, bos, eos, tok.AddBOS(), tok.Template(), want)
		}
	}
}

func TestHostileGGUF(t *testing.T) {
	t.Parallel()
	const n = 273
	for name, c := range map[string]struct {
		change map[string]any
		want   error
		in     string
	}{
		"no model":        {map[string]any{"model": nil}, ErrNone, "model"},
		"none":            {map[string]any{"model": "none"}, ErrNone, "none"},
		"other model":     {map[string]any{"model": "rwkv"}, ErrUnsupported, `"rwkv"`},
		"model type":      {map[string]any{"model": uint32(3)}, ErrFormat, "tokenizer.ggml.model"},
		"no pre":          {map[string]any{"pre": nil}, ErrUnsupported, "tokenizer.ggml.pre"},
		"unknown pre":     {map[string]any{"pre": "default"}, ErrUnsupported, `"default"`},
		"no tokens":       {map[string]any{"tokens": nil}, ErrFormat, "tokenizer.ggml.tokens"},
		"empty tokens":    {map[string]any{"tokens": []string{}, "token_type": []int32{}}, ErrFormat, "no tokens"},
		"tokens numbers":  {map[string]any{"tokens": []int32{1, 2}}, ErrFormat, "tokenizer.ggml.tokens"},
		"types short":     {map[string]any{"token_type": []int32{1, 1}}, ErrFormat, "2 types for 273 tokens"},
		"types strange":   {map[string]any{"token_type": append(make([]int32, n-1), 9)}, ErrFormat, "token_type[272]"},
		"no merges":       {map[string]any{"merges": nil}, ErrFormat, "tokenizer.ggml.merges"},
		"merge of one":    {map[string]any{"merges": []string{"ab"}}, ErrFormat, "merges[0]"},
		"merge no right":  {map[string]any{"merges": []string{"a "}}, ErrFormat, "merges[0]"},
		"merge empty":     {map[string]any{"merges": []string{""}}, ErrFormat, "merges[0]"},
		"eos out":         {map[string]any{"eos_token_id": uint32(n)}, ErrFormat, "273 is not in the vocabulary of 273"},
		"bos negative":    {map[string]any{"bos_token_id": int32(-2)}, ErrFormat, "bos_token_id"},
		"eot text":        {map[string]any{"eot_token_id": "x"}, ErrFormat, "eot_token_id"},
		"add_bos number":  {map[string]any{"add_bos_token": uint32(1)}, ErrFormat, "add_bos_token"},
		"no scores":       {map[string]any{"model": "llama"}, ErrFormat, "scores"},
		"scores short":    {map[string]any{"model": "llama", "scores": []float32{1}}, ErrFormat, "1 scores for 273 tokens"},
		"score not a num": {map[string]any{"model": "llama", "scores": append(make([]float32, n-1), float32(math.NaN()))}, ErrFormat, "scores[272]"},
	} {
		file := smallGGUF("qwen2")
		for k, v := range c.change {
			file[k] = v
		}
		_, err := FromGGUF(ggufFile(t, file))
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.in) {
			t.Errorf("%s: %v, want %v naming %q", name, err, c.want, c.in)
		}
	}
}

// A small file cannot ask for much memory.
func TestMemoryStaysBounded(t *testing.T) {
	var m0, m1 runtime.MemStats
	for name, b := range map[string][]byte{
		"far id":       []byte(`{"model":{"type":"BPE","vocab":{"a":1048575},"merges":[]}}`),
		"many ids":     []byte(`{"model":{"type":"BPE","vocab":{"a":65537},"merges":[]},"decoder":{"type":"ByteLevel"}}`),
		"added":        []byte(`{"added_tokens":[` + strings.Repeat(`{},`, 50000) + `{}],"model":{"type":"BPE","vocab":{"a":0},"merges":[]}}`),
		"many parts":   []byte(`{"normalizer":{"type":"Sequence","normalizers":[` + strings.Repeat("0,", 50000) + `0]},"model":{"type":"BPE","vocab":{"a":0},"merges":[]}}`),
		"many decoder": []byte(`{"decoder":{"type":"Sequence","decoders":[` + strings.Repeat("0,", 50000) + `0]},"model":{"type":"BPE","vocab":{"a":0},"merges":[]}}`),
	} {
		runtime.ReadMemStats(&m0)
		_, err := FromJSON(b, nil)
		runtime.ReadMemStats(&m1)
		if got, limit := m1.TotalAlloc-m0.TotalAlloc, uint64(8<<20+200*len(b)); got > limit {
			t.Errorf("%s: %d bytes for a file of %d, limit %d (%v)", name, got, len(b), limit, err)
		}
	}
}
