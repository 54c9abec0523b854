package jinja

import (
	"math/big"
	"strings"
)

// Value is one of the values a template computes with:
//
//	nil                        None
//	bool, int64, float64       and *big.Int where an integer needs more than 64 bits
//	Text                       a string
//	*List, *Tuple, *Map        containers; a Map keeps the order of insertion
//
// and, inside a render only, undefined values, iterators, functions, namespaces and loop variables.
type Value any

// List is a sequence of values. Templates cannot change one.
type List struct{ Items []Value }

// Tuple is a sequence that prints with parentheses and may be a key.
type Tuple struct {
	Items []Value
	names []string // of groupby's pairs: attribute names for the items
}

// Map is a mapping that keeps the order of insertion. The zero Map is empty and ready.
type Map struct {
	entries []entry
	index   map[any]int // nil while the map is small
}

type entry struct{ key, val Value }

// mapScan is the size up to which a search compares keys one by one: chat messages have few keys.
const mapScan = 8

// Len returns the number of entries.
func (m *Map) Len() int { return len(m.entries) }

// Set stores v under a string key of the template's origin.
func (m *Map) Set(key string, v Value) { m.put(lit(key), v) }

// Get returns the value of a string key.
func (m *Map) Get(key string) (Value, bool) {
	if i := m.find(key); i >= 0 {
		return m.entries[i].val, true
	}
	return nil, false
}

// hashKey maps equal keys to equal Go values: in Python 1, 1.0 and True are one key.
func hashKey(v Value) (any, bool) {
	switch v := v.(type) {
	case nil:
		return struct{}{}, true
	case Text:
		return v.s, true
	case bool:
		if v {
			return 1.0, true
		}
		return 0.0, true
	case int64:
		if f := float64(v); int64(f) == v {
			return f, true
		}
		return v, true
	case float64:
		return v, true
	case *big.Int:
		return "\x00int" + v.String(), true
	case *Tuple:
		var b strings.Builder
		b.WriteString("\x00tuple")
		for _, it := range v.Items {
			if _, ok := hashKey(it); !ok {
				return nil, false
			}
			s, err := repr(it)
			if err != nil {
				return nil, false
			}
			b.WriteString(s.s)
			b.WriteByte(0)
		}
		return b.String(), true
	case *List, *Map:
		return nil, false
	}
	return v, true // pointers: by identity
}

func (m *Map) find(key any) int {
	if m.index != nil {
		if i, ok := m.index[key]; ok {
			return i
		}
		return -1
	}
	want, isString := key.(string)
	for i := range m.entries {
		if t, ok := m.entries[i].key.(Text); ok {
			if isString && t.s == want {
				return i
			}
		} else if k, _ := hashKey(m.entries[i].key); k == key {
			return i
		}
	}
	return -1
}

// put stores v and reports whether the key may be a key at all.
func (m *Map) put(key, v Value) bool {
	h, ok := hashKey(key)
	if !ok {
		return false
	}
	if i := m.find(h); i >= 0 {
		m.entries[i].val = v
		return true
	}
	m.entries = append(m.entries, entry{key, v})
	switch {
	case m.index != nil:
		m.index[h] = len(m.entries) - 1
	case len(m.entries) > mapScan:
		m.index = make(map[any]int, 2*mapScan)
		for i, e := range m.entries {
			k, _ := hashKey(e.key)
			m.index[k] = i
		}
	}
	return true
}

func (m *Map) lookup(key Value) (Value, bool) {
	h, ok := hashKey(key)
	if !ok {
		return nil, false
	}
	if i := m.find(h); i >= 0 {
		return m.entries[i].val, true
	}
	return nil, false
}

func (m *Map) clone() *Map {
	out := &Map{}
	for _, e := range m.entries {
		out.put(e.key, e.val)
	}
	return out
}

