package jinja

import (
	"math/big"
	"unicode"
)

type testFunc func(x *exec, v Value, a *args) (bool, error)

// testNamed returns the test behind "is name", or nil.
func testNamed(name string) testFunc {
	of := func(f func(Value) bool) testFunc {
		return func(_ *exec, v Value, a *args) (bool, error) { return f(v), a.none(name) }
	}
	switch name {
	case "defined":
		return of(func(v Value) bool { return !isUndefined(v) })
	case "undefined":
		return of(isUndefined)
	case "none":
		return of(func(v Value) bool { return v == nil })
	case "boolean":
		return of(func(v Value) bool { _, ok := v.(bool); return ok })
	case "true":
		return of(func(v Value) bool { b, ok := v.(bool); return ok && b })
	case "false":
		return of(func(v Value) bool { b, ok := v.(bool); return ok && !b })
	case "integer":
		return of(func(v Value) bool {
			switch v.(type) {
			case int64, *big.Int:
				return true
			}
			return false
		})
	case "float":
		return of(func(v Value) bool { _, ok := v.(float64); return ok })
	case "number":
		return of(func(v Value) bool { _, ok := numeric(v); return ok })
	case "string":
		return of(func(v Value) bool { _, ok := v.(Text); return ok })
	case "mapping":
		return of(func(v Value) bool { _, ok := v.(*Map); return ok })
	case "sequence":
		return of(func(v Value) bool {
			switch v.(type) {
			case Text, *List, *Tuple, *Map, *rangeValue, *undefined:
				return true
			}
			return false
		})
	case "iterable":
		return of(func(v Value) bool {
			switch v.(type) {
			case Text, *List, *Tuple, *Map, *rangeValue, *view, *seq, *loopVar, *undefined:
				return true
			}
			return false
		})
	case "callable":
		return of(func(v Value) bool {
			switch v.(type) {
			case *function, *macro, *loopVar, *undefined:
				return true
			}
			return false
		})
	case "lower", "upper":
		want, not := unicode.IsLower, unicode.IsUpper
		if name == "upper" {
			want, not = not, want
		}
		return func(_ *exec, v Value, a *args) (bool, error) {
			t, err := toText(v)
			if err != nil {
				return false, err
			}
			return cased(want, not)(t.s), a.none(name)
		}
	case "escaped":
		return of(func(v Value) bool { t, ok := v.(Text); return ok && t.safe })
	case "odd", "even", "divisibleby":
		return func(_ *exec, v Value, a *args) (bool, error) { return divisible(name, v, a) }
	case "eq", "==", "equalto", "ne", "!=", "lt", "<", "lessthan", "le", "<=", "gt", ">", "greaterthan", "ge", ">=", "in":
		op := map[string]string{"eq": "==", "equalto": "==", "ne": "!=", "lt": "<", "lessthan": "<", "le": "<=",
			"gt": ">", "greaterthan": ">", "ge": ">="}[name]
		if op == "" {
			op = name
		}
		return func(x *exec, v Value, a *args) (bool, error) {
			b, err := a.bind(name, 1, "other")
			if err != nil {
				return false, err
			}
			return x.compareOp(op, v, b[0])
		}
	case "sameas":
		return func(x *exec, v Value, a *args) (bool, error) {
			b, err := a.bind(name, 1, "other")
			if err != nil || typeName(v) != typeName(b[0]) {
				return false, err
			}
			switch v.(type) {
			case Text, int64, float64, bool, nil:
				return x.cmp.equal(v, b[0], 0)
			}
			return identical(v, b[0]), nil
		}
	case "filter", "test":
		return func(_ *exec, v Value, a *args) (bool, error) {
			if _, ok := hashKey(v); !ok {
				return false, failf("unhashable type: '%s'", typeName(v))
			}
			t, _ := v.(Text)
			if name == "filter" {
				return filterNamed(t.s) != nil, a.none(name)
			}
			return testNamed(t.s) != nil, a.none(name)
		}
	}
	return nil
}

func divisible(name string, v Value, a *args) (bool, error) {
	by := Value(int64(2))
	if name == "divisibleby" {
		b, err := a.bind(name, 1, "num")
		if err != nil {
			return false, err
		}
		by = b[0]
	} else if err := a.none(name); err != nil {
		return false, err
	}
	n, ok := numeric(v)
	d, ok2 := numeric(by)
	if !ok || !ok2 {
		return false, operandErr("%", v, by)
	}
	r, err := arithmetic("%", n, d)
	if err != nil {
		return false, err
	}
	rest := Value(int64(0))
	if name == "odd" {
		rest = int64(1)
	}
	return (&comparison{limit: 2}).equal(r, rest, 0)
}

