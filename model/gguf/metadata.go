package gguf

import (
	"fmt"
	"iter"
)

const (
	maxKey   = 65535 // bytes of a key
	maxDepth = 8     // arrays in arrays
	minPair  = 8 + 1 + 4 + 1
)

// Metadata are the key-value pairs of a file, in file order. They are read-only, may be shared
// between goroutines, and stay valid when the file is closed.
type Metadata struct {
	values []Value
	index  map[string]int
}

// Len returns the number of pairs.
func (m *Metadata) Len() int { return len(m.values) }

// Get returns the value of key; see [Value.Exists] for one that the file does not have.
func (m *Metadata) Get(key string) Value {
	if i, ok := m.index[key]; ok {
		return m.values[i]
	}
	return Value{key: key, typ: invalid}
}

// All yields the values in file order.
func (m *Metadata) All() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		for _, v := range m.values {
			if !yield(v) {
				return
			}
		}
	}
}

// metadata reads n pairs.
func (r *reader) metadata(n int) (*Metadata, error) {
	m := &Metadata{index: make(map[string]int)}
	for i := range n {
		key, err := r.name(maxKey, fmt.Sprintf("key %d of %d", i+1, n))
		if err != nil {
			return nil, err
		}
		if _, ok := m.index[key]; ok {
			return nil, fmt.Errorf("%w: key %q", ErrDuplicate, key)
		}
		typ, err := r.typ(key)
		if err != nil {
			return nil, err
		}
		v, err := r.value(key, typ, 0)
		if err != nil {
			return nil, err
		}
		m.index[key] = len(m.values)
		m.values = append(m.values, v)
	}
	return m, nil
}

func (r *reader) typ(key string) (Type, error) {
	n, err := r.u32(key)
	if err != nil {
		return 0, err
	}
	if n >= uint32(types) {
		return 0, fmt.Errorf("%w: key %q: type %d, known are 0 to %d", ErrType, key, n, types-1)
	}
	return Type(n), nil
}

// value reads a value of type typ that lies depth arrays deep. Its bytes are checked here, once,
// so that decoding them later cannot run over.
func (r *reader) value(key string, typ Type, depth int) (Value, error) {
	v := Value{key: key, typ: typ}
	var err error
	switch typ {
	case String:
		v.raw, err = r.text(key)
		return v, err
	case Array:
		if v.elem, v.n, err = r.arrayHeader(key, depth); err != nil {
			return v, err
		}
		from := r.off
		if err = r.skip(key, v.elem, v.n, depth+1); err != nil {
			return v, err
		}
		v.raw = r.b[from:r.off:r.off]
		return v, nil
	}
	from := r.off
	err = r.skip(key, typ, 1, depth)
	v.raw = r.b[from:r.off:r.off]
	return v, err
}

// arrayHeader reads what stands before the elements of an array.
func (r *reader) arrayHeader(key string, depth int) (elem Type, n int, err error) {
	if depth >= maxDepth {
		return 0, 0, fmt.Errorf("%w: key %q: arrays nested more than %d deep", ErrLimit, key, maxDepth)
	}
	if elem, err = r.typ(key); err != nil {
		return 0, 0, err
	}
	least := typeSizes[elem]
	switch elem {
	case String:
		least = 8
	case Array:
		least = 4 + 8
	}
	n, err = r.count(least, key)
	return elem, n, err
}

// skip passes over n values of type typ and checks them.
func (r *reader) skip(key string, typ Type, n, depth int) error {
	switch typ {
	case String:
		for range n {
			if _, err := r.text(key); err != nil {
				return err
			}
		}
	case Array:
		for range n {
			elem, k, err := r.arrayHeader(key, depth)
			if err != nil {
				return err
			}
			if err := r.skip(key, elem, k, depth+1); err != nil {
				return err
			}
		}
	default:
		b, err := r.take(uint64(n)*uint64(typeSizes[typ]), key)
		if err != nil {
			return err
		}
		if typ == Bool {
			for i, x := range b {
				if x > 1 {
					return fmt.Errorf("%w: key %q: bool %d is %d, not 0 or 1", ErrType, key, i, x)
				}
			}
		}
	}
	return nil
}
