package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/internal/testdata"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/embedded"
)

var update = flag.Bool("update", false, "record the scores of the embedded model anew; with HOTPATH_DATA the sample too, with HOTPATH_LONG all sets")

const (
	sampleFile = "testdata/sample.jsonl.gz"
	scoreFile  = "testdata/scores.json"
	handFolder = "../../model/embedded/train/hand"
	sampleRows = 40 // of each set; those written by hand are all asked
)

// record is what the embedded model came to.
type record struct {
	Weights string                `json:"weights_sha256"`
	Sample  map[string]recorded   `json:"sample"`
	All     map[string]recordedAs `json:"all"`
}

type recorded struct {
	Rows  int `json:"rows"`
	Right int `json:"right"`
}

type recordedAs struct {
	Rows     int     `json:"rows"`
	Overlap  float64 `json:"word_overlap,omitempty"`
	Accuracy float64 `json:"accuracy"`
	NLL      float64 `json:"nll"`
	ECE      float64 `json:"ece"`
}

func records(t *testing.T) record {
	t.Helper()
	b, err := os.ReadFile(scoreFile)
	if err != nil {
		t.Fatal(err)
	}
	var r record
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(embedded.Weights())
	if got := hex.EncodeToString(sum[:]); got != r.Weights {
		if !*update {
			t.Fatalf("%s is about other weights than the module's: run this test with -update", scoreFile)
		}
		r = record{Weights: got, Sample: map[string]recorded{}}
	}
	return r
}

