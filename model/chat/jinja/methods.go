package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

type textFunc func(x *exec, t Text, a *args) (Value, error)

// textMethod returns a method of str by name, or nil.
func textMethod(name string) textFunc {
	switch name {
	case "strip", "lstrip", "rstrip":
		return func(_ *exec, t Text, a *args) (Value, error) {
			cut, err := cutset(name, a)
			if err != nil {
				return nil, err
			}
			return t.trim(cut, name != "rstrip", name != "lstrip"), nil
		}
	case "upper", "lower", "capitalize", "title", "swapcase", "casefold":
		return func(x *exec, t Text, a *args) (Value, error) {
			if err := a.none(name); err != nil {
				return nil, err
			}
			return changeCase(name, t), x.charge(t.Len())
		}
	case "startswith", "endswith":
		return func(_ *exec, t Text, a *args) (Value, error) { return affix(name, t, a) }
	case "removeprefix", "removesuffix":
		return func(_ *exec, t Text, a *args) (Value, error) {
			v, err := a.bind(name, 1, "affix")
			if err != nil {
				return nil, err
			}
			f, err := textArg(name, "affix", v[0], "")
			switch {
			case err != nil:
				return nil, err
			case name == "removeprefix" && strings.HasPrefix(t.s, f.s):
				return t.Slice(f.Len(), t.Len()), nil
			case name == "removesuffix" && strings.HasSuffix(t.s, f.s):
				return t.Slice(0, t.Len()-f.Len()), nil
			}
			return t, nil
		}
	case "split", "rsplit":
		return func(x *exec, t Text, a *args) (Value, error) {
			parts, err := split(x, name, t, a)
			return &List{parts}, err
		}
	case "splitlines":
		return splitLines
	case "partition", "rpartition":
		return func(_ *exec, t Text, a *args) (Value, error) { return partition(name, t, a) }
	case "replace":
		return func(x *exec, t Text, a *args) (Value, error) {
			v, err := a.bind(name, 2, "old", "new", "count")
			if err != nil {
				return nil, err
			}
			return x.replace(t, v)
		}
	case "join":
		return func(x *exec, t Text, a *args) (Value, error) {
			v, err := a.bind(name, 1, "iterable")
			if err != nil {
				return nil, err
			}
			items, err := x.iterate(v[0])
			if err != nil {
				return nil, err
			}
			for i, it := range items {
				if _, ok := it.(Text); !ok {
					return nil, failf("sequence item %d: expected str instance, %s found", i, typeName(it))
				}
			}
			return x.join(items, t)
		}
	case "find", "rfind", "index", "rindex", "count":
		return func(_ *exec, t Text, a *args) (Value, error) { return find(name, t, a) }
	case "format":
		return func(x *exec, t Text, a *args) (Value, error) { return x.format(t, a) }
	case "zfill", "ljust", "rjust", "center":
		return func(x *exec, t Text, a *args) (Value, error) {
			v, err := a.bind(name, 1, "width", "fillchar")
			if err != nil {
				return nil, err
			}
			width, err := intArg(name, "width", v[0], 0)
			if err != nil {
				return nil, err
			}
			fill, err := textArg(name, "fillchar", v[1], " ")
			if err != nil {
				return nil, err
			}
			return x.pad(name, t, width, fill)
		}
	case "expandtabs":
		return func(x *exec, t Text, a *args) (Value, error) {
			v, err := a.bind(name, 0, "tabsize")
			if err != nil {
				return nil, err
			}
			n, err := intArg(name, "tabsize", v[0], 8)
			if err != nil {
				return nil, err
			}
			return x.expandTabs(t, n)
		}
	}
	if test := charTest(name); test != nil {
		return func(_ *exec, t Text, a *args) (Value, error) { return test(t.s), a.none(name) }
	}
	return nil
}

func cutset(name string, a *args) (func(rune) bool, error) {
	v, err := a.bind(name, 0, "chars")
	if err != nil {
		return nil, err
	}
	if v[0] == nil || !given(v[0]) {
		return pySpace, nil
	}
	set, err := textArg(name, "chars", v[0], "")
	return func(r rune) bool { return strings.ContainsRune(set.s, r) }, err
}

