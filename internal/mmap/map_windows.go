package mmap

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

func mapFile(f *os.File, size int) ([]byte, error) {
	h, err := windows.CreateFileMapping(windows.Handle(f.Fd()), nil, windows.PAGE_READONLY, 0, 0, nil)
	if err != nil {
		return nil, err
	}
	defer windows.CloseHandle(h) // the view keeps the mapping alive
	addr, err := windows.MapViewOfFile(h, windows.FILE_MAP_READ, 0, 0, uintptr(size))
	if err != nil {
		return nil, err
	}
	// Not Go memory, so the collector never moves it; the double pointer is what vet accepts.
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), size), nil
}

// release unlocks pages that are not locked, which takes them out of the working set.
func release(b []byte) {
	_ = windows.VirtualUnlock(uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
}

func unmap(b []byte) error {
	return windows.UnmapViewOfFile(uintptr(unsafe.Pointer(&b[0])))
}
