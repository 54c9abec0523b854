package reference_test

import (
	"testing"

	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/engine/backend/reference"
)

// Its oracle is another engine: see the tests over data files.
func TestConforms(t *testing.T) {
	shapes := backendtest.Shapes()
	backendtest.Run(t, backendtest.Config{
		Backend: reference.New(),
		Shapes:  []backendtest.Shape{shapes[0], shapes[2], shapes[9]},
		Workers: []int{1, 4},
		Steps:   12,
	})
}