func changeCase(name string, t Text) Text {
	switch name {
	case "upper":
		return t.mapRuns(pyUpper)
	case "lower":
		return t.mapRuns(strings.ToLower)
	case "casefold":
		return t.mapRuns(func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "ß", "ss") })
	case "swapcase":
		return t.mapRuns(func(s string) string {
			return strings.Map(func(r rune) rune {
				if unicode.IsUpper(r) {
					return unicode.ToLower(r)
				}
				if unicode.IsTitle(r) {
					return r
				}
				return unicode.ToUpper(r)
			}, s)
		})
	}
	within := false // a word goes on across runs, so the state outlives one
	first := true
	return t.mapRuns(func(s string) string {
		return strings.Map(func(r rune) rune {
			upper := name == "title" && !within || name == "capitalize" && first
			within, first = unicode.IsLetter(r), false
			if upper {
				return unicode.ToTitle(r)
			}
			return unicode.ToLower(r)
		}, s)
	})
}

// pyUpper is str.upper, with the one letter of common text whose capital is two letters.
func pyUpper(s string) string { return strings.ReplaceAll(strings.ToUpper(s), "ß", "SS") }

// window resolves the start and end arguments that str methods take, to byte offsets.
func window(name string, t Text, lo, hi Value) (int, int, error) {
	if !given(lo) {
		lo = nil
	}
	if !given(hi) {
		hi = nil
	}
	if lo == nil && hi == nil {
		return 0, t.Len(), nil
	}
	first, last, _, err := sliceBounds(t.chars(), lo, hi, 1)
	if err != nil {
		return 0, 0, failf("%s(): %v", name, err.(*Error).Msg)
	}
	i := byteAt(t.s, first)
	return i, i + byteAt(t.s[i:], last-first), nil
}

func affix(name string, t Text, a *args) (Value, error) {
	v, err := a.bind(name, 1, "affix", "start", "end")
	if err != nil {
		return nil, err
	}
	lo, hi, err := window(name, t, v[1], v[2])
	if err != nil {
		return nil, err
	}
	options := []Value{v[0]}
	if tup, ok := v[0].(*Tuple); ok {
		options = tup.Items
	}
	for _, o := range options {
		f, ok := o.(Text)
		if !ok {
			return nil, failf("%s first arg must be str or a tuple of str, not %s", name, typeName(o))
		}
		if name == "startswith" && strings.HasPrefix(t.s[lo:hi], f.s) || name == "endswith" && strings.HasSuffix(t.s[lo:hi], f.s) {
			return true, nil
		}
	}
	return false, nil
}

func split(x *exec, name string, t Text, a *args) ([]Value, error) {
	v, err := a.bind(name, 0, "sep", "maxsplit")
	if err != nil {
		return nil, err
	}
	limit, err := intArg(name, "maxsplit", v[1], -1)
	if err != nil {
		return nil, err
	}
	if limit < 0 {
		limit = int64(t.Len()) + 1
	}
	var out []Value
	if v[0] == nil || !given(v[0]) {
		out = splitSpace(t, int(limit), name == "rsplit")
	} else {
		sep, err := textArg(name, "sep", v[0], "")
		if err != nil {
			return nil, err
		}
		if sep.s == "" {
			return nil, failf("empty separator")
		}
		out = splitOn(t, sep.s, int(limit), name == "rsplit")
	}
	return out, x.chargeItems(4 * len(out))
}

func reversed(v []Value) []Value {
	for i, j := 0, len(v)-1; i < j; i, j = i+1, j-1 {
		v[i], v[j] = v[j], v[i]
	}
	return v
}

func splitOn(t Text, sep string, limit int, right bool) []Value {
	var out []Value
	if right {
		end := t.Len()
		for ; limit > 0; limit-- {
			i := strings.LastIndex(t.s[:end], sep)
			if i < 0 {
				break
			}
			out = append(out, t.Slice(i+len(sep), end))
			end = i
		}
		return reversed(append(out, t.Slice(0, end)))
	}
	start := 0
	for ; limit > 0; limit-- {
		i := strings.Index(t.s[start:], sep)
		if i < 0 {
			break
		}
		out = append(out, t.Slice(start, start+i))
		start += i + len(sep)
	}
	return append(out, t.Slice(start, t.Len()))
}

