package constrain

import (
	"encoding/binary"
	"fmt"
	"slices"
	"unicode/utf8"
)

// schemaCompiler turns a schema into rules, one for each set of schemas that a value has to
// satisfy together. A reference, like an alternative, only adds to the set, so a recursive
// schema ends as soon as a set comes back.
type schemaCompiler struct {
	b        *builder
	space    Whitespace
	style    style
	avoid    string // no string may hold it; empty: nothing
	notation Notation
	root     *node
	read     map[int32]*facts
	anchor   map[string]*node
	rules    map[string]int32
	queue    []job
	apart    []apart // sets of schemas that no value may satisfy
	keys     map[string]*dfa
	checks   int
	count    int32 // nodes
}

type job struct {
	rule  int32
	items []item
	form  form
}

// item is a schema, or one part of it.
type item struct {
	n    *node
	part part
}

type part int32

const (
	whole part = iota
	own        // its keywords without the ones that bring in other schemas
	partAny
	partOne
)

type apart struct {
	rule int32
	err  error
}

// compileSchema adds the rules of a schema document and returns the one of its root.
func compileSchema(b *builder, doc []byte, space Whitespace) (int32, error) {
	c, err := newSchemaCompiler(b, doc, space)
	if err != nil {
		return 0, err
	}
	return c.compile(form{})
}

func newSchemaCompiler(b *builder, doc []byte, space Whitespace) (*schemaCompiler, error) {
	root, count, err := parseJSON(doc)
	return &schemaCompiler{
		b: b, space: space, style: jsonStyle(), root: root, count: count,
		read: map[int32]*facts{}, rules: map[string]int32{}, keys: map[string]*dfa{},
	}, err
}

// compile adds the rules and returns the one of the root.
func (c *schemaCompiler) compile(f form) (int32, error) {
	start := c.ruleIn(f, []item{{c.root, whole}})
	for len(c.queue) > 0 {
		j := c.queue[0]
		c.queue = c.queue[1:]
		if err := c.build(j); err != nil {
			return 0, err
		}
	}
	for _, a := range c.apart {
		c.b.empty(a.rule, a.err)
	}
	return start, nil
}

// rule returns the rule of a set of schemas and sees to it that it gets built.
func (c *schemaCompiler) rule(items []item) int32 { return c.ruleIn(form{}, items) }

func (c *schemaCompiler) ruleIn(f form, items []item) int32 {
	items = unique(items)
	key := append(make([]byte, 0, 2+5*len(items)), byte(f.part), byte(f.named))
	for _, i := range items {
		key = append(binary.LittleEndian.AppendUint32(key, uint32(i.n.id)), byte(i.part))
	}
	if r, ok := c.rules[string(key)]; ok {
		return r
	}
	r := c.b.reserve()
	c.rules[string(key)] = r
	c.queue = append(c.queue, job{r, items, f})
	return r
}

// unique sorts a set. A whole schema covers its parts.
func unique(items []item) []item {
	items = slices.Clone(items)
	slices.SortFunc(items, func(a, b item) int {
		if a.n.id != b.n.id {
			return int(a.n.id - b.n.id)
		}
		return int(a.part - b.part)
	})
	return slices.Compact(items)
}

func of(nodes ...*node) []item {
	items := make([]item, 0, len(nodes))
	for _, n := range nodes {
		if n != nil {
			items = append(items, item{n, whole})
		}
	}
	return items
}

