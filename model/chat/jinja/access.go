package jinja

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// getAttr is v.name: a method or attribute first, then an item of that key.
func getAttr(v Value, name string) (Value, error) {
	if u, ok := v.(*undefined); ok {
		return nil, u.fail()
	}
	if a := attribute(v, name); a != nil {
		return a, nil
	}
	if m, ok := v.(*Map); ok {
		if it, ok := m.Get(name); ok {
			return it, nil
		}
	}
	if ns, ok := v.(*namespace); ok {
		if it, ok := ns.attrs.Get(name); ok {
			return it, nil
		}
	}
	if l, ok := v.(*loopVar); ok {
		if it, ok := l.attr(name); ok {
			return it, nil
		}
	}
	if t, ok := v.(*Tuple); ok {
		if i := slices.Index(t.names, name); i >= 0 {
			return t.Items[i], nil
		}
	}
	if m, ok := v.(*macro); ok && name == "name" {
		return lit(m.def.name), nil
	}
	return &undefined{of: v, has: true, name: name}, nil
}

// getItem is v[key]: an item first, then, for a string, an attribute.
func getItem(v, key Value) (Value, error) {
	switch c := v.(type) {
	case *undefined:
		return nil, c.fail()
	case *Map:
		if it, ok := c.lookup(key); ok {
			return it, nil
		}
	case *List:
		if it, ok := itemAt(c.Items, key); ok {
			return it, nil
		}
	case *Tuple:
		if it, ok := itemAt(c.Items, key); ok {
			return it, nil
		}
	case Text:
		if i, ok := indexIn(c.chars(), key); ok {
			lo := byteAt(c.s, i)
			return c.Slice(lo, lo+byteAt(c.s[lo:], 1)), nil
		}
	case *rangeValue:
		if i, ok := indexIn(c.len(), key); ok {
			return c.start + int64(i)*c.step, nil
		}
	}
	if name, ok := key.(Text); ok {
		if a := attribute(v, name.s); a != nil {
			return a, nil
		}
		if _, isMap := v.(*Map); !isMap {
			return getAttr(v, name.s)
		}
		return &undefined{of: v, has: true, name: name.s}, nil
	}
	if key == nil {
		return &undefined{other: ownerName(v) + " has no element None"}, nil
	}
	return &undefined{of: v, has: true, item: key}, nil
}

func indexIn(n int, key Value) (int, bool) {
	k, ok := numeric(key)
	if !ok {
		return 0, false
	}
	i, ok := k.(int64)
	if !ok {
		return 0, false
	}
	if i < 0 {
		i += int64(n)
	}
	return int(i), i >= 0 && i < int64(n)
}

func itemAt(items []Value, key Value) (Value, bool) {
	i, ok := indexIn(len(items), key)
	if !ok {
		return nil, false
	}
	return items[i], true
}

// attribute returns a method of v, bound to it, or nil.
func attribute(v Value, name string) Value {
	bind := func(f func(x *exec, a *args) (Value, error)) Value { return &function{name, f} }
	switch v := v.(type) {
	case Text:
		if m := textMethod(name); m != nil {
			return bind(func(x *exec, a *args) (Value, error) { return m(x, v, a) })
		}
	case *Map:
		if m := mapMethod(name); m != nil {
			return bind(func(x *exec, a *args) (Value, error) { return m(v, a) })
		}
		if slices.Contains([]string{"clear", "pop", "popitem", "setdefault", "update"}, name) {
			return unsafeAttr(v, name)
		}
	case *List:
		if m := listMethod(name); m != nil {
			return bind(func(x *exec, a *args) (Value, error) { return m(x, v.Items, a) })
		}
		if slices.Contains([]string{"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"}, name) {
			return unsafeAttr(v, name)
		}
	case *Tuple:
		if name != "copy" {
			if m := listMethod(name); m != nil {
				return bind(func(x *exec, a *args) (Value, error) { return m(x, v.Items, a) })
			}
		}
	case float64:
		if name == "is_integer" {
			return bind(func(_ *exec, a *args) (Value, error) { return v == float64(int64(v)), a.none(name) })
		}
	case int64, *big.Int:
		if name == "bit_length" {
			return bind(func(_ *exec, a *args) (Value, error) { return int64(toBig(v).BitLen()), a.none(name) })
		}
	}
	return nil
}

// unsafeAttr is a method that would change a value: reading it is harmless, using it fails.
func unsafeAttr(v Value, name string) Value {
	return &undefined{other: fmt.Sprintf("access to attribute '%s' of '%s' object is unsafe.", name, typeName(v))}
}

func mapMethod(name string) func(m *Map, a *args) (Value, error) {
	viewOf := func(kind byte) func(m *Map, a *args) (Value, error) {
		return func(m *Map, a *args) (Value, error) { return &view{m, kind}, a.none(name) }
	}
	switch name {
	case "items":
		return viewOf('i')
	case "keys":
		return viewOf('k')
	case "values":
		return viewOf('v')
	case "copy":
		return func(m *Map, a *args) (Value, error) { return m.clone(), a.none(name) }
	case "get":
		return func(m *Map, a *args) (Value, error) {
			v, err := a.bind("get", 1, "key", "default")
			if err != nil {
				return nil, err
			}
			if _, ok := hashKey(v[0]); !ok {
				return nil, failf("unhashable type: '%s'", typeName(v[0]))
			}
			if it, ok := m.lookup(v[0]); ok {
				return it, nil
			}
			if given(v[1]) {
				return v[1], nil
			}
			return nil, nil
		}
	}
	return nil
}

