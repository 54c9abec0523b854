package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
)

type filterFunc func(x *exec, v Value, a *args) (Value, error)

// filterNamed returns a filter by name, or nil.
func filterNamed(name string) filterFunc {
	if f := sequenceFilter(name); f != nil {
		return f
	}
	if f := htmlFilter(name); f != nil {
		return f
	}
	switch name {
	case "trim":
		return textual(func(x *exec, t Text, a *args) (Value, error) {
			cut, err := cutset(name, a)
			if err != nil {
				return nil, err
			}
			return t.trim(cut, true, true), nil
		})
	case "upper", "lower", "capitalize":
		return textual(textMethod(name))
	case "title":
		return textual(func(x *exec, t Text, a *args) (Value, error) {
			return titleFilter(t), a.none(name)
		})
	case "string":
		return textual(func(_ *exec, t Text, a *args) (Value, error) { return t, a.none(name) })
	case "replace":
		return textual(func(x *exec, t Text, a *args) (Value, error) {
			v, err := a.bind(name, 2, "old", "new", "count")
			if err != nil {
				return nil, err
			}
			for i := range 2 {
				if v[i], err = x.str(v[i]); err != nil {
					return nil, err
				}
			}
			t.safe = false
			return x.replace(t, v)
		})
	case "center":
		return textual(func(x *exec, t Text, a *args) (Value, error) {
			v, err := a.bind(name, 0, "width")
			if err != nil {
				return nil, err
			}
			width, err := intArg(name, "width", v[0], 80)
			if err != nil {
				return nil, err
			}
			return x.pad(name, t, width, lit(" "))
		})
	case "format":
		return textual(func(x *exec, t Text, a *args) (Value, error) {
			switch {
			case len(a.kw) > 0 && len(a.pos) > 0:
				return nil, failf("can't handle positional and keyword arguments at the same time")
			case len(a.kw) > 0:
				m, err := dictOf(x, a)
				if err != nil {
					return nil, err
				}
				return x.printf(t, m)
			}
			return x.printf(t, &Tuple{Items: a.pos})
		})
	case "indent":
		return onlyText(indent)
	case "truncate":
		return func(x *exec, v Value, a *args) (Value, error) {
			t, ok := v.(Text)
			if !ok { // what is short enough stays what it is
				n, err := length(v)
				if err != nil {
					return nil, err
				}
				short, err := truncate(x, lit(strings.Repeat("x", n)), a)
				if err != nil {
					return nil, err
				}
				if short.(Text).Len() != n {
					return nil, failf("truncate: a str is required, not %s", typeName(v))
				}
				return v, nil
			}
			return truncate(x, t, a)
		}
	case "wordcount":
		return textual(func(_ *exec, t Text, a *args) (Value, error) {
			n := len(strings.FieldsFunc(t.s, func(r rune) bool {
				return r != '_' && !unicode.IsLetter(r) && !unicode.IsNumber(r)
			}))
			return int64(n), a.none(name)
		})
	case "default", "d":
		return func(_ *exec, v Value, a *args) (Value, error) {
			b, err := a.bind(name, 0, "default_value", "boolean")
			if err != nil {
				return nil, err
			}
			if !isUndefined(v) && (truth(v) || !given(b[1]) || !truth(b[1])) {
				return v, nil
			}
			if !given(b[0]) {
				return Text{}, nil
			}
			return b[0], nil
		}
	case "attr":
		return func(_ *exec, v Value, a *args) (Value, error) {
			b, err := a.bind(name, 1, "name")
			if err != nil {
				return nil, err
			}
			n, err := textArg(name, "name", b[0], "")
			if err != nil {
				return nil, err
			}
			if m, ok := v.(*Map); ok && attribute(m, n.s) == nil { // an attribute only, never an item
				return getAttr(&Map{}, n.s)
			}
			return getAttr(v, n.s)
		}
	case "tojson":
		return toJSON
	case "pprint":
		return func(x *exec, v Value, a *args) (Value, error) {
			s, err := x.sortedMaps(v, 0)
			if err != nil {
				return nil, err
			}
			t, err := repr(s)
			if err != nil {
				return nil, err
			}
			return t, x.charge(t.Len())
		}
	case "int", "float", "abs", "round":
		return numberFilter(name)
	}
	return nil
}

// textual makes a filter of a function on strings: other values are printed first.
func textual(f textFunc) filterFunc {
	return func(x *exec, v Value, a *args) (Value, error) {
		t, err := x.str(v)
		if err != nil {
			return nil, err
		}
		return f(x, t, a)
	}
}

// onlyText makes a filter of a function on strings that refuses other values.
func onlyText(f textFunc) filterFunc {
	return func(x *exec, v Value, a *args) (Value, error) {
		switch v := v.(type) {
		case Text:
			return f(x, v, a)
		case *undefined:
			return nil, v.fail()
		}
		return nil, failf("a str is required, not %s", typeName(v))
	}
}

