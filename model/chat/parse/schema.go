package parse

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/hotpath-go/hotpath/model/chat"
)

// toolset holds the parameters of the tools by name.
type toolset map[string]parameters

// parameters are a tool's properties in the order of its schema.
type parameters struct {
	order []string
	types map[string]schema
	defs  map[string]json.RawMessage
}

// schema is the part of a JSON Schema that says how a text is to be read.
type schema struct {
	Ref   string            `json:"$ref"`
	Type  json.RawMessage   `json:"type"`
	Enum  []json.RawMessage `json:"enum"`
	Const json.RawMessage   `json:"const"`
	AnyOf []schema          `json:"anyOf"`
	OneOf []schema          `json:"oneOf"`
	AllOf []schema          `json:"allOf"`
}

func newToolset(tools []chat.Tool) toolset {
	out := toolset{}
	for _, t := range tools {
		var s struct {
			Properties json.RawMessage            `json:"properties"`
			Defs       map[string]json.RawMessage `json:"$defs"`
			Old        map[string]json.RawMessage `json:"definitions"`
		}
		_ = json.Unmarshal(t.Parameters, &s) // a schema that cannot be read leaves the arguments untyped
		p := parameters{types: map[string]schema{}, defs: map[string]json.RawMessage{}}
		for k, v := range s.Defs {
			p.defs["#/$defs/"+k] = v
		}
		for k, v := range s.Old {
			p.defs["#/definitions/"+k] = v
		}
		d := json.NewDecoder(bytes.NewReader(s.Properties))
		if tok, err := d.Token(); err == nil && tok == json.Delim('{') {
			for d.More() {
				key, err := d.Token()
				if err != nil {
					break
				}
				var raw json.RawMessage
				if d.Decode(&raw) != nil {
					break
				}
				var sc schema
				_ = json.Unmarshal(raw, &sc)
				name := key.(string)
				p.order = append(p.order, name)
				p.types[name] = sc
			}
		}
		out[t.Name] = p
	}
	return out
}

// typed returns the JSON of an argument that is written as text.
func (t toolset) typed(tool, name, text string) json.RawMessage {
	p := t[tool]
	if sc, ok := p.types[name]; ok {
		if v, ok := p.read(sc, text, 0); ok {
			return v
		}
	}
	return quote(text)
}

func quote(s string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

const maxRefs = 8

// read gives the text the first type of the schema that it fits; a string comes last.
func (p parameters) read(s schema, text string, depth int) (json.RawMessage, bool) {
	if depth > maxRefs {
		return nil, false
	}
	if s.Ref != "" {
		raw, ok := p.defs[s.Ref]
		var next schema
		if !ok || json.Unmarshal(raw, &next) != nil {
			return nil, false
		}
		return p.read(next, text, depth+1)
	}
	trimmed := strings.TrimSpace(text)
	values := s.Enum
	if s.Const != nil {
		values = append(values, s.Const)
	}
	for _, v := range values {
		var str string
		if json.Unmarshal(v, &str) == nil && str == text {
			return quote(text), true
		}
		if string(bytes.TrimSpace(v)) == trimmed {
			return v, true
		}
	}
	types := typeNames(s.Type)
	slices.SortStableFunc(types, func(a, b string) int { return rank(a) - rank(b) })
	for _, name := range types {
		if v, ok := readAs(name, text, trimmed); ok {
			return v, true
		}
	}
	for _, list := range [][]schema{s.AnyOf, s.OneOf, s.AllOf} {
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b schema) int { return rankOf(a) - rankOf(b) })
		for _, alt := range list {
			if v, ok := p.read(alt, text, depth+1); ok {
				return v, true
			}
		}
	}
	return nil, false
}

func typeNames(raw json.RawMessage) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		return []string{one}
	}
	var many []string
	_ = json.Unmarshal(raw, &many)
	return many
}

func rank(name string) int {
	if name == "string" {
		return 1
	}
	return 0
}

func rankOf(s schema) int {
	r := 0
	for _, n := range typeNames(s.Type) {
		r = max(r, rank(n))
	}
	return r
}

// readAs reads text as a JSON Schema type.
func readAs(name, text, trimmed string) (json.RawMessage, bool) {
	switch name {
	case "string":
		return quote(text), true
	case "integer":
		if isInteger(trimmed) {
			return json.RawMessage(trimmed), true
		}
		if f, err := strconv.ParseFloat(trimmed, 64); err == nil && f == float64(int64(f)) && json.Valid([]byte(trimmed)) {
			return json.RawMessage(strconv.FormatInt(int64(f), 10)), true
		}
	case "number":
		if _, err := strconv.ParseFloat(trimmed, 64); err == nil && json.Valid([]byte(trimmed)) {
			return json.RawMessage(trimmed), true
		}
	case "boolean":
		switch strings.ToLower(trimmed) {
		case "true", "false":
			return json.RawMessage(strings.ToLower(trimmed)), true
		}
	case "null":
		switch trimmed {
		case "null", "None":
			return json.RawMessage("null"), true
		}
	case "array", "object":
		want := byte('[')
		if name == "object" {
			want = '{'
		}
		if trimmed == "" || trimmed[0] != want {
			return nil, false
		}
		if fixed := escapeControls(trimmed); json.Valid([]byte(fixed)) {
			return json.RawMessage(fixed), true
		}
		py := python{s: trimmed}
		if v, ok := py.value(0); ok && py.end() {
			return v, true
		}
	}
	return nil, false
}

func isInteger(s string) bool {
	s = strings.TrimPrefix(s, "-")
	return s != "" && strings.Trim(s, "0123456789") == "" && (s == "0" || s[0] != '0')
}

// members collects the arguments of a call in order; a repeated name keeps its first place and last value.
type members struct {
	names  []string
	values []json.RawMessage
}

func (m *members) set(name string, v json.RawMessage) {
	if i := slices.Index(m.names, name); i >= 0 {
		m.values[i] = v
		return
	}
	m.names, m.values = append(m.names, name), append(m.values, v)
}

func (m *members) object() json.RawMessage {
	out := []byte{'{'}
	for i, n := range m.names {
		if i > 0 {
			out = append(out, ", "...)
		}
		out = append(out, quote(n)...)
		out = append(out, ": "...)
		out = append(out, m.values[i]...)
	}
	return append(out, '}')
}