// splitSpace splits at runs of blanks. What is left when the limit is reached keeps its blanks at the far end.
func splitSpace(t Text, limit int, right bool) []Value {
	out := []Value{}
	for t = t.trim(pySpace, !right, right); t.s != "" && limit > 0; limit-- {
		if right {
			i := strings.LastIndexFunc(t.s, pySpace)
			start := 0
			if i >= 0 {
				_, n := utf8.DecodeRuneInString(t.s[i:])
				start = i + n
			}
			out = append(out, t.Slice(start, t.Len()))
			t = t.Slice(0, max(i, 0)).trim(pySpace, false, true)
			continue
		}
		i := strings.IndexFunc(t.s, pySpace)
		if i < 0 {
			i = t.Len()
		}
		out = append(out, t.Slice(0, i))
		t = t.Slice(i, t.Len()).trim(pySpace, true, false)
	}
	if t.s != "" {
		out = append(out, t)
	}
	if right {
		reversed(out)
	}
	return out
}

func lineBreak(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}

func lines(t Text, keep bool) []Value {
	out := []Value{}
	for start := 0; start < t.Len(); {
		i := strings.IndexFunc(t.s[start:], lineBreak)
		if i < 0 {
			return append(out, t.Slice(start, t.Len()))
		}
		i += start
		_, n := utf8.DecodeRuneInString(t.s[i:])
		if strings.HasPrefix(t.s[i:], "\r\n") {
			n = 2
		}
		if keep {
			out = append(out, t.Slice(start, i+n))
		} else {
			out = append(out, t.Slice(start, i))
		}
		start = i + n
	}
	return out
}

func splitLines(x *exec, t Text, a *args) (Value, error) {
	v, err := a.bind("splitlines", 0, "keepends")
	if err != nil {
		return nil, err
	}
	out := lines(t, given(v[0]) && truth(v[0]))
	return &List{out}, x.chargeItems(4 * len(out))
}

func partition(name string, t Text, a *args) (Value, error) {
	v, err := a.bind(name, 1, "sep")
	if err != nil {
		return nil, err
	}
	sep, err := textArg(name, "sep", v[0], "")
	if err != nil {
		return nil, err
	}
	if sep.s == "" {
		return nil, failf("empty separator")
	}
	i := strings.Index(t.s, sep.s)
	if name == "rpartition" {
		i = strings.LastIndex(t.s, sep.s)
	}
	switch {
	case i >= 0:
		j := i + sep.Len()
		return &Tuple{Items: []Value{t.Slice(0, i), t.Slice(i, j), t.Slice(j, t.Len())}}, nil
	case name == "partition":
		return &Tuple{Items: []Value{t, Text{}, Text{}}}, nil
	}
	return &Tuple{Items: []Value{Text{}, Text{}, t}}, nil
}

// replace takes old, new and, when given, the largest count.
func (x *exec) replace(t Text, v []Value) (Value, error) {
	from, err := textArg("replace", "old", v[0], "")
	if err != nil {
		return nil, err
	}
	to, err := textArg("replace", "new", v[1], "")
	if err != nil {
		return nil, err
	}
	if v[2] == nil {
		v[2] = absent{}
	}
	limit, err := intArg("replace", "count", v[2], -1)
	if err != nil {
		return nil, err
	}
	n := strings.Count(t.s, from.s)
	if limit >= 0 && limit < int64(n) {
		n = int(limit)
	}
	if n == 0 {
		return t, nil
	}
	if err := x.charge(t.Len() + n*to.Len()); err != nil {
		return nil, err
	}
	var b builder
	start := 0
	for ; n > 0; n-- {
		i := start
		if from.s == "" { // before every character, and at the end
			b.add(to)
			_, w := utf8.DecodeRuneInString(t.s[start:])
			b.add(t.Slice(start, start+w))
			start += w
			continue
		}
		i += strings.Index(t.s[start:], from.s)
		b.add(t.Slice(start, i))
		b.add(to)
		start = i + from.Len()
	}
	b.add(t.Slice(start, t.Len()))
	return b.text(t.safe), nil
}

func (x *exec) join(items []Value, sep Text) (Value, error) {
	var b builder
	for i, it := range items {
		t, err := x.str(it)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.add(sep)
		}
		b.add(t)
		if len(b.buf) > x.limits.Output {
			return nil, limitErr("bytes of a string", len(b.buf), x.limits.Output)
		}
	}
	return b.text(false), x.charge(len(b.buf))
}

