package safetensors_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/model/safetensors"
	"github.com/hotpath-go/hotpath/quant"
)

// file is a header and size bytes of data, each byte its own offset.
func file(header string, size int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	b = append(b, header...)
	for i := range size {
		b = append(b, byte(i))
	}
	return b
}

func tensor(name, dtype, shape string, from, to int) string {
	return fmt.Sprintf(`%q:{"dtype":%q,"shape":%s,"data_offsets":[%d,%d]}`, name, dtype, shape, from, to)
}

var hostile = []struct {
	name string
	file []byte
	err  error
	says string
}{
	{"empty", nil, safetensors.ErrTruncated, "0 bytes, want 8"},
	{"seven bytes", make([]byte, 7), safetensors.ErrTruncated, "7 bytes, want 8"},
	{"no header", make([]byte, 8), safetensors.ErrJSON, "header"},
	{"huge header", binary.LittleEndian.AppendUint64(nil, math.MaxUint64), safetensors.ErrLimit, "18446744073709551615 bytes, limit 100000000"},
	{"header over the limit", binary.LittleEndian.AppendUint64(nil, 100_000_001), safetensors.ErrLimit, "100000001 bytes"},
	{"header past the end", append(binary.LittleEndian.AppendUint64(nil, 3), "{}"...), safetensors.ErrTruncated, "3 bytes, 2 left"},
	{"no JSON", file("hello", 0), safetensors.ErrJSON, "header"},
	{"cut off JSON", file(`{"a":`, 0), safetensors.ErrJSON, "header"},
	{"open JSON", file(`{`, 0), safetensors.ErrJSON, "header"},
	{"an array", file(`[]`, 0), safetensors.ErrJSON, "want an object"},
	{"two values", file(`{}{}`, 0), safetensors.ErrJSON, "more than one value"},
	{"deep nesting", file(`{"a":`+strings.Repeat("[", 1_000_000)+`}`, 0), safetensors.ErrJSON, `"a"`},
	{"not UTF-8", file("{\"a\xff\":1}", 0), safetensors.ErrJSON, "UTF-8"},
	{"duplicate tensor", file("{"+tensor("a", "U8", "[1]", 0, 1)+","+tensor("a", "U8", "[1]", 1, 2)+"}", 2), safetensors.ErrDuplicate, `"a"`},
	{"duplicate by escape", file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"\u0061":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2), safetensors.ErrDuplicate, `"a"`},
	{"duplicate field", file(`{"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}}`, 1), safetensors.ErrDuplicate, `"dtype"`},
	{"unknown field", file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}}`, 1), safetensors.ErrJSON, "x: unknown"},
	{"tensor is null", file(`{"a":null}`, 0), safetensors.ErrJSON, `"a"`},
	{"no shape", file(`{"a":{"dtype":"U8","data_offsets":[0,1]}}`, 1), safetensors.ErrMissing, `"a"`},
	{"no offsets", file(`{"a":{"dtype":"U8","shape":[1]}}`, 1), safetensors.ErrMissing, `"a"`},
	{"no type", file(`{"a":{"shape":[1],"data_offsets":[0,1]}}`, 1), safetensors.ErrDType, `""`},
	{"unknown type", file("{"+tensor("a", "F99", "[1]", 0, 1)+"}", 1), safetensors.ErrDType, `"F99"`},
	{"type is a number", file(`{"a":{"dtype":1,"shape":[1],"data_offsets":[0,1]}}`, 1), safetensors.ErrJSON, "dtype"},
	{"negative dimension", file("{"+tensor("a", "U8", "[-1]", 0, 1)+"}", 1), safetensors.ErrShape, "dimension 0 is -1"},
	{"fractional dimension", file("{"+tensor("a", "U8", "[1.0]", 0, 1)+"}", 1), safetensors.ErrShape, "1.0"},
	{"dimension is text", file("{"+tensor("a", "U8", `["1"]`, 0, 1)+"}", 1), safetensors.ErrShape, `"1"`},
	{"dimension is null", file("{"+tensor("a", "U8", "[null]", 0, 1)+"}", 1), safetensors.ErrShape, "null"},
	{"dimension overflows", file("{"+tensor("a", "U8", "[18446744073709551616]", 0, 1)+"}", 1), safetensors.ErrShape, "18446744073709551616"},
	{"product overflows", file("{"+tensor("a", "F32", "[4294967296,4294967296]", 0, 1)+"}", 1), safetensors.ErrShape, "overflow"},
	{"product wraps to 0", file("{"+tensor("a", "F32", "[65536,65536,65536,65536]", 0, 0)+"}", 0), safetensors.ErrShape, "overflow"},
	{"half a byte", file("{"+tensor("a", "F4", "[3]", 0, 1)+"}", 1), safetensors.ErrShape, "whole bytes"},
	{"shape larger than the data", file("{"+tensor("a", "F32", "[2]", 0, 4)+"}", 4), safetensors.ErrShape, "need 8 bytes, data_offsets give 4"},
	{"shape smaller than the data", file("{"+tensor("a", "F32", "[1]", 0, 8)+"}", 8), safetensors.ErrShape, "need 4 bytes, data_offsets give 8"},
	{"one offset", file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}}`, 1), safetensors.ErrOffsets, "1 of them"},
	{"negative offset", file("{"+tensor("a", "U8", "[2]", -1, 1)+"}", 1), safetensors.ErrOffsets, "[-1, 1]"},
	{"offsets turned round", file("{"+tensor("a", "U8", "[1]", 1, 0)+"}", 1), safetensors.ErrOffsets, "[1, 0]"},
	{"past the end", file("{"+tensor("a", "U8", "[3]", 0, 3)+"}", 2), safetensors.ErrTruncated, "ends at 3, the data has 2"},
	{"gap at the start", file("{"+tensor("a", "U8", "[1]", 1, 2)+"}", 2), safetensors.ErrOffsets, "starts at 1"},
	{"gap between", file("{"+tensor("a", "U8", "[1]", 0, 1)+","+tensor("b", "U8", "[1]", 2, 3)+"}", 3), safetensors.ErrOffsets, `"b" starts at 2, the one before ends at 1`},
	{"gap at the end", file("{"+tensor("a", "U8", "[1]", 0, 1)+"}", 2), safetensors.ErrOffsets, "tensors end at 1, the data has 2"},
	{"overlap", file("{"+tensor("a", "U8", "[2]", 0, 2)+","+tensor("b", "U8", "[2]", 1, 3)+"}", 3), safetensors.ErrOffsets, `"b" starts at 1, the one before ends at 2`},
	{"the same bytes twice", file("{"+tensor("a", "U8", "[2]", 0, 2)+","+tensor("b", "U8", "[2]", 0, 2)+"}", 2), safetensors.ErrOffsets, "starts at 0"},
	{"metadata is no object", file(`{"__metadata__":[]}`, 0), safetensors.ErrJSON, "__metadata__"},
	{"metadata holds a number", file(`{"__metadata__":{"a":1}}`, 0), safetensors.ErrType, `"a"`},
	{"metadata holds null", file(`{"__metadata__":{"a":null}}`, 0), safetensors.ErrType, `"a"`},
	{"metadata twice", file(`{"__metadata__":{"a":"1","a":"2"}}`, 0), safetensors.ErrDuplicate, `"a"`},
}

