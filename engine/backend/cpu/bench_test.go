//go:build linux

package cpu_test

import (
	"os"
	"testing"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/backend/cpu"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/arch"
	"github.com/hotpath-go/hotpath/model/gguf"
	"github.com/hotpath-go/hotpath/quant"
	"golang.org/x/sys/unix"
)

// benchModel opens the file that HOTPATH_BENCH names.
func benchModel(b *testing.B) *model.Model {
	path := os.Getenv("HOTPATH_BENCH")
	if path == "" {
		b.Skip("HOTPATH_BENCH names no GGUF file")
	}
	f, err := gguf.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = f.Close() })
	p, err := arch.FromGGUF(f)
	if err != nil {
		b.Fatal(err)
	}
	return &model.Model{Name: path, Program: p}
}

func benchRunner(b *testing.B, n int) backend.Runner {
	r := open(b, benchModel(b), quant.BF16, n+1024, 0, cpu.WithPath(os.Getenv(cpu.Variable)))
	return r
}

// cpuTime starts counting the process's processor time and returns what reports it per operation:
// on a machine that others use it says more than the clock.
func cpuTime(b *testing.B) func(per int) {
	var from unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &from)
	return func(per int) {
		var to unix.Rusage
		_ = unix.Getrusage(unix.RUSAGE_SELF, &to)
		ns := float64(to.Utime.Nano()+to.Stime.Nano()-from.Utime.Nano()-from.Stime.Nano()) / float64(b.N)
		b.ReportMetric(ns/1e6, "cpu-ms/op")
		b.ReportMetric(float64(per)/ns*1e9, "tok/cpu-s")
	}
}

func benchTokens(n int) []int32 {
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = int32(i*7919%10000 + 10)
	}
	return tokens
}

func BenchmarkPrefill(b *testing.B) {
	for _, n := range []int{512, 4096} {
		b.Run(map[int]string{512: "pp512", 4096: "pp4096"}[n], func(b *testing.B) {
			r := benchRunner(b, n)
			tokens := benchTokens(n)
			prefill(b, r, tokens[:16], 512, nil)
			report := cpuTime(b)
			for b.Loop() {
				prefill(b, r, tokens, 512, []int{n - 1})
			}
			report(n)
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "tok/s")
		})
	}
}

// decode steps sequences that share a context of which each has its own last block.
func decode(b *testing.B, r backend.Runner, context, sequences int) {
	batch := &backend.Batch{}
	for i := range sequences {
		shared := blocks(0, context/16)
		batch.Seqs = append(batch.Seqs, backend.Seq{
			Context: []backend.Segment{{Blocks: shared, Len: context}},
			Spans: []backend.Span{{
				Tokens: []int32{int32(i + 5)}, Pos: context, Dst: []kvcache.BlockID{kvcache.BlockID(context/16 + i)},
				Want: []backend.Want{{TopK: 1}},
			}},
		})
	}
	submit(b, r, batch)
	report := cpuTime(b)
	for b.Loop() {
		submit(b, r, batch)
	}
	report(sequences)
	b.ReportMetric(float64(sequences*b.N)/b.Elapsed().Seconds(), "tok/s")
}

func BenchmarkDecode(b *testing.B) {
	for _, c := range []struct {
		name               string
		context, sequences int
	}{{"tg128", 128, 1}, {"tg128x8", 128, 8}, {"tg4096", 4096, 1}} {
		b.Run(c.name, func(b *testing.B) { decode(b, benchRunner(b, c.context), c.context, c.sequences) })
	}
}

// A decision: 40 tokens on a hot prefix, the logits of the last.
func BenchmarkDecision(b *testing.B) {
	for _, n := range []int{4000, 12000} {
		b.Run(map[int]string{4000: "warm4000", 12000: "warm12000"}[n], func(b *testing.B) {
			r := benchRunner(b, n+64)
			batch := &backend.Batch{Seqs: []backend.Seq{{
				Context: []backend.Segment{{Blocks: blocks(0, n/16), Len: n}},
				Spans: []backend.Span{{
					Tokens: benchTokens(40), Pos: n, Dst: blocks(n/16, 3), Want: []backend.Want{{Row: 39, Logits: true}},
				}},
			}}}
			submit(b, r, batch)
			report := cpuTime(b)
			for b.Loop() {
				submit(b, r, batch)
			}
			report(40)
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		m, err := model.File(os.Getenv("HOTPATH_BENCH")).Load(b.Context())
		if err != nil {
			b.Skip(err)
		}
		b.StartTimer()
		r, err := cpu.New().Open(b.Context(), m, backend.Options{BlockSize: 16, PoolBlocks: 256, ScratchBlocks: 16})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		_ = r.Close()
		_ = m.Close()
		b.StartTimer()
	}
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	b.ReportMetric(float64(u.Maxrss)/1024, "peak-MiB")
}
