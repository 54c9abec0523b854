package main

import (
	"bytes"
	"context"
	"regexp"
	"testing"
)

// TestQuickstart reads what a reader sees: answers that make sense, and a second call that finds the
// message's tokens.
func TestQuickstart(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(context.Background(), "", &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`human +yes`, `team +billing`, `urgency +(today|immediately)`, `mood +(quite|very much)`,
		`state (\d+) tokens, cached 0, `, `decides and does not write`, `[a-z]+\. .*\n?[A-Z]`, `prompt \d+ tokens`,
	} {
		if !regexp.MustCompile(want).Match(out.Bytes()) {
			t.Errorf("no %s in\n%s", want, &out)
		}
	}
	hot := regexp.MustCompile(`state (\d+) tokens, cached (\d+), `).FindAllSubmatch(out.Bytes(), -1)
	if len(hot) != 2 || !bytes.Equal(hot[1][1], hot[1][2]) {
		t.Errorf("the second call finds %q\n%s", hot, &out)
	}
}

// TestOneModel decides and writes on one engine.
func TestOneModel(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(context.Background(), "../../model/embedded/stories260K.gguf", &out); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?s)from the same blocks:.*prompt (\d+) tokens, cached [1-9]`).Match(out.Bytes()) {
		t.Errorf("%s", &out)
	}
}
