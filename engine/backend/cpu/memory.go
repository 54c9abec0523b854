package cpu

import "unsafe"

// alignment of buffers that kernels read: a cache line, and the widest register.
const alignment = 64

// aligned returns n zero values of T from the heap, the first on a cache line.
func aligned[T any](n int) []T {
	var zero T
	size := int(unsafe.Sizeof(zero))
	raw := make([]byte, n*size+alignment)
	off := -int(uintptr(unsafe.Pointer(unsafe.SliceData(raw)))) & (alignment - 1)
	return unsafe.Slice((*T)(unsafe.Pointer(&raw[off])), n)
}

// grown returns s with at least n values, new (and with other contents) where it was shorter.
func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return aligned[T](n + n/4)
	}
	return s[:n]
}

// bytesAt returns the n bytes at p.
func bytesAt(p *byte, n int) []byte { return unsafe.Slice(p, n) }

func byteOf(p *float32) *byte { return (*byte)(unsafe.Pointer(p)) }