func (r record) write(t *testing.T) {
	t.Helper()
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(scoreFile, append(b, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

func openEmbedded(t *testing.T) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), model.Embedded())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// sample returns the rows that the repository has.
func sample(t *testing.T) []set {
	t.Helper()
	f, err := os.Open(sampleFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var list []set
	if err := scan(r, func(_ int, line []byte) error {
		var x row
		if err := json.Unmarshal(line, &x); err != nil {
			return err
		}
		if len(list) == 0 || list[len(list)-1].name != x.Set {
			list = append(list, set{name: x.Set})
		}
		s := &list[len(list)-1]
		x.Set = ""
		s.rows = append(s.rows, x)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

// made makes all sets from the data, once for all tests.
var made = sync.OnceValues(func() ([]set, error) {
	return sets("all", source{filepath.Join(os.Getenv(testdata.Variable), "decisions"), handFolder})
})

// allSets returns the sets of the data, and of the rows written by hand after them.
func allSets(t *testing.T) []set {
	t.Helper()
	testdata.Path(t, "decisions")
	list, err := made()
	if err != nil {
		t.Fatal(err)
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].rows = slices.Clone(list[i].rows) // they are drawn from
	}
	return list
}

// TestSampleIsOfTheSets makes the sample again from the data.
func TestSampleIsOfTheSets(t *testing.T) {
	made := allSets(t)[:len(setNames)]
	made = config{rows: sampleRows, seed: 1}.sample(made)
	if *update {
		var b bytes.Buffer
		w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err := writeSets(w, made); err != nil {
			t.Fatal(err)
		}
		_ = w.Close()
		if err := os.WriteFile(sampleFile, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have := sample(t)
	if len(have) != len(made) {
		t.Fatalf("%d sets, want %d", len(have), len(made))
	}
	for i := range made {
		if have[i].name != made[i].name || len(have[i].rows) != len(made[i].rows) {
			t.Errorf("%s with %d rows, want %s with %d", have[i].name, len(have[i].rows), made[i].name, len(made[i].rows))
			continue
		}
		for j := range made[i].rows {
			a, _ := json.Marshal(have[i].rows[j])
			b, _ := json.Marshal(made[i].rows[j])
			if !bytes.Equal(a, b) {
				t.Errorf("%s: row %d is\n%s, want\n%s", made[i].name, j, a, b)
			}
		}
	}
}

// TestSample asks the embedded model the rows that the repository has, and finds as many answers
// right as were recorded. Kernels of other machines round otherwise, so a few may differ.
func TestSample(t *testing.T) {
	want := records(t)
	e := openEmbedded(t)
	list := sample(t)
	files, err := filepath.Glob(filepath.Join(handFolder, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		written, err := sets("hand:"+strings.TrimSuffix(filepath.Base(f), ".jsonl"), source{hand: handFolder})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, written...)
	}
	seen := map[string]recorded{}
	for _, s := range list {
		x, err := measure(t.Context(), config{parallel: 4}, e, true, s, nil, quiet)
		if err != nil {
			t.Fatal(err)
		}
		got := recorded{x.Examples, int(math.Round(x.Accuracy * float64(x.Examples)))}
		seen[s.name] = got
		w := want.Sample[s.name]
		if !*update && (got.Rows != w.Rows || max(got.Right-w.Right, w.Right-got.Right) > max(1, w.Rows/40)) {
			t.Errorf("%s: %d of %d right, recorded are %d of %d", s.name, got.Right, got.Rows, w.Right, w.Rows)
		}
	}
	if len(seen) != len(want.Sample) && !*update {
		t.Errorf("%d sets, %d are recorded", len(seen), len(want.Sample))
	}
	if *update {
		want.Sample = seen
		want.write(t)
	}
}

func quiet(int) func(done, total int) { return nil }

// TestOrder asks with the options in other orders: every option keeps its bits.
func TestOrder(t *testing.T) {
	t.Parallel()
	e := openEmbedded(t)
	asked := 0
	for _, s := range sample(t) {
		for _, r := range s.rows[:15] {
			x, err := r.example(nil, "", true)
			if err != nil {
				t.Fatal(err)
			}
			if x.Question.Kind != decide.KindChoice {
				continue
			}
			asked++
			by := func(options []decide.Option) map[string]float64 {
				q := x.Question
				q.Options = options
				res, err := e.Decide(t.Context(), decide.Request{State: x.State, Questions: []decide.Question{q}})
				if err != nil {
					t.Fatal(err)
				}
				p := map[string]float64{}
				for i, o := range options {
					p[o.Name] = res.Answers[0].Probabilities[i]
				}
				return p
			}
			back := slices.Clone(x.Question.Options)
			slices.Reverse(back)
			turned := slices.Concat(x.Question.Options[1:], x.Question.Options[:1])
			want := by(x.Question.Options)
			if a, b := by(back), by(turned); !reflect.DeepEqual(a, want) || !reflect.DeepEqual(b, want) {
				t.Errorf("%s: %q: in order %v, reversed %v, rotated %v", s.name, r.Input, want, a, b)
			}
		}
	}
	if asked < 60 {
		t.Errorf("%d choices", asked)
	}
}

// TestAllSets asks everything with HOTPATH_LONG, and compares with the record, which is what MODEL.md
// says; without, other rows than the sample's, which must not be far off.
func TestAllSets(t *testing.T) {
	long := os.Getenv("HOTPATH_LONG") != ""
	want := records(t)
	c := config{data: testdata.Path(t, "decisions"), parallel: 4, seed: 2}
	if !long {
		c.rows = 20
	}
	weights, err := source{data: c.data}.weights()
	if err != nil {
		t.Fatal(err)
	}
	e := openEmbedded(t)
	seen := map[string]recordedAs{}
	var scores []score
	for _, s := range c.sample(allSets(t)) {
		x, err := measure(t.Context(), c, e, true, s, weights, quiet)
		if err != nil {
			t.Fatal(err)
		}
		scores = append(scores, x)
		rounded := func(x float64) float64 { return math.Round(1e4*x) / 1e4 }
		got := recordedAs{Rows: x.Examples, Accuracy: rounded(x.Accuracy), NLL: rounded(x.NLL), ECE: rounded(x.ECE)}
		if x.overlap == x.overlap {
			got.Overlap = rounded(x.overlap)
		}
		seen[s.name] = got
		w := want.All[s.name]
		if !long {
			p := min(max(w.Accuracy, 0.2), 0.8)
			if far := 4.5 * math.Sqrt(p*(1-p)/20); math.Abs(got.Accuracy-w.Accuracy) > far {
				t.Errorf("%s: %v of 20 rows are right, of all %v", s.name, got.Accuracy, w.Accuracy)
			}
			continue
		}
		// Of few rows one answer weighs more.
		slack := max(0.005, 1.5/float64(x.Examples))
		if !*update && (got.Rows != w.Rows || math.Abs(got.Accuracy-w.Accuracy) > slack || math.Abs(got.ECE-w.ECE) > 2*slack) {
			t.Errorf("%s: %+v, recorded is %+v", s.name, got, w)
		}
	}
	var table bytes.Buffer
	if err := printScores(&table, scores); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", &table)
	if *update && long {
		want.All = seen
		want.write(t)
	}
}

// TestDrawn compares with what Python's hashlib and sorted draw.
func TestDrawn(t *testing.T) {
	t.Parallel()
	pool := []string{"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"}
	for _, c := range []struct {
		set   string
		row   int
		label string
		n     int
		want  string
	}{
		{"clinc8", 0, "alpha", 4, "zeta beta eta alpha"},
		{"clinc8", 1, "alpha", 4, "eta alpha zeta delta"},
		{"held8", 41, "theta", 3, "zeta gamma theta"},
		{"bank8", 7, "eta", 8, "eta alpha zeta epsilon delta beta theta gamma"},
		{"bank8", 7, "eta", 20, "eta alpha zeta epsilon delta beta theta gamma"},
	} {
		r := drawn(c.set, c.row, "x", c.label, pool, c.n)
		options, err := parseOptions(r.Options)
		if got := strings.Join(namesOf(options), " "); err != nil || got != c.want {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}

// TestOverlap gives the rival a word that decides, one that all share, and none.
func TestOverlap(t *testing.T) {
	t.Parallel()
	weights := overlap{"": 5, "card": 1, "the": 0.1}
	options := []decide.Option{decide.Opt("lostCards", ""), decide.Opt("travel_notice", "the journey"), decide.Opt("pin", "the number")}
	for state, want := range map[string][3]float64{
		"my card is gone":        {1. / 3, 1. / 3, 1. / 3}, // cards has other first letters than card
		"two of my cards":        {1, 0, 0},
		"I am travelling":        {0, 1, 0}, // travelling and travel begin alike
		"where is the thing":     {0, 0, 1}, // of fewer words
		"a travelling number":    {0, 0, 1},
		"the number of my cards": {1, 0, 0}, // 5/sqrt(3) against 5.1/sqrt(4)
	} {
		for label := range options {
			if got := weights.right(state, options, label); math.Abs(got-want[label]) > 1e-9 {
				t.Errorf("%q, %s: %v, want %v", state, options[label].Name, got, want[label])
			}
		}
	}
}

func TestSetErrors(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"clinc9", "hand:nothing", "bank8"} {
		if _, err := sets(name, source{data: t.TempDir(), hand: t.TempDir()}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := parse([]string{"-sets", "all", "-fit", "platt", "x"}, io.Discard); err == nil {
		t.Error("-sets with -fit: taken")
	}
}

// TestSetsTable writes a set's rows, and asks some of it.
func TestSetsTable(t *testing.T) {
	t.Parallel()
	data := testdata.Path(t, "decisions")
	out := filepath.Join(t.TempDir(), "rows.jsonl")
	for _, args := range [][]string{{"-sets", "held8", "-rows", "5", "-out", out, data}, {"-sets", "held8,held8h", "-rows", "5", data}} {
		c, err := parse(args, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := run(context.Background(), c, &b, quiet); err != nil {
			t.Fatal(err)
		}
		if c.out == "" && (strings.Count(b.String(), "\n") != 3 || !strings.Contains(b.String(), "held8     5      8.0   0.125")) {
			t.Errorf("table:\n%s", b.String())
		}
	}
	rows, err := os.ReadFile(out)
	if err != nil || bytes.Count(rows, []byte(`"set":"held8"`)) != 5 {
		t.Errorf("%v: %s", err, rows)
	}
}