func find(name string, t Text, a *args) (Value, error) {
	v, err := a.bind(name, 1, "sub", "start", "end")
	if err != nil {
		return nil, err
	}
	sub, err := textArg(name, "sub", v[0], "")
	if err != nil {
		return nil, err
	}
	lo, hi, err := window(name, t, v[1], v[2])
	if err != nil {
		return nil, err
	}
	within := t.s[lo:hi]
	if name == "count" {
		return int64(strings.Count(within, sub.s)), nil
	}
	i := strings.Index(within, sub.s)
	if name[0] == 'r' {
		i = strings.LastIndex(within, sub.s)
	}
	if i < 0 {
		if strings.HasSuffix(name, "index") {
			return nil, failf("substring not found")
		}
		return int64(-1), nil
	}
	return int64(utf8.RuneCountInString(t.s[:lo+i])), nil
}

// pad fills t up to a width in characters.
func (x *exec) pad(how string, t Text, width int64, fill Text) (Value, error) {
	if how == "zfill" {
		fill = lit("0")
	}
	if fill.chars() != 1 {
		return nil, failf("The fill character must be exactly one character long")
	}
	if width > int64(x.limits.Output) {
		return nil, limitErr("characters of a string", int(min(width, maxText)), x.limits.Output)
	}
	n := int(width) - t.chars()
	if n <= 0 {
		return t, nil
	}
	if err := x.charge(t.Len() + n*fill.Len()); err != nil {
		return nil, err
	}
	of := func(n int) Text { return Text{s: strings.Repeat(fill.s, n), all: fill.all} }
	switch how {
	case "ljust":
		return concat(t, of(n)), nil
	case "center":
		left := n/2 + n&int(width)&1
		return concat(of(left), t, of(n-left)), nil
	case "zfill":
		if t.s != "" && (t.s[0] == '-' || t.s[0] == '+') {
			return concat(t.Slice(0, 1), of(n), t.Slice(1, t.Len())), nil
		}
	}
	return concat(of(n), t), nil
}

func (x *exec) expandTabs(t Text, size int64) (Value, error) {
	if size > int64(x.limits.Output) {
		return nil, limitErr("tab size", int(min(size, maxText)), x.limits.Output)
	}
	var b builder
	col := int64(0)
	err := t.each(func(c Text) error {
		switch c.s {
		case "\t":
			if size > 0 {
				n := size - col%size
				col += n
				if err := x.charge(len(b.buf) + int(n)); err != nil {
					return err
				}
				b.str(strings.Repeat(" ", int(n)), c.dataOrigin())
			}
			return nil
		case "\n", "\r":
			col = -1
		}
		col++
		b.add(c)
		return nil
	})
	return b.text(t.safe), err
}

// charTest returns one of the is… methods: true for a string that is not empty and fits throughout.
func charTest(name string) func(string) bool {
	all := func(f func(rune) bool) func(string) bool {
		return func(s string) bool { return s != "" && strings.IndexFunc(s, func(r rune) bool { return !f(r) }) < 0 }
	}
	switch name {
	case "isdigit", "isdecimal":
		return all(unicode.IsDigit)
	case "isnumeric":
		return all(unicode.IsNumber)
	case "isalpha":
		return all(unicode.IsLetter)
	case "isalnum":
		return all(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
	case "isspace":
		return all(pySpace)
	case "isascii":
		return func(s string) bool { return strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0 }
	case "isprintable":
		return func(s string) bool { return strings.IndexFunc(s, func(r rune) bool { return !pyPrintable(r) }) < 0 }
	case "isidentifier":
		return func(s string) bool { return s != "" && nameStart(s) && nameLen(s) == len(s) }
	case "isupper":
		return cased(unicode.IsUpper, unicode.IsLower)
	case "islower":
		return cased(unicode.IsLower, unicode.IsUpper)
	case "istitle":
		return isTitle
	}
	return nil
}

func cased(want, not func(rune) bool) func(string) bool {
	return func(s string) bool {
		return strings.IndexFunc(s, want) >= 0 &&
			strings.IndexFunc(s, func(r rune) bool { return not(r) || unicode.IsTitle(r) }) < 0
	}
}

func isTitle(s string) bool {
	found, within := false, false
	for _, r := range s {
		switch {
		case unicode.IsUpper(r) || unicode.IsTitle(r):
			if within {
				return false
			}
			found, within = true, true
		case unicode.IsLower(r):
			if !within {
				return false
			}
			found = true
		default:
			within = false
		}
	}
	return found
}
