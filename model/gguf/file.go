package gguf

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/hotpath-go/hotpath/internal/mmap"
)

const magic = "GGUF"

// File is an open GGUF file, or all parts of a split one. Its methods may be called by several
// goroutines at once, except Close.
type File struct {
	version  uint32
	meta     *Metadata
	entries  []entry
	index    map[string]int // name to entry
	mappings []*mmap.File   // empty after Parse
}

// Parse reads a file that is in memory. Tensors are views of b, which must stay unchanged as long
// as they are in use; Metadata is too. A part of a split file is [ErrSplit]: it needs Open.
func Parse(b []byte) (*File, error) {
	f, err := parse(b)
	if err != nil {
		return nil, err
	}
	s, err := f.split()
	if err != nil {
		return nil, err
	}
	if s.count > 1 {
		return nil, fmt.Errorf("%w: part %d of %d alone", ErrSplit, s.no+1, s.count)
	}
	return f, nil
}

// parse reads one file or one part.
func parse(b []byte) (*File, error) {
	r := &reader{b: b}
	version, err := r.version()
	if err != nil {
		return nil, err
	}
	tensors, err := r.u64("tensor count")
	if err != nil {
		return nil, err
	}
	pairs, err := r.count(minPair, "metadata count")
	if err != nil {
		return nil, err
	}
	f := &File{version: version, index: make(map[string]int)}
	if f.meta, err = r.metadata(pairs); err != nil {
		return nil, err
	}
	alignment, err := f.alignment()
	if err != nil {
		return nil, err
	}
	if tensors > uint64(r.left()/minTensor) {
		return nil, fmt.Errorf("%w: tensor count: %d of at least %d bytes, %d bytes left", ErrTruncated, tensors, minTensor, r.left())
	}
	return f, f.readTensors(r, int(tensors), alignment)
}

func (r *reader) version() (uint32, error) {
	head, err := r.take(uint64(min(len(magic), r.left())), "magic")
	if err != nil || string(head) != magic {
		return 0, fmt.Errorf("%w: starts with %q, want %q", ErrFormat, head, magic)
	}
	v, err := r.u32("version")
	switch swapped := bits.ReverseBytes32(v); {
	case err != nil:
		return 0, err
	case v == 2 || v == 3:
		return v, nil
	case swapped >= 1 && swapped <= 3:
		return 0, fmt.Errorf("%w: version field %#08x is version %d in that order", ErrBigEndian, v, swapped)
	}
	return 0, fmt.Errorf("%w: %d, want 2 or 3", ErrVersion, v)
}

// alignment returns general.alignment.
func (f *File) alignment() (uint64, error) {
	v := f.meta.Get("general.alignment")
	if !v.Exists() {
		return defaultAlignment, nil
	}
	if v.typ != Uint32 && v.typ != Uint64 {
		return 0, v.wrong("uint32")
	}
	n, err := v.Uint()
	if err != nil {
		return 0, err
	}
	if n == 0 || n%8 != 0 || n > 1<<30 {
		return 0, fmt.Errorf("%w: %s is %d, want a multiple of 8 up to %d", ErrAlignment, v.key, n, 1<<30)
	}
	return n, nil
}

// Version returns the format version of the file, 2 or 3.
func (f *File) Version() int { return int(f.version) }

// Meta returns the metadata; of a split file, that of the first part.
func (f *File) Meta() *Metadata { return f.meta }

// Tensors returns all tensors in file order, part after part. The slice is the caller's.
func (f *File) Tensors() []Tensor {
	out := make([]Tensor, len(f.entries))
	for i, e := range f.entries {
		out[i] = e.Tensor
	}
	return out
}

// Tensor returns the tensor with a name, and false when there is none.
func (f *File) Tensor(name string) (Tensor, bool) {
	i, ok := f.index[name]
	if !ok {
		return Tensor{}, false
	}
	return f.entries[i].Tensor, true
}

// Need returns the tensor with a name and these dimensions, inner first. It is [ErrNoTensors] for a
// file without tensors, [ErrMissing] for another name, [ErrShape] for other dimensions. Without
// dimensions any will do.
func (f *File) Need(name string, dims ...int) (Tensor, error) {
	if len(f.entries) == 0 {
		return Tensor{}, fmt.Errorf("%w: want %q", ErrNoTensors, name)
	}
	t, ok := f.Tensor(name)
	if !ok {
		return Tensor{}, fmt.Errorf("%w: tensor %q", ErrMissing, name)
	}
	if len(dims) > 0 && !slices.Equal(t.Dims, dims) {
		return Tensor{}, fmt.Errorf("%w: tensor %q: %v, want %v", ErrShape, name, t.Dims, dims)
	}
	return t, nil
}

// Release tells the system that a tensor's data is not needed for now, so that its pages may leave
// memory; they are read from the file again when touched. It does nothing after Parse.
func (f *File) Release(name string) {
	if i, ok := f.index[name]; ok && f.entries[i].mapping != nil {
		e := f.entries[i]
		e.mapping.Release(e.offset, e.size)
	}
}

// ReleaseData is Release for data that a tensor, or a part of one, views.
func (f *File) ReleaseData(data []byte) {
	for _, m := range f.mappings {
		m.ReleaseBytes(data)
	}
}

// Close removes the mappings. The tensors' data must not be touched from then on.
func (f *File) Close() error {
	var first error
	for _, m := range f.mappings {
		if err := m.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}
