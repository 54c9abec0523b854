package constrain

import (
	"fmt"
	"regexp"
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

// maxRegions bounds the classes that overlapping patterns of names make.
const maxRegions = 64

// object adds an object: its known properties in the schema's order, then others.
func (c *schemaCompiler) object(n *nfa, start, accept int32, all []*facts) error {
	props, others, err := c.properties(all)
	if err != nil {
		return err
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
	grid := func() [][]int32 { // a node by properties passed and properties written
		g := make([][]int32, len(props)+1)
		for i := range g {
			for range counts {
				g[i] = append(g[i], n.node())
			}
		}
		return g
	}
	mid, later := grid(), grid() // at a property's place; behind a value
	open := c.ws(n, n.after(start, "{"))
	end := n.node()
	n.text(c.ws(n, end), accept, "}")
	n.empty(open, mid[0][0])
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
	for i, p := range props {
		rule := c.rule(p.value)
		for k := range counts {
			if to := next(k); to >= 0 {
				at := n.after(mid[i][k], `"`+jsonText(p.name)+`"`)
				at = c.gap(n, n.after(c.ws(n, at), ":"))
				n.call(at, later[i+1][to], rule)
			}
			if !p.required {
				n.empty(mid[i][k], mid[i+1][k])
				n.empty(later[i][k], later[i+1][k])
			}
		}
	}
	last := len(props)
	for _, r := range others {
		rule := c.rule(r.value)
		for k := range counts {
			to := next(k)
			if to < 0 {
				continue
			}
			at := n.node()
			if r.key == nil {
				n.call(mid[last][k], at, c.b.freeString(0, -1))
			} else {
				key, quote := n.after(mid[last][k], `"`), n.node()
				n.embed(key, quote, r.key)
				n.text(quote, at, `"`)
			}
			at = c.gap(n, n.after(c.ws(n, at), ":"))
			n.call(at, later[last][to], rule)
		}
	}
	for k := range counts {
		for i := range later {
			n.empty(c.gap(n, n.after(later[i][k], ",")), mid[i][k])
		}
		if !counted || k >= least {
			n.empty(later[last][k], end)
		}
	}
	return nil
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
	every, err := lengths(0, -1, c.b.room())
	if err != nil {
		return nil, nil, err
	}
	var known []string
	for _, p := range props {
		known = append(known, jsonText(p.name))
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
		d, err := pattern(src, true, jsonBytes, c.b.room())
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
				texts = append(texts, jsonText(v.text))
			}
		}
		return words(texts, c.b.room())
	}
	d, low, high, err := c.content(all)
	if err == nil && d == nil && (low > 0 || high >= 0) {
		return lengths(low, high, c.b.room())
	}
	return d, err
}
