package mmap

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func write(t *testing.T, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestContent(t *testing.T) {
	t.Parallel()
	page := os.Getpagesize()
	for _, n := range []int{0, 1, page - 1, page, 3*page + 7} {
		want := make([]byte, n)
		for i := range want {
			want[i] = byte(i*7 + i/251)
		}
		f, err := Open(write(t, want))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(f.Bytes(), want) {
			t.Errorf("%d bytes: content differs", n)
		}
		for _, r := range [][2]int{{0, n}, {1, n - 1}, {-1, n}, {0, n + 1}, {n, 0}, {page, maxInt}} {
			f.Release(r[0], r[1])
		}
		if !bytes.Equal(f.Bytes(), want) {
			t.Errorf("%d bytes: content differs after Release", n)
		}
		for range 2 {
			if err := f.Close(); err != nil {
				t.Errorf("%d bytes: Close: %v", n, err)
			}
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := Open(dir); err == nil {
		t.Error("a folder was mapped")
	}
}

func TestGuardShrunkFile(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("the system does not let a mapped file shrink")
	}
	page := os.Getpagesize()
	path := write(t, bytes.Repeat([]byte{1}, 3*page))
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Truncate(path, int64(page)); err != nil {
		t.Fatal(err)
	}
	sum := 0
	err = Guard(func() error {
		for _, b := range f.Bytes() {
			sum += int(b)
		}
		return nil
	})
	if !errors.Is(err, ErrFault) {
		t.Errorf("got %v, want ErrFault", err)
	}
	if err := Guard(func() error { sum = int(f.Bytes()[page-1]); return nil }); err != nil || sum != 1 {
		t.Errorf("the part that is left: %d, %v", sum, err)
	}
}

func TestGuardPassesOn(t *testing.T) {
	t.Parallel()
	want := errors.New("own")
	if err := Guard(func() error { return want }); err != want {
		t.Errorf("error: %v", err)
	}
	var none *File
	for name, f := range map[string]func() error{
		"panic":       func() error { panic("own") },
		"index":       func() error { _ = make([]int, 1)[len(name(1))]; return nil },
		"nil pointer": func() error { _ = none.data[0]; return nil },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: swallowed", name)
				}
			}()
			_ = Guard(f)
		}()
	}
}

func name(n int) string { return "name"[:n] }

func TestReleaseBytesTakesOnlyItsOwn(t *testing.T) {
	t.Parallel()
	want := bytes.Repeat([]byte("0123456789abcdef"), 8192)
	f, err := Open(write(t, want))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	other := bytes.Clone(want)
	f.ReleaseBytes(other)
	f.ReleaseBytes(nil)
	f.ReleaseBytes(f.Bytes()[5000:])
	if !bytes.Equal(other, want) || !bytes.Equal(f.Bytes(), want) {
		t.Error("content differs after ReleaseBytes")
	}
}
