package constrain

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"unicode/utf8"
)

// property is a name that a set of schemas knows.
type property struct {
	name     string
	value    []item
	required bool
}

// never is the id of a schema false that stands in no document.
const never = -1

// region is a set of names that the same schemas apply to.
type region struct {
	key   *dfa // nil: every name
	match map[string]bool
	value []item
}

// maxName bounds the length of a property's name in bytes.
const maxName = 1 << 14

// maxRegions bounds the classes that overlapping patterns of names make.
const maxRegions = 64

// object adds an object: its known properties in the schema's order, then others.
func (c *schemaCompiler) object(n *nfa, start, accept int32, all []*facts, l layout) error {
	props, others, err := c.properties(all)
	if err == nil && (l.closed || c.avoid != "") {
		err = c.checkNames(props, !l.closed)
	}
	if err != nil {
		return err
	}
	if l.closed {
		others = nil
	}
	least, most, needed := 0, -1, 0
	for _, f := range all {
		least = max(least, f.minProps)
		if f.maxProps >= 0 && (most < 0 || f.maxProps < most) {
			most = f.maxProps
		}
	}
	for _, p := range props {
		if p.required {
			needed++
		}
	}
	if len(others) > 0 && least > max(needed, 1) {
		// A text may hold such a name twice, which counts once.
		return fmt.Errorf("%w: minProperties %d with properties of any name, at most %d", ErrUnsupported, least, max(needed, 1))
	}
	if len(others) == 0 && (most < 0 || most > len(props)) {
		most = len(props)
	}
	if least > most && most >= 0 {
		return nil
	}
	counts := 1 // distinct numbers of properties that have to be told apart
	counted := least > needed || most >= 0 && (most < len(props) || len(others) > 0)
	if counted {
		counts = max(least, most) + 1
	}
	if counted && counts*(len(props)+1) > c.b.room() {
		return fmt.Errorf("%w: %d properties with a count of up to %d, limit %d", ErrLimit, len(props), counts-1, c.b.room())
	}
	// mustBy is the first required property from a place on: none behind it may come before it.
	mustBy := make([]int, len(props)+1)
	mustBy[len(props)] = len(props)
	for i := len(props) - 1; i >= 0; i-- {
		if mustBy[i] = mustBy[i+1]; props[i].required {
			mustBy[i] = i
		}
	}
	grid := func(n *nfa, size int) [][]int32 { // nodes by property and by properties written
		g := make([][]int32, size)
		for i := range g {
			for range counts {
				g[i] = append(g[i], n.node())
			}
		}
		return g
	}
	// place i is before property i; named, behind its name; later, behind the value before place i.
	place, named, later := grid(n, len(props)+1), grid(n, len(props)), grid(n, len(props)+1)
	open := c.ws(n, n.after(start, l.open))
	end := n.node()
	n.text(c.ws(n, end), accept, l.close)
	n.empty(open, place[0][0])
	if least == 0 && needed == 0 {
		n.empty(open, end)
	}
	// next is the count after one more property, or -1.
	next := func(k int) int {
		if !counted {
			return 0
		}
		if k+1 < counts {
			return k + 1
		}
		if most < 0 {
			return k
		}
		return -1
	}
	for _, p := range props {
		if len(p.name) > maxName {
			return fmt.Errorf("%w: a property name of %d bytes, limit %d", ErrLimit, len(p.name), maxName)
		}
	}
	names := newNames(props, l.key)
	other := grid(n, 1)[0] // where properties of other names start
	for k := range counts {
		at := map[nameNode]int32{}
		to := next(k)
		for i := range place {
			if to >= 0 {
				if first := names.first(0, i); first <= mustBy[i] && first < len(props) {
					n.empty(place[i][k], names.spell(n, at, nameNode{0, first}, mustBy[first], func(i int) int32 { return named[i][k] }))
				}
				if mustBy[i] == len(props) {
					n.empty(place[i][k], other[k])
				}
			}
			n.empty(c.gap(n, n.after(later[i][k], l.join)), place[i][k])
			if mustBy[i] == len(props) && (!counted || k >= least) {
				n.empty(later[i][k], end)
			}
		}
		if to < 0 {
			continue
		}
		for i, p := range props {
			r, err := l.value(p.value)
			if err != nil {
				return err
			}
			from, behind := named[i][k], n.node()
			if l.colon {
				from = c.gap(n, n.after(c.ws(n, from), ":"))
			}
			n.call(from, behind, r)
			n.text(behind, later[i+1][to], l.after)
		}
		for _, r := range others {
			at := n.node()
			if r.key == nil {
				s, err := c.anyString(0, -1)
				if err != nil {
					return err
				}
				n.call(other[k], at, s)
			} else {
				d, err := c.within(r.key)
				if err != nil {
					return err
				}
				key, quote := n.after(other[k], c.style.quote), n.node()
				n.embed(key, quote, d)
				n.text(quote, at, c.style.quote)
			}
			n.call(c.gap(n, n.after(c.ws(n, at), ":")), later[len(props)][to], c.rule(r.value))
		}
	}
	return nil
}

