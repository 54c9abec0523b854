//go:build !noasm && (amd64 || arm64)

package pool

// pause tells the CPU that this is a spin loop.
//
//go:noescape
func pause()

// setControl sets the floating-point control word of the thread and returns the old one.
//
//go:noescape
func setControl(new uint64) (old uint64)
