//go:build race

// Package race tells whether the race detector is on, so that long loops can shrink.
package race

// Enabled is true in builds with -race.
const Enabled = true