// names is the tree of the spellings of property names, with the properties below each node.
// It is walked from the property that may come first on, so that an object of a thousand
// optional properties needs no set of a thousand nodes.
type names struct{ nodes []nameEntry }

type nameEntry struct {
	bytes []byte // of the children, as they came
	child []int
	below []int // properties, ascending
}

// nameNode is a node of the tree together with the first property below it that may come.
type nameNode struct{ node, first int }

func newNames(props []property, key func(name string) string) *names {
	t := &names{nodes: []nameEntry{{}}}
	for i, p := range props {
		at := 0
		for _, b := range []byte(key(p.name)) {
			t.nodes[at].below = append(t.nodes[at].below, i)
			k := bytes.IndexByte(t.nodes[at].bytes, b)
			if k < 0 {
				k = len(t.nodes[at].bytes)
				t.nodes[at].bytes = append(t.nodes[at].bytes, b)
				t.nodes[at].child = append(t.nodes[at].child, len(t.nodes))
				t.nodes = append(t.nodes, nameEntry{})
			}
			at = t.nodes[at].child[k]
		}
		t.nodes[at].below = append(t.nodes[at].below, i)
	}
	return t
}

// first returns the first property from i on below a node, or a number above all.
func (t *names) first(node, i int) int {
	below := t.nodes[node].below
	k, _ := slices.BinarySearch(below, i)
	if k == len(below) {
		return math.MaxInt
	}
	return below[k]
}

// spell adds the names of the properties below a node, from its first to last, that lead to
// done of each, and returns where they start.
func (t *names) spell(n *nfa, at map[nameNode]int32, from nameNode, last int, done func(i int) int32) int32 {
	if node, ok := at[from]; ok {
		return node
	}
	entry := &t.nodes[from.node]
	if len(entry.child) == 0 { // behind the end of a key, which no name goes on from
		return done(from.first)
	}
	node := n.node()
	at[from] = node
	for k, b := range entry.bytes {
		if first := t.first(entry.child[k], from.first); first <= last {
			n.arc(node, arc{kind: arcByte, lo: b, hi: b, to: t.spell(n, at, nameNode{entry.child[k], first}, last, done)})
		}
	}
	return node
}

// properties returns the known properties in order, and the classes of other names.
func (c *schemaCompiler) properties(all []*facts) ([]property, []region, error) {
	var props []property
	index := map[string]int{}
	place := func(name string) *property {
		i, ok := index[name]
		if !ok {
			i = len(props)
			index[name] = i
			props = append(props, property{name: name})
		}
		return &props[i]
	}
	var patterns []string
	var names []*node
	seen := map[string]bool{}
	for _, f := range all {
		for _, m := range f.props {
			place(m.name)
		}
		for _, m := range f.propPatterns {
			if !seen[m.name] {
				seen[m.name] = true
				patterns = append(patterns, m.name)
			}
		}
		if f.propertyNames != nil {
			names = append(names, f.propertyNames)
		}
	}
	for _, f := range all {
		for _, name := range f.required {
			place(name).required = true
		}
	}
	free := len(props) == 0 && len(patterns) == 0 && len(names) == 0
	// Known names.
	kept := props[:0]
	for _, p := range props {
		ok := utf8.ValidString(p.name)
		for _, schema := range names {
			valid, err := c.valid(of(schema), &node{kind: kindString, text: p.name}, 0)
			if err != nil {
				return nil, nil, err
			}
			ok = ok && valid
		}
		matched := map[string]bool{}
		for _, src := range patterns {
			m, err := c.matches(src, p.name)
			if err != nil {
				return nil, nil, err
			}
			matched[src] = m
		}
		for _, f := range all {
			p.value = append(p.value, f.value(&p.name, matched)...)
		}
		if !ok { // the name may not be used: required or not, no value is right
			p.value = append(p.value, item{&node{id: never, kind: kindBool}, whole})
		}
		kept = append(kept, p)
	}
	props = kept
	if free {
		r := region{}
		for _, f := range all {
			r.value = append(r.value, of(f.additional)...)
		}
		return props, open([]region{r}, c), nil
	}
	// Other names, by the patterns that they match.
	if closed(all) {
		return props, nil, nil
	}
	every, err := lengths(0, -1, c.b.room(), c.style.spell())
	if err != nil {
		return nil, nil, err
	}
	var known []string
	for _, p := range props {
		known = append(known, c.style.text(p.name))
	}
	taken, err := words(known, c.b.room())
	if err == nil {
		every, err = combine(every, taken, false, c.b.room())
	}
	for _, schema := range names {
		var d *dfa
		if err == nil {
			d, err = c.nameSchema(schema)
		}
		if err == nil && d != nil {
			every, err = combine(every, d, true, c.b.room())
		}
	}
	if err != nil {
		return nil, nil, err
	}
	regions := []region{{key: every, match: map[string]bool{}}}
	for _, src := range patterns {
		d, err := pattern(src, true, c.style.spell(), c.b.room())
		if err != nil {
			return nil, nil, err
		}
		var split []region
		for _, r := range regions {
			in, err := combine(r.key, d, true, c.b.room())
			if err != nil {
				return nil, nil, err
			}
			out, err := combine(r.key, d, false, c.b.room())
			if err != nil {
				return nil, nil, err
			}
			if !in.empty() {
				m := map[string]bool{src: true}
				for k := range r.match {
					m[k] = true
				}
				split = append(split, region{key: in, match: m})
			}
			if !out.empty() {
				split = append(split, region{key: out, match: r.match})
			}
		}
		if regions = split; len(regions) > maxRegions {
			return nil, nil, fmt.Errorf("%w: patternProperties make more than %d classes of names", ErrLimit, maxRegions)
		}
	}
	for i := range regions {
		for _, f := range all {
			regions[i].value = append(regions[i].value, f.value(nil, regions[i].match)...)
		}
	}
	return props, open(regions, c), nil
}

