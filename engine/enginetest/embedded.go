package enginetest

import (
	"testing"

	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/model"
)

// Embedded opens an engine on the small trained model that the module carries, and closes it when the
// test ends. It needs no file and gives the same bits on every run of a machine. The model decides:
// it routes by the names and descriptions of options, and is right about most plain requests; see
// MODEL.md in model/embedded for what it can and cannot. It does not write: Script does that in a test.
func Embedded(t testing.TB, opts ...engine.Option) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), model.Embedded(), opts...)
	if err != nil {
		t.Fatalf("enginetest: %v", err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("enginetest: %v", err)
		}
	})
	return e
}
