package tokenizer

import (
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/internal/testdata"
)

// benchTexts are about 1 MB each of English messages and of Go code.
func benchTexts(b *testing.B) map[string]string {
	b.Helper()
	var code strings.Builder
	for _, f := range sourceFiles(b) {
		code.WriteString(f)
	}
	return map[string]string{
		"prose": grow(string(testdata.Read(b, "decisions/banking77_train.jsonl.gz"))),
		"code":  grow(code.String()),
	}
}

func grow(s string) string {
	const size = 1 << 20
	return strings.Repeat(s, size/len(s)+1)[:size]
}

func BenchmarkEncode(b *testing.B) {
	texts := benchTexts(b)
	for _, name := range []string{"qwen3", "llama3", "gpt4o", "llama2_sp", "gemma3"} {
		for _, kind := range []string{"prose", "code"} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				tok := load(b, name)
				text := texts[kind]
				ids := tok.Encode(nil, text, Text)
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					ids = tok.Encode(ids[:0], text, Text)
				}
				b.ReportMetric(float64(len(ids)), "ids")
			})
		}
	}
}

func BenchmarkEncodeLongWord(b *testing.B) {
	for _, name := range []string{"qwen3", "llama2_sp"} {
		b.Run(name, func(b *testing.B) {
			tok := load(b, name)
			text := strings.Repeat("abcdefghij", 1<<20/10)
			ids := tok.Encode(nil, text, Text)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				ids = tok.Encode(ids[:0], text, Text)
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	text := benchTexts(b)["prose"]
	for _, name := range []string{"qwen3", "llama2_sp"} {
		tok := load(b, name)
		ids := tok.Encode(nil, text, Text)
		b.Run(name+"/whole", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				tok.Decode(ids, false)
			}
		})
		b.Run(name+"/stream", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				s := tok.NewStream(false)
				for _, id := range ids {
					s.Push(id)
				}
				s.Flush()
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, name := range []string{"qwen3", "llama2_sp", "gemma3"} {
		b.Run(name, func(b *testing.B) {
			raw := testdata.Read(b, vocabularies[name].json)
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := FromJSON(raw, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
