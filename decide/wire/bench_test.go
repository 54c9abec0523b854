package wire_test

import (
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/decide/wire"
)

// BenchmarkDecodeRequest reads bodies of a long text, and of a state with very many small values.
func BenchmarkDecodeRequest(b *testing.B) {
	d := wire.VLLM()
	for _, c := range []struct{ name, state string }{
		{"text", `"` + strings.Repeat("the quick brown fox ", 2500) + `"`},
		{"values", `[` + strings.Repeat(`{"a":1,"b":[2,3]},`, 2500) + `0]`},
	} {
		b.Run(c.name, func(b *testing.B) {
			body := []byte(`{"state":` + c.state + `,"questions":{"q":{"type":"noul","instructions":"i"}}}`)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := d.DecodeRequest(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
