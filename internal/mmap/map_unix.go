//go:build linux || darwin

package mmap

import (
	"os"

	"golang.org/x/sys/unix"
)

func mapFile(f *os.File, size int) ([]byte, error) {
	return unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
}

func release(b []byte) { _ = unix.Madvise(b, unix.MADV_DONTNEED) }

func unmap(b []byte) error { return unix.Munmap(b) }
