package sample

import (
	"math/rand/v2"
	"testing"
)

const vocabulary = 150_000

// peaked is a row as a language model gives for most tokens: a few candidates far above the rest.
func peaked() []float32 {
	r := rand.New(rand.NewPCG(11, 12))
	row := make([]float32, vocabulary)
	for i := range row {
		row[i] = float32(r.NormFloat64() * 2.5)
	}
	for i := range 40 {
		row[r.IntN(vocabulary)] = 24 - float32(i)/4
	}
	return row
}

// flat is a row whose probability lies on thousands of tokens.
func flat() []float32 {
	r := rand.New(rand.NewPCG(13, 14))
	row := make([]float32, vocabulary)
	for i := range row {
		row[i] = float32(r.NormFloat64() * 2.5)
	}
	return row
}

func BenchmarkChoose(b *testing.B) {
	half := NewMask(vocabulary)
	r := rand.New(rand.NewPCG(15, 16))
	for i := range half {
		half[i] = r.Uint32()
	}
	for _, c := range []struct {
		name string
		row  []float32
		p    Params
		mask Mask
	}{
		{"greedy", peaked(), Params{}, nil},
		{"top-p/peaked", peaked(), Params{Temperature: 1, TopP: .9}, nil},
		{"top-p/flat", flat(), Params{Temperature: 1, TopP: .9}, nil},
		{"top-p/masked", peaked(), Params{Temperature: 1, TopP: .9}, half},
		{"top-k", peaked(), Params{Temperature: .7, TopK: 20, TopP: .8}, nil},
		{"min-p", peaked(), Params{Temperature: 1, MinP: .05}, nil},
		{"plain/peaked", peaked(), Params{Temperature: 1}, nil},
		{"logprobs", peaked(), Params{Temperature: 1, TopP: .9, LogProbs: true, TopLogProbs: 5}, nil},
	} {
		b.Run(c.name, func(b *testing.B) {
			var s Sampler
			b.ReportAllocs()
			i := uint64(0)
			for b.Loop() {
				i++
				if _, err := s.Choose(c.row, &c.p, c.mask, nil, Key{Position: i}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
