package gguf_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/internal/ggufbuild"
	"github.com/hotpath-go/hotpath/model/gguf"
	"github.com/hotpath-go/hotpath/quant"
)

// raw writes numbers little-endian, text as its length and bytes, and bytes as they are.
func raw(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			b = binary.LittleEndian.AppendUint64(b, uint64(len(p)))
			b = append(b, p...)
		case []byte:
			b = append(b, p...)
		default:
			var err error
			if b, err = binary.Append(b, binary.LittleEndian, p); err != nil {
				panic(err)
			}
		}
	}
	return b
}

// head starts a file of version 3.
func head(tensors, pairs uint64) []byte {
	return raw([]byte("GGUF"), uint32(3), tensors, pairs)
}

// tensor is the info of a tensor.
func tensor(name string, format uint32, offset uint64, dims ...uint64) []byte {
	return raw(name, uint32(len(dims)), dims, format, offset)
}

// withTensors is a file of tensor infos and size bytes of data.
func withTensors(size int, infos ...[]byte) []byte {
	b := head(uint64(len(infos)), 0)
	for _, i := range infos {
		b = append(b, i...)
	}
	for len(b)%32 != 0 {
		b = append(b, 0)
	}
	return append(b, make([]byte, size)...)
}

func withPair(key string, value any) []byte {
	return ggufbuild.File{Pairs: []ggufbuild.Pair{{Key: key, Value: value}}}.Bytes()
}

func nested(depth int) any {
	v := any([]uint8{1})
	for range depth - 1 {
		v = []any{v}
	}
	return v
}

