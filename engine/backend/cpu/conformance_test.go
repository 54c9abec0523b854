package cpu_test

import (
	"testing"

	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/engine/backend/cpu"
	"github.com/hotpath-go/hotpath/engine/backend/reference"
	"github.com/hotpath-go/hotpath/internal/race"
)

// The generic path is held against the reference backend, the others against it. The reference rounds
// activations as documented, so that what differs is the order of sums, and now and then a value
// that falls on the other side of a rounding step: 1.2 % of the logits' range at most, where the sums
// alone make 1e-5.
func TestConformance(t *testing.T) {
	for _, path := range cpu.Paths() {
		if race.Enabled && path != cpu.Paths()[0] {
			continue // what the detector looks at is the same on every path
		}
		t.Run(path, func(t *testing.T) {
			c := backendtest.Config{Backend: cpu.New(cpu.WithPath(path))}
			switch {
			case race.Enabled:
			case path == "generic":
				c.Oracle = reference.New(reference.WithRoundedActivations())
			default:
				c.Oracle = cpu.New(cpu.WithPath("generic"))
			}
			if path != cpu.Paths()[0] {
				c.Seeds = 1 // what mixes sequences is the same on every path
			}
			if backendtest.Emulated() {
				c.Steps = 15
			}
			c.Shapes = backendtest.Shapes()
			if !backendtest.Long() {
				every := 2
				if path != cpu.Paths()[0] || backendtest.Emulated() {
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
