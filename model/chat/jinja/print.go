package jinja

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
)

// toText is Python's str(v).
func toText(v Value) (Text, error) {
	switch v := v.(type) {
	case Text:
		return v, nil
	case *undefined:
		return Text{}, nil
	}
	return repr(v)
}

// repr is Python's repr(v). Strings inside keep their origins; punctuation is the template's.
func repr(v Value) (Text, error) {
	var b builder
	err := reprTo(&b, v, 0)
	return b.text(false), err
}

// maxPrinted bounds what one value prints as: shared parts make small values print long.
const maxPrinted = 16 << 20

func reprTo(b *builder, v Value, depth int) error {
	if depth > maxNesting {
		return limitErr("nesting of a value to print", depth, maxNesting)
	}
	if len(b.buf) > maxPrinted {
		return limitErr("bytes of a printed value", len(b.buf), maxPrinted)
	}
	switch v := v.(type) {
	case nil:
		b.str("None", 0)
	case bool:
		if v {
			b.str("True", 0)
		} else {
			b.str("False", 0)
		}
	case int64:
		b.str(strconv.FormatInt(v, 10), 0)
	case *big.Int:
		b.str(v.String(), 0)
	case float64:
		b.str(floatString(v), 0)
	case Text:
		quoteTo(b, v)
	case *undefined:
		b.str("Undefined", 0)
	case *List:
		return reprItems(b, "[", "]", v.Items, depth)
	case *Tuple:
		if len(v.Items) == 1 {
			return reprItems(b, "(", ",)", v.Items, depth)
		}
		return reprItems(b, "(", ")", v.Items, depth)
	case *Map:
		return reprMap(b, v, depth)
	case *namespace:
		b.str("<Namespace ", 0)
		if err := reprMap(b, &v.attrs, depth+1); err != nil {
			return err
		}
		b.str(">", 0)
	case *view:
		name := map[byte]string{'k': "dict_keys(", 'v': "dict_values(", 'i': "dict_items("}[v.kind]
		b.str(name, 0)
		if err := reprItems(b, "[", "]", v.items(), depth+1); err != nil {
			return err
		}
		b.str(")", 0)
	case *rangeValue:
		if v.step == 1 {
			b.str(fmt.Sprintf("range(%d, %d)", v.start, v.stop), 0)
		} else {
			b.str(fmt.Sprintf("range(%d, %d, %d)", v.start, v.stop, v.step), 0)
		}
	case *loopVar:
		b.str(fmt.Sprintf("<LoopContext %d/%d>", v.i+1, len(v.items)), 0)
	case *macro:
		b.str("<Macro '"+v.def.name+"'>", 0)
	case *function:
		b.str("<function "+v.name+">", 0)
	default:
		b.str("<"+typeName(v)+" object>", 0)
	}
	return nil
}

func reprItems(b *builder, open, closing string, items []Value, depth int) error {
	b.str(open, 0)
	for i, it := range items {
		if i > 0 {
			b.str(", ", 0)
		}
		if err := reprTo(b, it, depth+1); err != nil {
			return err
		}
	}
	b.str(closing, 0)
	return nil
}

func reprMap(b *builder, m *Map, depth int) error {
	b.str("{", 0)
	for i, e := range m.entries {
		if i > 0 {
			b.str(", ", 0)
		}
		if err := reprTo(b, e.key, depth+1); err != nil {
			return err
		}
		b.str(": ", 0)
		if err := reprTo(b, e.val, depth+1); err != nil {
			return err
		}
	}
	b.str("}", 0)
	return nil
}

// quoteTo writes a string as Python would: in single quotes unless it holds some and no double ones.
func quoteTo(b *builder, t Text) {
	quote := "'"
	if strings.Contains(t.s, "'") && !strings.Contains(t.s, `"`) {
		quote = `"`
	}
	b.str(quote, 0)
	b.add(t.mapRuns(func(s string) string { return pyEscape(s, rune(quote[0])) }))
	b.str(quote, 0)
}

func pyEscape(s string, quote rune) string {
	var out strings.Builder
	for i, r := range s {
		switch {
		case r == quote || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\r':
			out.WriteString(`\r`)
		case r == '\t':
			out.WriteString(`\t`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&out, `\x%02x`, r)
		case r < 0x7f:
			out.WriteRune(r)
		case r == unicode.ReplacementChar && s[i] != 0xef:
			fmt.Fprintf(&out, `\x%02x`, s[i]) // a byte that is not UTF-8
		case pyPrintable(r):
			out.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(&out, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			fmt.Fprintf(&out, `\U%08x`, r)
		}
	}
	return out.String()
}

// pyPrintable is str.isprintable: everything but controls, formats, surrogates, unassigned, private
// use, and separators other than the space.
func pyPrintable(r rune) bool { return r == ' ' || unicode.IsPrint(r) }

// floatString is Python's repr of a float: the shortest digits that round-trip, with an exponent
// below 1e-4 and from 1e16 on.
func floatString(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case f == 0:
		if math.Signbit(f) {
			return "-0.0"
		}
		return "0.0"
	}
	if a := math.Abs(f); a < 1e-4 || a >= 1e16 {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
