package decide

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxDepth is how deep the values of a JSON state may nest.
const MaxDepth = 64

// compact encodes v without spaces and without HTML escapes. Raw JSON keeps its key order.
func compact(v any) (json.RawMessage, error) {
	if raw, ok := v.(json.RawMessage); ok {
		if err := shallow(raw); err != nil { // package json stops at a depth of its own
			return nil, err
		}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("%w: State: %w", ErrState, err)
	}
	b := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	if at := invalid(b); at < len(b) {
		return nil, fmt.Errorf("%w: State: not UTF-8 from byte %d of %d on", ErrState, at, len(b))
	}
	if number := infinite(b); number != "" {
		return nil, fmt.Errorf("%w: State: the number %.40s is beyond what a float64 holds, %v", ErrState, number, math.MaxFloat64)
	}
	return b, shallow(b)
}

// infinite returns a number of valid JSON that no float64 can hold, or nothing.
func infinite(b []byte) string {
	quoted := false
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch {
		case c == '\\':
			i++ // inside a string: there is none elsewhere
		case c == '"':
			quoted = !quoted
		case !quoted && '0' <= c && c <= '9':
			start := i
			for i < len(b) && (b[i] >= '0' && b[i] <= '9' || b[i] == '.' || b[i]|0x20 == 'e' || b[i] == '+' || b[i] == '-') {
				i++
			}
			number := string(b[start:i])
			i--
			if len(number) > 300 || strings.ContainsAny(number, "eE") {
				if x, _ := strconv.ParseFloat(number, 64); math.IsInf(x, 0) {
					return number
				}
			}
		}
	}
	return ""
}

// shallow refuses JSON that nests too deep.
func shallow(b []byte) error {
	if d := depth(b); d > MaxDepth {
		return fmt.Errorf("%w: State: %d nested levels, limit %d", ErrState, d, MaxDepth)
	}
	return nil
}

// invalid returns where b stops being UTF-8, or its length.
func invalid(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(b)
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
