package safetensors

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
)

const maxHeader = 100_000_000 // bytes, the format's own limit

// dtypes holds the bits of a value of each type that the format knows.
var dtypes = map[string]int{
	"BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8,
	"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
	"I16": 16, "U16": 16, "F16": 16, "BF16": 16,
	"I32": 32, "U32": 32, "F32": 32,
	"I64": 64, "U64": 64, "F64": 64, "C64": 64,
}

// header splits a file into its JSON and its data.
func header(b []byte) (head, data []byte, err error) {
	if len(b) < 8 {
		return nil, nil, fmt.Errorf("%w: %d bytes, want 8 for the header's length", ErrTruncated, len(b))
	}
	n := binary.LittleEndian.Uint64(b)
	if n > maxHeader {
		return nil, nil, fmt.Errorf("%w: header of %d bytes, limit %d", ErrLimit, n, maxHeader)
	}
	if n > uint64(len(b)-8) {
		return nil, nil, fmt.Errorf("%w: header of %d bytes, %d left", ErrTruncated, n, len(b)-8)
	}
	return b[8 : 8+n], b[8+n:], nil
}

// parse reads one file.
func parse(b []byte) (*File, error) {
	head, data, err := header(b)
	if err != nil {
		return nil, err
	}
	f := &File{index: make(map[string]int)}
	err = object(head, "header", func(name string, raw json.RawMessage) error {
		if name == "__metadata__" {
			return f.readMetadata(raw)
		}
		e, err := tensorInfo(name, raw, data)
		if err != nil {
			return err
		}
		f.add(e)
		return nil
	})
	if err == nil {
		err = f.filled(len(data), len(b)-len(data))
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (f *File) readMetadata(raw json.RawMessage) error {
	f.meta = make(map[string]string)
	return object(raw, "__metadata__", func(name string, raw json.RawMessage) error {
		var s *string // null is no text
		if err := json.Unmarshal(raw, &s); err != nil || s == nil {
			return fmt.Errorf("%w: __metadata__: %q is not a string", ErrType, name)
		}
		f.meta[name] = *s
		return nil
	})
}

// tensorInfo reads one field of the header and finds its data.
func tensorInfo(name string, raw json.RawMessage, data []byte) (entry, error) {
	e := entry{Tensor: Tensor{Name: name}}
	var shape, offsets []json.RawMessage
	what := fmt.Sprintf("tensor %q", name)
	err := object(raw, what, func(field string, raw json.RawMessage) error {
		var err error
		switch field {
		case "dtype":
			err = json.Unmarshal(raw, &e.DType)
		case "shape":
			err = json.Unmarshal(raw, &shape)
		case "data_offsets":
			err = json.Unmarshal(raw, &offsets)
		default:
			err = fmt.Errorf("unknown field")
		}
		if err != nil {
			return fmt.Errorf("%w: %s: %s: %w", ErrJSON, what, field, err)
		}
		return nil
	})
	if err != nil {
		return e, err
	}
	if shape == nil || offsets == nil {
		return e, fmt.Errorf("%w: %s: shape or data_offsets", ErrMissing, what)
	}
	size, err := e.shape(shape)
	if err != nil {
		return e, err
	}
	if len(offsets) != 2 {
		return e, fmt.Errorf("%w: %s: %d of them, want 2", ErrOffsets, what, len(offsets))
	}
	from, err1 := whole(offsets[0])
	to, err2 := whole(offsets[1])
	if err1 != nil || err2 != nil || from > to {
		return e, fmt.Errorf("%w: %s: [%s, %s]", ErrOffsets, what, offsets[0], offsets[1])
	}
	if to > len(data) {
		return e, fmt.Errorf("%w: %s: ends at %d, the data has %d bytes", ErrTruncated, what, to, len(data))
	}
	if to-from != size {
		return e, fmt.Errorf("%w: %s: %v of %s need %d bytes, data_offsets give %d", ErrShape, what, e.Shape, e.DType, size, to-from)
	}
	e.offset = from
	e.Data = data[from:to:to]
	return e, nil
}

// shape sets the dimensions and returns the size in bytes.
func (t *Tensor) shape(dims []json.RawMessage) (int, error) {
	bits, ok := dtypes[t.DType]
	if !ok {
		return 0, fmt.Errorf("%w: tensor %q: %q", ErrDType, t.Name, t.DType)
	}
	t.Shape = make([]int, len(dims))
	n := 1
	for i, d := range dims {
		x, err := whole(d)
		if err != nil {
			return 0, fmt.Errorf("%w: tensor %q: dimension %d is %s", ErrShape, t.Name, i, d)
		}
		if x > 0 && n > math.MaxInt/bits/x {
			return 0, fmt.Errorf("%w: tensor %q: %s of %s overflow the size", ErrShape, t.Name, dims, t.DType)
		}
		t.Shape[i] = x
		n *= x
	}
	if n*bits%8 != 0 {
		return 0, fmt.Errorf("%w: tensor %q: %v of %s are no whole bytes", ErrShape, t.Name, t.Shape, t.DType)
	}
	return n * bits / 8, nil
}

// whole reads a JSON number that is an integer and not negative.
func whole(raw json.RawMessage) (int, error) {
	x, err := strconv.ParseInt(string(raw), 10, strconv.IntSize)
	if err != nil || x < 0 {
		return 0, fmt.Errorf("%w: %s", ErrRange, raw)
	}
	return int(x), nil
}

// filled checks that the tensors fill size bytes one after the other, and counts their offsets from
// the start of the file, where the data starts at start.
func (f *File) filled(size, start int) error {
	order := make([]int, len(f.entries))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := &f.entries[i], &f.entries[j]
		return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(len(a.Data), len(b.Data)))
	})
	end := 0
	for _, i := range order {
		e := &f.entries[i]
		if e.offset != end {
			return fmt.Errorf("%w: tensor %q starts at %d, the one before ends at %d", ErrOffsets, e.Name, e.offset, end)
		}
		end += len(e.Data)
		e.offset += start
	}
	if end != size {
		return fmt.Errorf("%w: tensors end at %d, the data has %d bytes", ErrOffsets, end, size)
	}
	return nil
}
