package tokenizer

import (
	"testing"

	"github.com/hotpath-go/hotpath/internal/testdata"
	"github.com/hotpath-go/hotpath/model/gguf"
)

func loadGGUF(t testing.TB, rel string) *Tokenizer {
	t.Helper()
	f, err := gguf.Parse(testdata.Read(t, rel))
	if err != nil {
		t.Fatal(err)
	}
	tok, err := FromGGUF(f.Meta())
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// A GGUF file gives the same ids as the same model's tokenizer.json.
func TestGGUFCases(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, cases string }{
		{"gguf-vocab/qwen3-vocab.gguf.gz", "qwen3"},
		{"gguf-vocab/llama2-spm-vocab.gguf.gz", "llama2_sp"},
		{"weights/stories260K/stories260K.f32.gguf", "stories260K"},
		{"weights/stories260K/stories260K.f16.gguf", "stories260K"},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			tok := loadGGUF(t, c.file)
			checkCases(t, tok, readCases(t, c.cases))
			switch c.cases {
			case "qwen3":
				checkLlamaCpp(t, tok, "qwen2")
			case "llama2_sp":
				checkLlamaCpp(t, tok, "llama-spm")
			}
		})
	}
}
