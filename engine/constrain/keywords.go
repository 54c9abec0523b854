package constrain

import (
	"fmt"
	"math/big"
	"net/url"
	"strconv"
	"strings"
)

// facts is what one schema object says by itself.
type facts struct {
	never    bool
	kinds    kind
	enum     []*node // of enum and const; see hasEnum
	enumKeys map[string]bool
	hasEnum  bool
	minLen   int
	maxLen   int // -1: none, as for the other maxima
	patterns []string
	formats  []string

	low, high *bound
	multiples []*big.Rat

	prefix   []*node
	items    *node // nil: anything
	minItems int
	maxItems int

	props         []member
	propPatterns  []member
	additional    *node
	propertyNames *node
	required      []string
	minProps      int
	maxProps      int

	nots                []*node
	ref                 *node
	allOf, anyOf, oneOf []*node
}

// annotation reports whether a keyword constrains nothing.
func annotation(name string) bool {
	switch name {
	case "$schema", "$id", "$anchor", "$dynamicAnchor", "$comment", "$defs", "definitions", "title", "description", "default",
		"examples", "deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType", "contentSchema":
		return true
	}
	return strings.HasPrefix(name, "x-")
}

// dialect reports whether a dialect agrees with 2020-12 on the keywords that are read here.
func dialect(uri string) bool {
	switch strings.TrimSuffix(uri, "#") {
	case "https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2019-09/schema",
		"http://json-schema.org/draft-07/schema", "http://json-schema.org/draft-06/schema":
		return true
	}
	return false
}

