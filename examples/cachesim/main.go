// Cachesim shows what the prefix cache and the scheduler do with recorded traffic: the share of
// prompts that caches of several sizes find again, for blocks in a plain LRU list, for hotpath's
// cache, and for the best eviction there could be; then how long short prompts wait for their
// first token while prompts of 100,000 tokens are prefilled, with and without chunks.
//
//	HOTPATH_DATA=folder go run ./examples/cachesim
//
// reads folder/traces (see -traces). Without traces it makes up conversations of its own. With
// -record it measures steps of the CPU backend, to fit the scheduler's cost model to.
package main

import (
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/hotpath-go/hotpath/sched"
	"github.com/hotpath-go/hotpath/sched/sim"
)

func main() {
	log.SetFlags(0)
	folder := flag.String("traces", defaultFolder(), "folder of traces; empty: made-up conversations")
	image := flag.String("o", filepath.Join(os.TempDir(), "cachesim.png"), "where the plot goes; empty: none")
	minutes := flag.Int("minutes", 5, "of each arrival trace to play for the latencies; 0: none")
	quiet := flag.Bool("q", false, "no progress bar")
	steps := flag.String("record", "", "measure steps of the CPU backend, write them to this file, and do nothing else")
	file := flag.String("model", "", "model to record with; empty: stories260K, which the module carries")
	flag.Parse()
	if *steps != "" {
		if err := record(context.Background(), os.Stdout, *steps, *file, 2000); err != nil {
			log.Fatal("cachesim: ", err)
		}
		return
	}
	if err := run(os.Stdout, *folder, *image, *minutes, *quiet); err != nil {
		log.Fatal("cachesim: ", err)
	}
}

func defaultFolder() string {
	if data := os.Getenv("HOTPATH_DATA"); data != "" {
		return filepath.Join(data, "traces")
	}
	return ""
}

// trace is a named list of calls.
type trace struct {
	name  string
	calls []sim.Call
}

func run(w io.Writer, folder, image string, minutes int, quiet bool) error {
	prefixes, arrivals, err := load(folder)
	if err != nil {
		return err
	}
	curves, err := hitRates(prefixes, quiet)
	if err != nil {
		return err
	}
	table(w, curves)
	if image != "" {
		if err := drawAll(image, curves); err != nil {
			return err
		}
		fmt.Fprintf(w, "\nplot: %s\n", image)
	}
	if minutes == 0 {
		return nil
	}
	return latencies(w, arrivals, time.Duration(minutes)*time.Minute)
}

// load reads the traces, or makes them up.
func load(folder string) (prefixes, arrivals []trace, err error) {
	if folder == "" {
		t := trace{"made-up conversations", conversations()}
		return []trace{t}, []trace{t}, nil
	}
	for _, f := range []struct {
		file string
		read func(io.Reader) ([]sim.Call, error)
		to   *[]trace
	}{
		{"conversation_trace.jsonl.gz", sim.ReadMooncake, &prefixes},
		{"synthetic_trace.jsonl.gz", sim.ReadMooncake, &prefixes},
		{"AzureLLMInferenceTrace_conv.csv.gz", sim.ReadAzure, &arrivals},
		{"AzureLLMInferenceTrace_code.csv.gz", sim.ReadAzure, &arrivals},
	} {
		t := trace{name: f.file}
		if t.calls, err = read(filepath.Join(folder, f.file), f.read); err != nil {
			return nil, nil, err
		}
		*f.to = append(*f.to, t)
	}
	return prefixes, arrivals, nil
}

func read(path string, parse func(io.Reader) ([]sim.Call, error)) ([]sim.Call, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	calls, err := parse(z)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return calls, nil
}

// curve is a trace's hit rates at the sizes.
type curve struct {
	name              string
	workingSet        int
	plain, ours, best []float64 // percent, by size
}

// sizes of the cache, in percent of the working set.
var sizes = []int{5, 10, 25, 50, 100}

