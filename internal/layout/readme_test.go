package layout

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmePrograms holds every Go block of the README equal to a program under examples, which
// the compiler and CI run.
func TestReadmePrograms(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root(t), "examples", "*", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	programs := map[string]bool{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		programs[string(b)] = true
	}
	blocks := strings.Split(string(text), "```go\n")[1:]
	if len(blocks) == 0 {
		t.Error("the README shows no program")
	}
	for i, b := range blocks {
		code, _, _ := strings.Cut(b, "```")
		if !programs[code] {
			t.Errorf("block %d is no program under examples:\n%s", i+1, code)
		}
	}
}
