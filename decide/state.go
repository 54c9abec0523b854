package decide

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// MaxDepth is how deep the values of a JSON state may nest.
const MaxDepth = 64

// compact encodes v without spaces and without HTML escapes. Raw JSON keeps its key order.
func compact(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("%w: state: %w", ErrState, err)
	}
	b := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	if d := depth(b); d > MaxDepth {
		return nil, fmt.Errorf("%w: state: %d nested levels, limit %d", ErrState, d, MaxDepth)
	}
	return b, nil
}

// depth returns how deep arrays and objects nest in valid JSON.
func depth(b []byte) int {
	deepest, now, quoted := 0, 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest
}