// globalNamed returns a function that templates may call without having been given it, or nil.
func globalNamed(name string) func(x *exec, a *args) (Value, error) {
	switch name {
	case "range":
		return rangeOf
	case "namespace":
		return func(x *exec, a *args) (Value, error) {
			m, err := dictOf(x, a)
			if err != nil {
				return nil, err
			}
			return &namespace{*m}, nil
		}
	case "dict":
		return func(x *exec, a *args) (Value, error) {
			m, err := dictOf(x, a)
			if err != nil {
				return nil, err
			}
			return m, nil
		}
	case "raise_exception":
		return func(x *exec, a *args) (Value, error) {
			v, err := a.bind(name, 1, "message")
			if err != nil {
				return nil, err
			}
			t, err := x.str(v[0])
			if err != nil {
				return nil, err
			}
			return nil, &Error{Kind: ErrRaised, Msg: t.s}
		}
	case "strftime_now":
		return func(x *exec, a *args) (Value, error) {
			v, err := a.bind(name, 1, "format")
			if err != nil {
				return nil, err
			}
			t, err := textArg(name, "format", v[0], "")
			if err != nil {
				return nil, err
			}
			s := strftime(x.now, t.s)
			return t.derive(s), x.charge(len(s))
		}
	case "cycler":
		return cycler
	case "joiner":
		return joiner
	case "lipsum":
		return func(*exec, *args) (Value, error) { return nil, failf("lipsum is left out: it is random") }
	}
	return nil
}

func rangeOf(_ *exec, a *args) (Value, error) {
	if len(a.kw) > 0 || len(a.pos) == 0 || len(a.pos) > 3 {
		return nil, failf("range expected 1 to 3 arguments, got %d", len(a.pos))
	}
	n := [3]int64{0, 0, 1}
	for i, v := range a.pos {
		k, err := intArg("range", "stop", v, 0)
		if err != nil {
			return nil, failf("'%s' object cannot be interpreted as an integer", typeName(v))
		}
		n[i] = k
	}
	r := &rangeValue{n[0], n[1], n[2]}
	if len(a.pos) == 1 {
		r.start, r.stop = 0, n[0]
	}
	if r.step == 0 {
		return nil, failf("range() arg 3 must not be zero")
	}
	const longest = 100_000 // what Jinja's sandbox allows
	const far = int64(1) << 60
	if r.start < -far || r.start > far || r.stop < -far || r.stop > far || r.step < -far || r.step > far || r.len() > longest {
		return nil, limitErr("length of a range", r.len(), longest)
	}
	return r, nil
}

func dictOf(x *exec, a *args) (*Map, error) {
	m := &Map{}
	if len(a.pos) > 1 {
		return nil, failf("dict expected at most 1 argument, got %d", len(a.pos))
	}
	if len(a.pos) == 1 {
		if src, ok := a.pos[0].(*Map); ok {
			m = src.clone()
		} else {
			pairs, err := x.iterate(a.pos[0])
			if err != nil {
				return nil, err
			}
			for i, p := range pairs {
				kv, err := x.iterate(p)
				if err != nil {
					return nil, err
				}
				if len(kv) != 2 {
					return nil, failf("dictionary update sequence element #%d has length %d; 2 is required", i, len(kv))
				}
				if !m.put(kv[0], kv[1]) {
					return nil, failf("unhashable type: '%s'", typeName(kv[0]))
				}
			}
		}
	}
	for _, k := range a.kw {
		m.Set(k.name, k.val)
	}
	return m, x.chargeItems(2 * m.Len())
}

// cycler gives its items in turn: next(), reset() and the item current.
func cycler(_ *exec, a *args) (Value, error) {
	if len(a.pos) == 0 || len(a.kw) > 0 {
		return nil, failf("at least one item has to be provided")
	}
	ns := &namespace{}
	i := 0
	ns.attrs.Set("current", a.pos[0])
	ns.attrs.Set("next", &function{"next", func(_ *exec, b *args) (Value, error) {
		v := a.pos[i]
		i = (i + 1) % len(a.pos)
		ns.attrs.Set("current", a.pos[i])
		return v, b.none("next")
	}})
	ns.attrs.Set("reset", &function{"reset", func(_ *exec, b *args) (Value, error) {
		i = 0
		ns.attrs.Set("current", a.pos[0])
		return nil, b.none("reset")
	}})
	return ns, nil
}

// joiner returns nothing on its first call and the separator on later ones.
func joiner(_ *exec, a *args) (Value, error) {
	v, err := a.bind("joiner", 0, "sep")
	if err != nil {
		return nil, err
	}
	sep, err := textArg("joiner", "sep", v[0], ", ")
	used := false
	return &function{"joiner", func(_ *exec, b *args) (Value, error) {
		if !used {
			used = true
			return Text{}, b.none("joiner")
		}
		return sep, b.none("joiner")
	}}, err
}
