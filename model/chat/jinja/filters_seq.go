package jinja

import (
	"slices"
	"strings"
)

// sequenceFilter returns one of the filters on sequences and mappings, or nil.
func sequenceFilter(name string) filterFunc {
	switch name {
	case "length", "count":
		return func(_ *exec, v Value, a *args) (Value, error) {
			n, err := length(v)
			if err != nil {
				return nil, err
			}
			return int64(n), a.none(name)
		}
	case "list":
		return func(x *exec, v Value, a *args) (Value, error) {
			items, err := x.iterate(v)
			if err != nil {
				return nil, err
			}
			if err := x.chargeItems(len(items)); err != nil {
				return nil, err
			}
			return &List{slices.Clone(items)}, a.none(name)
		}
	case "first", "last", "random":
		return func(x *exec, v Value, a *args) (Value, error) { return edge(x, name, v, a) }
	case "join":
		return func(x *exec, v Value, a *args) (Value, error) {
			b, err := a.bind(name, 0, "d", "attribute")
			if err != nil {
				return nil, err
			}
			sep := Text{}
			if given(b[0]) {
				if sep, err = x.str(b[0]); err != nil {
					return nil, err
				}
			}
			items, err := x.project(v, b[1], absent{})
			if err != nil {
				return nil, err
			}
			return x.join(items, sep)
		}
	case "reverse":
		return func(x *exec, v Value, a *args) (Value, error) {
			if t, ok := v.(Text); ok {
				r, err := x.pick(t, t.chars()-1, -1, t.chars())
				if err != nil {
					return nil, err
				}
				return r, a.none(name)
			}
			items, err := x.iterate(v)
			if err != nil {
				return nil, err
			}
			if err := x.chargeItems(len(items)); err != nil {
				return nil, err
			}
			return &seq{items: reversed(slices.Clone(items))}, a.none(name)
		}
	case "items":
		return func(x *exec, v Value, a *args) (Value, error) {
			if isUndefined(v) {
				return &seq{}, a.none(name)
			}
			m, ok := v.(*Map)
			if !ok {
				return nil, failf("Can only get item pairs from a mapping.")
			}
			items, err := x.charged((&view{m, 'i'}).items())
			if err != nil {
				return nil, err
			}
			return &seq{items: items}, a.none(name)
		}
	case "dictsort":
		return dictSort
	case "sort":
		return sortFilter
	case "unique":
		return unique
	case "min", "max":
		return func(x *exec, v Value, a *args) (Value, error) { return extreme(x, name, v, a) }
	case "sum":
		return sum
	case "map":
		return mapFilter
	case "select", "reject", "selectattr", "rejectattr":
		return func(x *exec, v Value, a *args) (Value, error) { return selectFilter(x, name, v, a) }
	case "groupby":
		return groupBy
	case "batch":
		return batch
	case "slice":
		return sliceFilter
	}
	return nil
}

// edge gives the first or last item. random gives the first: a render is a function of its input.
func edge(x *exec, name string, v Value, a *args) (Value, error) {
	if err := a.none(name); err != nil {
		return nil, err
	}
	if s, ok := v.(*seq); ok && name == "first" && s.next < len(s.items) {
		s.next++
		return s.items[s.next-1], nil
	}
	if _, ok := v.(*seq); ok && name != "first" {
		return nil, failf("'generator' object is not reversible")
	}
	items, err := x.iterate(v)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return &undefined{other: "No " + name + " item, sequence was empty."}, nil
	}
	if name == "last" {
		return items[len(items)-1], nil
	}
	return items[0], nil
}

// pluck follows an attribute path such as "function.name" or an index. An undefined step takes the default.
func pluck(it, path, def Value) (Value, error) {
	if !given(path) || path == nil {
		return it, nil
	}
	keys := []Value{path}
	if t, ok := path.(Text); ok {
		keys = keys[:0]
		for _, part := range strings.Split(t.s, ".") {
			if n, err := number(part); err == nil && part != "" && charTest("isdigit")(part) {
				keys = append(keys, n)
			} else {
				keys = append(keys, lit(part))
			}
		}
	}
	for _, k := range keys {
		var err error
		if it, err = getItem(it, k); err != nil {
			return nil, err
		}
		if isUndefined(it) && given(def) && def != nil {
			it = def
		}
	}
	return it, nil
}

