//go:build !linux

package cpu

// reserve returns n zero bytes.
func reserve(n int) ([]byte, error) { return aligned[byte](n), nil }

func unreserve([]byte) {}