func TestHostile(t *testing.T) {
	t.Parallel()
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, err := safetensors.Parse(c.file)
			if f != nil || !errors.Is(err, c.err) {
				t.Fatalf("got %v, %v; want %v", f, err, c.err)
			}
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q does not say %q", err, c.says)
			}
		})
	}
}

// TestMemory reads files that claim much and hold little. It is not parallel, since it measures.
func TestMemory(t *testing.T) {
	for _, c := range hostile {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = safetensors.Parse(c.file)
		runtime.ReadMemStats(&after)
		if n, limit := after.TotalAlloc-before.TotalAlloc, uint64(64<<10+32*len(c.file)); n > limit {
			t.Errorf("%s: %d bytes allocated for a file of %d, limit %d", c.name, n, len(c.file), limit)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	header := `{"__metadata__":{"format":"pt"},` + strings.Join([]string{
		tensor("second", "BF16", "[3,2]", 8, 20), tensor("first", "F32", "[2]", 0, 8), tensor("none", "F32", "[0,7]", 20, 20),
		tensor("ids", "I64", "[1]", 20, 28), tensor("one", "F16", "[]", 28, 30), tensor("cube", "F16", "[2,3,2]", 30, 54),
		tensor("four", "F4", "[4]", 54, 56),
	}, ",") + "}   "
	f, err := safetensors.Parse(file(header, 56))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if m := f.Metadata(); len(m) != 1 || m["format"] != "pt" {
		t.Errorf("metadata %v", m)
	}
	for i, want := range []struct {
		name       string
		format     quant.Format
		rows, cols int
		first      byte
		err        error
	}{
		{"second", quant.BF16, 3, 2, 8, nil},
		{"first", quant.F32, 1, 2, 0, nil},
		{"none", 0, 0, 0, 0, safetensors.ErrShape},
		{"ids", 0, 0, 0, 20, safetensors.ErrDType},
		{"one", quant.F16, 1, 1, 28, nil},
		{"cube", quant.F16, 6, 2, 30, nil},
		{"four", 0, 0, 0, 54, safetensors.ErrDType},
	} {
		x := f.Tensors()[i]
		if x.Name != want.name {
			t.Fatalf("tensor %d is %s, want %s", i, x.Name, want.name)
		}
		if len(x.Data) > 0 && x.Data[0] != want.first {
			t.Errorf("%s starts with byte %d, want %d", x.Name, x.Data[0], want.first)
		}
		m, err := x.Matrix()
		if !errors.Is(err, want.err) || m.Format != want.format || m.Rows != want.rows || m.Cols != want.cols {
			t.Errorf("%s: %v %d x %d, %v", x.Name, m.Format, m.Rows, m.Cols, err)
		}
		f.Release(x.Name)
	}
	if _, err := f.Need("cube", 2, 3, 2); err != nil {
		t.Error(err)
	}
	if _, err := f.Need("cube", 2, 6); !errors.Is(err, safetensors.ErrShape) {
		t.Errorf("another shape: %v", err)
	}
	if _, err := f.Need("none such"); !errors.Is(err, safetensors.ErrMissing) {
		t.Errorf("another name: %v", err)
	}
	if s := f.Tensors()[5].Shape; !slices.Equal(s, []int{2, 3, 2}) {
		t.Errorf("shape %v", s)
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range hostile {
		if len(c.file) < 4096 {
			f.Add(c.file)
		}
	}
	f.Add(file(`{"__metadata__":{"format":"pt"},`+tensor("b", "BF16", "[3,2]", 8, 20)+","+tensor("a", "F32", "[2]", 0, 8)+"} ", 20))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := safetensors.Parse(b)
		if err != nil {
			return
		}
		size := 0
		for _, x := range file.Tensors() {
			size += len(x.Data)
			if y, ok := file.Tensor(x.Name); !ok || !bytes.Equal(x.Data, y.Data) {
				t.Errorf("%q: not found by name", x.Name)
			}
			m, err := x.Matrix()
			if err == nil && (m.Rows < 1 || m.Cols < 1 || m.Rows*m.Cols*m.Format.BlockBytes() != len(x.Data)) {
				t.Errorf("%q: %d x %d of %v in %d bytes", x.Name, m.Rows, m.Cols, m.Format, len(x.Data))
			}
		}
		if size > len(b) {
			t.Errorf("tensors hold %d bytes of a file of %d", size, len(b))
		}
	})
}
