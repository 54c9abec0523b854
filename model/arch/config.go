package arch

import "fmt"

// config holds the hyper-parameters of a decoder, from either kind of file.
type config struct {
	family   string
	width    int
	layers   int
	heads    int
	kvHeads  int
	headDim  int
	inner    int // of the feed-forward
	context  int
	epsilon  float32
	rope     ropeConfig
	adjacent bool // the file's q and k rows pair values 2i and 2i+1
}

// Limits that a real model stays far below; they bound what a hostile file makes us allocate.
const (
	maxLayers  = 1 << 12
	maxWidth   = 1 << 20
	maxContext = 1 << 28
)

func (c *config) check() error {
	for _, f := range []struct {
		name       string
		value, max int
	}{
		{"embedding length", c.width, maxWidth},
		{"block count", c.layers, maxLayers},
		{"head count", c.heads, maxWidth},
		{"key-value head count", c.kvHeads, maxWidth},
		{"head length", c.headDim, maxWidth},
		{"feed-forward length", c.inner, maxWidth},
		{"context length", c.context, maxContext},
		{"rotated values of a head", c.rope.dim, c.headDim},
	} {
		if f.value < 1 || f.value > f.max {
			return fmt.Errorf("%w: %s %d, must be 1 to %d", ErrConfig, f.name, f.value, f.max)
		}
	}
	if c.heads%c.kvHeads != 0 {
		return fmt.Errorf("%w: %d heads are no multiple of %d key-value heads", ErrConfig, c.heads, c.kvHeads)
	}
	if !(c.epsilon > 0 && c.epsilon < 1) {
		return fmt.Errorf("%w: norm epsilon %v, must be above 0 and below 1", ErrConfig, c.epsilon)
	}
	return c.rope.check()
}
