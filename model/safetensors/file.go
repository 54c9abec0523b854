package safetensors

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hotpath-go/hotpath/internal/mmap"
)

// File is an open safetensors file, or all shards of an index. Its methods may be called by several
// goroutines at once, except Close.
type File struct {
	dir      string // folder of the file, empty after Parse
	meta     map[string]string
	entries  []entry
	index    map[string]int // name to entry
	mappings []*mmap.File   // empty after Parse
}

// entry is a tensor and where it lies.
type entry struct {
	Tensor
	mapping *mmap.File // nil after Parse
	offset  int        // in the data while the header is read, then in the file
}

// Parse reads a file that is in memory. Tensors are views of b, which must stay unchanged as long
// as they are in use.
func Parse(b []byte) (*File, error) { return parse(b) }

// add appends a tensor whose name is not taken.
func (f *File) add(e entry) {
	f.index[e.Name] = len(f.entries)
	f.entries = append(f.entries, e)
}

// Metadata returns a copy of the header's __metadata__; of an index, that of the first shard.
func (f *File) Metadata() map[string]string { return maps.Clone(f.meta) }

// Tensors returns all tensors in the order of the header or the index. The slice is the caller's.
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

// Need returns the tensor with a name and these dimensions, outer first: [ErrMissing] for another
// name, [ErrShape] for other dimensions. Without dimensions any will do.
func (f *File) Need(name string, shape ...int) (Tensor, error) {
	t, ok := f.Tensor(name)
	if !ok {
		return Tensor{}, fmt.Errorf("%w: tensor %q", ErrMissing, name)
	}
	if len(shape) > 0 && !slices.Equal(t.Shape, shape) {
		return Tensor{}, fmt.Errorf("%w: tensor %q: %v, want %v", ErrShape, name, t.Shape, shape)
	}
	return t, nil
}

// Release tells the system that a tensor's data is not needed for now, so that its pages may leave
// memory; they are read from the file again when touched. It does nothing after Parse.
func (f *File) Release(name string) {
	if i, ok := f.index[name]; ok && f.entries[i].mapping != nil {
		e := f.entries[i]
		e.mapping.Release(e.offset, len(e.Data))
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
