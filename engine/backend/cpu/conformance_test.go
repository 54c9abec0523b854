package cpu_test

import (
	"testing"

	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/engine/backend/cpu"
	"github.com/hotpath-go/hotpath/engine/backend/reference"
	"github.com/hotpath-go/hotpath/internal/race"
)

// The generic path is held against the reference backend, the others against it.
func TestConformance(t *testing.T) {
	for _, path := range cpu.Paths() {
		t.Run(path, func(t *testing.T) {
			c := backendtest.Config{Backend: cpu.New(cpu.WithPath(path))}
			if race.Enabled && path != cpu.Paths()[0] {
				t.Skip("what the race detector looks at is the same on every path")
			}
			switch {
			case race.Enabled:
			case path == "generic":
				c.Oracle = reference.New()
			default:
				c.Oracle = cpu.New(cpu.WithPath("generic"))
			}
			c.Shapes = backendtest.Shapes()
			if !backendtest.Long() {
				every := 2
				if path != cpu.Paths()[0] {
					every = 5
				}
				for i := range c.Shapes { // some of them, compacted
					if i*every < len(c.Shapes) {
						c.Shapes[i] = c.Shapes[i*every]
					}
				}
				c.Shapes = c.Shapes[:(len(c.Shapes)+every-1)/every]
			}
			backendtest.Run(t, c)
		})
	}
}
