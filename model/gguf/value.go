package gguf

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"strings"
	"unicode/utf8"
)

// Type is the type of a metadata value.
type Type uint8

// The types, by their numbers in the file.
const (
	Uint8 Type = iota
	Int8
	Uint16
	Int16
	Uint32
	Int32
	Float32
	Bool
	String
	Array
	Uint64
	Int64
	Float64
	types
)

// invalid is the type of a missing value.
const invalid = types

var typeNames = [...]string{"uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "bool",
	"string", "array", "uint64", "int64", "float64", "nothing"}

// typeSizes holds the bytes of the types of fixed size.
var typeSizes = [types]int{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}

func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("Type(%d)", uint8(t))
}

// Value is one metadata value, or the lack of one. It is decoded when asked, and what the methods
// return are copies. Integers of every width and sign decode as any other that they fit; numbers
// never become bools or text, nor the reverse. A method of a missing value returns [ErrMissing],
// of another type [ErrType].
type Value struct {
	key  string
	typ  Type
	elem Type // of an array
	n    int  // elements of an array
	raw  []byte
}

// Key returns the key of the value, also when it is missing.
func (v Value) Key() string { return v.key }

// Exists reports whether the file has the value.
func (v Value) Exists() bool { return v.typ != invalid }

// Type returns the type of the value; that of a missing one prints as "nothing".
func (v Value) Type() Type { return v.typ }

// Elem returns the type of an array's elements.
func (v Value) Elem() Type { return v.elem }

// Len returns the number of an array's elements, and 0 for every other type.
func (v Value) Len() int { return v.n }

// wrong is the error of a value that cannot be decoded as want.
func (v Value) wrong(want string) error {
	if !v.Exists() {
		return fmt.Errorf("%w: key %q", ErrMissing, v.key)
	}
	return fmt.Errorf("%w: key %q: want %s, found %s", ErrType, v.key, want, v.kind())
}

func (v Value) kind() string {
	if v.typ == Array {
		return fmt.Sprintf("array of %d %v", v.n, v.elem)
	}
	return v.typ.String()
}

// Text decodes a string.
func (v Value) Text() (string, error) {
	if v.typ != String {
		return "", v.wrong("string")
	}
	if !utf8.Valid(v.raw) {
		return "", fmt.Errorf("%w: key %q: not UTF-8", ErrText, v.key)
	}
	return string(v.raw), nil
}

// Bool decodes a bool.
func (v Value) Bool() (bool, error) {
	if v.typ != Bool {
		return false, v.wrong("bool")
	}
	return v.raw[0] != 0, nil
}

// Uint decodes an integer that is not negative.
func (v Value) Uint() (uint64, error) {
	bits, signed, ok := integer(v.typ, v.raw)
	if !ok {
		return 0, v.wrong("unsigned integer")
	}
	if signed && int64(bits) < 0 {
		return 0, fmt.Errorf("%w: key %q: %d is below 0", ErrRange, v.key, int64(bits))
	}
	return bits, nil
}

// Int decodes an integer.
func (v Value) Int() (int, error) {
	bits, signed, ok := integer(v.typ, v.raw)
	if !ok {
		return 0, v.wrong("integer")
	}
	return v.fit(bits, signed, math.MinInt, math.MaxInt)
}

// Float decodes a float, or an integer as the nearest float64.
func (v Value) Float() (float64, error) {
	f, ok := float(v.typ, v.raw)
	if !ok {
		return 0, v.wrong("float")
	}
	return f, nil
}

// Strings decodes an array of strings.
func (v Value) Strings() ([]string, error) {
	if v.typ != Array || v.elem != String && v.n > 0 {
		return nil, v.wrong("array of string")
	}
	// One copy holds all of them: a vocabulary has 100,000 and more.
	all := string(v.raw)
	out := make([]string, v.n)
	off := 0
	for i := range out {
		n := int(binary.LittleEndian.Uint64(v.raw[off:])) // checked by Parse
		out[i] = all[off+8 : off+8+n]
		if !utf8.ValidString(out[i]) {
			return nil, fmt.Errorf("%w: key %q[%d]: not UTF-8", ErrText, v.key, i)
		}
		off += 8 + n
	}
	return out, nil
}

// Ints decodes an array of integers.
func (v Value) Ints() ([]int, error) {
	return array(v, "array of integer", func(raw []byte) (int, bool, error) {
		bits, signed, ok := integer(v.elem, raw)
		n, err := v.fit(bits, signed, math.MinInt, math.MaxInt)
		return n, ok, err
	})
}

// Int32s decodes an array of integers.
func (v Value) Int32s() ([]int32, error) {
	return array(v, "array of int32", func(raw []byte) (int32, bool, error) {
		bits, signed, ok := integer(v.elem, raw)
		n, err := v.fit(bits, signed, math.MinInt32, math.MaxInt32)
		return int32(n), ok, err
	})
}