func hitRates(traces []trace, quiet bool) ([]curve, error) {
	total := 0
	for _, t := range traces {
		total += 2 * len(sizes) * len(t.calls)
	}
	bar := progressbar.NewOptions(total, progressbar.OptionSetDescription("replaying"),
		progressbar.OptionSetVisibility(!quiet), progressbar.OptionSetWriter(os.Stderr),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	defer bar.Finish()
	each := func(i int) {
		if i%256 == 0 {
			_ = bar.Add(256)
		}
	}
	var out []curve
	for _, t := range traces {
		c := curve{name: t.name, workingSet: sim.WorkingSet(t.calls)}
		for _, percent := range sizes {
			blocks := max(1, c.workingSet*percent/100)
			ours, err := sim.HitRate(t.calls, blocks, sim.Default, each)
			if err != nil {
				return nil, err
			}
			best, err := sim.HitRate(t.calls, blocks, sim.Optimum, each)
			if err != nil {
				return nil, err
			}
			c.plain = append(c.plain, 100*sim.PlainLRU(t.calls, blocks).Share())
			c.ours = append(c.ours, 100*ours.Share())
			c.best = append(c.best, 100*best.Share())
		}
		out = append(out, c)
	}
	return out, nil
}

func table(w io.Writer, curves []curve) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, c := range curves {
		fmt.Fprintf(w, "%s: %d blocks in the working set; %% of prompt blocks found\n", c.name, c.workingSet)
		fmt.Fprintln(t, "cache\tplain LRU\thotpath\toptimum\t")
		for i, percent := range sizes {
			fmt.Fprintf(t, "%d %%\t%.2f\t%.2f\t%.2f\t\n", percent, c.plain[i], c.ours[i], c.best[i])
		}
		t.Flush()
		fmt.Fprintln(w)
	}
}

// machine is what steps cost here: 8 ms for the weights, 20 µs a row, and a little for every
// position attended to and read. It is of the order of a small accelerator with a small model.
var machine = sched.Cost{8e-3, 20e-6, 20e-6, 1e-10, 2e-9}

// latencies plays the arrivals with a prompt of 100,000 tokens among them every 20 seconds.
func latencies(w io.Writer, arrivals []trace, length time.Duration) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nprompts up to 4,096 tokens beside one of 100,000 every 20 s, %v of each trace, simulated\n", length)
	fmt.Fprintln(t, "trace\tchunks\tcalls\tfirst token p50\tp99\tlongest pause p99\t")
	for _, a := range arrivals {
		calls := a.calls
		if i := slices.IndexFunc(calls, func(c sim.Call) bool { return c.At > length }); i >= 0 {
			calls = calls[:i]
		}
		calls = withLong(calls, 20*time.Second)
		for _, chunks := range []bool{true, false} {
			cfg := sim.Config{Blocks: 65_536, Cost: machine, Sched: sched.Config{StepRows: 2048, QueueRequests: 1 << 20, QueueTokens: 1 << 30}}
			if !chunks {
				cfg.Sched.StepRows, cfg.Sched.Stretch = 1<<20, -1
			}
			r, err := sim.Run(calls, cfg)
			if err != nil {
				return err
			}
			short := func(o *sim.Outcome) bool { return o.Input <= 4096 }
			first := func(o *sim.Outcome) time.Duration { return o.First }
			p50, n := r.Percentile(50, short, first)
			p99, _ := r.Percentile(99, short, first)
			pause, _ := r.Percentile(99, short, func(o *sim.Outcome) time.Duration { return o.Slowest })
			ms := time.Millisecond
			fmt.Fprintf(t, "%s\t%v\t%d\t%v\t%v\t%v\t\n", a.name, map[bool]string{true: "on", false: "off"}[chunks], n, p50.Round(ms), p99.Round(ms), pause.Round(ms))
		}
	}
	return t.Flush()
}

func withLong(calls []sim.Call, every time.Duration) []sim.Call {
	out := slices.Clone(calls)
	if len(calls) == 0 {
		return out
	}
	for at := every; at < calls[len(calls)-1].At; at += every {
		out = append(out, sim.Call{At: at, Input: 100_000, Output: 20, Caller: "long"})
	}
	slices.SortStableFunc(out, func(a, b sim.Call) int { return int(a.At - b.At) })
	return out
}
