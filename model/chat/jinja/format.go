package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// maxWidth bounds the width and precision that formats may ask for.
const maxWidth = 10_000

// spec is how one value is to be formatted, in either style.
type spec struct {
	fill      string
	align     byte // '<', '>', '^', '='; 0: the type's own
	sign      byte // '+', ' ' or 0
	alt       bool
	width     int
	precision int // -1: none
	comma     byte
	verb      byte
}

// printf is Python's "text" % value.
func (x *exec) printf(t Text, v Value) (Value, error) {
	values := []Value{v}
	if tup, ok := v.(*Tuple); ok {
		values = tup.Items
	}
	m, isMap := v.(*Map)
	var b builder
	next, named := 0, false
	take := func() (Value, error) {
		if next >= len(values) {
			return nil, failf("not enough arguments for format string")
		}
		next++
		return values[next-1], nil
	}
	for i := 0; i < t.Len(); {
		j := strings.IndexByte(t.s[i:], '%')
		if j < 0 {
			b.add(t.Slice(i, t.Len()))
			break
		}
		b.add(t.Slice(i, i+j))
		i += j + 1
		sp := spec{fill: " ", precision: -1}
		var arg Value
		have := false
		if i < t.Len() && t.s[i] == '(' {
			end := strings.IndexByte(t.s[i:], ')')
			if end < 0 {
				return nil, failf("incomplete format key")
			}
			if !isMap {
				return nil, failf("format requires a mapping")
			}
			key := t.s[i+1 : i+end]
			var ok bool
			if arg, ok = m.Get(key); !ok {
				return nil, failf("'%s'", key)
			}
			have, named = true, true
			i += end + 1
		}
		zero := false
	flags:
		for ; i < t.Len(); i++ {
			switch t.s[i] {
			case '-':
				sp.align = '<'
			case '+':
				sp.sign = '+'
			case ' ':
				if sp.sign == 0 {
					sp.sign = ' '
				}
			case '#':
				sp.alt = true
			case '0':
				zero = true
			default:
				break flags
			}
		}
		size := func() (int, error) {
			if i < t.Len() && t.s[i] == '*' {
				i++
				v, err := take()
				if err != nil {
					return 0, err
				}
				n, ok := v.(int64)
				if !ok {
					return 0, failf("* wants int")
				}
				if n < 0 {
					sp.align, n = '<', -max(n, -maxWidth-1)
				}
				return int(min(n, maxWidth+1)), nil
			}
			n := 0
			for ; i < t.Len() && t.s[i] >= '0' && t.s[i] <= '9'; i++ {
				n = min(n*10+int(t.s[i]-'0'), maxWidth+1)
			}
			return n, nil
		}
		var err error
		if sp.width, err = size(); err != nil {
			return nil, err
		}
		if i < t.Len() && t.s[i] == '.' {
			i++
			if sp.precision, err = size(); err != nil {
				return nil, err
			}
		}
		for i < t.Len() && strings.IndexByte("hlL", t.s[i]) >= 0 {
			i++
		}
		if i >= t.Len() {
			return nil, failf("incomplete format")
		}
		sp.verb = t.s[i]
		i++
		if sp.verb == '%' {
			b.str("%", 0)
			continue
		}
		if !have {
			if arg, err = take(); err != nil {
				return nil, err
			}
		}
		if zero && sp.align == 0 {
			sp.fill, sp.align = "0", '='
		}
		out, err := x.printVerb(arg, sp, t.safe)
		if err != nil {
			return nil, err
		}
		b.add(out)
	}
	if next < len(values) && !named {
		switch v.(type) {
		case *Map, *List, *undefined: // what has items may leave them unused
		default:
			return nil, failf("not all arguments converted during string formatting")
		}
	}
	return b.text(t.safe), x.charge(len(b.buf))
}