// expand splits a set into the schemas that hold by themselves, and the groups of alternatives.
func (c *schemaCompiler) expand(items []item) (owns []item, groups []item, err error) {
	done := map[item]bool{}
	open := map[*node]bool{}
	var add func(i item) error
	add = func(i item) error {
		if open[i.n] && i.part == whole {
			return fmt.Errorf("%w: %s", ErrRecursion, i.n.pointer())
		}
		if done[i] {
			return nil
		}
		done[i] = true
		f, err := c.facts(i.n)
		if err != nil {
			return err
		}
		switch i.part {
		case own:
			owns = append(owns, i)
			return nil
		case partAny, partOne:
			groups = append(groups, i)
			return nil
		}
		open[i.n] = true
		defer delete(open, i.n)
		if err := add(item{i.n, own}); err != nil {
			return err
		}
		var more []item
		if f.anyOf != nil {
			more = append(more, item{i.n, partAny})
		}
		if f.oneOf != nil {
			more = append(more, item{i.n, partOne})
		}
		for _, m := range append(more, of(append([]*node{f.ref}, f.allOf...)...)...) {
			if err := add(m); err != nil {
				return err
			}
		}
		return nil
	}
	for _, i := range items {
		if err := add(i); err != nil {
			return nil, nil, err
		}
	}
	return owns, groups, nil
}

// maxAlternatives bounds a oneOf, whose alternatives are compared in pairs.
const maxAlternatives = 64

func (c *schemaCompiler) build(j job) error {
	owns, groups, err := c.expand(j.items)
	if err != nil {
		return err
	}
	n := c.b.nfa()
	start, accept := n.node(), n.node()
	if len(groups) == 0 {
		if err := c.value(n, start, accept, owns, j.form); err != nil {
			return err
		}
		return c.b.define(j.rule, n, start, accept)
	}
	rest := slices.Concat(owns, groups[1:])
	g := groups[0]
	f, err := c.facts(g.n)
	if err != nil {
		return err
	}
	alternatives := f.anyOf
	if g.part == partOne {
		if alternatives = f.oneOf; len(alternatives) > maxAlternatives {
			return fmt.Errorf("%w: %s: oneOf of %d alternatives, limit %d", ErrLimit, g.n.pointer(), len(alternatives), maxAlternatives)
		}
		for i, x := range alternatives {
			for k, y := range alternatives[:i] {
				if plain, err := c.disjoint(of(x), of(y), 0); err != nil {
					return err
				} else if plain {
					continue
				}
				err := fmt.Errorf("%w: %s: oneOf alternatives %d and %d may both hold", ErrUnsupported, g.n.pointer(), k, i)
				c.apart = append(c.apart, apart{c.rule(append(of(x, y), rest...)), err})
			}
		}
	}
	for _, a := range alternatives {
		n.call(start, accept, c.ruleIn(j.form, append(of(a), rest...)))
	}
	return c.b.define(j.rule, n, start, accept)
}

// value adds what a set of schemas without alternatives allows.
func (c *schemaCompiler) value(n *nfa, start, accept int32, owns []item, f form) error {
	kinds := kindAll
	var all []*facts
	var enum *facts
	for _, o := range owns {
		f, err := c.facts(o.n)
		if err != nil {
			return err
		}
		if f.never {
			return nil
		}
		kinds &= f.kinds
		all = append(all, f)
		if f.hasEnum {
			enum = f
		}
	}
	for _, f := range all {
		for _, not := range f.nots {
			gone, err := c.never(not)
			if err != nil {
				return err
			}
			if kinds &^= gone; gone == 0 {
				err := fmt.Errorf("%w: %s: keyword \"not\" of a schema that may hold here", ErrUnsupported, not.pointer())
				c.apart = append(c.apart, apart{c.rule(append(of(not), owns...)), err})
			}
		}
	}
	if f.part == arguments {
		switch {
		case enum != nil:
			return fmt.Errorf("%w: a list of whole arguments, in this format of calls", ErrUnsupported)
		case kinds&kindObject != 0:
			return c.object(n, start, accept, all, c.argumentsLayout())
		}
		return nil
	}
	if enum != nil {
		var texts []string
		for _, v := range enum.enum {
			ok, err := c.valid(owns, v, 0)
			if err != nil {
				return err
			}
			switch {
			case !ok || !c.writable(v):
			case f.part == argument && v.kind == kindString:
				texts = append(texts, v.text)
			default:
				texts = append(texts, string(c.style.append(nil, v)))
			}
		}
		d, err := words(texts, c.b.room())
		if err != nil {
			return err
		}
		n.embed(start, accept, d)
		return nil
	}
	if f.part == argument {
		return c.textValue(n, start, accept, all, kinds, f.named)
	}
	return c.values(n, start, accept, all, kinds)
}

