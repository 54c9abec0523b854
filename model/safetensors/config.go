package safetensors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"path/filepath"
	"strconv"
	"strings"
)

const maxConfig = 16 << 20 // bytes

// Config is a JSON object, config.json for instance, with its fields in file order. It is read-only
// and may be shared between goroutines.
type Config struct {
	path   string // of the object in the document, with a dot at the end, or empty
	values []Value
	index  map[string]int
}

// ParseConfig reads a JSON object. Objects inside it are read when asked for.
func ParseConfig(b []byte) (*Config, error) {
	return parseConfig(b, "")
}

func parseConfig(b []byte, path string) (*Config, error) {
	c := &Config{path: path, index: make(map[string]int)}
	what := "config"
	if path != "" {
		what = "field " + strconv.Quote(strings.TrimSuffix(path, "."))
	}
	err := object(b, what, func(name string, raw json.RawMessage) error {
		c.index[name] = len(c.values)
		c.values = append(c.values, Value{path: path + name, raw: bytes.Clone(raw)})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Config reads the config.json beside the file, at each call. After Parse, and where there is no
// such file, the error wraps [fs.ErrNotExist].
func (f *File) Config() (*Config, error) {
	if f.dir == "" {
		return nil, fmt.Errorf("safetensors: config.json: %w", fs.ErrNotExist)
	}
	b, err := readFile(filepath.Join(f.dir, "config.json"), maxConfig)
	if err != nil {
		return nil, err
	}
	c, err := ParseConfig(b)
	if err != nil {
		return nil, fmt.Errorf("config.json: %w", err)
	}
	return c, nil
}

// Get returns the value of a field; see [Value.Exists] for one that is not there.
func (c *Config) Get(name string) Value {
	if i, ok := c.index[name]; ok {
		return c.values[i]
	}
	return Value{path: c.path + name}
}

// All yields the values in file order.
func (c *Config) All() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		for _, v := range c.values {
			if !yield(v) {
				return
			}
		}
	}
}

// Value is one JSON value, or the lack of one. Its methods decode it; what they return are copies.
// They return [ErrMissing] where there is no value or it is null, [ErrType] for another type.
type Value struct {
	path string
	raw  json.RawMessage // nil when missing
}

// Path returns the name of the value with those of the objects around it: "rope_scaling.factor".
func (v Value) Path() string { return v.path }

// Exists reports whether there is a value other than null.
func (v Value) Exists() bool { return v.raw != nil && v.kind() != "null" }

// JSON returns the value as it stands in the file, nil when there is none.
func (v Value) JSON() []byte { return bytes.Clone(v.raw) }

// kind returns the JSON type of a value that the decoder has checked.
func (v Value) kind() string {
	switch v.raw[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "bool"
	case 'n':
		return "null"
	}
	return "number"
}

// as reports an error unless the value is of the JSON type kind.
func (v Value) as(kind string) error {
	switch {
	case v.raw == nil:
		return fmt.Errorf("%w: field %q", ErrMissing, v.path)
	case v.kind() == "null":
		return fmt.Errorf("%w: field %q is null", ErrMissing, v.path)
	case v.kind() != kind:
		return fmt.Errorf("%w: field %q: want %s, found %s", ErrType, v.path, kind, v.kind())
	}
	return nil
}

// Text decodes a string.
func (v Value) Text() (s string, err error) {
	if err := v.as("string"); err != nil {
		return "", err
	}
	return s, v.decode(&s)
}

// Bool decodes a bool.
func (v Value) Bool() (b bool, err error) {
	if err := v.as("bool"); err != nil {
		return false, err
	}
	return b, v.decode(&b)
}

// Int decodes a whole number, also one written as a float.
func (v Value) Int() (int, error) {
	if err := v.as("number"); err != nil {
		return 0, err
	}
	if n, err := strconv.ParseInt(string(v.raw), 10, strconv.IntSize); err == nil {
		return int(n), nil
	}
	const exact = 1 << 53 // above it a float64 may not be the number that was written
	f, err := strconv.ParseFloat(string(v.raw), 64)
	if err != nil || f < math.MinInt || f > math.MaxInt || math.Abs(f) > exact {
		return 0, fmt.Errorf("%w: field %q: %s", ErrRange, v.path, v.raw)
	}
	if f != math.Trunc(f) {
		return 0, fmt.Errorf("%w: field %q: want a whole number, found %s", ErrType, v.path, v.raw)
	}
	return int(f), nil
}

// Float decodes a number.
func (v Value) Float() (float64, error) {
	if err := v.as("number"); err != nil {
		return 0, err
	}
	f, err := strconv.ParseFloat(string(v.raw), 64)
	if err != nil {
		return 0, fmt.Errorf("%w: field %q: %s", ErrRange, v.path, v.raw)
	}
	return f, nil
}

// Object decodes an object.
func (v Value) Object() (*Config, error) {
	if err := v.as("object"); err != nil {
		return nil, err
	}
	return parseConfig(v.raw, v.path+".")
}

// Array decodes an array. The elements' paths are "layer_types[0]" and so on.
func (v Value) Array() ([]Value, error) {
	if err := v.as("array"); err != nil {
		return nil, err
	}
	var raw []json.RawMessage
	if err := v.decode(&raw); err != nil {
		return nil, err
	}
	out := make([]Value, len(raw))
	for i, r := range raw {
		out[i] = Value{path: fmt.Sprintf("%s[%d]", v.path, i), raw: r}
	}
	return out, nil
}

// Strings decodes an array of strings.
func (v Value) Strings() ([]string, error) { return array(v, Value.Text) }

// Floats decodes an array of numbers.
func (v Value) Floats() ([]float64, error) { return array(v, Value.Float) }

// Ints decodes an array of whole numbers, or one number as an array of one, as end-of-text ids are
// written.
func (v Value) Ints() ([]int, error) {
	if v.Exists() && v.kind() == "number" {
		n, err := v.Int()
		return []int{n}, err
	}
	return array(v, Value.Int)
}

func array[T any](v Value, decode func(Value) (T, error)) ([]T, error) {
	values, err := v.Array()
	if err != nil {
		return nil, err
	}
	out := make([]T, len(values))
	for i, e := range values {
		if out[i], err = decode(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// decode cannot fail on what the decoder has read before, but says so if it does.
func (v Value) decode(to any) error {
	if err := json.Unmarshal(v.raw, to); err != nil {
		return fmt.Errorf("%w: field %q: %w", ErrJSON, v.path, err)
	}
	return nil
}
