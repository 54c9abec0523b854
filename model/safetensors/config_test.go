package safetensors_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/model/safetensors"
)

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

func TestValues(t *testing.T) {
	t.Parallel()
	getters := map[string]func(safetensors.Value) result{
		"text":    func(v safetensors.Value) result { return got(v.Text()) },
		"bool":    func(v safetensors.Value) result { return got(v.Bool()) },
		"int":     func(v safetensors.Value) result { return got(v.Int()) },
		"float":   func(v safetensors.Value) result { return got(v.Float()) },
		"ints":    func(v safetensors.Value) result { return got(v.Ints()) },
		"floats":  func(v safetensors.Value) result { return got(v.Floats()) },
		"strings": func(v safetensors.Value) result { return got(v.Strings()) },
		"object":  func(v safetensors.Value) result { _, err := v.Object(); return got("", err) },
	}
	type want map[string]any // getter to value or sentinel; ErrType for those not named
	all := func(err error) want {
		w := want{}
		for g := range getters {
			w[g] = err
		}
		return w
	}
	for in, w := range map[string]want{
		"":                      all(safetensors.ErrMissing), // no such field
		"null":                  all(safetensors.ErrMissing),
		`"x\u00e9"`:             {"text": "xé"},
		"true":                  {"bool": true},
		"false":                 {"bool": false},
		"12":                    {"int": 12, "float": 12.0, "ints": []int{12}},
		"-12":                   {"int": -12, "float": -12.0, "ints": []int{-12}},
		"1e6":                   {"int": 1_000_000, "float": 1e6, "ints": []int{1_000_000}},
		"500000.0":              {"int": 500_000, "float": 5e5, "ints": []int{500_000}},
		"0.5":                   {"float": 0.5},
		"1e400":                 {"int": safetensors.ErrRange, "float": safetensors.ErrRange, "ints": safetensors.ErrRange},
		"1e18":                  {"int": safetensors.ErrRange, "float": 1e18, "ints": safetensors.ErrRange}, // not exact as a float
		fmt.Sprint(math.MaxInt): {"int": math.MaxInt, "float": float64(math.MaxInt), "ints": []int{math.MaxInt}},
		"9223372036854775808":   {"int": safetensors.ErrRange, "float": 9223372036854775808.0, "ints": safetensors.ErrRange},
		"[1, 2.0]":              {"ints": []int{1, 2}, "floats": []float64{1, 2}},
		"[1, 2.5]":              {"floats": []float64{1, 2.5}},
		`["a", "b"]`:            {"strings": []string{"a", "b"}},
		`["a", null]`:           {"strings": safetensors.ErrMissing},
		"[]":                    {"ints": []int{}, "floats": []float64{}, "strings": []string{}},
		`{"a": 1}`:              {"object": ""},
		`{"a":1,"a":2}`:         {"object": safetensors.ErrDuplicate},
	} {
		doc := `{"f": ` + in + `}`
		if in == "" {
			doc = `{}`
		}
		c, err := safetensors.ParseConfig([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		v := c.Get("f")
		if v.Exists() != (in != "" && in != "null") || string(v.JSON()) != in {
			t.Errorf("%s: exists %v, JSON %s", in, v.Exists(), v.JSON())
		}
		for name, get := range getters {
			want, ok := w[name]
			if !ok {
				want = safetensors.ErrType
			}
			r := get(v)
			if sentinel, ok := want.(error); ok {
				if !errors.Is(r.err, sentinel) || !strings.Contains(r.err.Error(), `"f`) {
					t.Errorf("%s as %s: got %v, %v; want %v", in, name, r.value, r.err, sentinel)
				}
			} else if r.err != nil || !reflect.DeepEqual(r.value, want) {
				t.Errorf("%s as %s: got %v, %v; want %v", in, name, r.value, r.err, want)
			}
		}
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	c, err := safetensors.ParseConfig([]byte(`{"z": 1, "rope": {"kind": "yarn", "in": {"x": "y"}}, "none": null, "layers": ["a", "b"]}`))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for v := range c.All() {
		names = append(names, v.Path())
	}
	if !slices.Equal(names, []string{"z", "rope", "none", "layers"}) {
		t.Errorf("order %q", names)
	}
	r := c.Fields()
	rope := r.Object("rope")
	if k, x := rope.Text("kind"), rope.Object("in").Text("x"); k != "yarn" || x != "y" || r.Err() != nil {
		t.Errorf("%q, %q, %v", k, x, r.Err())
	}
	if n, m := r.Int("none", 7), r.Int("missing", 8); n != 7 || m != 8 || r.Has("none") || !r.Has("z") {
		t.Errorf("%d, %d", n, m)
	}
	if f := r.Object("none").Float("factor", 1); f != 1 || r.Err() != nil {
		t.Errorf("in an object that is null: %v, %v", f, r.Err())
	}
	if rope.Object("in").Int("x", 3); !errors.Is(r.Err(), safetensors.ErrType) || !strings.Contains(r.Err().Error(), `"rope.in.x": want number, found string`) {
		t.Errorf("nested error: %v", r.Err())
	}
	if z := r.Int("z"); z != 0 || rope.Err() != r.Err() {
		t.Errorf("after an error: %d, %v", z, rope.Err())
	}
	for doc, want := range map[string]string{
		`{"none": null}`: `"none" is null`, `{}`: `"none"`, `{"none": [1, "x"]}`: `"none": want number, found array`,
	} {
		c, err := safetensors.ParseConfig([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		r := c.Fields()
		if r.Int("none"); r.Err() == nil || !strings.Contains(r.Err().Error(), want) {
			t.Errorf("%s: %v, want %s", doc, r.Err(), want)
		}
	}
	r = c.Fields()
	if r.Object("z"); !errors.Is(r.Err(), safetensors.ErrType) {
		t.Errorf("a number as an object: %v", r.Err())
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(`{"a": 1, "b": [1, 2.5, "x", null, true], "c": {"d": {"e": 1e999}}, "\ud800": "\ud800"}`))
	f.Add([]byte(`{"a": 1, "a": 2}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := safetensors.ParseConfig(b)
		if err != nil {
			return
		}
		use(c, 0)
	})
}

func use(c *safetensors.Config, depth int) {
	for v := range c.All() {
		_, _ = v.Text()
		_, _ = v.Bool()
		_, _ = v.Int()
		_, _ = v.Float()
		_, _ = v.Ints()
		_, _ = v.Floats()
		_, _ = v.Strings()
		if o, err := v.Object(); err == nil && depth < 8 {
			use(o, depth+1)
		}
	}
}
