package backendtest

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/internal/testdata"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/arch"
	"github.com/hotpath-go/hotpath/model/gguf"
	"github.com/hotpath-go/hotpath/model/safetensors"
	"github.com/hotpath-go/hotpath/quant"
)

// TinyCase is a small random model of the data folder and what another engine computed with it.
type TinyCase struct {
	Name    string       // of the logits file, without ending, and for a twin also the folder's
	Model   string       // "tinyl64"
	Weights quant.Format // of the matrices; some may have another
	KV      quant.Format // the other engine's
	// Expanded: the other engine ran on weights expanded to float32, so that it rounded no
	// activations; it is the reference for a backend that keeps them in float32.
	Expanded bool
	// Limit is the last row to compare; 0: row 1,100, all when HOTPATH_LONG is set, or 300 when
	// Emulated.
	Limit int
	// Exact: on both sides nothing is rounded but float32 sums, if KV is F32 here too.
	Exact bool

	file, logits string // in the data folder
	rows         []int
	spread       float64 // of the other engine's own roundings: its distance from the exact logits
}

// TinyRow is one row of a case. A backend whose rounding is of the kind the case says, or finer,
// lies within Tolerance of the logits.
type TinyRow struct {
	Row       int
	Logits    []float32
	Tolerance float32
}

// TinyCases lists the cases of the models that are full-attention decoders with KV of F32, F16 or
// BF16: GGUF files, and safetensors twins with the logits of the same weights.
func TinyCases(t testing.TB) []TinyCase {
	t.Helper()
	var index struct {
		Models []struct{ Model, Weights, File string }
		HF     []struct{ Dir, Model, Weights, Logits string }
		Logits []struct {
			File, Model, Weights, Output, KV string
			Ubatch                           int     `json:"n_ubatch"`
			Expanded                         bool    `json:"weights_expanded_to_f32"`
			Spread                           float64 `json:"max_abs_diff_to_reference"`
			Rows                             []int
		}
	}
	if err := json.Unmarshal(testdata.Read(t, "tiny/index.json"), &index); err != nil {
		t.Fatalf("tiny/index.json: %v", err)
	}
	files := map[[2]string]string{}
	for _, m := range index.Models {
		if m.File != "" {
			files[[2]string{m.Model, m.Weights}] = m.File
		}
	}
	var cases []TinyCase
	for _, l := range index.Logits {
		file, ok := files[[2]string{l.Model, l.Weights}]
		kv, err := quant.Parse(l.KV)
		if !ok || err != nil || !plainDecoder(l.Model) || kv != quant.F32 && kv != quant.F16 && kv != quant.BF16 || l.Ubatch != 512 {
			continue
		}
		weights, err := quant.Parse(l.Weights)
		if err != nil {
			t.Fatalf("tiny/index.json: %v", err)
		}
		c := TinyCase{
			Name:  strings.TrimSuffix(filepath.Base(l.File), ".f32"),
			Model: l.Model, Weights: weights, KV: kv,
			Expanded: l.Expanded || weights == quant.F32,
			file:     "tiny/" + file, logits: "tiny/" + l.File, rows: l.Rows, spread: l.Spread,
		}
		c.Exact = c.Expanded && kv == quant.F32
		cases = append(cases, c)
		for _, twin := range index.HF {
			if twin.Logits == l.File {
				c.Name, c.file = c.Name+" of "+twin.Dir, "tiny/"+twin.Dir
				cases = append(cases, c)
			}
		}
	}
	if len(cases) == 0 {
		t.Fatal("tiny/index.json lists no case")
	}
	return cases
}

// plainDecoder reports whether a model of the folder has full attention and gated feed-forwards only.
func plainDecoder(name string) bool {
	return strings.HasPrefix(name, "tiny") || strings.HasPrefix(name, "llama") || name == "qwen2"
}

// Twin reports whether the weights come from a safetensors folder.
func (c TinyCase) Twin() bool { return strings.HasPrefix(c.file, "tiny/hf/") }

// Open opens the model, without a tokenizer, until the test ends.
func (c TinyCase) Open(t testing.TB) *model.Model {
	t.Helper()
	return openWeights(t, c.file)
}