// Float32s decodes an array of floats or integers, rounded to float32.
func (v Value) Float32s() ([]float32, error) {
	return array(v, "array of float", func(raw []byte) (float32, bool, error) {
		f, ok := float(v.elem, raw)
		return float32(f), ok, nil
	})
}

// Bools decodes an array of bools.
func (v Value) Bools() ([]bool, error) {
	return array(v, "array of bool", func(raw []byte) (bool, bool, error) {
		return v.elem == Bool && raw[0] != 0, v.elem == Bool, nil
	})
}

// PerLayer decodes an array of n integers, or one integer that stands for n equal ones.
func (v Value) PerLayer(n int) ([]int, error) {
	if v.typ == Array {
		out, err := v.Ints()
		if err == nil && len(out) != n {
			return nil, fmt.Errorf("%w: key %q: %d values, want %d", ErrRange, v.key, len(out), n)
		}
		return out, err
	}
	one, err := v.Int()
	if err != nil {
		return nil, err
	}
	out := make([]int, n)
	for i := range out {
		out[i] = one
	}
	return out, nil
}

// All yields the elements of an array, arrays among them; a value of another type yields nothing.
func (v Value) All() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.typ != Array {
			return
		}
		r := reader{b: v.raw}
		for i := range v.n {
			e, err := r.value(fmt.Sprintf("%s[%d]", v.key, i), v.elem, 0)
			if err != nil || !yield(e) {
				return
			}
		}
	}
}

// String prints the value; of a long text or array, the beginning.
func (v Value) String() string {
	const most = 8
	switch v.typ {
	case invalid:
		return "nothing"
	case String:
		if len(v.raw) > 256 {
			return fmt.Sprintf("%q and %d bytes more", v.raw[:256], len(v.raw)-256)
		}
		return fmt.Sprintf("%q", v.raw)
	case Bool:
		return fmt.Sprint(v.raw[0] != 0)
	case Float32: // so that 0.1 prints as 0.1
		f, _ := float(v.typ, v.raw)
		return fmt.Sprint(float32(f))
	case Float64:
		f, _ := float(v.typ, v.raw)
		return fmt.Sprint(f)
	case Array:
		var s []string
		for e := range v.All() {
			if len(s) == most {
				s = append(s, fmt.Sprintf("and %d more", v.n-most))
				break
			}
			s = append(s, e.String())
		}
		return "[" + strings.Join(s, " ") + "]"
	}
	bits, signed, _ := integer(v.typ, v.raw)
	if signed {
		return fmt.Sprint(int64(bits))
	}
	return fmt.Sprint(bits)
}

// array decodes the elements of v, all of one fixed size, with one.
func array[T any](v Value, want string, one func(raw []byte) (T, bool, error)) ([]T, error) {
	if v.typ != Array {
		return nil, v.wrong(want)
	}
	out := make([]T, v.n)
	if v.n == 0 {
		return out, nil
	}
	size := typeSizes[v.elem]
	if size == 0 {
		return nil, v.wrong(want)
	}
	for i := range out {
		x, ok, err := one(v.raw[i*size : (i+1)*size])
		if !ok {
			return nil, v.wrong(want)
		}
		if err != nil {
			return nil, fmt.Errorf("%w (element %d)", err, i)
		}
		out[i] = x
	}
	return out, nil
}

// fit returns an integer that must lie in [lo, hi].
func (v Value) fit(bits uint64, signed bool, lo, hi int) (int, error) {
	if signed {
		if n := int64(bits); n < int64(lo) || n > int64(hi) {
			return 0, fmt.Errorf("%w: key %q: %d is not in [%d, %d]", ErrRange, v.key, n, lo, hi)
		}
	} else if bits > uint64(hi) {
		return 0, fmt.Errorf("%w: key %q: %d is above %d", ErrRange, v.key, bits, hi)
	}
	return int(bits), nil
}

// integer decodes an integer of any width, sign-extended to 64 bits.
func integer(t Type, raw []byte) (bits uint64, signed, ok bool) {
	le := binary.LittleEndian
	switch t {
	case Uint8:
		return uint64(raw[0]), false, true
	case Int8:
		return uint64(int64(int8(raw[0]))), true, true
	case Uint16:
		return uint64(le.Uint16(raw)), false, true
	case Int16:
		return uint64(int64(int16(le.Uint16(raw)))), true, true
	case Uint32:
		return uint64(le.Uint32(raw)), false, true
	case Int32:
		return uint64(int64(int32(le.Uint32(raw)))), true, true
	case Uint64:
		return le.Uint64(raw), false, true
	case Int64:
		return le.Uint64(raw), true, true
	}
	return 0, false, false
}

func float(t Type, raw []byte) (float64, bool) {
	switch t {
	case Float32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(raw))), true
	case Float64:
		return math.Float64frombits(binary.LittleEndian.Uint64(raw)), true
	}
	bits, signed, ok := integer(t, raw)
	if signed {
		return float64(int64(bits)), ok
	}
	return float64(bits), ok
}
