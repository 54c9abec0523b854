package cpu_test

import (
	"testing"

	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/engine/backend/cpu"
)

// The generic path is held against other engines; the others, here, also against it.
func TestConformance(t *testing.T) {
	for _, path := range cpu.Paths() {
		t.Run(path, func(t *testing.T) {
			c := backendtest.Config{Backend: cpu.New(cpu.WithPath(path))}
			if path != "generic" {
				c.Oracle = cpu.New(cpu.WithPath("generic"))
			}
			backendtest.Run(t, c)
		})
	}
}
