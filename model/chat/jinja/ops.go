package jinja

import (
	"cmp"
	"errors"
	"math"
	"math/big"
	"strings"
)

// str is toText with its size accounted for.
func (x *exec) str(v Value) (Text, error) {
	if t, ok := v.(Text); ok {
		return t, nil
	}
	t, err := toText(v)
	if err == nil {
		err = x.charge(t.Len())
	}
	return t, err
}

// iterate returns the items of v; an iterator is used up.
func (x *exec) iterate(v Value) ([]Value, error) {
	switch v := v.(type) {
	case *undefined:
		return nil, nil
	case *List:
		return v.Items, nil
	case *Tuple:
		return v.Items, nil
	case *Map:
		return x.charged((&view{v, 'k'}).items())
	case *view:
		return x.charged(v.items())
	case *seq:
		items := v.items[v.next:]
		v.next = len(v.items)
		return items, nil
	case *loopVar:
		return v.items[v.i:], nil
	case Text:
		if err := x.chargeItems(v.Len()); err != nil {
			return nil, err
		}
		out := make([]Value, 0, v.Len())
		err := v.each(func(t Text) error { out = append(out, t); return nil })
		return out, err
	case *rangeValue:
		n := v.len()
		if err := x.chargeItems(n); err != nil {
			return nil, err
		}
		out := make([]Value, n)
		for i := range out {
			out[i] = v.start + int64(i)*v.step
		}
		return out, nil
	}
	return nil, failf("'%s' object is not iterable", typeName(v))
}

func (x *exec) charged(items []Value) ([]Value, error) { return items, x.chargeItems(len(items)) }

// numeric returns v as a number: int64, *big.Int or float64.
func numeric(v Value) (Value, bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return int64(1), true
		}
		return int64(0), true
	case int64, float64, *big.Int:
		return v, true
	}
	return nil, false
}

func toFloat(v Value) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		return f
	case float64:
		return v
	}
	return math.NaN()
}

func toBig(v Value) *big.Int {
	if i, ok := v.(int64); ok {
		return big.NewInt(i)
	}
	return v.(*big.Int)
}

// maxBits bounds integers that templates compute.
const maxBits = 1 << 13

func shrink(b *big.Int) (Value, error) {
	if b.IsInt64() {
		return b.Int64(), nil
	}
	if b.BitLen() > maxBits {
		return nil, limitErr("bits of an integer", b.BitLen(), maxBits)
	}
	return b, nil
}

func unary(op string, v Value) (Value, error) {
	if u, ok := v.(*undefined); ok {
		return nil, u.fail()
	}
	n, ok := numeric(v)
	if !ok {
		return nil, failf("bad operand type for unary %s: '%s'", op, typeName(v))
	}
	if op == "+" {
		return n, nil
	}
	if f, ok := n.(float64); ok {
		return -f, nil
	}
	return shrink(new(big.Int).Neg(toBig(n)))
}

func (x *exec) binary(op string, l, r Value) (Value, error) {
	for _, v := range []Value{l, r} {
		if u, ok := v.(*undefined); ok {
			if _, format := l.(Text); format && op == "%" {
				break
			}
			return nil, u.fail()
		}
	}
	if a, ok := numeric(l); ok {
		if b, ok := numeric(r); ok {
			return arithmetic(op, a, b)
		}
	}
	switch op {
	case "+":
		return x.add(l, r)
	case "*":
		if _, ok := numeric(l); ok {
			l, r = r, l
		}
		return x.repeat(l, r)
	case "%":
		if t, ok := l.(Text); ok {
			return x.printf(t, r)
		}
	}
	return nil, operandErr(op, l, r)
}

func operandErr(op string, l, r Value) error {
	if op == "**" {
		op = "** or pow()"
	}
	return failf("unsupported operand type(s) for %s: '%s' and '%s'", op, typeName(l), typeName(r))
}

