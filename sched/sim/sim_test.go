package sim

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/hotpath-go/hotpath/internal/race"
	"github.com/hotpath-go/hotpath/internal/testdata"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/sched"
)

func mooncake(t testing.TB, name string) []Call {
	t.Helper()
	calls, err := ReadMooncake(bytes.NewReader(testdata.Read(t, "traces/"+name+"_trace.jsonl.gz")))
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

func azure(t testing.TB, name string) []Call {
	t.Helper()
	calls, err := ReadAzure(bytes.NewReader(testdata.Read(t, "traces/AzureLLMInferenceTrace_"+name+".csv.gz")))
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

// TestPublishedHitRates: with room for everything, the cache finds what the traces' authors found;
// with less, at least what blocks in a plain list would, and no more than the best there is.
func TestPublishedHitRates(t *testing.T) {
	t.Parallel()
	for name, published := range map[string]float64{"conversation": 36.6, "synthetic": 64.0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := mooncake(t, name)
			all := WorkingSet(calls)
			shares := []int{5, 10, 25, 50, 100}
			if race.Enabled {
				shares = []int{5, 100}
			}
			for _, percent := range shares {
				n := all * percent / 100
				ours, err := HitRate(calls, n, Default, nil)
				if err != nil {
					t.Fatal(err)
				}
				best, err := HitRate(calls, n, Optimum, nil)
				if err != nil {
					t.Fatal(err)
				}
				plain := PlainLRU(calls, n)
				t.Logf("%3d%%: plain %.2f, ours %.2f, best %.2f", percent, 100*plain.Share(), 100*ours.Share(), 100*best.Share())
				if ours.Hit < plain.Hit || best.Hit < ours.Hit {
					t.Errorf("%d%%: plain LRU %d, ours %d, best %d hits", percent, plain.Hit, ours.Hit, best.Hit)
				}
				if percent == 100 && math.Abs(100*ours.Share()-published) > 0.05 {
					t.Errorf("finds %.2f %% with room for all, published %.1f %%", 100*ours.Share(), published)
				}
			}
		})
	}
}

// TestOptimumIsOptimal compares with an exhaustive search over all ways to evict.
func TestOptimumIsOptimal(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		var calls []Call
		for range 9 {
			calls = append(calls, Call{Blocks: []int32{int32(r.IntN(5))}})
		}
		const blocks = 2
		got, err := HitRate(calls, blocks, Optimum, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := most(calls, nil, blocks); got.Hit != want {
			t.Fatalf("%d hits, %d are possible: %v", got.Hit, want, calls)
		}
	}
}

// most returns the most hits that any choice of evictions gives.
func most(calls []Call, have []int32, blocks int) int {
	if len(calls) == 0 {
		return 0
	}
	b := calls[0].Blocks[0]
	if slices.Contains(have, b) {
		return 1 + most(calls[1:], have, blocks)
	}
	if len(have) < blocks {
		return most(calls[1:], append(slices.Clone(have), b), blocks)
	}
	best := 0
	for i := range have {
		next := slices.Clone(have)
		next[i] = b
		best = max(best, most(calls[1:], next, blocks))
	}
	return best
}

// machine is a cost model of the order of a small accelerator.
var machine = sched.Cost{8e-3, 40e-6, 40e-6, 2e-10, 4e-9}

// withLong adds a prompt of 100,000 tokens every so often.
func withLong(calls []Call, every time.Duration) []Call {
	out := slices.Clone(calls)
	for at := every; at < calls[len(calls)-1].At; at += every {
		out = append(out, Call{At: at, Input: 100_000, Output: 20, Caller: "long"})
	}
	slices.SortStableFunc(out, func(a, b Call) int { return int(a.At - b.At) })
	return out
}

func short(o *Outcome) bool          { return o.Input <= 4096 }
func first(o *Outcome) time.Duration { return o.First }

