package embedded_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/embedded"
)

// TestLinker builds a program with the model and one without: the file is in the first alone, and
// stories260K in neither.
func TestLinker(t *testing.T) {
	t.Parallel()
	inside := func(name string, file []byte) bool {
		out := filepath.Join(t.TempDir(), name)
		cmd := exec.Command("go", "build", "-o", out, "./testdata/"+name)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if msg, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, msg)
		}
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		mid := len(file) / 2
		return bytes.Contains(b, file[mid:mid+4096])
	}
	for _, c := range []struct {
		program string
		file    []byte
		want    bool
	}{
		{"with", embedded.Weights(), true}, {"without", embedded.Weights(), false},
		{"with", embedded.Stories(), false}, {"without", embedded.Stories(), false},
	} {
		if got := inside(c.program, c.file); got != c.want {
			t.Errorf("%s: a file of %d bytes is inside: %v, want %v", c.program, len(c.file), got, c.want)
		}
	}
}

// TestRecord compares the weights with those that the recipe's record is about.
func TestRecord(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("train", "record.json"))
	if err != nil {
		t.Fatal(err)
	}
	var record struct {
		Weights struct{ SHA256 string }
	}
	if err := json.Unmarshal(b, &record); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(embedded.Weights())
	if got := hex.EncodeToString(sum[:]); got != record.Weights.SHA256 {
		t.Errorf("hotpath-mini.gguf has the digest %s, the record is about %s", got, record.Weights.SHA256)
	}
}

// TestSizes keeps the module small to fetch.
func TestSizes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ size, most int }{
		embedded.Name: {len(embedded.Weights()), 8 << 20}, embedded.StoriesName: {len(embedded.Stories()), 2 << 20},
	} {
		if c.size > c.most {
			t.Errorf("%s has %d bytes, at most %d", name, c.size, c.most)
		}
	}
}

// BenchmarkDecide is a choice among 8 described options about a state of 100 tokens that was never
// seen, on one core: 200 a second.
func BenchmarkDecide(b *testing.B) {
	e, err := engine.Open(b.Context(), model.Embedded(), engine.WithWorkers(1))
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	q := decide.Choice("team", "Which team should handle it?",
		decide.Opt("billing", "charges, refunds, invoices"), decide.Opt("technical", "errors and outages"),
		decide.Opt("shipping", "delivery of orders"), decide.Opt("sales", "prices and offers"),
		decide.Opt("account", "login, password, profile"), decide.Opt("returns", "sending back goods"),
		decide.Opt("human", "asks for a person"), decide.Opt("other", "none of these"))
	words := strings.Fields(strings.Repeat("my card was charged twice last week and nobody has answered my mails ", 7))
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		state := decide.Text(strconv.Itoa(n) + " " + strings.Join(words[:77], " "))
		res, err := e.Decide(b.Context(), decide.Request{State: state, Questions: []decide.Question{q}})
		if err != nil {
			b.Fatal(err)
		}
		if s := res.Usage.StateTokens; s < 90 || s > 110 || res.Usage.CachedTokens > 15 {
			b.Fatalf("%v", res.Usage)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
}

// BenchmarkOpen is what a program waits for an engine on the embedded model: less than 30 ms.
func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		e, err := engine.Open(b.Context(), model.Embedded())
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := e.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
