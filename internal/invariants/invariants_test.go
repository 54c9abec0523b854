package invariants

import (
	"errors"
	"testing"
)

func TestCheckPanicsOnlyWhenEnabled(t *testing.T) {
	t.Parallel()
	ran := false
	recovered := func() (r any) {
		defer func() { r = recover() }()
		Check(func() error { ran = true; return errors.New("broken") })
		return nil
	}()
	if ran != Enabled || (recovered != nil) != Enabled {
		t.Fatalf("enabled %v: ran %v, recovered %v", Enabled, ran, recovered)
	}
}