// openWeights opens a GGUF file or a safetensors folder of the data folder without its tokenizer.
func openWeights(t testing.TB, file string) *model.Model {
	t.Helper()
	m := &model.Model{Name: filepath.Base(file)}
	var err error
	if strings.Contains(filepath.Base(file), ".gguf") {
		f, oerr := gguf.Open(testdata.Unpacked(t, file))
		if oerr != nil {
			t.Fatal(oerr)
		}
		t.Cleanup(func() { _ = f.Close() })
		m.Program, err = arch.FromGGUF(f)
	} else {
		f, oerr := safetensors.Open(testdata.Path(t, file))
		if oerr != nil {
			t.Fatal(oerr)
		}
		t.Cleanup(func() { _ = f.Close() })
		m.Program, err = arch.FromSafetensors(f)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	for _, w := range m.Program.Tensors() {
		m.Size += int64(len(w.Data))
	}
	return m
}

// Rows returns the rows of the case in rising order.
func (c TinyCase) Rows(t testing.TB) []TinyRow {
	t.Helper()
	raw := testdata.Read(t, c.logits)
	dim := len(raw) / 4 / len(c.rows)
	if len(raw) != 4*dim*len(c.rows) {
		t.Fatalf("%s: %d bytes for %d rows", c.logits, len(raw), len(c.rows))
	}
	limit := c.Limit
	if limit == 0 {
		switch {
		case Emulated():
			limit = 300 // more than a partition of attention
		case Long():
			limit = math.MaxInt
		default:
			limit = 1100
		}
	}
	var rows []TinyRow
	for i, row := range c.rows {
		if row > limit {
			break
		}
		r := TinyRow{Row: row, Logits: make([]float32, dim), Tolerance: 5e-4}
		for j := range r.Logits {
			r.Logits[j] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*(i*dim+j):]))
		}
		switch {
		case !c.Exact:
			// Two engines that round alike lie, each by itself, about this far from the exact logits.
			r.Tolerance = float32(2*c.spread) + 5e-4
		case row < 300:
			r.Tolerance = 1e-4
		}
		rows = append(rows, r)
	}
	return rows
}

// Long reports whether HOTPATH_LONG asks for the tests that take minutes.
func Long() bool { return os.Getenv("HOTPATH_LONG") != "" }

// Emulated reports whether HOTPATH_EMULATED says that these tests run in an emulator of the
// processor, tens of times slower. Operators, products and formats are then tested in full,
// whole models to row 300, and the conformance suite of cpu on a few shapes.
func Emulated() bool { return os.Getenv("HOTPATH_EMULATED") != "" }

// TinyTokens returns the first n of the tokens that the cases were computed over, at position 0 on.
func TinyTokens(n int) []int32 {
	tokens := make([]int32, n)
	for i := range tokens {
		q := uint32(i) * 2654435761
		tokens[i] = int32((q ^ q>>15) % 508)
	}
	return tokens
}

// CompareLogits fails the test where logits differ by more than the tolerance, or have another largest
// value though the wanted one leads by more than that. It returns the largest difference.
func CompareLogits(t testing.TB, what string, got, want []float32, tolerance float32) float32 {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d values, want %d", what, len(got), len(want))
		return float32(math.Inf(1))
	}
	worst, at := float32(0), 0
	for i := range want {
		if d := float32(math.Abs(float64(got[i]) - float64(want[i]))); !(d <= worst) {
			worst, at = d, i
			if d != d {
				break
			}
		}
	}
	if !(worst <= tolerance) {
		t.Errorf("%s: value %d is %v, want %v: differs by %g, tolerance %g", what, at, got[at], want[at], worst, tolerance)
		return worst
	}
	first, gap := lead(want)
	if top, _ := lead(got); top != first && gap > tolerance {
		t.Errorf("%s: the largest is %d, want %d, which leads by %g", what, top, first, gap)
	}
	return worst
}

// lead returns where the largest value is and how far the next one lies below it.
func lead(v []float32) (at int, gap float32) {
	gap = float32(math.Inf(1))
	at = slices.Index(v, slices.Max(v))
	for i, x := range v {
		if i != at {
			gap = min(gap, v[at]-x)
		}
	}
	return at, gap
}
