package parse

import (
	"bytes"
	"encoding/json"
	"strings"
)

// functionCalls reads <function=f><parameter=k>value</parameter>…</function>, repeated. One line end on
// each side of a value is layout.
func functionCalls(t toolset, body string) ([]call, bool) {
	rest := strings.TrimSpace(body)
	var out []call
	for rest != "" {
		var ok bool
		if rest, ok = strings.CutPrefix(rest, "<function="); !ok {
			return nil, false
		}
		name, after, ok := strings.Cut(rest, ">")
		if !ok || !isName(name) {
			return nil, false
		}
		var args members
		for {
			rest = strings.TrimSpace(after)
			if rest, ok = strings.CutPrefix(rest, "<parameter="); !ok {
				break
			}
			key, value, ok := strings.Cut(rest, ">")
			if !ok || key == "" || strings.Contains(key, "\n") {
				return nil, false
			}
			if value, after, ok = strings.Cut(value, "</parameter>"); !ok {
				return nil, false
			}
			value = strings.TrimPrefix(value, "\n")
			value = strings.TrimSuffix(value, "\n")
			args.set(key, t.typed(name, key, value))
		}
		rest = strings.TrimSpace(after)
		if more, ok := strings.CutPrefix(rest, "</function>"); ok {
			rest = strings.TrimSpace(more)
		} else if rest != "" { // the last may lack its closing tag
			return nil, false
		}
		out = append(out, call{Name: name, Arguments: args.object()})
	}
	return out, len(out) > 0
}

func isName(s string) bool { return s != "" && !strings.ContainsAny(s, " \t\n<>\"'{}()") }

func openFunction(body []byte) bool {
	return bytes.Count(body, []byte("<parameter=")) > bytes.Count(body, []byte("</parameter>"))
}

// glmCalls reads a name, then <arg_key>k</arg_key><arg_value>value</arg_value> pairs.
func glmCalls(t toolset, body string) ([]call, bool) {
	name, rest, found := strings.Cut(body, "<arg_key>")
	name = strings.TrimSpace(name)
	if !isName(name) {
		return nil, false
	}
	var args members
	for found {
		var key, value string
		var ok bool
		if key, rest, ok = strings.Cut(rest, "</arg_key>"); !ok {
			return nil, false
		}
		if rest, ok = strings.CutPrefix(strings.TrimSpace(rest), "<arg_value>"); !ok {
			return nil, false
		}
		if value, rest, ok = strings.Cut(rest, "</arg_value>"); !ok {
			return nil, false
		}
		key = strings.TrimSpace(key)
		args.set(key, t.typed(name, key, value))
		if rest = strings.TrimSpace(rest); rest == "" {
			break
		}
		if rest, found = strings.CutPrefix(rest, "<arg_key>"); !found {
			return nil, false
		}
	}
	return []call{{Name: name, Arguments: args.object()}}, true
}

func openGLM(body []byte) bool {
	return bytes.Count(body, []byte("<arg_value>")) > bytes.Count(body, []byte("</arg_value>"))
}

const (
	deepSeekBegin = "<｜tool▁call▁begin｜>"
	deepSeekSep   = "<｜tool▁sep｜>"
	deepSeekEnd   = "<｜tool▁call▁end｜>"
)

// deepSeekCalls reads the calls of a section: function<sep>name, then a fenced JSON object, or in later
// versions name<sep>object.
func deepSeekCalls(_ toolset, body string) ([]call, bool) {
	var out []call
	rest := strings.TrimSpace(body)
	for rest != "" {
		one, ok := strings.CutPrefix(rest, deepSeekBegin)
		if !ok {
			return nil, false
		}
		one, rest, _ = strings.Cut(one, deepSeekEnd)
		rest = strings.TrimSpace(rest)
		c, ok := deepSeekCall(one)
		if !ok {
			return nil, false
		}
		out = append(out, c)
	}
	return out, len(out) > 0
}

func deepSeekCall(s string) (call, bool) {
	name, args, ok := strings.Cut(s, deepSeekSep)
	if !ok {
		return call{}, false
	}
	if before, fenced, ok := strings.Cut(args, "```"); ok && !strings.Contains(before, "{") {
		if strings.TrimSpace(before) != "" {
			name = before
		}
		args = strings.TrimPrefix(fenced, "json")
		args = strings.TrimSuffix(strings.TrimSpace(args), "```")
	}
	name = strings.TrimSpace(name)
	obj, ok := object(json.RawMessage(escapeControls(args)))
	return call{Name: name, Arguments: obj}, ok && isName(name)
}

// openDeepSeek reports whether the section ends inside a string of the last call's arguments.
func openDeepSeek(body []byte) bool {
	i := bytes.LastIndex(body, []byte(deepSeekSep))
	if i < 0 {
		return false
	}
	if j := bytes.IndexByte(body[i:], '{'); j >= 0 {
		return openString(body[i+j:])
	}
	return false
}
