package dense_test

import (
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"testing"
)

// The version that the tensor library's own go.mod names panics at start, and go mod tidy goes back
// to it once nobody here imports the package: a program that links us would not start.
func TestKeepsWorkingGCAssumption(t *testing.T) {
	t.Parallel()
	const path, least = "go4.org/unsafe/assume-no-moving-gc", "v0.0.0-20231121144256-b99613f794b6"
	f, err := parser.ParseFile(token.NewFileSet(), "dense.go", nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, i := range f.Imports {
		found = found || i.Path.Value == `"`+path+`"` && i.Name.Name == "_"
	}
	if !found {
		t.Errorf("dense.go does not import %s", path)
	}
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(regexp.QuoteMeta(path) + ` (v\S+)`).FindSubmatch(mod)
	if line == nil {
		t.Fatalf("go.mod does not name %s", path)
	}
	// Pseudo-versions of one base order by their time.
	if got := string(line[1]); got < least {
		t.Errorf("go.mod has %s, must be at least %s", got, least)
	}
}
