package constrain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

type kind uint8

const (
	kindNull kind = 1 << iota
	kindBool
	kindObject
	kindArray
	kindString
	kindNumber
	kindInteger // as a type: numbers without a fraction, which are kindNumber as values
	kindAll     = kindInteger<<1 - 1
)

// kindOf returns the kinds of a type's name, or none.
func kindOf(name string) kind {
	switch name {
	case "null":
		return kindNull
	case "boolean":
		return kindBool
	case "object":
		return kindObject
	case "array":
		return kindArray
	case "string":
		return kindString
	case "number":
		return kindNumber | kindInteger
	case "integer":
		return kindInteger
	}
	return 0
}

// node is a JSON value that keeps the order of its members and knows where it stands.
type node struct {
	id      int32
	kind    kind
	bool    bool
	text    string // of a string; of a number, as written
	number  *big.Rat
	items   []*node
	members []member
	parent  *node
	name    string // in its parent
}

type member struct {
	name  string
	value *node
}

// limits on documents
const (
	maxDocument = 4 << 20
	maxNesting  = 512
)

// parseJSON reads one document. Errors say at which byte.
func parseJSON(doc []byte) (root *node, count int32, err error) {
	if len(doc) > maxDocument {
		return nil, 0, fmt.Errorf("%w: a schema of %d bytes, limit %d", ErrLimit, len(doc), maxDocument)
	}
	p := &parser{dec: json.NewDecoder(bytes.NewReader(doc))}
	p.dec.UseNumber()
	if !json.Valid(doc) {
		// The decoder's own tokens are laxer than the language; this names the first fault.
		var v json.RawMessage
		err := json.Unmarshal(doc, &v)
		var at *json.SyntaxError
		if errors.As(err, &at) {
			if strings.Contains(at.Error(), "max depth") {
				return nil, 0, fmt.Errorf("%w: schema nested deeper than %d levels", ErrLimit, maxNesting)
			}
			return nil, 0, fmt.Errorf("%w: schema, byte %d: %w", ErrSpec, at.Offset, err)
		}
		return nil, 0, fmt.Errorf("%w: schema: %w", ErrSpec, err)
	}
	root, err = p.value(nil, "", 0)
	return root, p.count, err
}

type parser struct {
	dec   *json.Decoder
	count int32
}

func (p *parser) value(parent *node, name string, depth int) (*node, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("%w: schema nested deeper than %d levels at byte %d", ErrLimit, maxNesting, p.dec.InputOffset())
	}
	tok, err := p.dec.Token()
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("%w: schema, byte %d: %w", ErrSpec, p.dec.InputOffset(), err)
	}
	n := &node{id: p.count, parent: parent, name: name}
	p.count++
	switch v := tok.(type) {
	case nil:
		n.kind = kindNull
	case bool:
		n.kind, n.bool = kindBool, v
	case string:
		n.kind, n.text = kindString, v
	case json.Number:
		n.kind, n.text = kindNumber, v.String()
		if n.number, err = parseNumber(n.text); err != nil {
			return nil, fmt.Errorf("%w, at %s", err, n.pointer())
		}
	case json.Delim:
		if v == '[' {
			n.kind = kindArray
			for p.dec.More() {
				item, err := p.value(n, strconv.Itoa(len(n.items)), depth+1)
				if err != nil {
					return nil, err
				}
				n.items = append(n.items, item)
			}
		} else {
			n.kind = kindObject
			seen := map[string]bool{}
			for p.dec.More() {
				key, err := p.dec.Token()
				if err != nil {
					return nil, fmt.Errorf("%w: schema, byte %d: %w", ErrSpec, p.dec.InputOffset(), err)
				}
				name := key.(string)
				if seen[name] {
					return nil, fmt.Errorf("%w: schema, byte %d: member %q twice", ErrSpec, p.dec.InputOffset(), name)
				}
				seen[name] = true
				value, err := p.value(n, name, depth+1)
				if err != nil {
					return nil, err
				}
				n.members = append(n.members, member{name, value})
			}
		}
		if _, err := p.dec.Token(); err != nil {
			return nil, fmt.Errorf("%w: schema, byte %d: %w", ErrSpec, p.dec.InputOffset(), err)
		}
	}
	return n, nil
}

// parseNumber reads a JSON number of bounded size exactly.
func parseNumber(s string) (*big.Rat, error) {
	digits, exponent := s, ""
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		digits, exponent = s[:i], s[i+1:]
	}
	if len(digits) > maxExponent {
		return nil, fmt.Errorf("%w: a number of %d digits, limit %d", ErrLimit, len(digits), maxExponent)
	}
	if exponent != "" {
		if e, err := strconv.Atoi(exponent); err != nil || e > maxExponent || e < -maxExponent {
			return nil, fmt.Errorf("%w: a number with exponent %.20s, limit %d", ErrLimit, exponent, maxExponent)
		}
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return nil, fmt.Errorf("%w: number %q", ErrSpec, s)
	}
	return r, nil
}

// pointer is the JSON pointer of the value.
func (n *node) pointer() string {
	var parts []string
	for at := n; at.parent != nil; at = at.parent {
		parts = append(parts, strings.NewReplacer("~", "~0", "/", "~1").Replace(at.name))
	}
	slices.Reverse(parts)
	if len(parts) == 0 {
		return "#"
	}
	return "#/" + strings.Join(parts, "/")
}

// get returns a member, or nil.
func (n *node) get(name string) *node {
	for _, m := range n.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// appendJSON appends the value in compact form, whole numbers without a fraction.
func (n *node) appendJSON(dst []byte) []byte {
	s := jsonStyle()
	return s.append(dst, n)
}

// key is a text that two values share exactly when JSON Schema calls them equal: numbers by
// value, objects in any order.
func (n *node) key() string {
	var b strings.Builder
	n.writeKey(&b)
	return b.String()
}

func (n *node) writeKey(b *strings.Builder) {
	switch n.kind {
	case kindNumber:
		b.WriteString(n.number.RatString())
	case kindArray:
		b.WriteByte('[')
		for _, item := range n.items {
			item.writeKey(b)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case kindObject:
		b.WriteByte('{')
		for _, m := range slices.SortedFunc(slices.Values(n.members), func(a, b member) int { return strings.Compare(a.name, b.name) }) {
			b.WriteString(strconv.Quote(m.name))
			m.value.writeKey(b)
			b.WriteByte(',')
		}
		b.WriteByte('}')
	default:
		b.Write(n.appendJSON(nil))
	}
}
