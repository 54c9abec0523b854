package safetensors

// Fields reads many fields of a Config and keeps the first error, so that a caller checks once, with
// [Fields.Err]. Every method takes a name and, for an optional field, a default that is returned when
// the field is missing or null; without one the field is required. After an error, and where a value
// is wrong, a method returns the zero value. A Fields belongs to one goroutine.
type Fields struct {
	config *Config
	root   *Fields // keeps the error; nil when it is this one
	err    error
}

// Fields returns a reader of the fields of c.
func (c *Config) Fields() *Fields { return &Fields{config: c} }

// Err returns the first error.
func (f *Fields) Err() error { return f.keeper().err }

// Has reports whether the field is there and not null.
func (f *Fields) Has(name string) bool { return f.config.Get(name).Exists() }

// Text reads a string.
func (f *Fields) Text(name string, def ...string) string { return read(f, name, Value.Text, def) }

// Bool reads a bool.
func (f *Fields) Bool(name string, def ...bool) bool { return read(f, name, Value.Bool, def) }

// Int reads a whole number.
func (f *Fields) Int(name string, def ...int) int { return read(f, name, Value.Int, def) }

// Float reads a number.
func (f *Fields) Float(name string, def ...float64) float64 {
	return read(f, name, Value.Float, def)
}

// Strings reads an array of strings.
func (f *Fields) Strings(name string, def ...[]string) []string {
	return read(f, name, Value.Strings, def)
}

// Floats reads an array of numbers.
func (f *Fields) Floats(name string, def ...[]float64) []float64 {
	return read(f, name, Value.Floats, def)
}

// Ints reads an array of whole numbers, or one number as an array of one.
func (f *Fields) Ints(name string, def ...[]int) []int { return read(f, name, Value.Ints, def) }

// Object returns a reader of an object's fields, whose errors are kept in f. One that is missing or
// null reads as an object without fields: ask Has where that differs.
func (f *Fields) Object(name string) *Fields {
	v := f.config.Get(name)
	c := &Config{path: v.path + "."}
	if k := f.keeper(); v.Exists() && k.err == nil {
		o, err := v.Object()
		if err != nil {
			k.err = err
		} else {
			c = o
		}
	}
	return &Fields{config: c, root: f.keeper()}
}

func (f *Fields) keeper() *Fields {
	if f.root != nil {
		return f.root
	}
	return f
}

func read[T any](f *Fields, name string, decode func(Value) (T, error), def []T) T {
	var zero T
	k := f.keeper()
	if k.err != nil {
		return zero
	}
	v := f.config.Get(name)
	if !v.Exists() && len(def) > 0 {
		return def[0]
	}
	x, err := decode(v)
	if err != nil {
		k.err = err
		return zero
	}
	return x
}
