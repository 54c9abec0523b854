package parse

import (
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/model/chat"
)

func BenchmarkParse(b *testing.B) {
	text := "<think>\n" + strings.Repeat("The user wants the weather, so I look it up. ", 50) + "\n</think>\n\n" +
		strings.Repeat("Here is what I found: x < y, and so on. ", 50) +
		"<tool_call>\n{\"name\": \"run_shell\", \"arguments\": {\"cmd\": \"" + strings.Repeat("echo hello; ", 100) + "\"}}\n</tool_call>"
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		p, err := New(Qwen3, Options{Tools: []chat.Tool{shell}})
		if err != nil {
			b.Fatal(err)
		}
		for i := 0; i < len(text); i += 4 { // about a token
			p.Push(text[i:min(i+4, len(text))])
		}
		p.Flush()
	}
}