// values adds the values of some types that a set of schemas allows.
func (c *schemaCompiler) values(n *nfa, start, accept int32, all []*facts, kinds kind) error {
	if kinds&kindNull != 0 {
		n.text(start, accept, c.style.null)
	}
	if kinds&kindBool != 0 {
		n.text(start, accept, c.style.yes)
		n.text(start, accept, c.style.no)
	}
	if kinds&kindInteger != 0 {
		r, err := c.number(all, kinds&kindNumber == 0)
		if err != nil {
			return err
		}
		n.call(start, accept, r)
	}
	if kinds&kindString != 0 {
		r, err := c.string(all)
		if err != nil {
			return err
		}
		n.call(start, accept, r)
	}
	if kinds&kindArray != 0 {
		if err := c.array(n, start, accept, all); err != nil {
			return err
		}
	}
	if kinds&kindObject != 0 {
		return c.object(n, start, accept, all, c.objectLayout())
	}
	return nil
}

// never returns the types that a schema under not rules out altogether, if that is all it does;
// else none.
func (c *schemaCompiler) never(not *node) (kind, error) {
	f, err := c.facts(not)
	if err != nil {
		return 0, err
	}
	for _, m := range not.members {
		if m.name != "type" && !annotation(m.name) {
			return 0, nil
		}
	}
	if f.never || f.kinds&kindInteger != 0 && f.kinds&kindNumber == 0 {
		return 0, nil // nothing is ruled out; or whole numbers are, and other numbers are not
	}
	return f.kinds, nil
}

func (c *schemaCompiler) number(all []*facts, integer bool) (int32, error) {
	s := numbers{integer: integer}
	for _, f := range all {
		s.low = tighter(s.low, f.low, true)
		s.high = tighter(s.high, f.high, false)
		s.multiples = append(s.multiples, f.multiples...)
	}
	return c.b.shared(s.key(), func() (*dfa, error) { return s.automaton(c.b.room()) })
}

// string returns the rule of the strings, with their quotes.
func (c *schemaCompiler) string(all []*facts) (int32, error) {
	d, low, high, err := c.content(all, c.style.raw)
	if err != nil {
		return 0, err
	}
	if d == nil {
		return c.anyString(low, high)
	}
	if d, err = c.within(d); err != nil {
		return 0, err
	}
	n := c.b.nfa()
	start, accept := n.node(), n.node()
	open, end := n.after(start, c.style.quote), n.node()
	n.embed(open, end, d)
	n.text(end, accept, c.style.quote)
	r := c.b.reserve()
	return r, c.b.define(r, n, start, accept)
}

// content returns the automaton of what stands between a string's quotes, or nil where only
// the limits on its length hold. raw says that strings stand as they are.
func (c *schemaCompiler) content(all []*facts, raw bool) (d *dfa, low, high int, err error) {
	write := jsonBytes
	if raw {
		write = runeBytes
	}
	high = -1
	for _, f := range all {
		low = max(low, f.minLen)
		if f.maxLen >= 0 && (high < 0 || f.maxLen < high) {
			high = f.maxLen
		}
	}
	narrow := func(key string, make func() (*dfa, error)) {
		if err != nil {
			return
		}
		if raw {
			key += " raw"
		}
		next := c.keys[key]
		if next == nil {
			if next, err = make(); err != nil {
				return
			}
			c.keys[key] = next
		}
		if d != nil {
			next, err = combine(d, next, true, c.b.room())
		}
		d = next
	}
	for _, f := range all {
		for _, p := range f.patterns {
			narrow("p"+p, func() (*dfa, error) { return pattern(p, true, write, c.b.room()) })
		}
		for _, p := range f.formats {
			narrow("f"+p, func() (*dfa, error) { return pattern(format(p), false, write, c.b.room()) })
		}
	}
	if d != nil && (low > 0 || high >= 0) {
		narrow(fmt.Sprint("l", low, high), func() (*dfa, error) { return lengths(low, high, c.b.room(), write) })
	}
	return d, low, high, err
}

