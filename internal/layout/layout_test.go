// Package layout holds tests of the repository's shape: which package may import which, and which
// folders there are.
package layout

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/hotpath-go/hotpath"

type pkg struct {
	ImportPath string
	Imports    []string
}

// rules lists, for each package or tree ("x/..."), the packages of ours that it may import. A
// package is ruled by the longest entry that covers it. Everybody may import internal.
var rules = map[string][]string{
	"internal/...":               {"internal/..."},
	"quant":                      {},
	"kvcache":                    {},
	"cors":                       {},
	"sched":                      {"kvcache"},
	"sched/sim":                  {"sched", "kvcache"},
	"model/gguf":                 {"quant"},
	"model/safetensors":          {"quant"},
	"model/tokenizer":            {"model/gguf"},
	"model/chat/jinja":           {},
	"model/chat":                 {"model/chat/jinja", "model/tokenizer"},
	"model/chat/parse":           {"model/chat", "model/chat/jinja"},
	"model/arch":                 {"model/gguf", "model/safetensors", "quant"},
	"model/embedded":             {},
	"model":                      {"model/...", "quant"},
	"decide":                     {"model/...", "quant"},
	"decide/fit":                 {"decide", "model/...", "engine/..."},
	"decide/wire":                {"decide", "model/..."},
	"engine/sample":              {},
	"engine/constrain":           {},
	"engine/backend":             {"model/...", "quant", "kvcache", "engine/sample"},
	"engine/backend/...":         {"engine/backend", "model/...", "quant", "kvcache", "engine/sample"},
	"engine/backend/cpu":         {"engine/backend", "model/...", "quant", "kvcache", "engine/sample"},
	"engine":                     {"engine/backend", "engine/backend/cpu", "engine/sample", "engine/constrain", "decide", "model/...", "sched", "kvcache", "quant"},
	"engine/dense":               {"engine", "engine/backend"},
	"engine/serve":               {"engine", "engine/...", "decide", "decide/wire", "model/...", "quant", "kvcache", "sched", "cors"},
	"engine/enginetest":          {"engine", "engine/...", "decide", "model/...", "quant", "kvcache", "sched"},
	"engine/remote":              {"engine", "engine/...", "decide", "decide/wire", "model/...", "quant", "kvcache", "sched"},
	"examples/...":               {"..."},
	"engine/backend/backendtest": {"engine/backend", "model/...", "quant", "kvcache", "engine/sample"},
}

// gorgonia lists who may import gorgonia.org.
var gorgonia = []string{"engine/dense", "engine/backend/reference", "decide/fit"}

func TestImportsPointOneWay(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		allowed, ok := ruleOf(name)
		if !ok {
			t.Errorf("%s: no rule says what it may import", name)
			continue
		}
		for _, i := range p.Imports {
			if strings.HasPrefix(i, "gorgonia.org/") && !slices.Contains(gorgonia, name) {
				t.Errorf("%s imports %s; only %v may", name, i, gorgonia)
			}
			if i != module && !strings.HasPrefix(i, module+"/") {
				continue
			}
			i = strings.TrimPrefix(i, module+"/")
			if strings.HasPrefix(i, "examples") {
				t.Errorf("%s imports %s; nobody imports examples", name, i)
			}
			if !covered(i, allowed) && !covered(i, []string{"internal/..."}) {
				t.Errorf("%s imports %s; it may import %v", name, i, allowed)
			}
		}
	}
}

func TestTopLevel(t *testing.T) {
	t.Parallel()
	folders := []string{"engine", "kvcache", "sched", "decide", "model", "quant", "cors", "examples", "internal"}
	files := []string{"README.md", "LICENSE", "go.mod", "go.sum", "CHANGELOG.md"}
	entries, err := os.ReadDir(root(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		want := files
		if e.IsDir() {
			want = folders
		}
		if !slices.Contains(want, e.Name()) {
			t.Errorf("%s does not belong at the top; there are %v", e.Name(), want)
		}
	}
	for _, f := range files {
		if _, err := os.Stat(filepath.Join(root(t), f)); err != nil {
			t.Error(err)
		}
	}
}

// TestFaultyRuleIsSeen shows that the test above can fail.
func TestFaultyRuleIsSeen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"quant", "kvcache", false},
		{"sched", "kvcache", true},
		{"sched", "engine/backend", false},
		{"model/arch", "model", false},
		{"model", "model/arch", true},
		{"engine/backend/cpu", "engine", false},
		{"engine/backend/cpu", "engine/backend", true},
		{"decide", "engine", false},
		{"engine", "decide", true},
		{"examples/quickstart", "engine", true},
	} {
		allowed, ok := ruleOf(c.from)
		if !ok || covered(c.to, allowed) != c.want {
			t.Errorf("%s may import %s: %v, want %v", c.from, c.to, !c.want, c.want)
		}
	}
}

func ruleOf(name string) ([]string, bool) {
	best, found := "", false
	for r := range rules {
		if covered(name, []string{r}) && (!found || len(strings.TrimSuffix(r, "...")) > len(strings.TrimSuffix(best, "...")) || r == name) {
			best, found = r, true
			if r == name {
				break
			}
		}
	}
	return rules[best], found
}

// covered reports whether a package is in the list; "x/..." stands for x and what is below it, "..." for all.
func covered(name string, list []string) bool {
	for _, l := range list {
		if below, ok := strings.CutSuffix(l, "..."); l == name || (ok && strings.HasPrefix(name+"/", below)) {
			return true
		}
	}
	return false
}

func packages(t *testing.T) []pkg {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = root(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	dec := json.NewDecoder(bufio.NewReader(bytes.NewReader(out)))
	var list []pkg
	for {
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
