package constrain

import (
	"fmt"
	"math/big"
	"slices"
	"unicode/utf8"
)

// maxChecks bounds the work of checking the values of enum and const.
const maxChecks = 1 << 20

// valid reports whether a value of the schema document satisfies a set of schemas. It is what
// decides which values of an enum stay.
func (c *schemaCompiler) valid(items []item, v *node, depth int) (bool, error) {
	if c.checks++; c.checks > maxChecks || depth > 4*maxNesting {
		return false, fmt.Errorf("%w: checking the values of enum and const takes more than %d steps", ErrLimit, maxChecks)
	}
	owns, groups, err := c.expand(items)
	if err != nil {
		return false, err
	}
	for _, o := range owns {
		f, err := c.facts(o.n)
		if err != nil {
			return false, err
		}
		if ok, err := c.holds(f, v, depth); !ok || err != nil {
			return false, err
		}
	}
	for _, g := range groups {
		f, err := c.facts(g.n)
		if err != nil {
			return false, err
		}
		list, found := f.anyOf, 0
		if g.part == partOne {
			list = f.oneOf
		}
		for _, a := range list {
			ok, err := c.valid(of(a), v, depth+1)
			if err != nil {
				return false, err
			}
			if ok {
				found++
			}
		}
		if found == 0 || g.part == partOne && found > 1 {
			return false, nil
		}
	}
	return true, nil
}

// holds checks a value against one schema's own keywords.
func (c *schemaCompiler) holds(f *facts, v *node, depth int) (bool, error) {
	k := v.kind
	if k == kindNumber && v.number.IsInt() {
		k |= kindInteger
	}
	if f.never || f.kinds&k == 0 || f.hasEnum && !f.enumKeys[v.key()] {
		return false, nil
	}
	for _, not := range f.nots {
		if ok, err := c.valid(of(not), v, depth+1); ok || err != nil {
			return false, err
		}
	}
	switch v.kind {
	case kindNumber:
		if b := f.low; b != nil && (v.number.Cmp(b.value) < 0 || b.strict && v.number.Cmp(b.value) == 0) {
			return false, nil
		}
		if b := f.high; b != nil && (v.number.Cmp(b.value) > 0 || b.strict && v.number.Cmp(b.value) == 0) {
			return false, nil
		}
		for _, m := range f.multiples {
			if !new(big.Rat).Quo(v.number, m).IsInt() {
				return false, nil
			}
		}
	case kindString:
		if n := utf8.RuneCountInString(v.text); n < f.minLen || f.maxLen >= 0 && n > f.maxLen {
			return false, nil
		}
		d, _, _, err := c.content([]*facts{{patterns: f.patterns, formats: f.formats, maxLen: -1}}, false)
		return err == nil && (d == nil || d.matches(jsonText(v.text))), err
	case kindArray:
		if len(v.items) < f.minItems || f.maxItems >= 0 && len(v.items) > f.maxItems {
			return false, nil
		}
		for i, x := range v.items {
			schema := f.items
			if i < len(f.prefix) {
				schema = f.prefix[i]
			}
			if ok, err := c.valid(of(schema), x, depth+1); !ok || err != nil {
				return false, err
			}
		}
	case kindObject:
		return c.holdsObject(f, v, depth)
	}
	return true, nil
}

func (c *schemaCompiler) holdsObject(f *facts, v *node, depth int) (bool, error) {
	if len(v.members) < f.minProps || f.maxProps >= 0 && len(v.members) > f.maxProps {
		return false, nil
	}
	for _, name := range f.required {
		if !slices.ContainsFunc(v.members, func(m member) bool { return m.name == name }) {
			return false, nil
		}
	}
	for _, m := range v.members {
		matched := map[string]bool{}
		for _, p := range f.propPatterns {
			ok, err := c.matches(p.name, m.name)
			if err != nil {
				return false, err
			}
			matched[p.name] = ok
		}
		if ok, err := c.valid(f.value(&m.name, matched), m.value, depth+1); !ok || err != nil {
			return false, err
		}
		if f.propertyNames != nil {
			if ok, err := c.valid(of(f.propertyNames), &node{kind: kindString, text: m.name}, depth+1); !ok || err != nil {
				return false, err
			}
		}
	}
	return true, nil
}