func (x *exec) printVerb(arg Value, sp spec, safe bool) (Text, error) {
	var t Text
	var err error
	switch sp.verb {
	case 's', 'r', 'a':
		if sp.verb == 's' {
			t, err = x.str(arg)
		} else {
			t, err = repr(arg)
		}
		if err != nil {
			return Text{}, err
		}
		if safe {
			t = escapeHTML(t)
		}
		if sp.precision >= 0 {
			t = t.Slice(0, byteAt(t.s, sp.precision))
		}
		sp.fill = " "
		if sp.align != '<' {
			sp.align = '>'
		}
		return sp.pad(t, "")
	case 'c':
		if s, ok := arg.(Text); ok && s.chars() == 1 {
			t = s
		} else if n, ok := arg.(int64); ok && n >= 0 && n <= 0x10ffff {
			t = lit(string(rune(n)))
		} else {
			return Text{}, failf("%%c requires int or char")
		}
		sp.fill = " "
		return sp.pad(t, "")
	}
	n, ok := numeric(arg)
	if !ok {
		return Text{}, failf("%%%c format: a real number is required, not %s", sp.verb, typeName(arg))
	}
	switch sp.verb {
	case 'd', 'i', 'u', 'x', 'X', 'o':
		if f, ok := n.(float64); ok {
			if sp.verb != 'd' && sp.verb != 'i' && sp.verb != 'u' {
				return Text{}, failf("%%%c format: an integer is required, not float", sp.verb)
			}
			if n, ok = toInt(f, 10); !ok {
				return Text{}, failf("cannot convert float to integer")
			}
		}
		if sp.verb == 'i' || sp.verb == 'u' {
			sp.verb = 'd'
		}
		return sp.number(n)
	case 'e', 'E', 'f', 'F', 'g', 'G':
		if sp.precision < 0 {
			sp.precision = 6
		}
		return sp.number(toFloat(n))
	}
	return Text{}, failf("unsupported format character '%c'", sp.verb)
}

// pad fills t, whose sign or prefix is apart, up to the width.
func (sp spec) pad(t Text, prefix string) (Text, error) {
	if sp.width > maxWidth || sp.precision > maxWidth {
		return Text{}, limitErr("width of a format", max(sp.width, sp.precision), maxWidth)
	}
	n := sp.width - t.chars() - len(prefix)
	if n <= 0 {
		return concat(lit(prefix), t), nil
	}
	fill := func(n int) Text { return lit(strings.Repeat(sp.fill, n)) }
	switch sp.align {
	case '<':
		return concat(lit(prefix), t, fill(n)), nil
	case '^':
		return concat(fill(n/2), lit(prefix), t, fill(n-n/2)), nil
	case '=':
		return concat(lit(prefix), fill(n), t), nil
	}
	return concat(fill(n), lit(prefix), t), nil
}

// number formats an integer or float by the verb.
func (sp spec) number(n Value) (Text, error) {
	if sp.width > maxWidth || sp.precision > maxWidth {
		return Text{}, limitErr("width of a format", max(sp.width, sp.precision), maxWidth)
	}
	var digits, prefix string
	negative := false
	if f, ok := n.(float64); ok {
		negative = math.Signbit(f) && !math.IsNaN(f)
		digits = sp.floatDigits(math.Abs(f))
	} else {
		b := toBig(n)
		negative = b.Sign() < 0
		digits = sp.intDigits(new(big.Int).Abs(b))
		if sp.alt && sp.verb != 'd' {
			prefix = "0" + string(sp.verb)
		}
	}
	if sp.comma != 0 {
		digits = group(digits, sp.comma)
	}
	switch {
	case negative:
		prefix = "-" + prefix
	case sp.sign != 0:
		prefix = string(sp.sign) + prefix
	}
	return sp.pad(lit(digits), prefix)
}

func (sp spec) intDigits(b *big.Int) string {
	base := map[byte]int{'x': 16, 'X': 16, 'o': 8, 'b': 2}[sp.verb]
	if base == 0 {
		base = 10
	}
	s := b.Text(base)
	if sp.verb == 'X' {
		s = strings.ToUpper(s)
	}
	if n := sp.precision - len(s); n > 0 {
		s = strings.Repeat("0", n) + s
	}
	return s
}

