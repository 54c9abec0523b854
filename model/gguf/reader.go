package gguf

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf8"
)

// reader walks over the bytes of a file. Lengths are compared with what is left before use.
type reader struct {
	b   []byte
	off int
}

func (r *reader) left() int { return len(r.b) - r.off }

// take returns the next n bytes.
func (r *reader) take(n uint64, what string) ([]byte, error) {
	if n > uint64(r.left()) {
		return nil, fmt.Errorf("%w: %s: %d bytes at offset %d, %d left", ErrTruncated, what, n, r.off, r.left())
	}
	b := r.b[r.off : r.off+int(n) : r.off+int(n)]
	r.off += int(n)
	return b, nil
}

func (r *reader) u32(what string) (uint32, error) {
	b, err := r.take(4, what)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (r *reader) u64(what string) (uint64, error) {
	b, err := r.take(8, what)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// count reads a number of items that take at least size bytes each.
func (r *reader) count(size int, what string) (int, error) {
	n, err := r.u64(what)
	if err != nil {
		return 0, err
	}
	if n > uint64(r.left()/size) {
		return 0, fmt.Errorf("%w: %s: %d of at least %d bytes, %d bytes left", ErrTruncated, what, n, size, r.left())
	}
	return int(n), nil
}

// text reads a length and as many bytes.
func (r *reader) text(what string) ([]byte, error) {
	n, err := r.u64(what)
	if err != nil {
		return nil, err
	}
	return r.take(n, what)
}

// name reads text that must be a usable name of at most limit bytes, and copies it.
func (r *reader) name(limit int, what string) (string, error) {
	at := r.off
	n, err := r.u64(what)
	if err != nil {
		return "", err
	}
	if n > uint64(limit) {
		return "", fmt.Errorf("%w: %s at offset %d: %d bytes, limit %d", ErrLimit, what, at, n, limit)
	}
	b, err := r.take(n, what)
	if err != nil {
		return "", err
	}
	s := string(b)
	if s == "" || !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return "", fmt.Errorf("%w: %s at offset %d: %q", ErrText, what, at, s)
	}
	return s, nil
}