// project applies pluck to every item.
func (x *exec) project(v, path, def Value) ([]Value, error) {
	items, err := x.iterate(v)
	if err != nil || !given(path) || path == nil {
		return items, err
	}
	out := make([]Value, len(items))
	for i, it := range items {
		if err := x.step(); err != nil {
			return nil, err
		}
		if out[i], err = pluck(it, path, def); err != nil {
			return nil, err
		}
	}
	return out, x.chargeItems(len(out))
}

func foldCase(v Value) Value {
	if t, ok := v.(Text); ok {
		return lit(strings.ToLower(t.s))
	}
	return v
}

// keyed pairs items with what they are compared by.
type keyed struct{ key, item Value }

// keysOf prepares items for comparison by a path, or by several with commas between, in any case unless told.
func (x *exec) keysOf(items []Value, path, caseSensitive, def Value) ([]keyed, error) {
	paths := []Value{path}
	t, isText := path.(Text)
	if isText && strings.Contains(t.s, ",") {
		paths = splitOn(t, ",", t.Len(), false)
	}
	out := make([]keyed, len(items))
	for i, it := range items {
		if err := x.step(); err != nil {
			return nil, err
		}
		keys := make([]Value, len(paths))
		for j, p := range paths {
			k, err := pluck(it, p, def)
			if err != nil {
				return nil, err
			}
			if !given(caseSensitive) || !truth(caseSensitive) {
				k = foldCase(k)
			}
			keys[j] = k
		}
		out[i] = keyed{keys[0], it}
		if len(keys) > 1 {
			out[i].key = &List{keys}
		}
	}
	return out, x.chargeItems(2 * len(out))
}

func sortKeyed(cmp *comparison, ks []keyed, reverse bool) error {
	var failed error
	slices.SortStableFunc(ks, func(a, b keyed) int {
		if failed != nil {
			return 0
		}
		for _, k := range []Value{a.key, b.key} {
			if u, ok := k.(*undefined); ok {
				failed = u.fail()
				return 0
			}
		}
		c, err := cmp.order(a.key, b.key, 0)
		if err != nil {
			failed = err
		}
		if reverse {
			return -c
		}
		return c
	})
	return failed
}

func itemsOf(ks []keyed) []Value {
	out := make([]Value, len(ks))
	for i, k := range ks {
		out[i] = k.item
	}
	return out
}

func sortFilter(x *exec, v Value, a *args) (Value, error) {
	b, err := a.bind("sort", 0, "reverse", "case_sensitive", "attribute")
	if err != nil {
		return nil, err
	}
	items, err := x.iterate(v)
	if err != nil {
		return nil, err
	}
	ks, err := x.keysOf(items, b[2], b[1], absent{})
	if err != nil {
		return nil, err
	}
	err = sortKeyed(&x.cmp, ks, given(b[0]) && truth(b[0]))
	return &List{itemsOf(ks)}, err
}

func sortEntries(cmp *comparison, entries []entry) ([]entry, error) {
	ks := make([]keyed, len(entries))
	for i, e := range entries {
		ks[i] = keyed{e.key, e}
	}
	err := sortKeyed(cmp, ks, false)
	out := make([]entry, len(ks))
	for i, k := range ks {
		out[i] = k.item.(entry)
	}
	return out, err
}

