// Bench measures the CPU backend on a model file, test by test, with the meanings that llama.cpp's
// tools give them:
//
//	ppN      prefill of N tokens from empty, in tokens a second
//	tgC      decoding at a context of C tokens, in tokens a second; tgCxB for B sequences in one step
//	warmN    40 tokens on a hot prefix of N, logits of the last row: a decision, in seconds
//	wQxMpN   Q spans of M tokens that branch off one hot prefix of N, in one step, in seconds
//	coldN    the N+40 tokens from empty, in seconds
//	load     opening the file and preparing the weights, in seconds
//
// For example:
//
//	go run ./examples/bench -model qwen3-0.6b-q8_0.gguf -threads 2 -tests pp512,tg128,tg128x8,warm4000
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/backend/cpu"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/quant"
)

func main() {
	path := flag.String("model", "", "GGUF file or safetensors folder; empty: stories260K, which the module carries")
	threads := flag.Int("threads", 0, "workers; 0: GOMAXPROCS")
	tests := flag.String("tests", "load,pp128,tg128", "tests, separated by commas")
	reps := flag.Int("reps", 5, "samples of each test")
	kv := flag.String("kv", "bf16", "format of keys and values: f32, f16 or bf16")
	kernels := flag.String("path", "", "kernel path; empty: the best")
	asJSON := flag.Bool("json", false, "print JSON lines instead of a table")
	flag.Parse()
	if err := run(*path, *threads, *tests, *reps, *kv, *kernels, *asJSON); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// result is one line of the report.
type result struct {
	Test    string  `json:"test"`
	Unit    string  `json:"unit"`
	Median  float64 `json:"median"`
	Best    float64 `json:"best"`
	Samples int     `json:"samples"`
}

func run(path string, threads int, tests string, reps int, kv, kernels string, asJSON bool) error {
	src := model.Stories()
	if path != "" {
		src = model.File(path)
	}
	if reps < 1 {
		return fmt.Errorf("-reps %d, must be at least 1", reps)
	}
	format, err := quant.Parse(kv)
	if err != nil {
		return err
	}
	var list []test
	need := shape{positions: 1, spans: 1}
	for name := range strings.SplitSeq(tests, ",") {
		t, err := parse(strings.TrimSpace(name))
		if err != nil {
			return err
		}
		list = append(list, t)
		need.cover(t.shape())
	}
	ctx := context.Background()
	open := func() (*rig, error) {
		return openRig(ctx, src, cpu.New(cpu.WithPath(kernels)), backend.Options{
			KV: format, Workers: threads, Context: need.positions, Rows: need.rows(),
			PoolBlocks: need.pool(), ScratchBlocks: need.scratch(),
		})
	}
	r, err := open()
	if err != nil {
		return err
	}
	defer func() { r.close() }()
	caps := r.runner.Caps()
	fmt.Fprintf(os.Stderr, "%v: %s, %d workers, KV %v\n", src, caps.Numerics, caps.Workers, caps.KV.Effective)

	info, err := os.Stderr.Stat()
	person := err == nil && info.Mode()&os.ModeCharDevice != 0
	bar := progressbar.NewOptions(len(list)*reps, progressbar.OptionSetWriter(os.Stderr),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30), progressbar.OptionSetVisibility(person))
	var results []result
	for _, t := range list {
		bar.Describe(fmt.Sprintf("%-12s", t.name))
		var seconds []float64
		for range reps {
			var took time.Duration
			if t.kind == loading {
				r.close()
				begin := time.Now()
				if r, err = open(); err != nil {
					return err
				}
				took = time.Since(begin)
			} else if took, err = r.measure(ctx, t); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			seconds = append(seconds, took.Seconds())
			_ = bar.Add(1)
		}
		results = append(results, t.report(seconds))
	}
	_ = bar.Finish()

	if asJSON {
		enc := json.NewEncoder(os.Stdout)
		for _, r := range results {
			if err := enc.Encode(r); err != nil {
				return err
			}
		}
		return nil
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "test\tmedian\tbest\tunit\t")
	for _, r := range results {
		fmt.Fprintf(table, "%s\t%.4g\t%.4g\t%s\t\n", r.Test, r.Median, r.Best, r.Unit)
	}
	return table.Flush()
}

// report turns the seconds of the samples into the test's unit.
func (t test) report(seconds []float64) result {
	slices.Sort(seconds)
	n := len(seconds)
	median := (seconds[(n-1)/2] + seconds[n/2]) / 2
	r := result{Test: t.name, Unit: "s", Median: median, Best: seconds[0], Samples: n}
	if tokens := t.tokens(); tokens > 0 {
		r.Unit = "tok/s"
		r.Median, r.Best = float64(tokens)/r.Median, float64(tokens)/r.Best
	}
	return r
}