// titleFilter differs from str.title: words begin after blanks, hyphens and opening brackets only.
func titleFilter(t Text) Text {
	begin := true
	return t.mapRuns(func(s string) string {
		return strings.Map(func(r rune) rune {
			up := begin
			begin = r == '-' || pySpace(r) || strings.ContainsRune("({[<", r)
			if up {
				return unicode.ToUpper(r)
			}
			return unicode.ToLower(r)
		}, s)
	})
}

func indent(x *exec, t Text, a *args) (Value, error) {
	v, err := a.bind("indent", 0, "width", "first", "blank")
	if err != nil {
		return nil, err
	}
	by, ok := v[0].(Text)
	if !ok {
		n, err := intArg("indent", "width", v[0], 4)
		if err != nil {
			return nil, err
		}
		if n > int64(x.limits.Output) {
			return nil, limitErr("width of an indent", int(min(n, maxText)), x.limits.Output)
		}
		by = lit(strings.Repeat(" ", int(max(n, 0))))
	}
	first := given(v[1]) && truth(v[1])
	blank := given(v[2]) && truth(v[2])
	parts := lines(concat(t, lit("\n")), false)
	if err := x.charge(t.Len() + len(parts)*(by.Len()+1)); err != nil {
		return nil, err
	}
	var b builder
	for i, l := range parts {
		line := l.(Text)
		if i > 0 {
			b.str("\n", 0)
		}
		if i == 0 && first || i > 0 && (blank || line.s != "") {
			b.add(by)
		}
		b.add(line)
	}
	return b.text(t.safe), nil
}

func truncate(_ *exec, t Text, a *args) (Value, error) {
	v, err := a.bind("truncate", 0, "length", "killwords", "end", "leeway")
	if err != nil {
		return nil, err
	}
	n, err := intArg("truncate", "length", v[0], 255)
	if err != nil {
		return nil, err
	}
	end, err := textArg("truncate", "end", v[2], "...")
	if err != nil {
		return nil, err
	}
	if v[3] == nil {
		v[3] = absent{}
	}
	leeway, err := intArg("truncate", "leeway", v[3], 5)
	if err != nil {
		return nil, err
	}
	if n < int64(end.chars()) {
		return nil, failf("expected length >= %d, got %d", end.chars(), n)
	}
	if leeway < 0 {
		return nil, failf("expected leeway >= 0, got %d", leeway)
	}
	if int64(t.chars()) <= n+min(leeway, math.MaxInt32) {
		return t, nil
	}
	cut := t.Slice(0, byteAt(t.s, int(n)-end.chars()))
	if !given(v[1]) || !truth(v[1]) {
		if i := strings.LastIndexByte(cut.s, ' '); i >= 0 {
			cut = cut.Slice(0, i)
		}
	}
	return concat(cut, end), nil
}

// toJSON is json.dumps as chat templates get it: no HTML escaping, non-ASCII kept.
func toJSON(x *exec, v Value, a *args) (Value, error) {
	b, err := a.bind("tojson", 0, "ensure_ascii", "indent", "separators", "sort_keys")
	if err != nil {
		return nil, err
	}
	d := &dumper{comma: ", ", colon: ": ", ascii: given(b[0]) && truth(b[0]), sortKeys: given(b[3]) && truth(b[3])}
	if given(b[1]) && b[1] != nil {
		d.pretty, d.comma = true, ","
		if s, ok := b[1].(Text); ok {
			d.indent = s.s
		} else {
			n, err := intArg("tojson", "indent", b[1], 0)
			if err != nil {
				return nil, err
			}
			const widest = 64
			if n > widest {
				return nil, limitErr("indent of tojson", int(min(n, maxText)), widest)
			}
			d.indent = strings.Repeat(" ", int(max(n, 0)))
		}
	}
	if given(b[2]) && b[2] != nil {
		seps, err := x.iterate(b[2])
		if err != nil {
			return nil, err
		}
		if len(seps) != 2 {
			return nil, failf("tojson: separators must be a pair")
		}
		comma, ok1 := seps[0].(Text)
		colon, ok2 := seps[1].(Text)
		if !ok1 || !ok2 {
			return nil, failf("tojson: separators must be strings")
		}
		d.comma, d.colon = comma.s, colon.s
	}
	d.max = x.limits.Output
	if err := d.value(v, 0); err != nil {
		return nil, err
	}
	return d.b.text(false), x.charge(len(d.b.buf))
}