var hostile = []struct {
	name string
	file []byte
	err  error
	says string // what the message must name
}{
	{"empty", nil, gguf.ErrFormat, `""`},
	{"other magic", []byte("GGML\x03\x00\x00\x00"), gguf.ErrFormat, `"GGML"`},
	{"magic alone", []byte("GGUF"), gguf.ErrTruncated, "version"},
	{"version 0", raw([]byte("GGUF"), uint32(0)), gguf.ErrVersion, "0, want 2 or 3"},
	{"version 1", raw([]byte("GGUF"), uint32(1), uint32(0), uint32(0)), gguf.ErrVersion, "1, want 2 or 3"},
	{"version 4", raw([]byte("GGUF"), uint32(4), uint64(0), uint64(0)), gguf.ErrVersion, "4, want 2 or 3"},
	{"big-endian", append([]byte("GGUF\x00\x00\x00\x03"), make([]byte, 16)...), gguf.ErrBigEndian, "version 3"},
	{"big-endian version 2", append([]byte("GGUF\x00\x00\x00\x02"), make([]byte, 16)...), gguf.ErrBigEndian, "version 2"},
	{"no counts", raw([]byte("GGUF"), uint32(3), uint32(0)), gguf.ErrTruncated, "tensor count"},
	{"huge metadata count", head(0, math.MaxUint64), gguf.ErrTruncated, "metadata count: 18446744073709551615"},
	{"metadata count past the end", append(head(0, 3), make([]byte, 28)...), gguf.ErrTruncated, "metadata count: 3"},
	{"huge tensor count", append(head(math.MaxUint64, 0), make([]byte, 64)...), gguf.ErrTruncated, "tensor count: 18446744073709551615"},
	{"tensor count past the end", append(head(2, 0), make([]byte, 34)...), gguf.ErrTruncated, "tensor count: 2"},
	{"key past the end", append(head(0, 1), raw(uint64(50), make([]byte, 20))...), gguf.ErrTruncated, "50 bytes"},
	{"key too long", append(head(0, 1), raw(strings.Repeat("k", 65536), uint32(0), uint8(0))...), gguf.ErrLimit, "65536 bytes, limit 65535"},
	{"key length overflows", append(head(0, 1), raw(uint64(math.MaxUint64), make([]byte, 20))...), gguf.ErrLimit, "18446744073709551615"},
	{"empty key", append(head(0, 1), raw("", uint32(4), uint32(0), make([]byte, 9))...), gguf.ErrText, "key 1 of 1"},
	{"key not UTF-8", withPair("a\xff", uint8(0)), gguf.ErrText, `"a\xff"`},
	{"key with NUL", withPair("a\x00b", uint8(0)), gguf.ErrText, `"a\x00b"`},
	{"duplicate key", ggufbuild.File{Pairs: []ggufbuild.Pair{{Key: "k", Value: uint8(0)}, {Key: "k", Value: uint8(1)}}}.Bytes(), gguf.ErrDuplicate, `"k"`},
	{"unknown type", append(head(0, 1), raw("k", uint32(13), uint64(0))...), gguf.ErrType, "type 13"},
	{"bool of 2", append(head(0, 1), raw("k", uint32(7), uint8(2))...), gguf.ErrType, "is 2"},
	{"bool of 2 in an array", append(head(0, 1), raw("k", uint32(9), uint32(7), uint64(3), []byte{0, 1, 2})...), gguf.ErrType, "bool 2 is 2"},
	{"value cut off", append(head(0, 1), raw("k", uint32(10), uint32(0))...), gguf.ErrTruncated, "8 bytes"},
	{"text past the end", append(head(0, 1), raw("k", uint32(8), uint64(9), make([]byte, 8))...), gguf.ErrTruncated, "9 bytes"},
	{"text length overflows", append(head(0, 1), raw("k", uint32(8), uint64(math.MaxUint64))...), gguf.ErrTruncated, "18446744073709551615 bytes"},
	{"array of unknown type", append(head(0, 1), raw("k", uint32(9), uint32(99), uint64(1))...), gguf.ErrType, "type 99"},
	{"array count overflows", append(head(0, 1), raw("k", uint32(9), uint32(10), uint64(1)<<61)...), gguf.ErrTruncated, "2305843009213693952"},
	{"array of texts past the end", append(head(0, 1), raw("k", uint32(9), uint32(8), uint64(2), "ab")...), gguf.ErrTruncated, "2 of at least 8"},
	{"array of arrays past the end", append(head(0, 1), raw("k", uint32(9), uint32(9), uint64(2), make([]byte, 20))...), gguf.ErrTruncated, "2 of at least 12"},
	{"text in an array past the end", append(head(0, 1), raw("k", uint32(9), uint32(8), uint64(2), "ab", uint64(7))...), gguf.ErrTruncated, "7 bytes"},
	{"array nested 9 deep", withPair("k", nested(9)), gguf.ErrLimit, "8 deep"},
	{"array nested 100,000 deep", append(append(head(0, 1), raw("k", uint32(9))...), bytes.Repeat(raw(uint32(9), uint64(1)), 100_000)...), gguf.ErrLimit, "8 deep"},
	{"alignment of a wrong type", withPair("general.alignment", "32"), gguf.ErrType, "want uint32, found string"},
	{"alignment of a signed type", withPair("general.alignment", int32(32)), gguf.ErrType, "found int32"},
	{"alignment 0", withPair("general.alignment", uint32(0)), gguf.ErrAlignment, "is 0"},
	{"alignment 12", withPair("general.alignment", uint32(12)), gguf.ErrAlignment, "is 12"},
	{"alignment 2^63", withPair("general.alignment", uint64(1)<<63), gguf.ErrAlignment, "is 9223372036854775808"},
	{"tensor name too long", withTensors(32, tensor(strings.Repeat("t", 65), 0, 0, 1)), gguf.ErrLimit, "65 bytes, limit 64"},
	{"tensor without a name", withTensors(32, tensor("", 0, 0, 1)), gguf.ErrText, "tensor 1 of 1"},
	{"tensor name not UTF-8", withTensors(32, tensor("\x80", 0, 0, 1)), gguf.ErrText, `"\x80"`},
	{"no dimensions", withTensors(32, tensor("t", 0, 0)), gguf.ErrLimit, "0 dimensions"},
	{"five dimensions", withTensors(32, tensor("t", 0, 0, 1, 1, 1, 1, 1)), gguf.ErrLimit, "5 dimensions"},
	{"huge number of dimensions", withTensors(32, raw("t", uint32(math.MaxUint32), make([]byte, 40))), gguf.ErrLimit, "4294967295 dimensions"},
	{"dimension 0", withTensors(32, tensor("t", 0, 0, 4, 0)), gguf.ErrShape, "dimension 1 is 0"},
	{"dimension over 2^63", withTensors(32, tensor("t", 0, 0, math.MaxUint64)), gguf.ErrShape, "dimension 0 is 18446744073709551615"},
	{"row overflows", withTensors(32, tensor("t", 0, 0, 1<<62)), gguf.ErrShape, "overflow"},
	{"product overflows", withTensors(32, tensor("t", 0, 0, 1<<31, 1<<31, 1<<2)), gguf.ErrShape, "has more than"},
	{"product wraps to 0", withTensors(32, tensor("t", 0, 0, 1<<16, 1<<16, 1<<16, 1<<16)), gguf.ErrShape, "has more than"},
	{"half a quant block", withTensors(64, tensor("t", 2, 0, 48)), gguf.ErrShape, "48 values in Q4_0"},
	{"removed format", withTensors(64, tensor("t", 4, 0, 32)), gguf.ErrType, "number 4"},
	{"unknown format", withTensors(64, tensor("t", 1000, 0, 32)), gguf.ErrType, "number 1000"},
	{"offset off the alignment", withTensors(64, tensor("t", 0, 16, 1)), gguf.ErrAlignment, "offset 16"},
	{"offset past the end", withTensors(32, tensor("t", 0, 64, 1)), gguf.ErrTruncated, "offset 64"},
	{"offset overflows", withTensors(32, tensor("t", 0, math.MaxUint64-31, 8)), gguf.ErrTruncated, "offset 18446744073709551584"},
	{"data cut off", withTensors(31, tensor("t", 0, 0, 8)), gguf.ErrTruncated, "32 bytes at offset 0, the data section has 31"},
	{"no data section", head(1, 0)[:24:24], gguf.ErrTruncated, "tensor count: 1"},
	{"data section of nothing", append(head(1, 0), tensor("t", 0, 0, 8)...), gguf.ErrTruncated, "has 0"},
	{"tensors overlap", withTensors(96, tensor("a", 0, 0, 16), tensor("b", 0, 32, 16)), gguf.ErrOverlap, `"a" ends at`},
	{"tensors overlap out of order", withTensors(96, tensor("a", 0, 32, 16), tensor("b", 0, 0, 16)), gguf.ErrOverlap, `"b" ends at`},
	{"tensors at one place", withTensors(96, tensor("a", 0, 0, 1), tensor("b", 0, 0, 1)), gguf.ErrOverlap, "ends at"},
	{"duplicate tensor", withTensors(96, tensor("a", 0, 0, 1), tensor("a", 0, 32, 1)), gguf.ErrDuplicate, `"a"`},
	{"tensor info cut off", append(head(1, 0), raw("tensor", uint32(4), uint64(1), uint64(1), uint64(1))...), gguf.ErrTruncated, "tensor"},
	{"split.count of a wrong type", withPair("split.count", "3"), gguf.ErrType, "split.count"},
	{"split.count negative", withPair("split.count", int32(-1)), gguf.ErrSplit, "-1"},
	{"part alone in memory", part(0, 2, 0, nil), gguf.ErrSplit, "part 1 of 2 alone"},
	{"part without a number", withPair("split.count", uint16(2)), gguf.ErrMissing, "split.no"},
}