func dictSort(x *exec, v Value, a *args) (Value, error) {
	b, err := a.bind("dictsort", 0, "case_sensitive", "by", "reverse")
	if err != nil {
		return nil, err
	}
	by, err := textArg("dictsort", "by", b[1], "key")
	if err != nil {
		return nil, err
	}
	if by.s != "key" && by.s != "value" {
		return nil, failf(`You can only sort by either "key" or "value"`)
	}
	m, ok := v.(*Map)
	if !ok {
		if u, ok := v.(*undefined); ok {
			return nil, u.fail()
		}
		return nil, failf("'%s' object has no attribute 'items'", typeName(v))
	}
	at := Value(int64(0))
	if by.s == "value" {
		at = int64(1)
	}
	ks, err := x.keysOf((&view{m, 'i'}).items(), at, b[0], absent{})
	if err != nil {
		return nil, err
	}
	err = sortKeyed(&x.cmp, ks, given(b[2]) && truth(b[2]))
	return &List{itemsOf(ks)}, err
}

func unique(x *exec, v Value, a *args) (Value, error) {
	b, err := a.bind("unique", 0, "case_sensitive", "attribute")
	if err != nil {
		return nil, err
	}
	items, err := x.iterate(v)
	if err != nil {
		return nil, err
	}
	ks, err := x.keysOf(items, b[1], b[0], absent{})
	if err != nil {
		return nil, err
	}
	var seen Map
	var out []Value
	for _, k := range ks {
		if _, dup := seen.lookup(k.key); dup {
			continue
		}
		if !seen.put(k.key, nil) {
			return nil, failf("unhashable type: '%s'", typeName(k.key))
		}
		out = append(out, k.item)
	}
	return &seq{items: out}, nil
}

func extreme(x *exec, name string, v Value, a *args) (Value, error) {
	b, err := a.bind(name, 0, "case_sensitive", "attribute")
	if err != nil {
		return nil, err
	}
	items, err := x.iterate(v)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return &undefined{other: "No aggregated item, sequence was empty."}, nil
	}
	ks, err := x.keysOf(items, b[1], b[0], absent{})
	if err != nil {
		return nil, err
	}
	best := ks[0]
	for _, k := range ks[1:] {
		c, err := x.cmp.order(k.key, best.key, 0)
		if err != nil {
			return nil, err
		}
		if name == "min" && c < 0 || name == "max" && c > 0 {
			best = k
		}
	}
	return best.item, nil
}

func sum(x *exec, v Value, a *args) (Value, error) {
	b, err := a.bind("sum", 0, "attribute", "start")
	if err != nil {
		return nil, err
	}
	items, err := x.project(v, b[0], absent{})
	if err != nil {
		return nil, err
	}
	total := Value(int64(0))
	if given(b[1]) {
		total = b[1]
	}
	for _, it := range items {
		if total, err = x.binary("+", total, it); err != nil {
			return nil, err
		}
	}
	return total, nil
}

func mapFilter(x *exec, v Value, a *args) (Value, error) {
	if len(a.pos) == 0 && len(a.kw) > 0 {
		b, err := a.bind("map", 0, "attribute", "default")
		if err != nil {
			return nil, err
		}
		if !truth(v) {
			return &seq{}, nil
		}
		items, err := x.project(v, b[0], b[1])
		return &seq{items: items}, err
	}
	if len(a.pos) == 0 {
		return nil, failf("map requires a filter argument")
	}
	name, _ := a.pos[0].(Text)
	f := filterNamed(name.s)
	if f == nil {
		return nil, failf("No filter named '%s'.", name.s)
	}
	if !truth(v) { // None and 0 are as good as empty here
		return &seq{}, nil
	}
	items, err := x.iterate(v)
	if err != nil {
		return nil, err
	}
	out := make([]Value, len(items))
	for i, it := range items {
		if err := x.step(); err != nil {
			return nil, err
		}
		if out[i], err = f(x, it, &args{a.pos[1:], a.kw}); err != nil {
			return nil, err
		}
	}
	return &seq{items: out}, x.chargeItems(len(out))
}

