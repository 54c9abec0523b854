package backendtest

import (
	"slices"
	"testing"

	"github.com/hotpath-go/hotpath/engine/backend"
)

func TestFakeConforms(t *testing.T) {
	Run(t, Config{Backend: &Fake{}})
}

func TestFakeWithOneStepAndNoWantsConforms(t *testing.T) {
	Run(t, Config{Backend: &Fake{InFlight: 1, Without: backend.WantLabels | backend.WantLogSumExp | backend.WantTopK | backend.WantSample}, Shapes: Shapes()[:2]})
}

// The suite itself goes by blocks: what it computes is what the histories say.
func TestRigFollowsHistories(t *testing.T) {
	t.Parallel()
	var f Fake
	t.Cleanup(func() { f.Verify(t) })
	r := NewRig(t, &f, Tiny(t, Shapes()[0]), backend.Options{})
	tokens := []int32{9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7}
	got := r.Logits(tokens, 5, rows(0, len(tokens))...)
	for i := range tokens {
		want := make([]float32, 160)
		FakeLogits(tokens[:i+1], want)
		if !slices.Equal(got[i], want) {
			t.Fatalf("row %d differs", i)
		}
	}
}
