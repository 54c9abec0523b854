package constrain

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Values says how the values in the arguments of a call are written.
type Values uint8

const (
	// ValuesPython: JSON but for None, True and False.
	ValuesPython Values = iota
	// ValuesText: a string stands as it is, without quotes, everything else as JSON. A string that
	// would be read as another type that the argument's schema names is not written.
	ValuesText
	// ValuesMarked: JSON, where strings stand as they are between marks, and names without quotes.
	ValuesMarked
)

// Notation is how a format of tool calls writes arguments that are not one JSON object.
type Notation struct {
	Values Values
	// What stands before a name, between it and its value, and after that; Join stands between two
	// arguments, Close after the last. With Between empty the arguments are one object of Values.
	Before, Between, After, Join, Close string
	// Mark stands around strings (ValuesMarked), or ends a value (ValuesText). No string holds it.
	Mark string
	// Names is an expression for the names that can be written; others are ErrUnsupported. Empty: all.
	Names string
}

// Arguments constrains to the arguments of a call that satisfy a schema, an object's, in a notation.
// Where they are not one object, properties that the schema does not list are not written.
func Arguments(schema []byte, n Notation) Spec {
	return Spec{kind: specArguments, values: n.Values, texts: []string{string(schema), n.Before, n.Between, n.After, n.Join, n.Close, n.Mark, n.Names}}
}

// notation is the Notation of a constraint made by Arguments.
func (s Spec) notation() Notation {
	t := s.texts
	return Notation{Values: s.values, Before: t[1], Between: t[2], After: t[3], Join: t[4], Close: t[5], Mark: t[6], Names: t[7]}
}

// style is how values are written.
type style struct {
	null, yes, no string
	quote         string // around strings
	raw           bool   // strings stand as they are; names need no quotes where they are words
}

func jsonStyle() style { return style{"null", "true", "false", `"`, false} }

// spell is how a string's characters are written.
func (s *style) spell() spell {
	if s.raw {
		return runeBytes
	}
	return jsonBytes
}

// text is what stands between a string's quotes.
func (s *style) text(v string) string {
	if s.raw {
		return v
	}
	return jsonText(v)
}

// key is an object's name, with what ends it: no key begins another.
func (s *style) key(name string) string {
	switch {
	case !s.raw:
		return `"` + jsonText(name) + `"`
	case word(name):
		return name + ":"
	}
	return s.quote + name + s.quote + ":"
}

// word reports whether a name is letters, digits and _ alone, and does not begin with a digit.
func word(name string) bool {
	return name != "" && (name[0] < '0' || name[0] > '9') && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// append appends the value in compact form, whole numbers without a fraction.
func (s *style) append(dst []byte, n *node) []byte {
	switch n.kind {
	case kindNull:
		return append(dst, s.null...)
	case kindBool:
		if n.bool {
			return append(dst, s.yes...)
		}
		return append(dst, s.no...)
	case kindString:
		return append(append(append(dst, s.quote...), s.text(n.text)...), s.quote...)
	case kindArray:
		dst = append(dst, '[')
		for i, item := range n.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = s.append(dst, item)
		}
		return append(dst, ']')
	case kindObject:
		dst = append(dst, '{')
		for i, m := range n.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst = append(dst, s.key(m.name)...); !s.raw {
				dst = append(dst, ':')
			}
			dst = s.append(dst, m.value)
		}
		return append(dst, '}')
	}
	if n.number.IsInt() && len(n.number.Num().String()) <= maxDigits {
		return n.number.Num().Append(dst, 10)
	}
	return append(dst, n.text...)
}

// speaks reports whether a string or name in the value holds a text.
func (n *node) speaks(text string) bool {
	return strings.Contains(n.text, text) || slices.ContainsFunc(n.items, func(i *node) bool { return i.speaks(text) }) ||
		slices.ContainsFunc(n.members, func(m member) bool { return strings.Contains(m.name, text) || m.value.speaks(text) })
}

// writable reports whether the value can be written: nothing in it holds the mark.
func (c *schemaCompiler) writable(n *node) bool { return c.avoid == "" || !n.speaks(c.avoid) }

// form is where a value stands in the arguments of a call.
type form struct {
	part formPart
	// named are the types that a reader of the text tries before it takes it for a string.
	named kind
}

type formPart uint8

const (
	inside    formPart = iota // a value, or inside one
	arguments                 // all arguments
	argument                  // the value of one, with ValuesText
)

// layout is how an object's properties are written.
type layout struct {
	open, close, join string
	key               func(name string) string // with what ends it
	colon             bool                     // a colon stands behind the keys
	after             string                   // stands behind a value
	closed            bool                     // there are no properties but known ones
	value             func(items []item) (int32, error)
}