func listMethod(name string) func(x *exec, items []Value, a *args) (Value, error) {
	switch name {
	case "copy":
		return func(_ *exec, items []Value, a *args) (Value, error) { return &List{slices.Clone(items)}, a.none(name) }
	case "count", "index":
		return func(x *exec, items []Value, a *args) (Value, error) {
			v, err := a.bind(name, 1, "value")
			if err != nil {
				return nil, err
			}
			var n int64
			for i, it := range items {
				eq, err := x.cmp.equal(it, v[0], 0)
				if err != nil {
					return nil, err
				}
				if eq && name == "index" {
					return int64(i), nil
				}
				if eq {
					n++
				}
			}
			if name == "index" {
				return nil, failf("the value is not in the list")
			}
			return n, nil
		}
	}
	return nil
}

func (l *loopVar) attr(name string) (Value, bool) {
	n := len(l.items)
	at := func(i int) Value {
		if i >= 0 && i < n {
			return l.items[i]
		}
		return &undefined{other: "there is no " + strings.TrimSuffix(name, "item") + " item"}
	}
	switch name {
	case "index":
		return int64(l.i + 1), true
	case "index0":
		return int64(l.i), true
	case "revindex":
		return int64(n - l.i), true
	case "revindex0":
		return int64(n - l.i - 1), true
	case "first":
		return l.i == 0, true
	case "last":
		return l.i == n-1, true
	case "length":
		return int64(n), true
	case "depth":
		return int64(l.depth + 1), true
	case "depth0":
		return int64(l.depth), true
	case "previtem":
		return at(l.i - 1), true
	case "nextitem":
		return at(l.i + 1), true
	case "cycle":
		return &function{name, func(_ *exec, a *args) (Value, error) {
			if len(a.pos) == 0 {
				return nil, failf("no items for cycling given")
			}
			return a.pos[l.i%len(a.pos)], nil
		}}, true
	case "changed":
		return &function{name, func(x *exec, a *args) (Value, error) {
			now := &Tuple{Items: a.pos}
			if l.seen {
				if same, err := x.cmp.equal(l.last, now, 0); same || err != nil {
					return false, err
				}
			}
			l.last, l.seen = now, true
			return true, nil
		}}, true
	}
	return nil, false
}

// slice is v[lo:hi:step].
func (x *exec) slice(v, lo, hi, step Value) (Value, error) {
	if u, ok := v.(*undefined); ok {
		return nil, u.fail()
	}
	var n int
	switch c := v.(type) {
	case Text:
		n = c.chars()
	case *List, *Tuple, *rangeValue:
		n, _ = length(v)
	default:
		return nil, failf("'%s' object is not subscriptable", typeName(v))
	}
	by, err := sliceIndex(step, 1)
	if err != nil {
		return nil, err
	}
	if by == 0 {
		return nil, failf("slice step cannot be zero")
	}
	first, last, count, err := sliceBounds(n, lo, hi, by)
	if err != nil {
		return nil, err
	}
	if t, ok := v.(Text); ok {
		if by == 1 {
			i := byteAt(t.s, first)
			return t.Slice(i, i+byteAt(t.s[i:], last-first)), nil
		}
		return x.pick(t, first, by, count)
	}
	if r, ok := v.(*rangeValue); ok {
		if by > 0 {
			last = min(last, n)
		}
		return &rangeValue{r.start + int64(first)*r.step, r.start + int64(last)*r.step, r.step * int64(by)}, nil
	}
	if err := x.chargeItems(count); err != nil {
		return nil, err
	}
	items, err := x.iterate(v)
	if err != nil {
		return nil, err
	}
	out := make([]Value, count)
	for i := range out {
		out[i] = items[first+i*by]
	}
	if _, ok := v.(*Tuple); ok {
		return &Tuple{Items: out}, nil
	}
	return &List{out}, nil
}

// pick returns every by-th character.
func (x *exec) pick(t Text, first, by, count int) (Value, error) {
	if err := x.charge(t.Len()); err != nil {
		return nil, err
	}
	chars, err := x.iterate(t)
	if err != nil {
		return nil, err
	}
	var b builder
	for i := range count {
		b.add(chars[first+i*by].(Text))
	}
	return b.text(t.safe), nil
}

func sliceIndex(v Value, def int) (int, error) {
	switch v := v.(type) {
	case nil:
		return def, nil
	case *undefined:
		return 0, failf("slice indices must be integers or None or have an __index__ method")
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case int64:
		const far = 1 << 40 // beyond any sequence
		return int(max(-far, min(far, v))), nil
	}
	return 0, failf("slice indices must be integers or None or have an __index__ method")
}

func sliceBounds(n int, lo, hi Value, by int) (first, last, count int, err error) {
	low, high := 0, n
	if by < 0 {
		low, high = -1, n-1
	}
	clamp := func(v Value, def int) (int, error) {
		i, err := sliceIndex(v, def)
		if v == nil || err != nil {
			return i, err
		}
		if i < 0 {
			i += n
		}
		return max(low, min(high, i)), nil
	}
	start, end := low, high
	if by < 0 {
		start, end = high, low
	}
	if first, err = clamp(lo, start); err != nil {
		return
	}
	if last, err = clamp(hi, end); err != nil {
		return
	}
	if by > 0 && first < last {
		count = (last - first + by - 1) / by
	} else if by < 0 && first > last {
		count = (first - last - by - 1) / -by
	}
	if by > 0 {
		last = max(first, last)
	}
	return
}