// undefined is what a name without a value gives: it prints as nothing and fails when used.
type undefined struct {
	name  string // of a variable, or of an attribute when of is set
	of    Value  // whose attribute or item is missing
	item  Value  // the missing item, when it is no name
	has   bool   // of is set
	other string // the whole message, for all other reasons
}

func (u *undefined) fail() error {
	switch {
	case u.other != "":
		return failf("%s", u.other)
	case !u.has:
		return failf("'%s' is undefined", u.name)
	case u.item == nil:
		return failf("'%s' has no attribute '%s'", ownerName(u.of), u.name)
	}
	k, err := repr(u.item)
	if err != nil {
		return err
	}
	return failf("%s has no element %s", ownerName(u.of), k.s)
}

// namespace is the one value that a template can change.
type namespace struct{ attrs Map }

// seq is an iterator: it can be gone through once, and is true even when empty.
type seq struct {
	items []Value
	next  int
}

// view is what a mapping's keys(), values() and items() return.
type view struct {
	m    *Map
	kind byte // 'k', 'v', 'i'
}

func (v *view) items() []Value {
	out := make([]Value, len(v.m.entries))
	for i, e := range v.m.entries {
		switch v.kind {
		case 'k':
			out[i] = e.key
		case 'v':
			out[i] = e.val
		default:
			out[i] = &Tuple{Items: []Value{e.key, e.val}}
		}
	}
	return out
}

// rangeValue is what range() returns.
type rangeValue struct{ start, stop, step int64 }

func (r *rangeValue) len() int {
	var n int64
	switch {
	case r.step > 0 && r.start < r.stop:
		n = (r.stop - r.start + r.step - 1) / r.step
	case r.step < 0 && r.start > r.stop:
		n = (r.start - r.stop - r.step - 1) / -r.step
	}
	return int(n)
}

// function is a callable that is not a macro: a global, or a method bound to its receiver.
type function struct {
	name string
	call func(x *exec, a *args) (Value, error)
}

// absent marks an argument that the call did not give.
type absent struct{}

func isUndefined(v Value) bool {
	_, ok := v.(*undefined)
	return ok
}

// typeName is Python's name of a value's type.
func typeName(v Value) string {
	switch v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int64, *big.Int:
		return "int"
	case float64:
		return "float"
	case Text:
		return "str"
	case *List:
		return "list"
	case *Tuple:
		return "tuple"
	case *Map:
		return "dict"
	case *undefined:
		return "Undefined"
	case *namespace:
		return "Namespace"
	case *seq:
		return "generator"
	case *view:
		return "dict_view"
	case *rangeValue:
		return "range"
	case *macro:
		return "Macro"
	case *loopVar:
		return "LoopContext"
	}
	return "function"
}

// ownerName is how an undefined attribute's message names the object.
func ownerName(v Value) string {
	switch v.(type) {
	case nil:
		return "None"
	case *namespace, *macro, *loopVar:
		return "jinja2 object"
	}
	return typeName(v) + " object"
}

// truth is Python's bool(v).
func truth(v Value) bool {
	switch v := v.(type) {
	case nil, *undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case *big.Int:
		return v.Sign() != 0
	case float64:
		return v != 0
	case Text:
		return v.s != ""
	case *List:
		return len(v.Items) > 0
	case *Tuple:
		return len(v.Items) > 0
	case *Map:
		return len(v.entries) > 0
	case *view:
		return len(v.m.entries) > 0
	case *rangeValue:
		return v.len() > 0
	}
	return true
}

// length is Python's len(v).
func length(v Value) (int, error) {
	switch v := v.(type) {
	case *undefined:
		return 0, nil
	case Text:
		return v.chars(), nil
	case *List:
		return len(v.Items), nil
	case *Tuple:
		return len(v.Items), nil
	case *Map:
		return len(v.entries), nil
	case *view:
		return len(v.m.entries), nil
	case *rangeValue:
		return v.len(), nil
	case *loopVar:
		return len(v.items), nil
	}
	return 0, failf("object of type '%s' has no len()", typeName(v))
}
