package parse

import (
	"bytes"
	"encoding/json"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/hotpath-go/hotpath/model/chat"
)

// toolset holds the parameters of the tools by name.
type toolset map[string]parameters

// parameters are a tool's properties in the order of its schema.
type parameters struct {
	root  json.RawMessage
	order []string
	types map[string]schema
	steps int // taken to gather them
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
		p := parameters{root: t.Parameters, types: map[string]schema{}}
		p.gather(t.Parameters, 0)
		out[t.Name] = p
	}
	return out
}

// gather takes the properties of an object's schema, and of those that it combines. One that cannot
// be read leaves the arguments untyped.
func (p *parameters) gather(raw json.RawMessage, depth int) {
	var s struct {
		Properties json.RawMessage   `json:"properties"`
		Ref        string            `json:"$ref"`
		AllOf      []json.RawMessage `json:"allOf"`
		AnyOf      []json.RawMessage `json:"anyOf"`
		OneOf      []json.RawMessage `json:"oneOf"`
	}
	if p.steps++; depth > maxRefs || p.steps > maxSteps || json.Unmarshal(raw, &s) != nil {
		return
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
			if old, ok := p.types[name]; ok {
				sc = schema{AnyOf: []schema{old, sc}}
			} else {
				p.order = append(p.order, name)
			}
			p.types[name] = sc
		}
	}
	if raw, ok := p.resolve(s.Ref); ok {
		p.gather(raw, depth+1)
	}
	for _, list := range [][]json.RawMessage{s.AllOf, s.AnyOf, s.OneOf} {
		for _, raw := range list {
			p.gather(raw, depth+1)
		}
	}
}

// resolve follows a JSON pointer inside the schema.
func (p *parameters) resolve(ref string) (json.RawMessage, bool) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	path, err := url.PathUnescape(path)
	if err != nil {
		return nil, false
	}
	at := p.root
	if path == "" {
		return at, true
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		var list []json.RawMessage
		if json.Unmarshal(at, &list) == nil {
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(list) {
				return nil, false
			}
			at = list[i]
			continue
		}
		var o map[string]json.RawMessage
		if json.Unmarshal(at, &o) != nil || o[part] == nil {
			return nil, false
		}
		at = o[part]
	}
	return at, true
}

// typed returns the JSON of an argument that is written as text: the value of the schema that it is
// written like, else one of a type that it can be read as, else a string.
func (t toolset) typed(tool, name, text string) json.RawMessage {
	p := t[tool]
	if sc, ok := p.types[name]; ok {
		for _, how := range []func(schema, string) (json.RawMessage, bool){listed, other} {
			r := reader{p: p, how: how}
			if v, ok := r.read(sc, text, 0); ok {
				return v
			}
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

// Bounds on how far references are followed, and on the schemas looked at.
const (
	maxRefs  = 8
	maxSteps = 4096
)

// reader asks what a text is under a schema and under those that it combines.
type reader struct {
	p     parameters
	how   func(schema, string) (json.RawMessage, bool)
	steps int
}

func (r *reader) read(s schema, text string, depth int) (json.RawMessage, bool) {
	if r.steps++; depth > maxRefs || r.steps > maxSteps {
		return nil, false
	}
	if v, ok := r.how(s, text); ok {
		return v, true
	}
	if raw, ok := r.p.resolve(s.Ref); ok {
		var next schema
		if json.Unmarshal(raw, &next) == nil {
			if v, ok := r.read(next, text, depth+1); ok {
				return v, true
			}
		}
	}
	for _, list := range [][]schema{s.AnyOf, s.OneOf, s.AllOf} {
		for _, alt := range list {
			if v, ok := r.read(alt, text, depth+1); ok {
				return v, true
			}
		}
	}
	return nil, false
}

// listed finds the text among the values of enum and const.
func listed(s schema, text string) (json.RawMessage, bool) {
	values := s.Enum
	if s.Const != nil {
		values = append(slices.Clip(values), s.Const)
	}
	trimmed := strings.TrimSpace(text)
	var spoken any
	plain := trimmed != "" && trimmed[0] != '"' && json.Unmarshal([]byte(trimmed), &spoken) == nil
	for _, v := range values {
		var value any
		if json.Unmarshal(v, &value) != nil {
			continue
		}
		if str, ok := value.(string); ok && str == text {
			return quote(text), true
		}
		if string(bytes.TrimSpace(v)) == trimmed || plain && reflect.DeepEqual(value, spoken) {
			return v, true
		}
	}
	return nil, false
}

// other reads the text as one of the schema's types but a string.
func other(s schema, text string) (json.RawMessage, bool) {
	trimmed := strings.TrimSpace(text)
	for _, name := range typeNames(s.Type) {
		if v, ok := readAs(name, trimmed); ok {
			return v, true
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

// readAs reads text as a JSON Schema type, which a string is never taken for.
func readAs(name, trimmed string) (json.RawMessage, bool) {
	switch name {
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