// facts reads a schema's keywords, once.
func (c *schemaCompiler) facts(n *node) (*facts, error) {
	if f := c.read[n.id]; f != nil {
		return f, nil
	}
	f := &facts{kinds: kindAll, maxLen: -1, maxItems: -1, maxProps: -1}
	c.read[n.id] = f
	switch n.kind {
	case kindBool:
		f.never = !n.bool
		return f, nil
	case kindObject:
	default:
		return nil, fmt.Errorf("%w: %s: a schema is an object or a boolean", ErrSpec, n.pointer())
	}
	for _, m := range n.members {
		if err := c.keyword(f, n, m.name, m.value); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (c *schemaCompiler) keyword(f *facts, n *node, name string, v *node) (err error) {
	switch name {
	case "type":
		f.kinds, err = types(v)
	case "enum":
		if v.kind != kindArray {
			return wrong(v, "a list of values")
		}
		f.values(v.items)
	case "const":
		f.values([]*node{v})
	case "minLength":
		f.minLen, err = count(v)
	case "maxLength":
		f.maxLen, err = count(v)
	case "minItems":
		f.minItems, err = count(v)
	case "maxItems":
		f.maxItems, err = count(v)
	case "minProperties":
		f.minProps, err = count(v)
	case "maxProperties":
		f.maxProps, err = count(v)
	case "pattern":
		if v.kind != kindString {
			return wrong(v, "a string")
		}
		f.patterns = []string{v.text}
	case "format":
		if v.kind != kindString {
			return wrong(v, "a string")
		}
		if format(v.text) == "" {
			return fmt.Errorf("%w: %s: format %q", ErrUnsupported, v.pointer(), v.text)
		}
		f.formats = []string{v.text}
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		if v.kind != kindNumber {
			return wrong(v, "a number")
		}
		b := &bound{v.number, strings.HasPrefix(name, "exclusive")}
		if strings.HasSuffix(strings.ToLower(name), "minimum") {
			f.low = tighter(f.low, b, true)
		} else {
			f.high = tighter(f.high, b, false)
		}
	case "multipleOf":
		if v.kind != kindNumber || v.number.Sign() <= 0 {
			return wrong(v, "a number above 0")
		}
		f.multiples = []*big.Rat{v.number}
	case "prefixItems":
		f.prefix, err = schemas(v)
	case "items":
		f.items = v
	case "properties":
		f.props, err = members(v)
	case "patternProperties":
		f.propPatterns, err = members(v)
	case "additionalProperties":
		f.additional = v
	case "propertyNames":
		f.propertyNames = v
	case "required":
		if v.kind != kindArray {
			return wrong(v, "a list of strings")
		}
		for _, r := range v.items {
			if r.kind != kindString {
				return wrong(r, "a string")
			}
			f.required = append(f.required, r.text)
		}
	case "$ref":
		f.ref, err = c.resolve(v)
	case "allOf":
		var list []*node
		list, err = schemas(v)
		f.allOf = append(f.allOf, list...)
	case "anyOf":
		f.anyOf, err = schemas(v)
	case "oneOf":
		f.oneOf, err = schemas(v)
	case "not":
		f.nots = []*node{v}
	case "dependentRequired", "dependentSchemas":
		return c.dependent(f, v, name == "dependentRequired")
	case "uniqueItems":
		if v.kind != kindBool {
			return wrong(v, "a boolean")
		}
		if v.bool {
			return fmt.Errorf("%w: %s: keyword %q", ErrUnsupported, v.pointer(), name)
		}
	default:
		if !annotation(name) {
			return fmt.Errorf("%w: %s: keyword %q", ErrUnsupported, v.pointer(), name)
		}
		if name == "$schema" && (v.kind != kindString || !dialect(v.text)) {
			return fmt.Errorf("%w: %s: dialect %q", ErrUnsupported, v.pointer(), v.text)
		}
		if name == "$id" && n.parent != nil {
			return fmt.Errorf("%w: %s: keyword %q inside a schema", ErrUnsupported, v.pointer(), name)
		}
	}
	return err
}

// dependent reads what the presence of a property brings with it, as a choice between no such
// property and the rest.
func (c *schemaCompiler) dependent(f *facts, v *node, required bool) error {
	list, err := members(v)
	if err != nil {
		return err
	}
	object := func(name string, value *node) *node {
		return c.made(&node{kind: kindObject, members: []member{{name, value}}}, v)
	}
	for _, m := range list {
		absent := object("properties", object(m.name, c.made(&node{kind: kindBool}, v)))
		then := m.value
		if required {
			then = object("required", m.value)
		}
		either := c.made(&node{kind: kindArray, items: []*node{absent, then}}, v)
		f.allOf = append(f.allOf, object("anyOf", either))
	}
	return nil
}

// made gives a node that stands in no document an id, and the place of another.
func (c *schemaCompiler) made(n, at *node) *node {
	n.id, n.parent, n.name = c.count, at.parent, at.name
	c.count++
	return n
}

// values narrows the schema to a list of values.
func (f *facts) values(list []*node) {
	keys := make(map[string]bool, len(list))
	kept := []*node{}
	for _, v := range list {
		k := v.key()
		if !keys[k] && (!f.hasEnum || f.enumKeys[k]) {
			keys[k] = true
			kept = append(kept, v)
		}
	}
	f.enum, f.enumKeys, f.hasEnum = kept, keys, true
}

func wrong(v *node, want string) error {
	return fmt.Errorf("%w: %s: want %s", ErrSpec, v.pointer(), want)
}

func types(v *node) (kind, error) {
	list := []*node{v}
	if v.kind == kindArray {
		list = v.items
	}
	var out kind
	for _, t := range list {
		k := kindOf(t.text)
		if t.kind != kindString || k == 0 {
			return 0, wrong(t, "the name of a type")
		}
		out |= k
	}
	if out == 0 {
		return 0, wrong(v, "at least one type")
	}
	return out, nil
}

// count reads a non-negative integer; larger than any limit is as good as maxCount.
func count(v *node) (int, error) {
	if v.kind != kindNumber || !v.number.IsInt() || v.number.Sign() < 0 {
		return 0, wrong(v, "a whole number of at least 0")
	}
	if i := v.number.Num(); i.IsInt64() && i.Int64() < maxCount {
		return int(i.Int64()), nil
	}
	return maxCount, nil
}

const maxCount = 1 << 30

func schemas(v *node) ([]*node, error) {
	if v.kind != kindArray || len(v.items) == 0 {
		return nil, wrong(v, "a list of at least one schema")
	}
	return v.items, nil
}

func members(v *node) ([]member, error) {
	if v.kind != kindObject {
		return nil, wrong(v, "an object of schemas")
	}
	return v.members, nil
}

// tighter returns the bound that allows less.
func tighter(a, b *bound, low bool) *bound {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	c := a.value.Cmp(b.value)
	if !low {
		c = -c
	}
	if c > 0 || c == 0 && a.strict {
		return a
	}
	return b
}

// resolve finds the target of a reference inside the document: a JSON pointer or an anchor.
func (c *schemaCompiler) resolve(v *node) (*node, error) {
	if v.kind != kindString {
		return nil, wrong(v, "a string")
	}
	target, ok := strings.CutPrefix(v.text, "#")
	if !ok {
		if id := c.root.get("$id"); id != nil && id.kind == kindString && id.text != "" {
			base := strings.TrimSuffix(id.text, "#")
			target, ok = strings.CutPrefix(v.text, base)
			if ok && target != "" {
				target, ok = strings.CutPrefix(target, "#")
			}
		}
		if !ok {
			return nil, fmt.Errorf("%w: %s: reference %q outside the schema", ErrUnsupported, v.pointer(), v.text)
		}
	}
	missing := fmt.Errorf("%w: %s: reference %q to nothing", ErrSpec, v.pointer(), v.text)
	target, err := url.PathUnescape(target)
	if err != nil {
		return nil, missing
	}
	if target == "" {
		return c.root, nil
	}
	if target[0] != '/' {
		if n := c.anchors()[target]; n != nil {
			return n, nil
		}
		return nil, missing
	}
	at := c.root
	for part := range strings.SplitSeq(target[1:], "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		var next *node
		if at.kind == kindArray {
			if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(at.items) && strconv.Itoa(i) == part {
				next = at.items[i]
			}
		} else {
			next = at.get(part)
		}
		if next == nil {
			return nil, missing
		}
		at = next
	}
	for up := at; up.parent != nil; up = up.parent {
		if id := up.get("$id"); id != nil {
			return nil, fmt.Errorf("%w: %s: keyword \"$id\" inside a schema", ErrUnsupported, id.pointer())
		}
	}
	return at, nil
}

// anchors finds the schema's $anchor names.
func (c *schemaCompiler) anchors() map[string]*node {
	if c.anchor == nil {
		c.anchor = map[string]*node{}
		var walk func(n *node)
		walk = func(n *node) {
			for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
				if a := n.get(keyword); a != nil && a.kind == kindString {
					c.anchor[a.text] = n
				}
			}
			for _, m := range n.members {
				if m.name != "enum" && m.name != "const" {
					walk(m.value)
				}
			}
			for _, i := range n.items {
				walk(i)
			}
		}
		walk(c.root)
	}
	return c.anchor
}