func (x *exec) add(l, r Value) (Value, error) {
	switch a := l.(type) {
	case Text:
		b, ok := r.(Text)
		if !ok {
			return nil, failf(`can only concatenate str (not "%s") to str`, typeName(r))
		}
		if a.safe != b.safe {
			a, b = escapeHTML(a), escapeHTML(b)
		}
		if err := x.charge(a.Len() + b.Len()); err != nil {
			return nil, err
		}
		out := concat(a, b)
		out.safe = a.safe
		return out, nil
	case *List:
		b, ok := r.(*List)
		if !ok {
			return nil, failf(`can only concatenate list (not "%s") to list`, typeName(r))
		}
		items, err := x.charged(append(append([]Value(nil), a.Items...), b.Items...))
		return &List{items}, err
	case *Tuple:
		b, ok := r.(*Tuple)
		if !ok {
			return nil, failf(`can only concatenate tuple (not "%s") to tuple`, typeName(r))
		}
		items, err := x.charged(append(append([]Value(nil), a.Items...), b.Items...))
		return &Tuple{Items: items}, err
	}
	return nil, operandErr("+", l, r)
}

func (x *exec) repeat(l, r Value) (Value, error) {
	n, err := intArg("*", "count", r, 0)
	if _, big := r.(*big.Int); big {
		return nil, failf("cannot fit 'int' into an index-sized integer")
	}
	if err != nil {
		switch l.(type) {
		case Text, *List, *Tuple:
			return nil, failf("can't multiply sequence by non-int of type '%s'", typeName(r))
		}
		return nil, operandErr("*", l, r)
	}
	n = max(n, 0)
	size, err := length(l)
	if err != nil {
		return nil, operandErr("*", l, r)
	}
	if size > 0 && n > int64(x.limits.Memory/size) {
		return nil, limitErr("repetitions", int(min(n, math.MaxInt32)), x.limits.Memory/size)
	}
	if size == 0 {
		n = 0
	}
	many := func(items []Value) ([]Value, error) {
		if err := x.chargeItems(len(items) * int(n)); err != nil {
			return nil, err
		}
		out := make([]Value, 0, len(items)*int(n))
		for range n {
			out = append(out, items...)
		}
		return out, nil
	}
	switch l := l.(type) {
	case Text:
		if err := x.charge(l.Len() * int(n)); err != nil {
			return nil, err
		}
		if l.runs == nil {
			return Text{s: strings.Repeat(l.s, int(n)), all: l.all, safe: l.safe}, nil
		}
		var b builder
		for range n {
			b.add(l)
		}
		return b.text(l.safe), nil
	case *List:
		items, err := many(l.Items)
		return &List{items}, err
	case *Tuple:
		items, err := many(l.Items)
		return &Tuple{Items: items}, err
	}
	return nil, operandErr("*", l, r)
}

func arithmetic(op string, l, r Value) (Value, error) {
	_, lf := l.(float64)
	_, rf := r.(float64)
	if lf || rf || op == "/" {
		return floats(op, toFloat(l), toFloat(r))
	}
	if op == "**" {
		return intPower(l, r)
	}
	a, aok := l.(int64)
	b, bok := r.(int64)
	if aok && bok {
		if v, ok := smallInts(op, a, b); ok {
			return v, nil
		}
	}
	p, q := toBig(l), toBig(r)
	switch op {
	case "+":
		return shrink(new(big.Int).Add(p, q))
	case "-":
		return shrink(new(big.Int).Sub(p, q))
	case "*":
		return shrink(new(big.Int).Mul(p, q))
	}
	if q.Sign() == 0 {
		return nil, failf("integer division or modulo by zero")
	}
	quo, rem := new(big.Int).QuoRem(p, q, new(big.Int))
	if rem.Sign() != 0 && rem.Sign() != q.Sign() { // Python rounds down
		quo.Sub(quo, big.NewInt(1))
		rem.Add(rem, q)
	}
	if op == "//" {
		return shrink(quo)
	}
	return shrink(rem)
}

// smallInts computes what surely fits 64 bits.
func smallInts(op string, a, b int64) (Value, bool) {
	const half = math.MaxInt32
	switch op {
	case "+":
		s := a + b
		return s, (a^s)&(b^s) >= 0
	case "-":
		s := a - b
		return s, (a^b)&(a^s) >= 0
	case "*":
		return a * b, a > -half && a < half && b > -half && b < half
	}
	return nil, false
}