func (sp spec) floatDigits(f float64) string {
	verb, precision := sp.verb, sp.precision
	if verb == 0 { // str.format without a type
		if precision < 0 {
			return floatString(f)
		}
		verb = 'g'
	}
	if verb == '%' {
		return strconv.FormatFloat(f*100, 'f', precision, 64) + "%"
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return strings.TrimPrefix(floatString(f), "-")
	}
	lower := verb | 0x20
	var s string
	if lower == 'g' {
		s = general(f, max(precision, 1), sp.alt)
		if sp.verb == 0 && !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
	} else {
		s = strconv.FormatFloat(f, lower, precision, 64)
	}
	if verb != lower {
		s = strings.ToUpper(s)
	}
	return s
}

// general is C's %g.
func general(f float64, precision int, alt bool) string {
	s := strconv.FormatFloat(f, 'e', precision-1, 64)
	mantissa, exp, _ := strings.Cut(s, "e")
	e, _ := strconv.Atoi(exp)
	if e >= -4 && e < precision {
		mantissa, exp = strconv.FormatFloat(f, 'f', precision-1-e, 64), ""
	}
	if !alt && strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	if exp != "" {
		return mantissa + "e" + exp
	}
	return mantissa
}

// group puts a separator between thousands of the whole part.
func group(digits string, sep byte) string {
	whole := len(digits)
	if i := strings.IndexAny(digits, ".e%"); i >= 0 {
		whole = i
	}
	var b strings.Builder
	for i := range digits {
		if i > 0 && i < whole && (whole-i)%3 == 0 {
			b.WriteByte(sep)
		}
		b.WriteByte(digits[i])
	}
	return b.String()
}

// format is Python's str.format: {}, {0}, {name}, {a.b[0]!r:>8.2f}.
func (x *exec) format(t Text, a *args) (Value, error) {
	var b builder
	auto := 0
	for i := 0; i < t.Len(); {
		j := strings.IndexAny(t.s[i:], "{}")
		if j < 0 {
			b.add(t.Slice(i, t.Len()))
			break
		}
		b.add(t.Slice(i, i+j))
		i += j
		if i+1 < t.Len() && t.s[i+1] == t.s[i] {
			b.add(t.Slice(i, i+1))
			i += 2
			continue
		}
		if t.s[i] == '}' {
			return nil, failf("Single '}' encountered in format string")
		}
		end := strings.IndexByte(t.s[i:], '}')
		if end < 0 {
			return nil, failf("expected '}' before end of string")
		}
		field := t.s[i+1 : i+end]
		i += end + 1
		out, err := x.formatField(field, a, &auto)
		if err != nil {
			return nil, err
		}
		b.add(out)
		if len(b.buf) > x.limits.Output {
			return nil, limitErr("bytes of a string", len(b.buf), x.limits.Output)
		}
	}
	return b.text(t.safe), x.charge(len(b.buf))
}

func (x *exec) formatField(field string, a *args, auto *int) (Text, error) {
	name, how, _ := strings.Cut(field, ":")
	if strings.Contains(how, "{") {
		return Text{}, failf("nested replacement fields are left out")
	}
	name, conv, _ := strings.Cut(name, "!")
	root := name
	if i := strings.IndexAny(name, ".["); i >= 0 {
		root = name[:i]
	}
	v, err := formatRoot(root, a, auto)
	if err != nil {
		return Text{}, err
	}
	for path := name[len(root):]; path != ""; {
		if path[0] == '.' {
			path = path[1:]
			n := strings.IndexAny(path, ".[")
			if n < 0 {
				n = len(path)
			}
			v, err = getAttr(v, path[:n])
			path = path[n:]
		} else {
			n := strings.IndexByte(path, ']')
			if n < 0 || path[0] != '[' {
				return Text{}, failf("expected '}' before end of string")
			}
			key := Value(lit(path[1:n]))
			if num, err := strconv.ParseInt(path[1:n], 10, 64); err == nil {
				key = num
			}
			v, err = getItem(v, key)
			path = path[n+1:]
		}
		if err != nil {
			return Text{}, err
		}
	}
	switch conv {
	case "":
	case "s":
		if v, err = x.str(v); err != nil {
			return Text{}, err
		}
	case "r", "a":
		if v, err = repr(v); err != nil {
			return Text{}, err
		}
	default:
		return Text{}, failf("Unknown conversion specifier %s", conv)
	}
	return x.formatValue(v, how)
}