func TestHostile(t *testing.T) {
	t.Parallel()
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, err := gguf.Parse(c.file)
			if f != nil || !errors.Is(err, c.err) {
				t.Fatalf("got %v, %v; want %v", f, err, c.err)
			}
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q does not say %q", err, c.says)
			}
		})
	}
}

// TestUnusual reads what looks odd and is allowed.
func TestUnusual(t *testing.T) {
	t.Parallel()
	aligned := ggufbuild.File{Alignment: 8, Pairs: []ggufbuild.Pair{{Key: "general.alignment", Value: uint64(8)}},
		Tensors: []ggufbuild.Tensor{ggufbuild.F32("a", []float32{1, 2, 3}, 3), ggufbuild.F32("b", []float32{4}, 1)}}.Bytes()
	for name, b := range map[string][]byte{
		"nothing in it":               head(0, 0),
		"version 2":                   ggufbuild.File{Version: 2}.Bytes(),
		"array nested 8 deep":         withPair("k", nested(8)),
		"key of 65535 bytes":          withPair(strings.Repeat("k", 65535), uint8(0)),
		"name of 64 bytes":            withTensors(32, tensor(strings.Repeat("t", 64), 0, 0, 1)),
		"tensors out of order":        withTensors(96, tensor("a", 0, 32, 16), tensor("b", 0, 0, 8)),
		"a gap between tensors":       withTensors(96, tensor("a", 0, 0, 1), tensor("b", 0, 64, 1)),
		"bytes behind the last one":   withTensors(96, tensor("a", 0, 0, 1)),
		"alignment 8 as uint64":       aligned,
		"split into one":              part(0, 1, 0, nil),
		"bytes behind metadata alone": append(withPair("k", "v"), make([]byte, 100)...),
	} {
		if _, err := gguf.Parse(b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNeed(t *testing.T) {
	t.Parallel()
	f := parse(t, ggufbuild.File{Tensors: []ggufbuild.Tensor{ggufbuild.F32("a", make([]float32, 24), 4, 3, 2)}})
	a, err := f.Need("a", 4, 3, 2)
	if err != nil || a.Cols != 4 || a.Rows != 6 || a.Format != quant.F32 || len(a.Data) != 96 {
		t.Errorf("got %+v, %v", a, err)
	}
	if _, err := f.Need("a"); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		f    *gguf.File
		want string
		dims []int
		err  error
	}{
		"no tensors":   {parse(t, ggufbuild.File{}), "a", nil, gguf.ErrNoTensors},
		"another name": {f, "b", nil, gguf.ErrMissing},
		"another size": {f, "a", []int{4, 6}, gguf.ErrShape},
	} {
		if _, err := c.f.Need(c.want, c.dims...); !errors.Is(err, c.err) || !strings.Contains(err.Error(), `"`+c.want+`"`) {
			t.Errorf("%s: %v, want %v", name, err, c.err)
		}
	}
}

// TestMemory reads headers that claim much and hold little. It is not parallel, since it measures.
func TestMemory(t *testing.T) {
	for _, c := range hostile {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = gguf.Parse(c.file)
		runtime.ReadMemStats(&after)
		if n, limit := after.TotalAlloc-before.TotalAlloc, uint64(64<<10+16*len(c.file)); n > limit {
			t.Errorf("%s: %d bytes allocated for a file of %d, limit %d", c.name, n, len(c.file), limit)
		}
	}
	// The most entries for the bytes: keys of three letters and tensors of one value.
	b := raw([]byte("GGUF"), uint32(3), uint64(20_000), uint64(20_000))
	for i := range 20_000 {
		b = append(b, raw(string([]byte{'a' + byte(i%26), 'a' + byte(i/26%26), 'a' + byte(i/676)}), uint32(0), uint8(0))...)
	}
	for i := range 20_000 {
		b = append(b, tensor(string([]byte{'a' + byte(i%26), 'a' + byte(i/26%26), 'a' + byte(i/676)}), 24, uint64(i)*32, 1)...)
	}
	for len(b)%32 != 0 {
		b = append(b, 0)
	}
	b = append(b, make([]byte, 20_000*32)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f, err := gguf.Parse(b)
	runtime.ReadMemStats(&after)
	if err != nil || len(f.Tensors()) != 20_000 || f.Meta().Len() != 20_000 {
		t.Fatal(err)
	}
	if n, limit := after.TotalAlloc-before.TotalAlloc, uint64(32*len(b)); n > limit {
		t.Errorf("%d bytes allocated for a file of %d, limit %d", n, len(b), limit)
	}
	t.Logf("%.1f bytes allocated for each of the file", float64(after.TotalAlloc-before.TotalAlloc)/float64(len(b)))
}
