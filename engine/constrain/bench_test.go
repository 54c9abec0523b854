package constrain

import (
	"math/rand/v2"
	"testing"

	"github.com/hotpath-go/hotpath/model/chat/parse"
)

// BenchmarkMask measures masks along texts of a typical schema after a first pass, at the size
// of a real vocabulary.
func BenchmarkMask(b *testing.B) {
	c, err := NewCompiler(qwenVocab(b), Options{})
	if err != nil {
		b.Fatal(err)
	}
	json := func(schema string) Spec { return JSONSchema([]byte(schema), WhitespaceSpaces) }
	for _, bench := range []struct {
		name string
		spec Spec
	}{
		{"object", json(walkSchemas[0])}, {"tree", json(walkSchemas[6])}, {"any", json(walkSchemas[2])}, {"pattern", json(walkSchemas[11])},
		{"arguments/text", argumentsOf(parse.Qwen3Coder, []byte(argumentSchemas[0]))},
		{"arguments/python", argumentsOf(parse.LFM2, []byte(argumentSchemas[0]))},
		{"arguments/marked", argumentsOf(parse.Gemma, []byte(argumentSchemas[0]))},
	} {
		b.Run(bench.name, func(b *testing.B) {
			g, err := c.Compile(bench.spec)
			if err != nil {
				b.Fatal(err)
			}
			// The states along 20 texts.
			var states []State
			var mask []uint32
			r := rand.New(rand.NewPCG(1, 1))
			for range 20 {
				s := g.Start()
				for range 60 {
					mask = s.Mask(mask)
					states = append(states, s)
					allowed := ids(mask)
					if len(allowed) == 0 || s.Accept(allowed[r.IntN(len(allowed))]) != nil || s.Ended() {
						break
					}
				}
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				mask = states[i%len(states)].Mask(mask)
				i++
			}
		})
	}
}

func BenchmarkCompiler(b *testing.B) {
	v := qwenVocab(b)
	b.Run("vocabulary", func(b *testing.B) {
		for b.Loop() {
			if _, err := NewCompiler(v, Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	c, err := NewCompiler(v, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("schema", func(b *testing.B) {
		for b.Loop() {
			if _, err := c.compile(JSONSchema([]byte(walkSchemas[0]), WhitespaceSpaces)); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, first := range []struct {
		name, at string
		spec     Spec
	}{
		{"first-mask/string", `"a`, JSONSchema([]byte(`{"type":"string"}`), WhitespaceNone)},
		{"first-mask/text", "<parameter=city>\na", argumentsOf(parse.Qwen3Coder, []byte(argumentSchemas[0]))},
	} {
		b.Run(first.name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				c, err := NewCompiler(v, Options{})
				if err != nil {
					b.Fatal(err)
				}
				g, err := c.Compile(first.spec)
				if err != nil {
					b.Fatal(err)
				}
				s := g.Start()
				if !s.AcceptBytes([]byte(first.at)) {
					b.Fatal("refused")
				}
				b.StartTimer()
				s.Mask(nil)
			}
		})
	}
}