func intPower(l, r Value) (Value, error) {
	e, ok := r.(int64)
	if !ok {
		return nil, limitErr("exponent", math.MaxInt32, maxBits)
	}
	if e < 0 {
		return floats("**", toFloat(l), toFloat(r))
	}
	base := toBig(l)
	if bits := max(base.BitLen()-1, 0); bits > 0 && e > maxBits/int64(bits) {
		return nil, limitErr("bits of an integer", int(min(e, math.MaxInt32)), maxBits)
	}
	if base.BitLen() <= 1 { // 0, 1, -1
		e = min(e, 2+e%2)
	}
	return shrink(new(big.Int).Exp(base, big.NewInt(e), nil))
}

func floats(op string, a, b float64) (Value, error) {
	switch op {
	case "+":
		return a + b, nil
	case "-":
		return a - b, nil
	case "*":
		return a * b, nil
	case "**":
		if a == 0 && b < 0 {
			return nil, failf("0.0 cannot be raised to a negative power")
		}
		p := math.Pow(a, b)
		if math.IsNaN(p) && a < 0 {
			return nil, failf("complex numbers are left out: (%s) ** %s", floatString(a), floatString(b))
		}
		return p, nil
	}
	if b == 0 {
		return nil, failf("%s", map[string]string{"/": "division by zero", "//": "float floor division by zero", "%": "float modulo"}[op])
	}
	if op == "/" {
		return a / b, nil
	}
	rem := math.Mod(a, b)
	if rem != 0 && (rem < 0) != (b < 0) {
		rem += b
	}
	if op == "%" {
		return rem, nil
	}
	return math.Floor((a-rem)/b + 0.5), nil
}

func (x *exec) compareOp(op string, l, r Value) (bool, error) {
	if err := x.work(r); err != nil {
		return false, err
	}
	switch op {
	case "==":
		return x.cmp.equal(l, r, 0)
	case "!=":
		eq, err := x.cmp.equal(l, r, 0)
		return !eq, err
	case "in":
		return x.contains(r, l)
	case "not in":
		in, err := x.contains(r, l)
		return !in, err
	}
	if u, ok := l.(*undefined); ok {
		return false, u.fail()
	}
	if u, ok := r.(*undefined); ok {
		return false, u.fail()
	}
	if a, ok := numeric(l); ok {
		if b, ok := numeric(r); ok && (math.IsNaN(toFloat(a)) || math.IsNaN(toFloat(b))) {
			return false, nil
		}
	}
	c, err := x.cmp.order(l, r, 0)
	if errors.Is(err, ErrLimit) {
		return false, err
	}
	if err != nil {
		return false, failf("'%s' not supported between instances of '%s' and '%s'", op, typeName(l), typeName(r))
	}
	switch op {
	case "<":
		return c < 0, nil
	case "<=":
		return c <= 0, nil
	case ">":
		return c > 0, nil
	}
	return c >= 0, nil
}

// contains is Python's "v in in".
func (x *exec) contains(in, v Value) (bool, error) {
	switch c := in.(type) {
	case Text:
		t, ok := v.(Text)
		if !ok {
			return false, failf("'in <string>' requires string as left operand, not %s", typeName(v))
		}
		return strings.Contains(c.s, t.s), nil
	case *Map:
		if _, ok := hashKey(v); !ok {
			return false, failf("unhashable type: '%s'", typeName(v))
		}
		_, ok := c.lookup(v)
		return ok, nil
	case *view:
		if c.kind == 'k' {
			_, ok := c.m.lookup(v)
			return ok, nil
		}
	case *undefined, *List, *Tuple, *seq, *rangeValue, *loopVar:
	default:
		return false, failf("argument of type '%s' is not iterable", typeName(in))
	}
	items, err := x.iterate(in)
	if err != nil {
		return false, err
	}
	for _, it := range items {
		if eq, err := x.cmp.equal(it, v, 0); eq || err != nil {
			return eq, err
		}
	}
	return false, nil
}

