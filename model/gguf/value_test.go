package gguf_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/hotpath-go/hotpath/internal/ggufbuild"
	"github.com/hotpath-go/hotpath/model/gguf"
)

func parse(t testing.TB, f ggufbuild.File) *gguf.File {
	t.Helper()
	out, err := gguf.Parse(f.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// result is what a getter gave: a value, or the sentinel that its error wraps.
type result struct {
	value any
	err   error
}

func got[T any](v T, err error) result {
	if err != nil {
		return result{err: err}
	}
	return result{value: v}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	getters := map[string]func(gguf.Value) result{
		"text":     func(v gguf.Value) result { return got(v.Text()) },
		"bool":     func(v gguf.Value) result { return got(v.Bool()) },
		"uint":     func(v gguf.Value) result { return got(v.Uint()) },
		"int":      func(v gguf.Value) result { return got(v.Int()) },
		"float":    func(v gguf.Value) result { return got(v.Float()) },
		"strings":  func(v gguf.Value) result { return got(v.Strings()) },
		"ints":     func(v gguf.Value) result { return got(v.Ints()) },
		"int32s":   func(v gguf.Value) result { return got(v.Int32s()) },
		"float32s": func(v gguf.Value) result { return got(v.Float32s()) },
		"bools":    func(v gguf.Value) result { return got(v.Bools()) },
		"perlayer": func(v gguf.Value) result { return got(v.PerLayer(2)) },
	}
	type want map[string]any // getter to value or sentinel; ErrType for those not named
	number := func(n int) want {
		return want{"uint": uint64(n), "int": n, "float": float64(n), "perlayer": []int{n, n}}
	}
	numbers := func(n ...int) want {
		w := want{"ints": n, "perlayer": n}
		for _, x := range n {
			i, _ := w["int32s"].([]int32)
			w["int32s"] = append(i, int32(x))
			f, _ := w["float32s"].([]float32)
			w["float32s"] = append(f, float32(x))
		}
		return w
	}
	nothing := want{}
	for g := range getters {
		nothing[g] = gguf.ErrMissing
	}
	empty := want{"strings": []string{}, "ints": []int{}, "int32s": []int32{}, "float32s": []float32{}, "bools": []bool{},
		"perlayer": gguf.ErrRange}
	for _, c := range []struct {
		in   any
		typ  gguf.Type
		want want
	}{
		{nil, 0, nothing},
		{uint8(200), gguf.Uint8, number(200)},
		{int8(-3), gguf.Int8, want{"uint": gguf.ErrRange, "int": -3, "float": -3.0, "perlayer": []int{-3, -3}}},
		{uint16(60000), gguf.Uint16, number(60000)},
		{int16(7), gguf.Int16, number(7)},
		{uint32(4_000_000_000), gguf.Uint32, number(4_000_000_000)},
		{int32(math.MaxInt32), gguf.Int32, number(math.MaxInt32)},
		{uint64(1 << 40), gguf.Uint64, number(1 << 40)},
		{uint64(math.MaxUint64), gguf.Uint64, want{"uint": uint64(math.MaxUint64), "int": gguf.ErrRange,
			"float": float64(math.MaxUint64), "perlayer": gguf.ErrRange}},
		{int64(-1 << 40), gguf.Int64, want{"uint": gguf.ErrRange, "int": -1 << 40, "float": float64(-1 << 40),
			"perlayer": []int{-1 << 40, -1 << 40}}},
		{float32(0.5), gguf.Float32, want{"float": 0.5}},
		{math.Pi, gguf.Float64, want{"float": math.Pi}},
		{true, gguf.Bool, want{"bool": true}},
		{false, gguf.Bool, want{"bool": false}},
		{"", gguf.String, want{"text": ""}},
		{"größe\n", gguf.String, want{"text": "größe\n"}},
		{"\xff", gguf.String, want{"text": gguf.ErrText}},
		{[]string{"a", "", "日本"}, gguf.Array, want{"strings": []string{"a", "", "日本"}}},
		{[]string{"a", "\xc3"}, gguf.Array, want{"strings": gguf.ErrText}},
		{[]bool{true, false}, gguf.Array, want{"bools": []bool{true, false}}},
		{[]uint8{1, 255}, gguf.Array, numbers(1, 255)},
		{[]int8{-1, 127}, gguf.Array, numbers(-1, 127)},
		{[]uint16{1, 65535}, gguf.Array, numbers(1, 65535)},
		{[]int16{-5, 5}, gguf.Array, numbers(-5, 5)},
		{[]int32{-5, 5}, gguf.Array, numbers(-5, 5)},
		{[]uint32{0, 9}, gguf.Array, numbers(0, 9)},
		{[]int64{-5, 5}, gguf.Array, numbers(-5, 5)},
		{[]uint64{3, 4}, gguf.Array, numbers(3, 4)},
		{[]uint32{0, math.MaxUint32}, gguf.Array, want{"ints": []int{0, math.MaxUint32}, "perlayer": []int{0, math.MaxUint32},
			"int32s": gguf.ErrRange, "float32s": []float32{0, math.MaxUint32}}},
		{[]float32{1.5, -2}, gguf.Array, want{"float32s": []float32{1.5, -2}}},
		{[]float64{1.5, -2}, gguf.Array, want{"float32s": []float32{1.5, -2}}},
		{[]int32{}, gguf.Array, empty},
		{[]string{}, gguf.Array, empty},
		{[]any{[]uint8{1}, []uint8{2}}, gguf.Array, want{}},
	} {
		t.Run(fmt.Sprintf("%T %v", c.in, c.in), func(t *testing.T) {
			t.Parallel()
			var file ggufbuild.File
			if c.in != nil {
				file.Pairs = []ggufbuild.Pair{{Key: "k", Value: c.in}}
			}
			v := parse(t, file).Meta().Get("k")
			if v.Exists() != (c.in != nil) || v.Key() != "k" {
				t.Fatalf("exists %v, key %q", v.Exists(), v.Key())
			}
			if v.Exists() && v.Type() != c.typ {
				t.Errorf("type %v, want %v", v.Type(), c.typ)
			}
			for name, get := range getters {
				want, ok := c.want[name]
				if !ok {
					want = gguf.ErrType
				}
				r := get(v)
				if sentinel, ok := want.(error); ok {
					if !errors.Is(r.err, sentinel) {
						t.Errorf("%s: got %v, %v; want %v", name, r.value, r.err, sentinel)
					}
				} else if r.err != nil || !reflect.DeepEqual(r.value, want) {
					t.Errorf("%s: got %v, %v; want %v", name, r.value, r.err, want)
				}
			}
		})
	}
}

func TestNestedArrays(t *testing.T) {
	t.Parallel()
	v := parse(t, ggufbuild.File{Pairs: []ggufbuild.Pair{
		{Key: "k", Value: []any{[]any{[]string{"a", "b"}}, []any{[]string{}, []string{"c"}}}},
		{Key: "after", Value: uint8(1)},
	}}).Meta().Get("k")
	var leaves []string
	for a := range v.All() {
		for b := range a.All() {
			s, err := b.Strings()
			if err != nil {
				t.Fatal(err)
			}
			leaves = append(leaves, fmt.Sprint(b.Key(), s))
		}
	}
	want := []string{"k[0][0][a b]", "k[1][0][]", "k[1][1][c]"}
	if !slices.Equal(leaves, want) {
		t.Errorf("got %q, want %q", leaves, want)
	}
	if s := v.String(); s != `[[["a" "b"]] [[] ["c"]]]` {
		t.Errorf("prints as %s", s)
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	m := parse(t, ggufbuild.File{Pairs: []ggufbuild.Pair{
		{Key: "n", Value: uint32(3)}, {Key: "s", Value: "x"}, {Key: "a", Value: []uint32{1, 2, 3}},
	}}).Meta()
	f := m.Fields()
	if n, d, s := f.Int("n", 9), f.Int("none", 9), f.Text("s"); n != 3 || d != 9 || s != "x" || f.Err() != nil {
		t.Errorf("got %d, %d, %q, %v", n, d, s, f.Err())
	}
	if l := f.PerLayer("a", 3); !slices.Equal(l, []int{1, 2, 3}) || !f.Has("a") || f.Has("none") {
		t.Errorf("got %v, %v", l, f.Err())
	}
	// A default stands for a missing value, not for a wrong one; and the first error stays.
	if n := f.Int("s", 9); n != 0 || !errors.Is(f.Err(), gguf.ErrType) {
		t.Errorf("got %d, %v", n, f.Err())
	}
	first := f.Err()
	if n := f.Int("n"); n != 0 || f.Err() != first {
		t.Errorf("after an error: %d, %v", n, f.Err())
	}
	f = m.Fields()
	if f.Text("none"); !errors.Is(f.Err(), gguf.ErrMissing) {
		t.Errorf("required: %v", f.Err())
	}
}

func TestMetadataOrder(t *testing.T) {
	t.Parallel()
	var file ggufbuild.File
	for _, k := range []string{"z", "a", "m"} {
		file.Pairs = append(file.Pairs, ggufbuild.Pair{Key: k, Value: k})
	}
	m := parse(t, file).Meta()
	var keys []string
	for v := range m.All() {
		keys = append(keys, v.Key())
	}
	if !slices.Equal(keys, []string{"z", "a", "m"}) || m.Len() != 3 {
		t.Errorf("%d keys %q", m.Len(), keys)
	}
}
