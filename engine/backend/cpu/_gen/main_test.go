package main

import (
	"bytes"
	"os"
	"testing"
)

// The committed kernels are what the generator writes.
func TestCommittedFilesAreCurrent(t *testing.T) {
	generate()
	for name, want := range written {
		got, err := os.ReadFile("../" + name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs: run go run . in this folder", name)
		}
	}
	if len(written) != 18 {
		t.Errorf("%d files", len(written))
	}
}
