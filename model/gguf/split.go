package gguf

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hotpath-go/hotpath/internal/mmap"
)

// split is what a part says about the whole; count is 0 for a file that is not split.
type split struct{ no, count, tensors int }

func (f *File) split() (split, error) {
	r := f.meta.Fields()
	s := split{count: r.Int("split.count", 0)}
	if s.count > 1 {
		s.no = r.Int("split.no")
		s.tensors = r.Int("split.tensors.count")
	}
	if err := r.Err(); err != nil {
		return s, err
	}
	if s.count < 0 || s.count > 99999 {
		return s, fmt.Errorf("%w: split.count is %d, want 0 to 99999", ErrSplit, s.count)
	}
	if s.no < 0 || s.no >= max(s.count, 1) {
		return s, fmt.Errorf("%w: split.no is %d, split.count %d", ErrSplit, s.no, s.count)
	}
	return s, nil
}

// partName returns how part no of count is named.
func partName(prefix string, no, count int) string {
	return fmt.Sprintf("%s-%05d-of-%05d.gguf", prefix, no+1, count)
}

// Open maps the file at path. When it is part of a split file (split.count above 1, named
// NAME-00001-of-0000N.gguf) Open opens all parts, whichever of them it is given.
func Open(path string) (*File, error) {
	f, err := openPart(path)
	if err != nil {
		return nil, err
	}
	if err := f.openSiblings(path); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// openPart maps and reads one file.
func openPart(path string) (*File, error) {
	m, err := mmap.Open(path)
	if err != nil {
		return nil, fmt.Errorf("gguf: %w", err)
	}
	var f *File
	err = mmap.Guard(func() (err error) {
		if f, err = parse(m.Bytes()); err == nil {
			f.meta.detach()
		}
		return err
	})
	if err != nil {
		m.Close()
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	f.mappings = []*mmap.File{m}
	for i := range f.entries {
		f.entries[i].mapping = m
	}
	return f, nil
}

// detach copies the values, which are views of the mapping.
func (m *Metadata) detach() {
	for i := range m.values {
		m.values[i].raw = bytes.Clone(m.values[i].raw)
	}
}

// openSiblings turns the part at path into the whole file.
func (f *File) openSiblings(path string) error {
	s, err := f.split()
	if err != nil || s.count <= 1 {
		return err
	}
	dir, base := filepath.Split(path)
	prefix, ok := strings.CutSuffix(base, partName("", s.no, s.count))
	if !ok {
		return fmt.Errorf("%w: part %d of %d is named %q, want NAME%s", ErrSplit, s.no+1, s.count, base, partName("", s.no, s.count))
	}
	given := *f
	*f = File{version: given.version, index: make(map[string]int), mappings: given.mappings}
	total := 0
	for no := range s.count {
		part := &given
		if no != s.no {
			if part, err = openPart(filepath.Join(dir, partName(prefix, no, s.count))); err != nil {
				return err
			}
			f.mappings = append(f.mappings, part.mappings...)
			p, err := part.split()
			if err != nil {
				return err
			}
			if want := (split{no, s.count, s.tensors}); p != want {
				return fmt.Errorf("%w: %s: split.no, split.count, split.tensors.count are %v, want %v",
					ErrSplit, partName(prefix, no, s.count), p, want)
			}
		}
		if no == 0 {
			f.meta = part.meta
		}
		total += len(part.entries)
		for _, e := range part.entries {
			if err := f.add(e); err != nil {
				return err
			}
		}
	}
	if total != s.tensors {
		return fmt.Errorf("%w: %d parts hold %d tensors, split.tensors.count is %d", ErrSplit, s.count, total, s.tensors)
	}
	return nil
}