func selectFilter(x *exec, name string, v Value, a *args) (Value, error) {
	rest := a.pos
	path := Value(absent{})
	if strings.HasSuffix(name, "attr") {
		if len(rest) == 0 {
			return nil, failf("Missing parameter for attribute name")
		}
		path, rest = rest[0], rest[1:]
	}
	test := func(_ *exec, v Value, _ *args) (bool, error) { return truth(v), nil }
	if len(rest) > 0 {
		n, _ := rest[0].(Text)
		if test = testNamed(n.s); test == nil {
			return nil, failf("No test named '%s'.", n.s)
		}
		rest = rest[1:]
	}
	if !truth(v) {
		return &seq{}, nil
	}
	items, err := x.iterate(v)
	if err != nil {
		return nil, err
	}
	var out []Value
	for _, it := range items {
		if err := x.step(); err != nil {
			return nil, err
		}
		of, err := pluck(it, path, absent{})
		if err != nil {
			return nil, err
		}
		ok, err := test(x, of, &args{rest, a.kw})
		if err != nil {
			return nil, err
		}
		if ok == strings.HasPrefix(name, "select") {
			out = append(out, it)
		}
	}
	return &seq{items: out}, x.chargeItems(len(out))
}

func groupBy(x *exec, v Value, a *args) (Value, error) {
	b, err := a.bind("groupby", 1, "attribute", "default", "case_sensitive")
	if err != nil {
		return nil, err
	}
	items, err := x.iterate(v)
	if err != nil {
		return nil, err
	}
	ks, err := x.keysOf(items, b[0], b[2], b[1])
	if err != nil {
		return nil, err
	}
	if err := sortKeyed(&x.cmp, ks, false); err != nil {
		return nil, err
	}
	out := &List{Items: []Value{}}
	for i := 0; i < len(ks); {
		j := i + 1
		for ; j < len(ks); j++ {
			same, err := x.cmp.equal(ks[i].key, ks[j].key, 0)
			if err != nil {
				return nil, err
			}
			if !same {
				break
			}
		}
		grouper, err := pluck(ks[i].item, b[0], b[1])
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, &Tuple{[]Value{grouper, &List{itemsOf(ks[i:j])}}, []string{"grouper", "list"}})
		i = j
	}
	return out, nil
}

func batch(x *exec, v Value, a *args) (Value, error) {
	b, err := a.bind("batch", 1, "linecount", "fill_with")
	if err != nil {
		return nil, err
	}
	n, err := intArg("batch", "linecount", b[0], 0)
	if err != nil {
		return nil, err
	}
	if n < 1 {
		return nil, failf("batch: linecount must be at least 1, got %d", n)
	}
	items, err := x.iterate(v)
	if err != nil {
		return nil, err
	}
	var out []Value
	for len(items) > 0 {
		k := int(min(n, int64(len(items))))
		row := slices.Clone(items[:k])
		items = items[k:]
		if given(b[1]) && b[1] != nil {
			if err := x.chargeItems(int(min(n, maxText))); err != nil {
				return nil, err
			}
			for int64(len(row)) < n {
				row = append(row, b[1])
			}
		}
		out = append(out, &List{row})
	}
	return &seq{items: out}, x.chargeItems(2 * len(out))
}

func sliceFilter(x *exec, v Value, a *args) (Value, error) {
	b, err := a.bind("slice", 1, "slices", "fill_with")
	if err != nil {
		return nil, err
	}
	n, err := intArg("slice", "slices", b[0], 0)
	if err != nil {
		return nil, err
	}
	if n < 1 {
		return nil, failf("slice: slices must be at least 1, got %d", n)
	}
	if err := x.chargeItems(int(min(n, maxText))); err != nil {
		return nil, err
	}
	items, err := x.iterate(v)
	if err != nil {
		return nil, err
	}
	each, extra := len(items)/int(n), len(items)%int(n)
	var out []Value
	for i := range int(n) {
		k := each
		if i < extra {
			k++
		}
		row := slices.Clone(items[:k])
		items = items[k:]
		if i >= extra && given(b[1]) && b[1] != nil {
			row = append(row, b[1])
		}
		out = append(out, &List{row})
	}
	return &seq{items: out}, nil
}
