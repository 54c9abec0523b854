package engine_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/backend/reference"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/quant"
)

// TestHidden compares the rows with the reference backend's, whatever steps they were computed in,
// and finds nothing of them in the cache.
func TestHidden(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	prompt := chat.Text("Once upon a time, there was a little girl named Lily. She loved to play outside in the park.")
	kv := engine.WithKV(engine.KV{Format: quant.F32})
	oracle, err := engine.Open(ctx, model.Stories(), kv, engine.WithBackend(reference.New()))
	if err != nil {
		t.Fatal(err)
	}
	defer oracle.Close()
	want, err := oracle.Hidden(ctx, prompt)
	if err != nil {
		t.Fatal(err)
	}
	var first engine.Matrix
	for _, rows := range []int{1, 7, 512} {
		e, err := engine.Open(ctx, model.Stories(), kv, engine.WithStepRows(rows))
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.Hidden(ctx, prompt)
		if err != nil {
			t.Fatal(err)
		}
		if s := e.Stats().Cache; s.Indexed != 0 || s.Referenced != 0 {
			t.Errorf("%d blocks indexed, %d referenced", s.Indexed, s.Referenced)
		}
		if first.Data == nil {
			first = got
		}
		if !slices.Equal(first.Data, got.Data) {
			t.Errorf("steps of %d rows: other bits than steps of 1", rows)
		}
		for i := range got.Data {
			// Two float32 sums over five layers, in different orders.
			if d := math.Abs(float64(got.Data[i] - want.Data[i])); d > 1e-4 {
				t.Fatalf("value %d is %v, the reference %v", i, got.Data[i], want.Data[i])
			}
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}

	mean, err := oracle.Embed(ctx, engine.PoolMean, prompt, prompt)
	if err != nil {
		t.Fatal(err)
	}
	last, err := oracle.Embed(ctx, engine.PoolLast, prompt)
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string][]float32{"mean": mean.Row(1), "last": last.Row(0)} {
		sum := 0.0
		for _, x := range row {
			sum += float64(x) * float64(x)
		}
		if math.Abs(sum-1) > 1e-6 {
			t.Errorf("%s: squared length %v", name, sum)
		}
	}
	scale := float64(last.Row(0)[0] / want.Row(want.Rows - 1)[0])
	for i, x := range want.Row(want.Rows - 1) {
		if math.Abs(float64(x)*scale-float64(last.Row(0)[i])) > 1e-6 {
			t.Errorf("last: value %d is %v, want %v", i, last.Row(0)[i], float64(x)*scale)
		}
	}
	if _, err := oracle.Embed(ctx, 9, prompt); !errors.Is(err, engine.ErrRequest) {
		t.Errorf("unknown pooling: %v", err)
	}
}