func formatRoot(root string, a *args, auto *int) (Value, error) {
	i := *auto
	if root == "" {
		*auto++
	} else if n, err := strconv.Atoi(root); err == nil {
		i = n
	} else {
		for _, k := range a.kw {
			if k.name == root {
				return k.val, nil
			}
		}
		return nil, failf("'%s'", root)
	}
	if i < 0 || i >= len(a.pos) {
		return nil, failf("Replacement index %d out of range for positional args tuple", i)
	}
	return a.pos[i], nil
}

func (x *exec) formatValue(v Value, how string) (Text, error) {
	if how == "" {
		return x.str(v)
	}
	sp := spec{fill: " ", precision: -1}
	s := how
	if n := byteAt(s, 1); n < len(s) && strings.IndexByte("<>^=", s[n]) >= 0 {
		sp.fill, sp.align, s = s[:n], s[n], s[n+1:]
	} else if strings.IndexByte("<>^=", s[0]) >= 0 {
		sp.align, s = s[0], s[1:]
	}
	if s != "" && strings.IndexByte("+- ", s[0]) >= 0 {
		if s[0] != '-' {
			sp.sign = s[0]
		}
		s = s[1:]
	}
	if strings.HasPrefix(s, "#") {
		sp.alt, s = true, s[1:]
	}
	if strings.HasPrefix(s, "0") && sp.align == 0 {
		sp.fill, sp.align, s = "0", '=', s[1:]
	}
	digits := func() int {
		n := 0
		for s != "" && s[0] >= '0' && s[0] <= '9' {
			n = min(n*10+int(s[0]-'0'), maxWidth+1)
			s = s[1:]
		}
		return n
	}
	sp.width = digits()
	if s != "" && (s[0] == ',' || s[0] == '_') {
		sp.comma, s = s[0], s[1:]
	}
	if strings.HasPrefix(s, ".") {
		s = s[1:]
		sp.precision = digits()
	}
	if len(s) > 1 {
		return Text{}, failf("Invalid format specifier")
	}
	if s != "" {
		sp.verb = s[0]
	}
	if t, ok := v.(Text); ok {
		if sp.verb != 0 && sp.verb != 's' || sp.align == '=' || sp.sign != 0 {
			return Text{}, failf("Unknown format code '%c' for object of type 'str'", sp.verb)
		}
		if sp.precision >= 0 {
			t = t.Slice(0, byteAt(t.s, sp.precision))
		}
		if sp.align == 0 {
			sp.align = '<'
		}
		return sp.pad(t, "")
	}
	n, ok := numeric(v)
	if !ok {
		return Text{}, failf("unsupported format string passed to %s.__format__", typeName(v))
	}
	if _, isFloat := n.(float64); !isFloat {
		switch sp.verb {
		case 0, 'd', 'n':
			sp.verb = 'd'
			return sp.number(n)
		case 'x', 'X', 'o', 'b':
			return sp.number(n)
		case 'c':
			if i, ok := n.(int64); ok && i >= 0 && i <= 0x10ffff {
				return sp.pad(lit(string(rune(i))), "")
			}
			return Text{}, failf("%%c arg not in range(0x110000)")
		}
	}
	if sp.verb != 0 && strings.IndexByte("eEfFgG%", sp.verb) < 0 {
		return Text{}, failf("Unknown format code '%c' for object of type '%s'", sp.verb, typeName(v))
	}
	if sp.verb != 0 && sp.precision < 0 {
		sp.precision = 6
	}
	return sp.number(toFloat(n))
}