// comparison compares values and counts those it looks at: shared parts make small values look large.
type comparison struct{ seen, limit int }

func (c *comparison) visit(v Value) error {
	c.seen++
	if t, ok := v.(Text); ok {
		c.seen += len(t.s) >> 10
	}
	if c.seen > c.limit {
		return limitErr("values compared", c.seen, c.limit)
	}
	return nil
}

func (c *comparison) equal(a, b Value, depth int) (bool, error) {
	if err := c.visit(a); err != nil {
		return false, err
	}
	if depth > maxNesting {
		return false, limitErr("nesting of values compared", depth, maxNesting)
	}
	if p, ok := numeric(a); ok {
		if q, ok := numeric(b); ok {
			return compareNumbers(p, q) == 0 && !math.IsNaN(toFloat(p)), nil
		}
		return false, nil
	}
	switch a := a.(type) {
	case nil:
		return b == nil, nil
	case Text:
		t, ok := b.(Text)
		return ok && t.s == a.s, nil
	case *undefined:
		return isUndefined(b), nil
	case *List:
		l, ok := b.(*List)
		if !ok {
			return false, nil
		}
		return c.equalItems(a.Items, l.Items, depth)
	case *Tuple:
		l, ok := b.(*Tuple)
		if !ok {
			return false, nil
		}
		return c.equalItems(a.Items, l.Items, depth)
	case *Map:
		m, ok := b.(*Map)
		if !ok || len(m.entries) != len(a.entries) {
			return false, nil
		}
		for _, e := range a.entries {
			v, ok := m.lookup(e.key)
			if !ok {
				return false, nil
			}
			if eq, err := c.equal(e.val, v, depth+1); !eq || err != nil {
				return false, err
			}
		}
		return true, nil
	case *rangeValue:
		r, ok := b.(*rangeValue)
		return ok && *a == *r, nil
	}
	return identical(a, b), nil
}

// identical compares what has no value but itself.
func identical(a, b Value) bool {
	switch b.(type) {
	case Text, nil:
		return false
	}
	return a == b
}

func (c *comparison) equalItems(a, b []Value, depth int) (bool, error) {
	if len(a) != len(b) {
		return false, nil
	}
	for i := range a {
		if eq, err := c.equal(a[i], b[i], depth+1); !eq || err != nil {
			return false, err
		}
	}
	return true, nil
}

func compareNumbers(a, b Value) int {
	p, ai := a.(int64)
	q, bi := b.(int64)
	if ai && bi {
		return cmp.Compare(p, q)
	}
	_, af := a.(float64)
	_, bf := b.(float64)
	if !af && !bf {
		return toBig(a).Cmp(toBig(b))
	}
	return cmp.Compare(toFloat(a), toFloat(b))
}

// order is Python's < as a three-way comparison; values of other kinds have none.
func (c *comparison) order(a, b Value, depth int) (int, error) {
	if err := c.visit(a); err != nil {
		return 0, err
	}
	if depth > maxNesting {
		return 0, limitErr("nesting of values compared", depth, maxNesting)
	}
	if p, ok := numeric(a); ok {
		if q, ok := numeric(b); ok {
			return compareNumbers(p, q), nil
		}
	}
	switch a := a.(type) {
	case Text:
		if t, ok := b.(Text); ok {
			return strings.Compare(a.s, t.s), nil // UTF-8 sorts as code points do
		}
	case *List:
		if l, ok := b.(*List); ok {
			return c.orderItems(a.Items, l.Items, depth)
		}
	case *Tuple:
		if l, ok := b.(*Tuple); ok {
			return c.orderItems(a.Items, l.Items, depth)
		}
	}
	return 0, failf("'<' not supported between instances of '%s' and '%s'", typeName(a), typeName(b))
}

func (c *comparison) orderItems(a, b []Value, depth int) (int, error) {
	for i := range min(len(a), len(b)) {
		eq, err := c.equal(a[i], b[i], depth+1)
		if err != nil {
			return 0, err
		}
		if !eq {
			return c.order(a[i], b[i], depth+1)
		}
	}
	return cmp.Compare(len(a), len(b)), nil
}
