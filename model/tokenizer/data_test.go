package tokenizer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/hotpath-go/hotpath/internal/testdata"
)

// vocabularies are the published tokenizers of the data folder by the name of their cases.
var vocabularies = map[string]struct{ json, config string }{
	"llama2_sp":   {"tokenizers/llama2/tokenizer.json.gz", ""},
	"mistral_v01": {"tokenizers/mistral_v01/tokenizer.json.gz", "tokenizers/mistral_v01/tokenizer_config.json.gz"},
	"stories260K": {"weights/stories260K/tokenizer.json", "weights/stories260K/tokenizer_config.json"},
	"qwen3":       {"tokenizers/qwen3/tokenizer.json.gz", "tokenizers/qwen3/tokenizer_config.json.gz"},
	"llama3":      {"tokenizers/llama3/tokenizer.json.gz", "tokenizers/llama3/tokenizer_config.json.gz"},
	"gpt4o":       {"tokenizers/gpt4o/tokenizer.json.gz", "tokenizers/gpt4o/tokenizer_config.json.gz"},
	"gemma3":      {"tokenizers/gemma3/tokenizer.json.gz", "tokenizers/gemma3/tokenizer_config.json.gz"},
}

var loaded sync.Map // name to func() (*Tokenizer, error)

// load returns a published tokenizer, read once per test run.
func load(t testing.TB, name string) *Tokenizer {
	t.Helper()
	v := vocabularies[name]
	testdata.Path(t, v.json)
	once, _ := loaded.LoadOrStore(name, sync.OnceValues(func() (*Tokenizer, error) {
		var config []byte
		if v.config != "" {
			config = testdata.Read(t, v.config)
		}
		return FromJSON(testdata.Read(t, v.json), config)
	}))
	tok, err := once.(func() (*Tokenizer, error))()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return tok
}

type caseFile struct {
	Cases []struct {
		Tag, Text         string
		IDs               []int32
		IDsWithSpecial    []int32 `json:"ids_with_special"`
		Decoded           string
		DecodedNoSpecials string `json:"decoded_skip_special"`
	}
	Streams []struct {
		Text          string
		IDs           []int32
		PrefixDecoded []string `json:"prefix_decoded"`
		SingleDecoded []string `json:"single_decoded"`
	}
}

func readCases(t testing.TB, name string) caseFile {
	t.Helper()
	var f caseFile
	if err := json.Unmarshal(testdata.Read(t, "tokenizer-cases/"+name+".json"), &f); err != nil {
		t.Fatal(err)
	}
	if len(f.Cases) < 299 || len(f.Streams) < 3 {
		t.Fatalf("%s: %d cases, %d streams", name, len(f.Cases), len(f.Streams))
	}
	return f
}

// checkCases compares ids, decoded texts and decoded prefixes with another implementation's.
func checkCases(t *testing.T, tok *Tokenizer, f caseFile) {
	t.Helper()
	for i, c := range f.Cases {
		ids := tok.Encode(nil, c.Text, Special)
		if !slices.Equal(ids, c.IDs) {
			t.Errorf("case %d (%s) %.80q:\n got %v\nwant %v", i, c.Tag, c.Text, head(ids), head(c.IDs))
		}
		tpl := tok.Template()
		if full := slices.Concat(tpl.Prefix, ids, tpl.Suffix); !slices.Equal(full, c.IDsWithSpecial) {
			t.Errorf("case %d (%s) %.80q with template:\n got %v\nwant %v", i, c.Tag, c.Text, head(full), head(c.IDsWithSpecial))
		}
		if got := tok.Decode(c.IDs, false); got != c.Decoded {
			t.Errorf("case %d (%s): decoded %.80q, want %.80q", i, c.Tag, got, c.Decoded)
		}
		if got := tok.Decode(c.IDsWithSpecial, true); got != c.DecodedNoSpecials {
			t.Errorf("case %d (%s): decoded without specials %.80q, want %.80q", i, c.Tag, got, c.DecodedNoSpecials)
		}
		if got := streamed(tok, c.IDs, false); got != c.Decoded {
			t.Errorf("case %d (%s): streamed %.80q, want %.80q", i, c.Tag, got, c.Decoded)
		}
	}
	for i, s := range f.Streams {
		if ids := tok.Encode(nil, s.Text, Special); !slices.Equal(ids, s.IDs) {
			t.Errorf("stream %d: ids %v, want %v", i, ids, s.IDs)
		}
		for j := range s.IDs {
			if got := tok.Decode(s.IDs[:j+1], false); got != s.PrefixDecoded[j] {
				t.Errorf("stream %d: first %d ids decode to %q, want %q", i, j+1, got, s.PrefixDecoded[j])
			}
			if got := streamed(tok, s.IDs[:j+1], false); got != s.PrefixDecoded[j] {
				t.Errorf("stream %d: first %d ids stream %q, want %q", i, j+1, got, s.PrefixDecoded[j])
			}
			if got := tok.Decode(s.IDs[j:j+1], false); got != s.SingleDecoded[j] {
				t.Errorf("stream %d: id %d decodes to %q, want %q", i, j, got, s.SingleDecoded[j])
			}
		}
	}
}

func head(ids []int32) []int32 { return ids[:min(len(ids), 60)] }

func streamed(tok *Tokenizer, ids []int32, skip bool) string {
	s := tok.NewStream(skip)
	var b strings.Builder
	for _, id := range ids {
		b.WriteString(s.Push(id))
	}
	b.WriteString(s.Flush())
	return b.String()
}

func TestPublishedCases(t *testing.T) {
	t.Parallel()
	for name := range vocabularies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkCases(t, load(t, name), readCases(t, name))
		})
	}
}

// llama.cpp's vocabulary cases, by the tokenizer here that has the same vocabulary.
func TestLlamaCppCases(t *testing.T) {
	t.Parallel()
	for suite, name := range map[string]string{
		"llama-bpe": "llama3", "qwen2": "qwen3", "llama-spm": "llama2_sp", "phi-3": "llama2_sp",
	} {
		t.Run(suite, func(t *testing.T) {
			t.Parallel()
			checkLlamaCpp(t, load(t, name), suite)
		})
	}
}

func checkLlamaCpp(t *testing.T, tok *Tokenizer, suite string) {
	t.Helper()
	dir := testdata.Path(t, "suites/llama.cpp-vocab")
	in, err := os.ReadFile(filepath.Join(dir, "ggml-vocab-"+suite+".gguf.inp"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.ReadFile(filepath.Join(dir, "ggml-vocab-"+suite+".gguf.out"))
	if err != nil {
		t.Fatal(err)
	}
	texts := strings.Split(string(in), "\n__ggml_vocab_test__\n")
	lines := strings.Split(string(out), "\n")
	if len(texts) != 47 || len(lines) != 47 {
		t.Fatalf("%d texts and %d lines of ids, want 47", len(texts), len(lines))
	}
	for i, text := range texts {
		var want []int32
		for _, f := range strings.Fields(lines[i]) {
			id, err := strconv.Atoi(f)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, int32(id))
		}
		if got := tok.Encode(nil, text, Special); !slices.Equal(got, want) {
			t.Errorf("%q:\n got %v\nwant %v", text, got, want)
		}
	}
}

// sourceFiles returns the text of this package's own files, as code to encode.
func sourceFiles(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	return out
}
