//go:build !amd64

package pool

// controlDefault: rounding to nearest, subnormals kept, no traps.
const controlDefault = 0
