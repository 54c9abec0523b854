package sample

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"
)

// FuzzChoose: any bits as logits give an allowed token or a documented error, twice the same, and
// leave the row as it was.
func FuzzChoose(f *testing.F) {
	f.Add([]byte("\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x80\x7f\x00\x00\xc0\x7f"), []byte{0xff}, 1.0, 0.9, 0.1, 1.1, 2, uint64(7))
	f.Add([]byte("\x00\x00\x80\x3f\x00\x00\x00\x40"), []byte(nil), 1e-310, 1.0, 0.0, 0.0, 0, uint64(0))
	f.Fuzz(func(t *testing.T, raw, allowed []byte, temperature, topP, minP, repetition float64, topK int, seed uint64) {
		row := make([]float32, len(raw)/4)
		for i := range row {
			row[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
		var mask Mask
		if allowed != nil {
			mask = NewMask(len(row))
			for i := range row {
				if i/8 < len(allowed) && allowed[i/8]>>(i%8)&1 != 0 {
					mask.Set(int32(i))
				}
			}
		}
		p := Params{Temperature: temperature, TopP: topP, MinP: minP, RepetitionPenalty: repetition, TopK: topK}
		p.LogProbs, p.Processed, p.TopLogProbs = seed&1 != 0, seed&2 != 0, int(seed>>2&3)
		if p.Validate() != nil {
			return
		}
		var h Counts
		if len(row) > 0 {
			h.AddPrompt(int32(seed % uint64(len(row))))
		}
		before := slices.Clone(raw)
		var s Sampler
		c, err := s.Choose(row, &p, mask, &h, Key{Seed: seed})
		for i := range row {
			if math.Float32bits(row[i]) != binary.LittleEndian.Uint32(before[4*i:]) {
				t.Fatal("the row changed")
			}
		}
		if err != nil {
			if !errors.Is(err, ErrNaN) && !errors.Is(err, ErrNoToken) {
				t.Fatal(err)
			}
			return
		}
		if int(c.Token) >= len(row) || !mask.Has(c.Token) {
			t.Fatalf("token %d of %d, mask %x", c.Token, len(row), mask)
		}
		if p.LogProbs && !(c.LogProb <= 1e-6) {
			t.Fatalf("log-probability %v", c.LogProb)
		}
		if again, err := s.Choose(row, &p, mask, &h, Key{Seed: seed}); err != nil || again.Token != c.Token {
			t.Fatalf("token %d, then %d, %v", c.Token, again.Token, err)
		}
	})
}
