package backendtest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/internal/race"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/quant"
)

// Config says which backend Run tests and how strictly.
type Config struct {
	Backend backend.Backend
	// Oracle computes the same; nil: nothing is compared with another backend.
	Oracle backend.Backend
	// Exact, KV and Rounded bound the distance of logits from the oracle's, as a part of their range:
	// with F32 weights and KV; with F32 weights and 16-bit KV, where a value may fall on the other side
	// of a rounding step; with other weights, where activations may be rounded. 0: 1e-4, 2e-3, 0.02.
	Exact, KV, Rounded float32
	// Loose gives up bit-equality, which promise and default are, for the tolerance Exact.
	Loose bool
	// Shapes are the models to run; nil: Shapes(). Each meets each KV format of Caps at the oracle,
	// and one of them in the other tests.
	Shapes []Shape
	// Steps are those of the random test; 0: 60. Seeds is how often it runs; 0: 1, or 8 with HOTPATH_LONG.
	Steps, Seeds int
	// Workers are the numbers of workers that must agree; nil: 1, 2 and 4.
	Workers []int
}

// Run runs the conformance suite. Call it from a test that has not called t.Parallel: it counts
// goroutines before it starts its parallel part.
func Run(t *testing.T, c Config) {
	if c.Exact == 0 {
		c.Exact = 1e-4
	}
	if c.KV == 0 {
		c.KV = 2e-3
	}
	if c.Rounded == 0 {
		c.Rounded = 0.02
	}
	if c.Shapes == nil {
		c.Shapes = Shapes()
	}
	if c.Steps == 0 {
		c.Steps = 60
	}
	if c.Seeds == 0 {
		c.Seeds = 1
		if Long() {
			c.Seeds = 8
		}
	}
	if c.Workers == nil {
		c.Workers = []int{1, 2, 4}
	}
	first := &lab{Config: c, shape: c.Shapes[0]}
	t.Run("CloseEndsGoroutines", func(t *testing.T) { first.with(t).closeEndsGoroutines() })
	r := first.with(t).open(backend.Options{})
	_, movesBlocks := r.Runner.(backend.BlockIO)
	contract := map[string]func(*lab){
		"BadBatches":   (*lab).badBatches,
		"BadMoves":     (*lab).badMoves,
		"Cancelled":    (*lab).cancelled,
		"Closed":       (*lab).closed,
		"NaN":          (*lab).nan,
		"Outputs":      (*lab).outputs,
		"OtherFormats": (*lab).otherFormats,
	}
	if movesBlocks {
		contract["BadBlockIO"] = (*lab).badBlockIO
	}
	if r.Caps.InFlight > 1 && r.Caps.Wants.Has(backend.WantSample) {
		contract["TwoInFlight"] = (*lab).twoInFlight
	}
	for name, check := range contract {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(first.with(t))
		})
	}

	formats := r.Caps.KVFormats
	if len(formats) == 0 {
		t.Fatal("Caps lists no KV formats")
	}
	for i, shape := range c.Shapes {
		if race.Enabled && i%4 > 0 {
			continue
		}
		for j, kv := range formats {
			l := &lab{Config: c, shape: shape, kv: kv}
			checks := map[string]func(*lab){}
			if c.Oracle != nil {
				checks["Oracle"] = (*lab).oracle
			}
			if i%len(formats) == j {
				checks["Batch"] = (*lab).batch
				checks["SharedContext"] = (*lab).sharedContext
				checks["PrefixHit"] = (*lab).prefixHit
				checks["Chunks"] = (*lab).chunks
				checks["Long"] = (*lab).long
				checks["Workers"] = (*lab).workers
				checks["Wants"] = (*lab).wants
				checks["Scratch"] = (*lab).scratch
				checks["Tree"] = (*lab).tree
				checks["BesideWriter"] = (*lab).besideWriter
				checks["Copy"] = (*lab).copies
				checks["Rewrite"] = (*lab).rewrite
				checks["Random"] = (*lab).random
				if movesBlocks {
					checks["BlockIO"] = (*lab).blockIO
				}
			}
			for name, check := range checks {
				t.Run(fmt.Sprintf("%s/%s/kv-%s", name, shape.Name, kv), func(t *testing.T) {
					t.Parallel()
					check(l.with(t))
				})
			}
		}
	}
}

// lab is one model and KV format in one test.
type lab struct {
	Config
	t     *testing.T
	shape Shape
	kv    quant.Format
	model *model.Model
}

func (l *lab) with(t *testing.T) *lab {
	c := *l
	c.t = t
	c.model = Tiny(t, l.shape)
	return &c
}

// open opens the lab's model on the backend.
func (l *lab) open(o backend.Options) *Rig {
	l.t.Helper()
	o.KV = l.kv
	return NewRig(l.t, l.Backend, l.model, o)
}

// tokens returns n tokens; other seeds give others.
func (l *lab) tokens(n int, seed uint64) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(mix(seed<<32+uint64(i)) % uint64(l.model.Program.Vocab))
	}
	return ids
}

// tolerance is the part of the logits' range by which backends may differ.
func (l *lab) tolerance() float32 {
	switch {
	case l.shape.Rounded():
		return l.Rounded
	case l.kv == quant.F32:
		return l.Exact
	}
	return l.KV
}

// result copies a result out of a rig's output.
func result(r backend.Result) backend.Result {
	r.Logits, r.Hidden, r.Labels = slices.Clone(r.Logits), slices.Clone(r.Hidden), slices.Clone(r.Labels)
	return r
}

// same fails the test where two results of the same rows differ in a bit.
func (l *lab) same(what string, got, want []backend.Result) {
	l.t.Helper()
	if len(got) != len(want) {
		l.t.Fatalf("%s: %d results, want %d", what, len(got), len(want))
	}
	for i := range want {
		l.sameValues(fmt.Sprintf("%s: result %d: logits", what, i), got[i].Logits, want[i].Logits)
		l.sameValues(fmt.Sprintf("%s: result %d: hidden", what, i), got[i].Hidden, want[i].Hidden)
	}
}

func (l *lab) sameValues(what string, got, want []float32) {
	l.t.Helper()
	if len(got) != len(want) {
		l.t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	differ, worst := 0, 0.0
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			differ++
			worst = max(worst, math.Abs(float64(got[i])-float64(want[i])))
		}
	}
	if differ == 0 || l.Loose && worst <= float64(l.Exact*span(want)) {
		return
	}
	l.t.Fatalf("%s: %d of %d values have other bits, by up to %g", what, differ, len(want), worst)
}

// span is the range of values.
func span(v []float32) float32 { return slices.Max(v) - slices.Min(v) }

// all asks for logits and hidden values of n rows.
func all(n int) []backend.Want {
	want := make([]backend.Want, n)
	for i := range want {
		want[i] = backend.Want{Row: i, Logits: true, Hidden: true}
	}
	return want
}

// rows lists from..to-1.
func rows(from, to int) []int {
	list := make([]int, 0, to-from)
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}

// cold computes a sequence in new blocks, in one chunk where that fits a step, and returns the
// results of its rows from 'from' on.
func cold(r *Rig, tokens []int32, from int) []backend.Result {
	r.T.Helper()
	return r.Prefill(r.Pool(0, len(tokens)), tokens, 0, min(len(tokens), r.Caps.MaxRows), rows(from, len(tokens))...)
}
