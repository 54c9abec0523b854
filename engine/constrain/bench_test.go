package constrain

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkMask measures masks along texts of a typical schema after a first pass, at the size
// of a real vocabulary.
func BenchmarkMask(b *testing.B) {
	c, err := NewCompiler(qwenVocab(b), Options{})
	if err != nil {
		b.Fatal(err)
	}
	for _, bench := range []struct{ name, schema string }{
		{"object", walkSchemas[0]}, {"tree", walkSchemas[6]}, {"any", walkSchemas[2]}, {"pattern", walkSchemas[11]},
	} {
		b.Run(bench.name, func(b *testing.B) {
			g, err := c.Compile(JSONSchema([]byte(bench.schema), WhitespaceSpaces))
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
	b.Run("first-mask", func(b *testing.B) {
		for b.Loop() {
			c, err := NewCompiler(v, Options{})
			if err != nil {
				b.Fatal(err)
			}
			g, err := c.Compile(JSONSchema([]byte(`{"type":"string"}`), WhitespaceNone))
			if err != nil {
				b.Fatal(err)
			}
			s := g.Start()
			s.AcceptBytes([]byte(`"a`))
			s.Mask(nil)
		}
	})
}
