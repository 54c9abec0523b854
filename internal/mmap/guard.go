package mmap

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
)

// ErrFault is returned by [Guard] when mapped memory could not be read.
var ErrFault = errors.New("mmap: the mapped file shrank or its device failed")

// Guard runs f and returns its error, or one that wraps ErrFault and names the address when f
// touched memory that the system could not provide. Any other panic of f goes on. It covers the
// calling goroutine alone: goroutines that f starts need their own.
func Guard(f func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		r := recover()
		if r == nil {
			return
		}
		if e, ok := r.(runtime.Error); ok {
			// Only a fault has an address; a nil pointer or an index does not.
			if a, ok := r.(interface{ Addr() uintptr }); ok {
				err = fmt.Errorf("%w: address %#x: %w", ErrFault, a.Addr(), e)
				return
			}
		}
		panic(r)
	}()
	return f()
}
