package gguf_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/hotpath-go/hotpath/internal/testdata"
	"github.com/hotpath-go/hotpath/model/gguf"
	"github.com/hotpath-go/hotpath/quant"
)

// TestRealFiles reads files of other writers: that their last tensor ends where the file does shows
// that the sizes of the formats and the start of the data section are right.
func TestRealFiles(t *testing.T) {
	t.Parallel()
	dir := testdata.Dir(t)
	formats := make(map[quant.Format]int)
	for _, pattern := range []string{"tiny/models/*", "gguf-vocab/*", "weights/*/*.gguf"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(paths), err)
		}
		for _, path := range paths {
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				t.Fatal(err)
			}
			b := testdata.Read(t, filepath.ToSlash(rel))
			f, err := gguf.Parse(b)
			if err != nil {
				t.Errorf("%s: %v", rel, err)
				continue
			}
			r := f.Meta().Fields()
			arch := r.Text("general.architecture")
			if r.Err() != nil || f.Version() != 3 {
				t.Errorf("%s: version %d, %v", rel, f.Version(), r.Err())
			}
			if pattern == "gguf-vocab/*" {
				if _, err := f.Need("token_embd.weight"); err == nil || len(f.Tensors()) != 0 {
					t.Errorf("%s: %d tensors, %v", rel, len(f.Tensors()), err)
				}
				continue
			}
			embd, err := f.Need("token_embd.weight", r.Int(arch+".embedding_length"), r.Int(arch+".vocab_size"))
			if err != nil || r.Err() != nil {
				t.Errorf("%s: %v, %v", rel, err, r.Err())
			}
			if embd.Rows != 512 {
				t.Errorf("%s: %d rows of embeddings", rel, embd.Rows)
			}
			end := 0
			for _, x := range f.Tensors() {
				formats[x.Format]++
				end = max(end, offset(b, x.Data)+len(x.Data))
			}
			if end > len(b) || len(b)-end >= 32 {
				t.Errorf("%s: tensors end at %d of %d", rel, end, len(b))
			}
		}
	}
	for _, want := range []quant.Format{quant.F32, quant.F16, quant.BF16, quant.Q8_0, quant.Q4_0, quant.Q4_K, quant.Q6_K,
		quant.Q2_K, quant.Q3_K, quant.Q5_K, quant.IQ4_XS, quant.IQ4_NL, quant.MXFP4, quant.NVFP4, quant.Q4_1, quant.Q5_0, quant.Q5_1} {
		if formats[want] == 0 {
			t.Errorf("no tensor in %v was read", want)
		}
	}
}

// offset returns where in whole its subslice view starts.
func offset(whole, view []byte) int {
	return int(uintptr(unsafe.Pointer(&view[0])) - uintptr(unsafe.Pointer(&whole[0])))
}

// TestVocabulary compares the texts with the vocabulary that the same tokenizer has elsewhere.
func TestVocabulary(t *testing.T) {
	t.Parallel()
	f, err := gguf.Open(testdata.Unpacked(t, "gguf-vocab/qwen3-vocab.gguf.gz"))
	if err != nil {
		t.Fatal(err)
	}
	r := f.Meta().Fields()
	tokens, merges := r.Strings("tokenizer.ggml.tokens"), r.Strings("tokenizer.ggml.merges")
	types := r.Int32s("tokenizer.ggml.token_type")
	if err := f.Close(); err != nil || r.Err() != nil {
		t.Fatal(err, r.Err())
	}
	var want struct {
		Model struct {
			Vocab  map[string]int
			Merges []json.RawMessage
		}
	}
	if err := json.Unmarshal(testdata.Read(t, "tokenizers/qwen3/tokenizer.json.gz"), &want); err != nil {
		t.Fatal(err)
	}
	for text, id := range want.Model.Vocab {
		if tokens[id] != text {
			t.Fatalf("token %d is %q, want %q", id, tokens[id], text)
		}
	}
	if len(want.Model.Vocab) < 100_000 || len(types) != len(tokens) || len(merges) != len(want.Model.Merges) {
		t.Errorf("%d of %d tokens compared, %d types, %d merges of %d", len(want.Model.Vocab), len(tokens), len(types), len(merges), len(want.Model.Merges))
	}
	for i, m := range merges {
		var pair [2]string
		text := ""
		if json.Unmarshal(want.Model.Merges[i], &pair) == nil {
			text = strings.Join(pair[:], " ")
		} else if err := json.Unmarshal(want.Model.Merges[i], &text); err != nil {
			t.Fatal(err)
		}
		if m != text {
			t.Fatalf("merge %d is %q, want %q", i, m, text)
		}
	}
}

func BenchmarkOpenVocabulary(b *testing.B) {
	path := testdata.Unpacked(b, "gguf-vocab/qwen3-vocab.gguf.gz")
	for b.Loop() {
		f, err := gguf.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}

func BenchmarkDecodeVocabulary(b *testing.B) {
	f, err := gguf.Open(testdata.Unpacked(b, "gguf-vocab/qwen3-vocab.gguf.gz"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for b.Loop() {
		if _, err := f.Meta().Get("tokenizer.ggml.tokens").Strings(); err != nil {
			b.Fatal(err)
		}
	}
}
