package gguf_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/hotpath-go/hotpath/internal/ggufbuild"
	"github.com/hotpath-go/hotpath/internal/mmap"
	"github.com/hotpath-go/hotpath/model/gguf"
)

// part is one of count parts that hold total tensors together.
func part(no, count uint16, total int32, extra []ggufbuild.Pair, tensors ...ggufbuild.Tensor) []byte {
	return ggufbuild.File{
		Pairs: append([]ggufbuild.Pair{
			{Key: "split.no", Value: no}, {Key: "split.count", Value: count}, {Key: "split.tensors.count", Value: total},
		}, extra...),
		Tensors: tensors,
	}.Bytes()
}

func one(name string, value float32) ggufbuild.Tensor {
	return ggufbuild.F32(name, []float32{value}, 1)
}

// parts writes files into a new folder and returns it.
func parts(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestSplit(t *testing.T) {
	t.Parallel()
	name := []ggufbuild.Pair{{Key: "general.name", Value: "whole"}}
	dir := parts(t, map[string][]byte{
		"m-00001-of-00003.gguf": part(0, 3, 4, name, one("a", 1), one("b", 2)),
		"m-00002-of-00003.gguf": part(1, 3, 4, nil, one("c", 3)),
		"m-00003-of-00003.gguf": part(2, 3, 4, nil, one("d", 4)),
	})
	for no := 1; no <= 3; no++ {
		f, err := gguf.Open(filepath.Join(dir, fmt.Sprintf("m-%05d-of-00003.gguf", no)))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for i, x := range f.Tensors() {
			names = append(names, x.Name)
			if want := one("", float32(i+1)).Data; !slices.Equal(x.Data, want) {
				t.Errorf("opened by part %d: %s is % x, want % x", no, x.Name, x.Data, want)
			}
			f.Release(x.Name)
		}
		if !slices.Equal(names, []string{"a", "b", "c", "d"}) {
			t.Errorf("opened by part %d: tensors %q", no, names)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if s, err := f.Meta().Get("general.name").Text(); s != "whole" || err != nil {
			t.Errorf("opened by part %d, closed: name %q, %v", no, s, err)
		}
	}
}

func TestSplitRefuses(t *testing.T) {
	t.Parallel()
	const first, second = "m-00001-of-00002.gguf", "m-00002-of-00002.gguf"
	good := part(0, 2, 2, nil, one("a", 1))
	for name, c := range map[string]struct {
		files map[string][]byte
		open  string
		err   error
	}{
		"sibling missing":       {map[string][]byte{first: good}, first, fs.ErrNotExist},
		"another name":          {map[string][]byte{"x.gguf": good, second: part(1, 2, 2, nil, one("b", 2))}, "x.gguf", gguf.ErrSplit},
		"number of another":     {map[string][]byte{first: good, second: part(0, 2, 2, nil, one("b", 2))}, first, gguf.ErrSplit},
		"name of another":       {map[string][]byte{second: good, first: part(1, 2, 2, nil, one("b", 2))}, second, gguf.ErrSplit},
		"another count":         {map[string][]byte{first: good, second: part(1, 3, 2, nil, one("b", 2))}, first, gguf.ErrSplit},
		"sibling not split":     {map[string][]byte{first: good, second: ggufbuild.File{}.Bytes()}, first, gguf.ErrSplit},
		"another total":         {map[string][]byte{first: good, second: part(1, 2, 3, nil, one("b", 2))}, first, gguf.ErrSplit},
		"fewer tensors":         {map[string][]byte{first: good, second: part(1, 2, 2, nil)}, first, gguf.ErrSplit},
		"more tensors":          {map[string][]byte{first: good, second: part(1, 2, 2, nil, one("b", 2), one("c", 3))}, first, gguf.ErrSplit},
		"tensor in two parts":   {map[string][]byte{first: good, second: part(1, 2, 2, nil, one("a", 2))}, first, gguf.ErrDuplicate},
		"number over the count": {map[string][]byte{first: part(2, 2, 2, nil, one("a", 1))}, first, gguf.ErrSplit},
		"sibling is no file":    {map[string][]byte{first: good, second: []byte("text")}, first, gguf.ErrFormat},
		"sibling is cut off":    {map[string][]byte{first: good, second: part(1, 2, 2, nil, one("b", 2))[:100]}, first, gguf.ErrTruncated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := gguf.Open(filepath.Join(parts(t, c.files), c.open))
			if f != nil || !errors.Is(err, c.err) {
				t.Errorf("got %v, %v; want %v", f, err, c.err)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := parts(t, map[string][]byte{"empty.gguf": nil, "text.gguf": []byte("hello, world")})
	for name, want := range map[string]error{"none.gguf": fs.ErrNotExist, "empty.gguf": gguf.ErrFormat, "text.gguf": gguf.ErrFormat} {
		if _, err := gguf.Open(filepath.Join(dir, name)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	if _, err := gguf.Open(dir); err == nil {
		t.Error("a folder was opened")
	}
}

func TestShrunkFile(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the system does not let a mapped file shrink")
	}
	dir := parts(t, map[string][]byte{"m.gguf": ggufbuild.File{
		Pairs:   []ggufbuild.Pair{{Key: "general.name", Value: "m"}},
		Tensors: []ggufbuild.Tensor{ggufbuild.F32("a", make([]float32, 1<<16), 1<<16)},
	}.Bytes()})
	path := filepath.Join(dir, "m.gguf")
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	a, _ := f.Tensor("a")
	sum := 0
	err = mmap.Guard(func() error {
		for _, x := range a.Data {
			sum += int(x)
		}
		return nil
	})
	if !errors.Is(err, mmap.ErrFault) {
		t.Errorf("reading the tensor: %v", err)
	}
	if s, err := f.Meta().Get("general.name").Text(); s != "m" || err != nil {
		t.Errorf("metadata: %q, %v", s, err)
	}
}

func TestParseDoesNotCopy(t *testing.T) {
	t.Parallel()
	b := ggufbuild.File{Tensors: []ggufbuild.Tensor{one("a", 1)}}.Bytes()
	f, err := gguf.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := f.Tensor("a")
	b[len(b)-1] = 0x40
	if a.Data[3] != 0x40 {
		t.Error("the tensor is a copy")
	}
	f.Release("a")
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// TestConcurrentReads is for the race detector.
func TestConcurrentReads(t *testing.T) {
	t.Parallel()
	f := parse(t, ggufbuild.File{
		Pairs:   []ggufbuild.Pair{{Key: "k", Value: []string{"a", "b"}}},
		Tensors: []ggufbuild.Tensor{one("a", 1)},
	})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 100 {
				s, err := f.Meta().Get("k").Strings()
				a, ok := f.Tensor("a")
				if err != nil || len(s) != 2 || !ok || a.Rows != 1 || len(f.Tensors()) != 1 {
					t.Errorf("got %q, %v, %v", s, err, a)
				}
				f.Release("a")
			}
		})
	}
	group.Wait()
}
