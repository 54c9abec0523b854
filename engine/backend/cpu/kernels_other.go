//go:build noasm || !(amd64 || arm64)

package cpu

// native returns the paths in assembly.
func native() []*kernels { return nil }