// TestLongPromptsDoNotFreezeShortOnes plays an Azure trace with prompts of 100,000 tokens in it.
func TestLongPromptsDoNotFreezeShortOnes(t *testing.T) {
	t.Parallel()
	calls := azure(t, "conv")
	minutes := 4
	if race.Enabled {
		minutes = 1
	}
	calls = calls[:slices.IndexFunc(calls, func(c Call) bool { return c.At > time.Duration(minutes)*time.Minute })]
	calls = withLong(calls, 20*time.Second)
	cfg := Config{Blocks: 60_000, Cost: machine, Sched: sched.Config{StepRows: 2048, QueueTokens: 1 << 30, QueueRequests: 1 << 20}}
	chunked, err := Run(calls, cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Sched.StepRows, cfg.Sched.Stretch = 1<<20, -1
	whole, err := Run(calls, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*Report{"chunked": chunked, "whole": whole} {
		for _, o := range r.Calls {
			if o.Err != nil || o.First <= 0 || o.End < o.First {
				t.Fatalf("%s: %+v", name, o)
			}
		}
		if r.Cache.Referenced != 0 || r.Cache.Free+r.Cache.Cached != r.Cache.Blocks {
			t.Errorf("%s: blocks are lost: %+v", name, r.Cache)
		}
	}
	a, n := chunked.Percentile(99, short, first)
	b, _ := whole.Percentile(99, short, first)
	slowA, _ := chunked.Percentile(99, short, func(o *Outcome) time.Duration { return o.Slowest })
	slowB, _ := whole.Percentile(99, short, func(o *Outcome) time.Duration { return o.Slowest })
	t.Logf("%d short calls: p99 to the first token %v chunked, %v whole; p99 of the longest pause %v, %v", n, a, b, slowA, slowB)
	if n < 100 || a > b/3 || slowA > slowB/3 {
		t.Errorf("p99 to the first token %v chunked, %v whole; pauses %v, %v", a, b, slowA, slowB)
	}
}

// TestDecisionsAreReads: asking three questions about each prompt first costs their own rows, and
// the generation after finds the whole state.
func TestDecisionsAreReads(t *testing.T) {
	t.Parallel()
	calls := mooncake(t, "conversation")[:60]
	cfg := Config{Blocks: 60_000, Scratch: 512, Cost: machine, Sched: sched.Config{QueueTokens: 1 << 30}}
	plain, err := Run(calls, cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Decide, cfg.QuestionRows = 3, 12
	routed, err := Run(calls, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range routed.Calls {
		if o.Err != nil || o.Decided <= 0 || o.First < o.Decided {
			t.Fatalf("%+v", o)
		}
		// The tail that a hit never covers is computed for each of the two, and questions are.
		if extra := o.Computed - plain.Calls[i].Computed; extra > 3*12+kvcache.DefaultBlockSize+1 {
			t.Errorf("call %d: %d rows with questions, %d without", i, o.Computed, plain.Calls[i].Computed)
		}
	}
	if share, ok := routed.Cache.Survival.Share(); !ok || share < 0.999 {
		t.Errorf("%.4f of the decisions' states were found again: %+v", share, routed.Cache.Survival)
	}
}

func TestRunIsDeterministic(t *testing.T) {
	t.Parallel()
	calls := mooncake(t, "synthetic")[:80]
	cfg := Config{Blocks: 8_000, Cost: machine, Sched: sched.Config{QueueTokens: 1 << 30, Running: 32}}
	a, err := Run(calls, cfg)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Run(calls, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a.Calls, b.Calls) || a.Steps != b.Steps {
		t.Error("two runs differ")
	}
}

// TestFitPredictsTheOtherHalf: fitted on the odd steps of a noisy machine, the model predicts the
// even ones.
func TestFitPredictsTheOtherHalf(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 5))
	truth := sched.Cost{4e-3, 3e-4, 8e-5, 3e-9, 1e-8}
	var steps []sched.Sample
	for range 2000 {
		s := sched.Shape{Rows: 1 + r.IntN(20), Stream: int64(r.IntN(30_000))}
		if r.IntN(2) == 0 {
			s.Rows += r.IntN(500)
		}
		s.Attend = int64(s.Rows) * int64(r.IntN(8000))
		noise := 1 + 0.1*(r.Float64()-0.5)
		steps = append(steps, sched.Sample{Shape: s, Took: time.Duration(float64(truth.Time(s)) * noise)})
	}
	var file bytes.Buffer
	if err := WriteSteps(&file, steps); err != nil {
		t.Fatal(err)
	}
	read, err := ReadSteps(&file)
	if err != nil || !reflect.DeepEqual(read, steps) {
		t.Fatalf("%d of %d steps read: %v", len(read), len(steps), err)
	}
	var odd, even []sched.Sample
	for i, s := range read {
		if i%2 == 1 {
			odd = append(odd, s)
		} else {
			even = append(even, s)
		}
	}
	cost := sched.Fit(odd)
	if f := Judge(cost, even); f.P90 > 0.06 || f.Median > 0.03 {
		t.Errorf("%+v with %v, the truth is %v", f, cost, truth)
	}
	for i := range cost {
		if cost[i] < truth[i]/2 || cost[i] > truth[i]*2 {
			t.Errorf("coefficient %d: %v, the truth is %v", i, cost[i], truth[i])
		}
	}
}

// TestFitPredictsTheCPUBackend: testdata/cpu-steps.csv was recorded on two cores with
// stories260K (go run ./examples/cachesim -record). Fitted on its odd steps, the model predicts the even
// ones within 20 %.
func TestFitPredictsTheCPUBackend(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("testdata/cpu-steps.csv")
	if err != nil {
		t.Fatal(err)
	}
	steps, err := ReadSteps(bytes.NewReader(file))
	if err != nil || len(steps) < 1000 {
		t.Fatalf("%d steps: %v", len(steps), err)
	}
	var odd, even []sched.Sample
	var predicted, measured time.Duration
	for i, s := range steps {
		if i%2 == 1 {
			odd = append(odd, s)
		} else {
			even = append(even, s)
		}
	}
	cost := sched.Fit(odd)
	for _, s := range even {
		predicted += cost.Time(s.Shape)
		measured += s.Took
	}
	fit := Judge(cost, even)
	t.Logf("%+v; %v predicted, %v measured", fit, predicted, measured)
	if fit.Mean > 0.20 || fit.Median > 0.20 || (predicted-measured).Abs() > measured/5 {
		t.Errorf("misses by %+v; %v predicted, %v measured", fit, predicted, measured)
	}
}

// TestTraffic plays arrivals with decisions, long prompts and a small pool, an hour of them with
// HOTPATH_LONG: every call ends, and no block is lost.
func TestTraffic(t *testing.T) {
	t.Parallel()
	calls := azure(t, "conv")
	length, blocks := calls[len(calls)-1].At, 9_000
	if os.Getenv("HOTPATH_LONG") == "" {
		length, blocks = 3*time.Minute, 7_500
		calls = calls[:slices.IndexFunc(calls, func(c Call) bool { return c.At > length })]
	}
	calls = withLong(calls, time.Minute)
	r, err := Run(calls, Config{
		Blocks: blocks, Scratch: 512, Cost: machine, Decide: 3, QuestionRows: 12,
		Sched: sched.Config{StepRows: 2048, QueueTokens: 1 << 30, QueueRequests: 1 << 20},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range r.Calls {
		if o.Err != nil || o.End <= 0 {
			t.Fatalf("%+v", o)
		}
	}
	if c := r.Cache; c.Referenced != 0 || c.Free+c.Cached != c.Blocks || c.ScratchFree != c.Scratch {
		t.Errorf("something is lost: %+v", c)
	}
	if r.Took < length*9/10 || r.Sched.Preempted == 0 {
		t.Errorf("%v, %+v", r.Took, r.Sched)
	}
	t.Logf("%d calls in %v and %d steps: %+v", len(r.Calls), r.Took, r.Steps, r.Sched)
}

func FuzzTraces(f *testing.F) {
	f.Add([]byte(`{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]}`))
	f.Add([]byte("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n"))
	f.Add([]byte(stepsHeading + "\n1,1,20,20,1,5000\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		for _, read := range []func() ([]Call, error){
			func() ([]Call, error) { return ReadMooncake(bytes.NewReader(file)) },
			func() ([]Call, error) { return ReadAzure(bytes.NewReader(file)) },
		} {
			calls, err := read()
			if err != nil {
				continue
			}
			for i, c := range calls {
				if c.check(i) != nil {
					t.Fatalf("%+v", c)
				}
			}
		}
		if steps, err := ReadSteps(bytes.NewReader(file)); err == nil {
			Judge(sched.Fit(steps), steps)
		}
	})
}
