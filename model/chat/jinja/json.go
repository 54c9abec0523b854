package jinja

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxNesting bounds how deep data may be nested, in JSON and in what a template builds.
const maxNesting = 500

// ParseJSON reads one JSON value. Objects keep the order of their keys (a repeated key keeps its first
// place and its last value), and every string, keys included, gets the given origin.
func ParseJSON(data []byte, o Origin) (Value, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := decode(d, o, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, dataErr("something follows the value at byte %d", d.InputOffset())
	}
	return v, nil
}

func dataErr(format string, a ...any) error {
	return &Error{Kind: ErrData, Msg: fmt.Sprintf(format, a...)}
}

func decode(d *json.Decoder, o Origin, depth int) (Value, error) {
	if depth > maxNesting {
		return nil, dataErr("JSON nested deeper than %d", maxNesting)
	}
	tok, err := d.Token()
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, dataErr("JSON: %v", err)
	}
	switch tok := tok.(type) {
	case nil:
		return nil, nil
	case bool:
		return tok, nil
	case string:
		return NewText(tok, o), nil
	case json.Number:
		return number(string(tok))
	case json.Delim:
		if tok == '[' {
			l := &List{Items: []Value{}}
			for d.More() {
				v, err := decode(d, o, depth+1)
				if err != nil {
					return nil, err
				}
				l.Items = append(l.Items, v)
			}
			_, err := d.Token()
			return l, jsonErr(err)
		}
		m := &Map{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, jsonErr(err)
			}
			v, err := decode(d, o, depth+1)
			if err != nil {
				return nil, err
			}
			m.put(NewText(key.(string), o), v)
		}
		_, err := d.Token()
		return m, jsonErr(err)
	}
	return nil, dataErr("JSON: unexpected %v", tok)
}

func jsonErr(err error) error {
	if err == nil {
		return nil
	}
	return dataErr("JSON: %v", err)
}

// maxDigits bounds integers: parsing and printing longer ones takes quadratic time.
const maxDigits = 4300

func number(s string) (Value, error) {
	if strings.ContainsAny(s, ".eE") {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil && !math.IsInf(f, 0) {
			return nil, dataErr("number %q: %v", s, err)
		}
		return f, nil
	}
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return i, nil
	}
	if len(s) > maxDigits {
		return nil, dataErr("a number of %d digits, limit %d", len(s), maxDigits)
	}
	b, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return nil, dataErr("number %q", s)
	}
	return b, nil
}

// maxSorted bounds the comparisons of one mapping's keys.
const maxSorted = 1 << 22

// dumper writes JSON as Python's json.dumps does.
type dumper struct {
	b        builder
	ascii    bool
	sortKeys bool
	indent   string
	pretty   bool
	max      int // bytes
	comma    string
	colon    string
}

func (d *dumper) value(v Value, depth int) error {
	if depth > maxNesting {
		return limitErr("nesting of a value for tojson", depth, maxNesting)
	}
	if len(d.b.buf) > d.max {
		return limitErr("bytes of a string", len(d.b.buf), d.max)
	}
	switch v := v.(type) {
	case nil:
		d.b.str("null", 0)
	case bool:
		d.b.str(strconv.FormatBool(v), 0)
	case int64:
		d.b.str(strconv.FormatInt(v, 10), 0)
	case *big.Int:
		d.b.str(v.String(), 0)
	case float64:
		d.b.str(jsonFloat(v), 0)
	case Text:
		d.text(v)
	case *List:
		return d.list(v.Items, depth)
	case *Tuple:
		return d.list(v.Items, depth)
	case *Map:
		return d.mapping(v, depth)
	default:
		return failf("Object of type %s is not JSON serializable", typeName(v))
	}
	return nil
}

func (d *dumper) text(t Text) {
	d.b.str(`"`, 0)
	d.b.add(t.mapRuns(func(s string) string { return jsonEscape(s, d.ascii) }))
	d.b.str(`"`, 0)
}

func jsonEscape(s string, ascii bool) string {
	clean := true
	for i := 0; i < len(s) && clean; i++ {
		clean = s[i] >= 0x20 && s[i] != '"' && s[i] != '\\' && (!ascii || s[i] < 0x7f)
	}
	if clean {
		return s
	}
	out := make([]byte, 0, len(s)+8)
	for i, r := range s {
		switch {
		case r == '"':
			out = append(out, `\"`...)
		case r == '\\':
			out = append(out, `\\`...)
		case r == '\n':
			out = append(out, `\n`...)
		case r == '\r':
			out = append(out, `\r`...)
		case r == '\t':
			out = append(out, `\t`...)
		case r == '\f':
			out = append(out, `\f`...)
		case r == '\b':
			out = append(out, `\b`...)
		case r < 0x20:
			out = fmt.Appendf(out, `\u%04x`, r)
		case ascii && r > 0xffff:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		case ascii && r > 0x7e:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			_, n := utf8.DecodeRuneInString(s[i:])
			out = append(out, s[i:i+n]...)
		}
	}
	return string(out)
}

func (d *dumper) newline(depth int) {
	if d.pretty {
		d.b.str("\n"+strings.Repeat(d.indent, depth), 0)
	}
}

func (d *dumper) list(items []Value, depth int) error {
	if len(items) == 0 {
		d.b.str("[]", 0)
		return nil
	}
	d.b.str("[", 0)
	for i, it := range items {
		if i > 0 {
			d.b.str(d.comma, 0)
		}
		d.newline(depth + 1)
		if err := d.value(it, depth+1); err != nil {
			return err
		}
	}
	d.newline(depth)
	d.b.str("]", 0)
	return nil
}

func (d *dumper) mapping(m *Map, depth int) error {
	if len(m.entries) == 0 {
		d.b.str("{}", 0)
		return nil
	}
	entries := m.entries
	if d.sortKeys {
		var err error
		if entries, err = sortEntries(&comparison{limit: maxSorted}, entries); err != nil {
			return err
		}
	}
	d.b.str("{", 0)
	for i, e := range entries {
		if i > 0 {
			d.b.str(d.comma, 0)
		}
		d.newline(depth + 1)
		key, ok := e.key.(Text)
		if !ok {
			s, err := jsonKey(e.key)
			if err != nil {
				return err
			}
			key = lit(s)
		}
		d.text(key)
		d.b.str(d.colon, 0)
		if err := d.value(e.val, depth+1); err != nil {
			return err
		}
	}
	d.newline(depth)
	d.b.str("}", 0)
	return nil
}

func jsonKey(k Value) (string, error) {
	switch k := k.(type) {
	case nil:
		return "null", nil
	case bool:
		return strconv.FormatBool(k), nil
	case int64:
		return strconv.FormatInt(k, 10), nil
	case *big.Int:
		return k.String(), nil
	case float64:
		return jsonFloat(k), nil
	}
	return "", failf("keys must be str, int, float, bool or None, not %s", typeName(k))
}

func jsonFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return floatString(f)
}
