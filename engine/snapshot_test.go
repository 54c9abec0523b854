package engine_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/quant"
)

// TestRestartedWarm takes the prefix cache from one engine to another: the prompt is found there, and
// what is generated has the same bits.
func TestRestartedWarm(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "prefix.kv")
	for _, format := range []quant.Format{quant.BF16, quant.F16, quant.F32} {
		kv := engine.WithKV(engine.KV{Format: format})
		old := openFor(t, model.Stories(), kv)
		r := engine.GenerateRequest{Prompt: chat.Text(once + " " + once), MaxTokens: 20}
		want := generate(t, old, r)
		if err := old.SnapshotFile(ctx, path); err != nil {
			t.Fatal(err)
		}
		fresh := openFor(t, model.Stories(), kv)
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := fresh.Restore(ctx, f); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		got := generate(t, fresh, r)
		if got.Text != want.Text {
			t.Errorf("%v: %q, before %q", format, got.Text, want.Text)
		}
		if got.Usage.CachedTokens != got.Usage.PromptTokens-1 {
			t.Errorf("%v: %d of %d prompt tokens cached", format, got.Usage.CachedTokens, got.Usage.PromptTokens)
		}
	}
}

// TestForeignSnapshots refuses what another format wrote, and what is damaged, and leaves nothing.
func TestForeignSnapshots(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	old := openFor(t, model.Stories())
	generate(t, old, engine.GenerateRequest{Prompt: chat.Text(once), MaxTokens: 40})
	var buf bytes.Buffer
	if err := old.Snapshot(ctx, &buf); err != nil {
		t.Fatal(err)
	}
	other := openFor(t, model.Stories(), engine.WithKV(engine.KV{Format: quant.F32}))
	if err := other.Restore(ctx, bytes.NewReader(buf.Bytes())); !errors.Is(err, kvcache.ErrForeign) {
		t.Errorf("another format: %v", err)
	}
	same := openFor(t, model.Stories())
	for name, b := range map[string][]byte{
		"empty":   nil,
		"cut":     buf.Bytes()[:buf.Len()-40],
		"changed": append(bytes.Clone(buf.Bytes()[:buf.Len()/2]), append([]byte{buf.Bytes()[buf.Len()/2] ^ 1}, buf.Bytes()[buf.Len()/2+1:]...)...),
	} {
		if err := same.Restore(ctx, bytes.NewReader(b)); err == nil {
			t.Errorf("%s: restored", name)
		}
	}
	for _, e := range []*engine.Engine{other, same} {
		if s := e.Stats().Cache; s.Indexed != 0 || s.Free != s.Blocks {
			t.Errorf("%d blocks indexed, %d of %d free", s.Indexed, s.Free, s.Blocks)
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := same.Snapshot(cancelled, &buf); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestSnapshotWhileServing writes and reads snapshots beside running calls, whose texts do not change.
func TestSnapshotWhileServing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	e := openFor(t, model.Stories())
	r := engine.GenerateRequest{Prompt: chat.Text(once), MaxTokens: 60}
	want := generate(t, e, r).Text
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 3 {
				if g, err := e.Generate(ctx, r); err != nil || g.Text != want {
					t.Errorf("%v, %v", g, err)
				}
			}
		}()
	}
	for range 3 {
		var buf bytes.Buffer
		if err := e.Snapshot(ctx, &buf); err != nil {
			t.Error(err)
		}
		if err := e.Restore(ctx, &buf); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := e.Snapshot(ctx, &bytes.Buffer{}); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
