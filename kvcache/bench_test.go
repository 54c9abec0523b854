package kvcache

import "testing"

func BenchmarkMatch12000(b *testing.B) {
	c := newCache(b, Options{Blocks: 4096})
	toks := count(0, 12_000)
	cached(b, c, Namespace{}, toks)
	b.ReportAllocs()
	for b.Loop() {
		h, err := c.Match(Namespace{}, toks, len(toks))
		if err != nil || h.Len != len(toks) {
			b.Fatal(err, h.Len)
		}
		h.Release()
	}
	b.ReportMetric(float64(len(toks))*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
}

// BenchmarkMatchWide looks for a prompt among 4,000 that share its first block.
func BenchmarkMatchWide(b *testing.B) {
	c := newCache(b, Options{Blocks: 16_384})
	toks := make([]int32, 64)
	for i := range 4000 {
		toks[20] = int32(i * 7)
		cached(b, c, Namespace{}, toks)
	}
	b.ReportAllocs()
	for b.Loop() {
		if n, _ := c.Peek(Namespace{}, toks, len(toks)); n != len(toks) {
			b.Fatal(n)
		}
	}
}

func BenchmarkTakeAndFree(b *testing.B) {
	p := newPool(1024, 16, NewLRU(1024))
	for b.Loop() {
		id, _, _ := p.Take(1)
		p.Unref(id)
	}
}

// BenchmarkTakeByEviction takes the least recently used of 1,024 indexed blocks and gives it back.
func BenchmarkTakeByEviction(b *testing.B) {
	p := newPool(1024, 16, NewLRU(1024))
	for range 1024 {
		id, _, _ := p.Take(1)
		p.Keep(id, 0)
		defer p.Unref(id)
	}
	for id := range BlockID(1024) {
		p.Unref(id)
	}
	for id := range BlockID(1024) {
		p.Ref(id)
		p.Unref(id)
	}
	b.ResetTimer()
	for range b.N {
		id, _, _ := p.Take(1)
		p.Keep(id, 0)
		p.Unref(id)
	}
	b.StopTimer()
	for id := range BlockID(1024) {
		p.Ref(id)
	}
}

// BenchmarkDecodeRow reserves and seals one row of a running sequence, its key kept up to date.
func BenchmarkDecodeRow(b *testing.B) {
	c := newCache(b, Options{Blocks: 8192})
	s := mustSequence(b, c, Namespace{}, nil, count(0, 1000))
	compute(b, s, 1000)
	next := int32(0)
	b.ReportAllocs()
	for b.Loop() {
		if s.Len() > 100_000 {
			if err := s.Truncate(1000); err != nil {
				b.Fatal(err)
			}
		}
		next++ // never the same twice: a history that was there before would be merged with it
		s.Append(next)
		if _, _, err := s.Reserve(s.Len()); err != nil {
			b.Fatal(err)
		}
		if err := s.Seal(s.Len()); err != nil {
			b.Fatal(err)
		}
	}
}
