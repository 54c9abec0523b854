package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Limits of the bodies that are read here; package wire has the same for decisions.
const (
	maxDepth   = 64
	maxMembers = 1 << 16 // of one object
	maxNested  = 1 << 19 // objects and arrays of a body: each takes far more memory than its text
)

// decode reads a body into v. It refuses what readers of JSON disagree about: bad UTF-8 and keys that
// are there twice. Unknown fields are passed over.
func decode(body []byte, v any) error {
	if err := strict(body); err != nil {
		return &problem{status: 400, code: "json_invalid", text: "the body is no JSON that can be read: " + err.Error()}
	}
	err := json.Unmarshal(body, v)
	var kind *json.UnmarshalTypeError
	var field *problem
	switch {
	case err == nil:
		return nil
	case errors.As(err, &field):
		return field
	case errors.As(err, &kind):
		name := strings.TrimPrefix(kind.Field, "settings.") // the embedded struct's
		if name == "" {
			return &problem{status: 400, text: fmt.Sprintf("the body is a JSON %s, want an object", kind.Value)}
		}
		return bad(name, "%s, want %s", kind.Value, wanted(kind.Type.Kind().String()))
	}
	return &problem{status: 400, text: "the body cannot be read: " + err.Error()}
}

// wanted names a kind of Go as JSON does.
func wanted(kind string) string {
	switch {
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"):
		return "a whole number"
	case strings.HasPrefix(kind, "float"):
		return "a number"
	case kind == "slice":
		return "an array"
	case kind == "struct", kind == "map":
		return "an object"
	case kind == "bool":
		return "true or false"
	}
	return "a " + kind
}

// strict reports what makes a body ambiguous or malformed.
func strict(body []byte) error {
	if !utf8.Valid(body) {
		return errors.New("not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	type level struct {
		keys map[string]bool // nil: an array
		key  bool            // a key comes next
	}
	var open []level
	nested := 0
	for {
		t, err := d.Token()
		if err == io.EOF && len(open) == 0 {
			return errors.New("empty")
		}
		if err != nil {
			return fmt.Errorf("byte %d: %w", d.InputOffset(), err)
		}
		var in *level
		if len(open) > 0 {
			in = &open[len(open)-1]
		}
		if name, ok := t.(string); ok && in != nil && in.keys != nil && in.key {
			if len(open) == 1 {
				name = strings.ToLower(name) // encoding/json does not look at the case
			}
			if in.keys[name] {
				return fmt.Errorf("byte %d: the key %.100q is there twice", d.InputOffset(), name)
			}
			if len(in.keys) == maxMembers {
				return fmt.Errorf("byte %d: an object has over %d keys", d.InputOffset(), maxMembers)
			}
			in.keys[name], in.key = true, false
			continue
		}
		if in != nil {
			in.key = true // after a value, in an object
		}
		if t == json.Delim('{') || t == json.Delim('[') {
			if nested++; nested > maxNested {
				return fmt.Errorf("byte %d: over %d objects and arrays", d.InputOffset(), maxNested)
			}
		}
		switch t {
		case json.Delim('{'):
			open = append(open, level{keys: map[string]bool{}, key: true})
		case json.Delim('['):
			open = append(open, level{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
			if len(open) > 0 {
				open[len(open)-1].key = true
			}
		}
		if len(open) > maxDepth {
			return fmt.Errorf("%d nested levels, limit %d", len(open), maxDepth)
		}
		if len(open) == 0 {
			break
		}
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("byte %d: more after the value", d.InputOffset())
	}
	return nil
}

// texts is the field stop: a string or an array of strings.
type texts []string

// UnmarshalJSON is part of json.Unmarshaler.
func (t *texts) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*t = nil
		if string(b) != "null" {
			*t = texts{one}
		}
		return nil
	}
	var list []string
	if err := json.Unmarshal(b, &list); err != nil {
		return bad("stop", "want a string or an array of strings")
	}
	*t = list
	return nil
}
