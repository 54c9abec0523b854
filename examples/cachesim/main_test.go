package main

import (
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestRunsWithoutTraces(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	image := filepath.Join(t.TempDir(), "plot.png")
	if err := run(&out, "", image, 1, true); err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(\d+) %\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)`).FindAllStringSubmatch(out.String(), -1)
	if len(rows) != len(sizes) {
		t.Fatalf("%d rows:\n%s", len(rows), out.String())
	}
	for _, row := range rows {
		var v [4]float64
		for i := range v {
			v[i], _ = strconv.ParseFloat(row[i+1], 64)
		}
		if v[1] > v[2] || v[2] > v[3] || v[3] <= 0 {
			t.Errorf("plain, ours, best: %v", v)
		}
	}
	f, err := os.Open(image)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if img, err := png.Decode(f); err != nil || img.Bounds().Dx() < 300 {
		t.Fatal(err)
	}
}

func TestMissingTraceIsNamed(t *testing.T) {
	t.Parallel()
	err := run(&strings.Builder{}, t.TempDir(), "", 0, true)
	if err == nil || !strings.Contains(err.Error(), "conversation_trace") {
		t.Errorf("%v", err)
	}
}
