package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/model"
)

func TestRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, err := os.Create(filepath.Join(dir, "table"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	picture := filepath.Join(dir, "tax.png")
	if err := run(context.Background(), settings{tokens: 300, decode: 8, picture: picture}, out); err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range []string{"router", "decide", "small"} {
		if !strings.Contains(string(table), way) {
			t.Errorf("no line of %s in\n%s", way, table)
		}
	}
	if b, err := os.ReadFile(picture); err != nil || !strings.HasPrefix(string(b), "\x89PNG") {
		t.Errorf("picture: %v", err)
	}
}

// TestTax counts rows: the router pays for the prompt twice, the decision once.
func TestTax(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	open := func() *engine.Engine {
		e, err := engine.Open(ctx, model.Stories())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() })
		return e
	}
	e := open()
	p, err := agentPrompt(e, 300)
	if err != nil {
		t.Fatal(err)
	}
	n, err := e.Count(p)
	if err != nil || n < 240 || n > 300 {
		t.Fatalf("prompt of %d tokens, %v", n, err)
	}
	twice, err := routed(ctx, open(), nil, p, 4)
	if err != nil {
		t.Fatal(err)
	}
	once, err := decided(ctx, open(), nil, p, 4)
	if err != nil {
		t.Fatal(err)
	}
	if twice.computed < 2*n || twice.survival != 0 {
		t.Errorf("router: %d rows for a prompt of %d, survival %v", twice.computed, n, twice.survival)
	}
	if once.computed > n+150 || once.survival < float64(n-1)/float64(n) {
		t.Errorf("decide: %d rows for a prompt of %d, survival %v", once.computed, n, once.survival)
	}
}