// sortedMaps is a copy of v whose mappings are in order of their keys.
func (x *exec) sortedMaps(v Value, depth int) (Value, error) {
	if depth > maxNesting {
		return nil, limitErr("nesting of a value for pprint", depth, maxNesting)
	}
	if err := x.step(); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case *List:
		out := &List{Items: make([]Value, len(v.Items))}
		for i, it := range v.Items {
			var err error
			if out.Items[i], err = x.sortedMaps(it, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	case *Map:
		entries, err := sortEntries(&x.cmp, v.entries)
		if err != nil {
			return nil, err
		}
		out := &Map{}
		for _, e := range entries {
			s, err := x.sortedMaps(e.val, depth+1)
			if err != nil {
				return nil, err
			}
			out.put(e.key, s)
		}
		return out, nil
	}
	return v, nil
}

func numberFilter(name string) filterFunc {
	switch name {
	case "abs":
		return func(_ *exec, v Value, a *args) (Value, error) {
			n, ok := numeric(v)
			if !ok {
				return nil, failf("bad operand type for abs(): '%s'", typeName(v))
			}
			if toFloat(n) < 0 || n == Value(math.Copysign(0, -1)) {
				n, _ = unary("-", n)
			}
			return n, a.none(name)
		}
	case "round":
		return roundFilter
	case "float":
		return func(_ *exec, v Value, a *args) (Value, error) {
			b, err := a.bind(name, 0, "default")
			if err != nil {
				return nil, err
			}
			if u, ok := v.(*undefined); ok {
				return nil, u.fail()
			}
			if n, ok := numeric(v); ok {
				return toFloat(n), nil
			}
			if t, ok := v.(Text); ok {
				if f, ok := parseFloat(t.s); ok {
					return f, nil
				}
			}
			if given(b[0]) {
				return b[0], nil
			}
			return 0.0, nil
		}
	}
	return func(_ *exec, v Value, a *args) (Value, error) {
		b, err := a.bind(name, 0, "default", "base")
		if err != nil {
			return nil, err
		}
		base, err := intArg(name, "base", b[1], 10)
		if err != nil {
			return nil, err
		}
		if u, ok := v.(*undefined); ok {
			return nil, u.fail()
		}
		if n, ok := toInt(v, base); ok {
			return n, nil
		}
		if given(b[0]) {
			return b[0], nil
		}
		return int64(0), nil
	}
}

func parseFloat(s string) (float64, bool) {
	s = strings.TrimFunc(s, pySpace)
	low := strings.ToLower(strings.TrimLeft(s, "+-"))
	if strings.HasPrefix(low, "0x") || strings.HasPrefix(low, "_") || strings.HasSuffix(low, "_") {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	return f, err == nil || math.IsInf(f, 0)
}

func toInt(v Value, base int64) (Value, bool) {
	whole := func(f float64) (Value, bool) {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, false
		}
		b, _ := big.NewFloat(f).Int(nil)
		n, err := shrink(b)
		return n, err == nil
	}
	switch n, _ := numeric(v); n := n.(type) {
	case float64:
		return whole(n)
	case nil:
	default:
		return n, true
	}
	t, ok := v.(Text)
	if !ok || t.Len() > maxDigits {
		return nil, false
	}
	s := strings.TrimFunc(t.s, pySpace)
	if base == 0 || base >= 2 && base <= 36 {
		digits := strings.ReplaceAll(s, "_", "")
		if len(digits) > 2 && digits[0] == '0' {
			p := strings.ToLower(digits[:2])
			if p == "0x" && base == 16 || p == "0o" && base == 8 || p == "0b" && base == 2 {
				digits = digits[2:]
			}
		}
		if b, ok := new(big.Int).SetString(digits, int(base)); ok {
			n, err := shrink(b)
			return n, err == nil
		}
	}
	if f, ok := parseFloat(s); ok {
		return whole(f)
	}
	return nil, false
}

func roundFilter(_ *exec, v Value, a *args) (Value, error) {
	b, err := a.bind("round", 0, "precision", "method")
	if err != nil {
		return nil, err
	}
	places, err := intArg("round", "precision", b[0], 0)
	if err != nil {
		return nil, err
	}
	method, err := textArg("round", "method", b[1], "common")
	if err != nil {
		return nil, err
	}
	n, ok := numeric(v)
	if !ok {
		return nil, failf("type %s doesn't define __round__ method", typeName(v))
	}
	places = max(-400, min(400, places))
	f, isFloat := n.(float64)
	if !isFloat {
		f = toFloat(n)
	}
	switch method.s {
	case "common":
		if !isFloat && places >= 0 {
			return n, nil
		}
		r := roundTo(f, int(places))
		if !isFloat {
			b, _ := big.NewFloat(r).Int(nil)
			return shrink(b)
		}
		return r, nil
	case "ceil", "floor":
		scale := math.Pow(10, float64(places))
		if method.s == "ceil" {
			return math.Ceil(f*scale) / scale, nil
		}
		return math.Floor(f*scale) / scale, nil
	}
	return nil, failf("method must be common, ceil or floor")
}

// roundTo rounds to the nearest with that many digits, the exact decimal value's ties to even.
func roundTo(f float64, places int) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) || f == 0 {
		return f
	}
	if places >= 0 {
		r, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', places, 64), 64)
		return r
	}
	scale := math.Pow(10, float64(-places))
	return math.RoundToEven(f/scale) * scale
}