// lengths returns the automaton of string contents of low to high characters; high -1: no limit.
func lengths(low, high, limit int, write spell) (*dfa, error) {
	if max(low, high) > limit {
		return nil, fmt.Errorf("%w: a length of %d together with a pattern, limit %d", ErrLimit, max(low, high), limit)
	}
	n := &nfa{limit: 64 * limit}
	at, accept := n.node(), n.node()
	start := at
	for i := 0; ; i++ {
		if i >= low {
			n.empty(at, accept)
		}
		if i == high {
			break
		}
		next := at
		if high >= 0 || i < low {
			next = n.node()
		}
		n.runes(at, next, write, 0, utf8.MaxRune)
		if next == at {
			break
		}
		at = next
	}
	return n.determinize(start, accept, limit)
}

// array adds a list: the first items by position, then the rest.
func (c *schemaCompiler) array(n *nfa, start, accept int32, all []*facts) error {
	least, most, positions := 0, -1, 0
	var rest []item
	for _, f := range all {
		least = max(least, f.minItems)
		if f.maxItems >= 0 && (most < 0 || f.maxItems < most) {
			most = f.maxItems
		}
		positions = max(positions, len(f.prefix))
		rest = append(rest, of(f.items)...)
	}
	if most >= 0 && least > most {
		return nil
	}
	last := max(positions, least) // the item count from which on all positions are alike
	if most >= 0 {
		last = most
	}
	if last > c.b.room() {
		return fmt.Errorf("%w: an array of %d items, limit %d", ErrLimit, last, c.b.room())
	}
	open := c.ws(n, n.after(start, "["))
	end := n.node()
	n.text(c.ws(n, end), accept, "]")
	if least == 0 {
		n.empty(open, end)
	}
	at := n.node() // before item i
	n.empty(open, at)
	for i := 0; most < 0 || i < most; i++ {
		loop := i >= last
		var items []item
		for _, f := range all {
			if i < len(f.prefix) {
				items = append(items, item{f.prefix[i], whole})
			} else {
				items = append(items, of(f.items)...)
			}
		}
		if loop {
			items = rest
		}
		behind := n.node()
		n.call(at, behind, c.rule(items))
		if i+1 >= least {
			n.empty(behind, end)
		}
		next := c.gap(n, n.after(behind, ","))
		if loop {
			n.empty(next, at)
			break
		}
		at = next
	}
	return nil
}

// ws adds the white space that may stand next to brackets, gap that behind commas and colons.
func (c *schemaCompiler) ws(n *nfa, from int32) int32 {
	if c.space != WhitespaceAny {
		return from
	}
	return c.gap(n, from)
}

// maxWhitespace bounds a run of white space, so that a model cannot go on with it forever.
const maxWhitespace = 32

func (c *schemaCompiler) gap(n *nfa, from int32) int32 {
	if c.space == WhitespaceNone {
		return from
	}
	to := n.node()
	n.empty(from, to)
	if c.space == WhitespaceSpaces {
		n.text(from, to, " ")
		return to
	}
	rule, err := c.b.shared("space", func() (*dfa, error) {
		d := &dfa{states: []state{{accept: true}}}
		for i := range maxWhitespace {
			d.states[i].edges = []edge{{lo: '\t', hi: '\n', to: int32(i + 1)}, {lo: '\r', hi: '\r', to: int32(i + 1)}, {lo: ' ', hi: ' ', to: int32(i + 1)}}
			d.states = append(d.states, state{accept: true})
		}
		return d, nil
	})
	if err == nil { // else the states have run out, which the next definition reports
		n.call(from, to, rule)
	}
	return to
}
