package gguf

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/hotpath-go/hotpath/internal/mmap"
	"github.com/hotpath-go/hotpath/quant"
)

const (
	maxName          = 64 // bytes of a tensor's name
	maxDims          = 4
	minTensor        = 8 + 1 + 4 + 8 + 4 + 8
	defaultAlignment = 32
)

// Tensor is a named view of weights. The embedded tensor is the matrix that the kernels read: Cols
// is Dims[0] and Rows the product of the other dimensions, so that a stack of expert matrices is
// one matrix with the experts' rows one after the other.
type Tensor struct {
	Name string
	Dims []int // 1 to 4, the inner dimension first
	quant.Tensor
}

// entry is a tensor and where it lies.
type entry struct {
	Tensor
	mapping *mmap.File // nil after Parse
	offset  int        // in the data section while the infos are read, then in the file
	size    int
}

// tensors reads n tensor infos and finds their data in the section behind them.
func (f *File) readTensors(r *reader, n int, alignment uint64) error {
	for i := range n {
		e, err := r.tensorInfo(fmt.Sprintf("tensor %d of %d", i+1, n), alignment)
		if err != nil {
			return err
		}
		if err := f.add(e); err != nil {
			return err
		}
	}
	if n == 0 {
		return nil // then no data section needs to exist
	}
	start := (uint64(r.off) + alignment - 1) / alignment * alignment
	start = min(start, uint64(len(r.b)))
	data := r.b[start:]
	for i := range f.entries {
		e := &f.entries[i]
		if e.offset > len(data) || e.size > len(data)-e.offset {
			return fmt.Errorf("%w: tensor %q: %d bytes at offset %d, the data section has %d",
				ErrTruncated, e.Name, e.size, e.offset, len(data))
		}
		end := e.offset + e.size
		e.Data = data[e.offset:end:end]
		e.offset += int(start)
	}
	return f.overlap()
}

// add appends a tensor and refuses a name that is taken.
func (f *File) add(e entry) error {
	if _, ok := f.index[e.Name]; ok {
		return fmt.Errorf("%w: tensor %q", ErrDuplicate, e.Name)
	}
	f.index[e.Name] = len(f.entries)
	f.entries = append(f.entries, e)
	return nil
}

// overlap finds two tensors that share bytes.
func (f *File) overlap() error {
	order := make([]int, len(f.entries))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(f.entries[i].offset, f.entries[j].offset) })
	for i := 1; i < len(order); i++ {
		a, b := &f.entries[order[i-1]], &f.entries[order[i]]
		if a.offset+a.size > b.offset {
			return fmt.Errorf("%w: %q ends at %d, %q starts at %d", ErrOverlap, a.Name, a.offset+a.size, b.Name, b.offset)
		}
	}
	return nil
}

// tensorInfo reads all that stands before the data section about a tensor.
func (r *reader) tensorInfo(what string, alignment uint64) (t entry, err error) {
	if t.Name, err = r.name(maxName, what); err != nil {
		return t, err
	}
	n, err := r.u32(t.Name)
	if err != nil {
		return t, err
	}
	if n < 1 || n > maxDims {
		return t, fmt.Errorf("%w: tensor %q: %d dimensions, want 1 to %d", ErrLimit, t.Name, n, maxDims)
	}
	t.Dims = make([]int, n)
	for i := range t.Dims {
		d, err := r.u64(t.Name)
		if err != nil {
			return t, err
		}
		if d < 1 || d > math.MaxInt {
			return t, fmt.Errorf("%w: tensor %q: dimension %d is %d, want 1 to %d", ErrShape, t.Name, i, d, math.MaxInt)
		}
		t.Dims[i] = int(d)
	}
	id, err := r.u32(t.Name)
	if err != nil {
		return t, err
	}
	var ok bool
	if t.Format, ok = quant.FromGGML(id); !ok {
		return t, fmt.Errorf("%w: tensor %q: no format has number %d", ErrType, t.Name, id)
	}
	if t.size, err = t.shape(); err != nil {
		return t, err
	}
	offset, err := r.u64(t.Name)
	if err != nil {
		return t, err
	}
	if offset%alignment != 0 {
		return t, fmt.Errorf("%w: tensor %q: offset %d is no multiple of %d", ErrAlignment, t.Name, offset, alignment)
	}
	if offset > uint64(len(r.b)) {
		return t, fmt.Errorf("%w: tensor %q: offset %d, the file has %d bytes", ErrTruncated, t.Name, offset, len(r.b))
	}
	t.offset = int(offset)
	return t, nil
}

// shape sets Rows and Cols and returns the size in bytes.
func (t *Tensor) shape() (int, error) {
	t.Cols, t.Rows = t.Dims[0], 1
	row, err := t.Format.RowBytes(t.Cols)
	if err != nil {
		return 0, fmt.Errorf("%w: tensor %q: %w", ErrShape, t.Name, err)
	}
	for _, d := range t.Dims[1:] {
		if d > math.MaxInt/row/t.Rows {
			return 0, fmt.Errorf("%w: tensor %q: %v in %v has more than %d bytes", ErrShape, t.Name, t.Dims, t.Format, math.MaxInt)
		}
		t.Rows *= d
	}
	return t.Rows * row, nil
}
