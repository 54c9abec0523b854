package parse

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// jsonCalls reads one call object, a list of them, or several one after the other.
func jsonCalls(_ toolset, body string) ([]call, bool) {
	d := json.NewDecoder(strings.NewReader(escapeControls(body)))
	var out []call
	for {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return out, err == io.EOF && len(out) > 0
		}
		items := []json.RawMessage{raw}
		if raw[0] == '[' {
			if json.Unmarshal(raw, &items) != nil {
				return nil, false
			}
		}
		for _, it := range items {
			c, ok := jsonCall(it)
			if !ok {
				return nil, false
			}
			out = append(out, c)
		}
	}
}

// jsonCall reads {"name": …, "arguments" or "parameters": …, "id": …}, also inside {"function": …}.
func jsonCall(raw json.RawMessage) (call, bool) {
	var o struct {
		Name, ID                        string
		Arguments, Parameters, Function json.RawMessage
	}
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &o) != nil {
		return call{}, false
	}
	if o.Name == "" && len(o.Function) > 0 {
		if o.Function[0] == '{' {
			c, ok := jsonCall(o.Function)
			if c.ID == "" {
				c.ID = o.ID
			}
			return c, ok
		}
		if json.Unmarshal(o.Function, &o.Name) != nil {
			return call{}, false
		}
	}
	args := o.Arguments
	if args == nil {
		args = o.Parameters
	}
	args, ok := object(args)
	return call{ID: o.ID, Name: o.Name, Arguments: args}, ok && o.Name != ""
}

// object returns the arguments as a JSON object: nothing and null are the empty one, and a string is
// taken for what it holds.
func object(raw json.RawMessage) (json.RawMessage, bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}"), true
	}
	if raw[0] == '"' {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return nil, false
		}
		raw = bytes.TrimSpace([]byte(s))
		if len(raw) == 0 {
			return json.RawMessage("{}"), true
		}
	}
	if raw[0] != '{' || !json.Valid(raw) {
		return nil, false
	}
	return bytes.Clone(raw), true
}

// escapeControls mends line ends and other control characters that models leave raw in strings.
func escapeControls(s string) string {
	var out []byte
	inside, esc := false, false
	for i := 0; i < len(s); i++ {
		c := s[i]
		if inside && c < 0x20 && !esc {
			if out == nil {
				out = append(make([]byte, 0, len(s)+16), s[:i]...)
			}
			out = append(out, escaped(c)...)
			continue
		}
		switch {
		case esc:
			esc = false
		case inside && c == '\\':
			esc = true
		case c == '"':
			inside = !inside
		}
		if out != nil {
			out = append(out, c)
		}
	}
	if out == nil {
		return s
	}
	return string(out)
}

func escaped(c byte) string {
	switch c {
	case '\n':
		return `\n`
	case '\t':
		return `\t`
	case '\r':
		return `\r`
	}
	return fmt.Sprintf(`\u%04x`, c)
}

// plausibleJSON reports whether an object may be a call, going by its first key.
func plausibleJSON(body []byte) bool {
	rest := bytes.TrimLeft(body, " \t\n")
	if len(rest) == 0 {
		return true
	}
	if rest[0] != '{' {
		return false
	}
	rest = bytes.TrimLeft(rest[1:], " \t\n")
	for _, key := range []string{`"name"`, `"type"`, `"id"`, `"function"`, `"parameters"`, `"arguments"`} {
		if n := min(len(rest), len(key)); string(rest[:n]) == key[:n] {
			return true
		}
	}
	return false
}

// scanMistral reads what follows [TOOL_CALLS]: a list of call objects, or name{arguments}, with
// [CALL_ID]id or [ARGS] between in some versions.
func scanMistral(p *Parser, body []byte, final bool) (int, []call, verdict) {
	lead := len(body) - len(bytes.TrimLeft(body, " \n"))
	undecided := func() (int, []call, verdict) {
		if final {
			return len(body), nil, no
		}
		return 0, nil, more
	}
	if lead == len(body) {
		return undecided()
	}
	start := lead
	if body[lead] != '[' {
		const longest = 256
		brace := bytes.IndexByte(body, '{')
		if n := bytes.IndexAny(body[lead:], " \n"); brace < 0 && (n >= 0 || len(body) > longest) || brace >= 0 && n >= 0 && lead+n < brace || brace > longest {
			return 0, nil, no
		}
		if brace < 0 {
			return undecided()
		}
		start = brace
	}
	p.scan.i = max(p.scan.i, start)
	if !p.scan.advance(body, len(body), jsonQuotes) {
		return undecided()
	}
	end := p.scan.i
	if start == lead {
		calls, ok := jsonCalls(p.tools, string(body[lead:end]))
		if !ok {
			return end, nil, no
		}
		return end, calls, yes
	}
	head := string(body[lead:start])
	head = strings.TrimSuffix(head, "[ARGS]")
	name, id, _ := strings.Cut(head, "[CALL_ID]")
	args, ok := object(json.RawMessage(escapeControls(string(body[start:end]))))
	if !ok || name == "" || strings.ContainsAny(name, "[]\"") {
		return end, nil, no
	}
	return end, []call{{ID: id, Name: name, Arguments: args}}, yes
}
