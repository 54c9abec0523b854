package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// member is one key and value of an object that is written in order. A value is nil, a string,
// bool, int, float64, json.RawMessage, []any or []member.
type member struct {
	key   string
	value any
}

// appendJSON appends a value in compact form. Numbers must be finite.
func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case float64:
		return strconv.AppendFloat(b, v, 'g', -1, 64)
	case string:
		return append(b, quote(v)...)
	case json.RawMessage:
		return append(b, v...)
	case []any:
		b = append(b, '[')
		for i, x := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, x)
		}
		return append(b, ']')
	case []member:
		b = append(b, '{')
		for i, m := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, quote(m.key)...)
			b = append(b, ':')
			b = appendJSON(b, m.value)
		}
		return append(b, '}')
	}
	panic("wire: a value of no JSON type")
}

// quote returns a JSON string without escapes for HTML.
func quote(s string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