func (c *schemaCompiler) objectLayout() layout {
	return layout{
		open: "{", close: "}", join: ",", key: c.style.key, colon: !c.style.raw,
		value: func(items []item) (int32, error) { return c.rule(items), nil },
	}
}

func (c *schemaCompiler) argumentsLayout() layout {
	o := c.notation
	l := layout{
		close: o.Close, join: o.Join, key: func(name string) string { return o.Before + name + o.Between }, after: o.After, closed: true,
		value: func(items []item) (int32, error) { return c.rule(items), nil },
	}
	if o.Values == ValuesText {
		l.value = func(items []item) (int32, error) {
			f := form{part: argument}
			for _, i := range items {
				named, err := c.named(i.n)
				if err != nil {
					return 0, err
				}
				f.named |= named
			}
			return c.ruleIn(f, items), nil
		}
	}
	return l
}

// How far readers of text look for the types of an argument: references and alternatives inside each
// other, and all of them.
const (
	maxNamedDepth = 8
	maxNamed      = 4096
)

// named returns the types that a schema names anywhere among its alternatives.
func (c *schemaCompiler) named(n *node) (kind, error) {
	var out kind
	steps := 0
	var walk func(n *node, depth int) error
	walk = func(n *node, depth int) error {
		if steps++; steps > maxNamed || depth > maxNamedDepth {
			return fmt.Errorf("%w: %s: an argument that is written as text with more than %d alternatives, or %d inside each other", ErrLimit, n.pointer(), maxNamed, maxNamedDepth)
		}
		if c.checks++; c.checks > maxChecks {
			return fmt.Errorf("%w: looking for the types of arguments takes more than %d steps", ErrLimit, maxChecks)
		}
		f, err := c.facts(n)
		if err != nil {
			return err
		}
		if n.get("type") != nil {
			out |= f.kinds
		}
		if f.ref != nil {
			if ref := n.get("$ref").text; !strings.HasPrefix(ref, "#/") && ref != "#" {
				return fmt.Errorf("%w: %s: reference %q of an argument that is written as text, which is read by pointers alone", ErrUnsupported, n.pointer(), ref)
			}
		}
		for _, m := range slices.Concat(of(f.ref), of(f.anyOf...), of(f.oneOf...), of(f.allOf...)) {
			if err := walk(m.n, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	err := walk(n, 0)
	return out, err
}

// checkNames refuses properties whose names the notation cannot write, those of the arguments
// themselves or of an object inside.
func (c *schemaCompiler) checkNames(props []property, inside bool) error {
	names, err := regexp.Compile(`^(?s:` + c.notation.Names + `)$`)
	if err != nil {
		return fmt.Errorf("%w: names: %w", ErrSpec, err)
	}
	for _, p := range props {
		if !inside && c.notation.Names != "" && !names.MatchString(p.name) || c.avoid != "" && strings.Contains(p.name, c.avoid) {
			return fmt.Errorf("%w: property %q: this format of calls cannot write the name", ErrUnsupported, p.name)
		}
	}
	return nil
}

// textValue adds the value of an argument that is written as text.
func (c *schemaCompiler) textValue(n *nfa, start, accept int32, all []*facts, kinds, named kind) error {
	r, err := int32(0), error(nil)
	if kinds&kindString != 0 {
		if r, err = c.textString(all, named); err != nil {
			return err
		}
		n.call(start, accept, r)
	}
	return c.values(n, start, accept, all, kinds&named&^kindString)
}

// space is what readers of text trim.
const space = `[\s\v\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]`

// maxIndent bounds the white space before a string that may be read as something else.
const maxIndent = 16

// textString returns the rule of the strings that stand as they are, and that are not read as
// another of the types.
func (c *schemaCompiler) textString(all []*facts, named kind) (int32, error) {
	d, low, high, err := c.content(all, true)
	if err != nil {
		return 0, err
	}
	left := uint32(unlimited)
	key := ""
	if d == nil {
		key = fmt.Sprint("text ", low, high, named)
		if r, ok := c.b.keyed[key]; ok {
			return r, nil
		}
	}
	switch {
	case d != nil:
	case high >= 0 && low > high:
		return c.b.reserve(), nil // nothing
	case high >= 0 && high < 2*maxIndent && named&(kindBool|kindNull) != 0:
		d, err = lengths(low, high, c.b.room(), runeBytes)
	default:
		d, err = anyText(low, c.b.room())
		if high >= 0 && high < maxCount {
			left = uint32(high)
		}
	}
	others := []string{regexp.QuoteMeta(c.avoid)}
	for _, o := range []struct {
		kinds kind
		like  string
	}{
		{kindNumber | kindInteger, `^` + space + `*-?[0-9]`}, {kindArray, `^` + space + `*\[`}, {kindObject, `^` + space + `*\{`},
		{kindBool, `^` + space + `*(?i:true|false)(?:` + space + `|$)`}, {kindNull, `^` + space + `*(?:null|None)(?:` + space + `|$)`},
		// A word that is refused as a whole must not be all that a limited length leaves room for.
		{kindBool | kindNull, fmt.Sprintf(`^%s{%d}`, space, maxIndent)},
	} {
		if named&o.kinds != 0 {
			others = append(others, o.like)
		}
	}
	for _, o := range others {
		if err != nil {
			return 0, err
		}
		var not *dfa
		if not, err = pattern(o, true, runeBytes, c.b.room()); err == nil {
			d, err = combine(d, not, false, c.b.room())
		}
	}
	if err != nil {
		return 0, err
	}
	r := c.b.reserve()
	if key != "" {
		c.b.keyed[key] = r
	}
	c.b.rules[r].left = left
	return r, c.b.add(r, counting(d))
}

// counting marks the states of a rule that counts characters.
func counting(d *dfa) *dfa {
	for i := range d.states {
		d.states[i].counts = true
	}
	return d
}

// anyText is the automaton of texts of low characters and more. Edges that begin a character count.
func anyText(low, limit int) (*dfa, error) {
	d, err := lengths(0, -1, limit, runeBytes)
	if err != nil {
		return nil, err
	}
	for i := range d.states {
		if !d.states[i].accept { // inside a character
			continue
		}
		for k := range d.states[i].edges {
			d.states[i].edges[k].flag = flagTick
		}
	}
	if low > 0 {
		least, err := lengths(low, -1, limit, runeBytes)
		if err != nil {
			return nil, err
		}
		return combine(d, least, true, limit)
	}
	return d, nil
}

// anyString returns the rule of the strings of low to high characters, with their quotes; high -1:
// no limit.
func (c *schemaCompiler) anyString(low, high int) (int32, error) {
	if c.avoid == "" {
		return c.b.freeString(low, high), nil
	}
	key := fmt.Sprint("marked string ", low, high)
	if r, ok := c.b.keyed[key]; ok {
		return r, nil
	}
	r := c.b.reserve()
	c.b.keyed[key] = r
	if c.style.raw {
		text, err := c.textString([]*facts{{minLen: low, maxLen: high}}, 0)
		if err != nil {
			return 0, err
		}
		n := c.b.nfa()
		start, accept := n.node(), n.node()
		end := n.node()
		n.call(n.after(start, c.style.quote), end, text)
		n.text(end, accept, c.style.quote)
		return r, c.b.define(r, n, start, accept)
	}
	not, err := pattern(regexp.QuoteMeta(c.avoid), true, runeBytes, c.b.room())
	if err != nil {
		return 0, err
	}
	d, err := combine(c.b.text, not, false, c.b.room())
	if err != nil {
		return 0, err
	}
	c.b.rules[r].need = uint32(low)
	if high >= 0 && high < maxCount {
		c.b.rules[r].left = uint32(high)
		if low > high {
			return r, nil // nothing
		}
	}
	return r, c.b.add(r, counting(d))
}

// within leaves out the strings that hold the mark.
func (c *schemaCompiler) within(d *dfa) (*dfa, error) {
	if c.avoid == "" {
		return d, nil
	}
	not, err := pattern(regexp.QuoteMeta(c.avoid), true, runeBytes, c.b.room())
	if err != nil {
		return nil, err
	}
	return combine(d, not, false, c.b.room())
}

// compileArguments adds the rules of the arguments of a call and returns the first.
func compileArguments(b *builder, doc []byte, o Notation) (int32, error) {
	if o.Values > ValuesMarked {
		return 0, fmt.Errorf("%w: values %d, want at most %d", ErrSpec, o.Values, ValuesMarked)
	}
	if !utf8.ValidString(o.Mark) || o.Values != ValuesPython && o.Mark == "" {
		return 0, fmt.Errorf("%w: mark %q of values %d", ErrSpec, o.Mark, o.Values)
	}
	c, err := newSchemaCompiler(b, doc, WhitespaceNone)
	if err != nil {
		return 0, err
	}
	c.notation = o
	switch o.Values {
	case ValuesPython:
		c.style.null, c.style.yes, c.style.no = "None", "True", "False"
	case ValuesText:
		c.avoid = o.Mark
		if _, err := c.named(c.root); err != nil { // a reader gathers the properties in the same way
			return 0, err
		}
	case ValuesMarked:
		c.avoid, c.style.quote, c.style.raw = o.Mark, o.Mark, true
	}
	f := form{part: arguments}
	if o.Between == "" {
		f.part = inside
	}
	return c.compile(f)
}
