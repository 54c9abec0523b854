package gguf_test

import (
	"path/filepath"
	"testing"

	"github.com/hotpath-go/hotpath/internal/testdata"
	"github.com/hotpath-go/hotpath/model/gguf"
)

func TestRealFiles(t *testing.T) {
	t.Parallel()
	dir := testdata.Dir(t)
	var paths []string
	for _, pattern := range []string{"tiny/models/*", "gguf-vocab/*", "weights/*/*.gguf"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		paths = append(paths, found...)
	}
	for _, path := range paths {
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			t.Fatal(err)
		}
		b := testdata.Read(t, filepath.ToSlash(rel))
		f, err := gguf.Parse(b)
		if err != nil {
			t.Errorf("%s: %v", rel, err)
			continue
		}
		arch, err := f.Meta().Get("general.architecture").Text()
		if err != nil || arch == "" || f.Version() != 3 {
			t.Errorf("%s: version %d, architecture %q, %v", rel, f.Version(), arch, err)
		}
	}
}
