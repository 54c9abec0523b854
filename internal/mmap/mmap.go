// Package mmap maps files into memory for reading.
package mmap

import (
	"fmt"
	"io/fs"
	"os"
	"sync"
	"unsafe"
)

const maxInt = int(^uint(0) >> 1)

// File is a file mapped for reading. All methods may be called by several goroutines at once.
type File struct {
	once sync.Once
	data []byte
	err  error
}

// Open maps the regular file at path. Where the system offers no mapping it reads the file instead.
// The mapping sees later changes of the file: touching a page that the file no longer covers is a
// fault, see [Guard].
func Open(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the mapping outlives the descriptor
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "map", Path: path, Err: fmt.Errorf("not a regular file: %v", st.Mode().Type())}
	}
	if st.Size() > int64(maxInt) {
		return nil, &fs.PathError{Op: "map", Path: path, Err: fmt.Errorf("%d bytes, limit %d", st.Size(), maxInt)}
	}
	if st.Size() == 0 {
		return &File{}, nil // systems refuse to map nothing
	}
	data, err := mapFile(f, int(st.Size()))
	if err != nil {
		return nil, &fs.PathError{Op: "map", Path: path, Err: err}
	}
	return &File{data: data}, nil
}

// Bytes returns the content, as long as the file was at Open. It is read-only (writing is a fault)
// and no byte of it may be touched once Close has begun.
func (f *File) Bytes() []byte { return f.data }

// Release tells the system that n bytes from off are not needed for now, so that their pages may
// leave memory; they are read again when touched. It is a hint over the whole pages of the range.
func (f *File) Release(off, n int) {
	page := os.Getpagesize()
	if off < 0 || n < page || off > len(f.data)-n {
		return
	}
	from := (off + page - 1) / page * page
	to := (off + n) / page * page
	if from < to {
		release(f.data[from:to:to])
	}
}

// ReleaseBytes is Release for a part of Bytes. It does nothing for other memory.
func (f *File) ReleaseBytes(b []byte) {
	if len(b) == 0 || len(f.data) == 0 {
		return
	}
	off := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(f.data)))
	if off < uintptr(len(f.data)) { // memory below wraps around
		f.Release(int(off), len(b))
	}
}

// Close removes the mapping. Later calls return what the first returned.
func (f *File) Close() error {
	f.once.Do(func() {
		if f.data != nil {
			f.err = unmap(f.data)
		}
	})
	return f.err
}