// value returns the schemas that a schema has for a property, given the patterns its name
// matches; a nil name is one that no schema knows.
func (f *facts) value(name *string, matched map[string]bool) []item {
	var out []item
	known := false
	for _, m := range f.props {
		if name != nil && m.name == *name {
			known = true
			out = append(out, item{m.value, whole})
		}
	}
	for _, m := range f.propPatterns {
		if matched[m.name] {
			known = true
			out = append(out, item{m.value, whole})
		}
	}
	if !known {
		out = append(out, of(f.additional)...)
	}
	return out
}

// closed reports whether a schema rules out every property it does not list.
func closed(all []*facts) bool {
	for _, f := range all {
		if len(f.propPatterns) == 0 && f.additional != nil && f.additional.kind == kindBool && !f.additional.bool {
			return true
		}
	}
	return false
}

// open drops the regions whose values are ruled out at once.
func open(regions []region, c *schemaCompiler) []region {
	kept := regions[:0]
	for _, r := range regions {
		never := false
		for _, i := range r.value {
			never = never || i.n.kind == kindBool && !i.n.bool
		}
		if !never {
			kept = append(kept, r)
		}
	}
	return kept
}

// matches reports whether an expression matches somewhere in a name.
func (c *schemaCompiler) matches(src, name string) (bool, error) {
	if _, err := parsePattern(src); err != nil {
		return false, err
	}
	re, err := regexp.Compile(src)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrSpec, err)
	}
	return re.MatchString(name), nil
}

// nameSchema returns the automaton of the names that propertyNames allows; nil: all.
func (c *schemaCompiler) nameSchema(n *node) (*dfa, error) {
	owns, groups, err := c.expand(of(n))
	if err != nil {
		return nil, err
	}
	if len(groups) > 0 {
		return nil, fmt.Errorf("%w: %s: alternatives in propertyNames", ErrUnsupported, n.pointer())
	}
	var all []*facts
	var enum *facts
	for _, o := range owns {
		f, err := c.facts(o.n)
		if err != nil {
			return nil, err
		}
		if f.never || f.kinds&kindString == 0 {
			return &dfa{states: []state{{}}}, nil
		}
		if f.hasEnum {
			enum = f
		}
		all = append(all, f)
	}
	if enum != nil {
		var texts []string
		for _, v := range enum.enum {
			ok, err := c.valid(owns, v, 0)
			if err != nil {
				return nil, err
			}
			if ok && v.kind == kindString {
				texts = append(texts, c.style.text(v.text))
			}
		}
		return words(texts, c.b.room())
	}
	d, low, high, err := c.content(all, c.style.raw)
	if err == nil && d == nil && (low > 0 || high >= 0) {
		return lengths(low, high, c.b.room(), c.style.spell())
	}
	return d, err
}
