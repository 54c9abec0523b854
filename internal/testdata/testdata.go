// Package testdata finds the material that tests read but the repository does not ship.
//
// The folder is named by the environment variable HOTPATH_DATA. When it is set, a missing file
// fails the test; when it is unset, the test skips and says so.
package testdata

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Variable names the environment variable that holds the data folder.
const Variable = "HOTPATH_DATA"

// Dir returns the data folder, or skips the test when none is named.
func Dir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv(Variable)
	if dir == "" {
		t.Skipf("%s is not set: this test reads files that the repository does not ship", Variable)
	}
	return dir
}

// Path returns the path of a file or folder in the data folder and fails the test when it is absent.
func Path(t testing.TB, rel string) string {
	t.Helper()
	path := filepath.Join(Dir(t), filepath.FromSlash(rel))
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s is set, but %v", Variable, err)
	}
	return path
}

// Read returns the content of a file in the data folder; a name that ends in .gz is unpacked.
func Read(t testing.TB, rel string) []byte {
	t.Helper()
	f, err := os.Open(Path(t, rel))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(rel, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatalf("%s: %v", rel, err)
		}
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("%s: %v", rel, err)
	}
	return b
}

// Unpacked returns the path of a file on disk with rel's content: rel itself, or, where rel ends
// in .gz, a copy unpacked into the test's temporary folder.
func Unpacked(t testing.TB, rel string) string {
	t.Helper()
	if !strings.HasSuffix(rel, ".gz") {
		return Path(t, rel)
	}
	out := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(rel), ".gz"))
	if err := os.WriteFile(out, Read(t, rel), 0o600); err != nil {
		t.Fatal(err)
	}
	return out
}
