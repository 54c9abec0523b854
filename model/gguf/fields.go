package gguf

// Fields reads many metadata values and keeps the first error, so that a caller checks once, with
// [Fields.Err]. Every method takes a key and, for an optional value, a default that is returned when
// the key is missing; without one the key is required. After an error, and where a value is wrong, a
// method returns the zero value. A Fields belongs to one goroutine.
type Fields struct {
	meta *Metadata
	err  error
}

// Fields returns a reader of the values of m.
func (m *Metadata) Fields() *Fields { return &Fields{meta: m} }

// Err returns the first error.
func (f *Fields) Err() error { return f.err }

// Has reports whether the file has key.
func (f *Fields) Has(key string) bool { return f.meta.Get(key).Exists() }

// Text reads a string.
func (f *Fields) Text(key string, def ...string) string { return read(f, key, Value.Text, def) }

// Bool reads a bool.
func (f *Fields) Bool(key string, def ...bool) bool { return read(f, key, Value.Bool, def) }

// Uint reads an integer that is not negative.
func (f *Fields) Uint(key string, def ...uint64) uint64 { return read(f, key, Value.Uint, def) }

// Int reads an integer.
func (f *Fields) Int(key string, def ...int) int { return read(f, key, Value.Int, def) }

// Float reads a float or an integer.
func (f *Fields) Float(key string, def ...float64) float64 { return read(f, key, Value.Float, def) }

// Strings reads an array of strings.
func (f *Fields) Strings(key string, def ...[]string) []string {
	return read(f, key, Value.Strings, def)
}

// Ints reads an array of integers.
func (f *Fields) Ints(key string, def ...[]int) []int { return read(f, key, Value.Ints, def) }

// Int32s reads an array of integers.
func (f *Fields) Int32s(key string, def ...[]int32) []int32 { return read(f, key, Value.Int32s, def) }

// Float32s reads an array of floats or integers.
func (f *Fields) Float32s(key string, def ...[]float32) []float32 {
	return read(f, key, Value.Float32s, def)
}

// Bools reads an array of bools.
func (f *Fields) Bools(key string, def ...[]bool) []bool { return read(f, key, Value.Bools, def) }

// PerLayer reads an array of n integers, or one integer that stands for n equal ones.
func (f *Fields) PerLayer(key string, n int, def ...[]int) []int {
	return read(f, key, func(v Value) ([]int, error) { return v.PerLayer(n) }, def)
}

func read[T any](f *Fields, key string, decode func(Value) (T, error), def []T) T {
	var zero T
	if f.err != nil {
		return zero
	}
	v := f.meta.Get(key)
	if !v.Exists() && len(def) > 0 {
		return def[0]
	}
	x, err := decode(v)
	if err != nil {
		f.err = err
		return zero
	}
	return x
}
