package parse

import (
	"encoding/json"
	"slices"
	"strings"
)

// valueEnd returns where a value ends: at the closing tag that one of the texts which may come next
// follows, or nothing. A value may hold the tag otherwise. -1: it does not end.
func valueEnd(s, tag string, next ...string) int {
	for from := 0; ; {
		i := strings.Index(s[from:], tag)
		if i < 0 {
			return -1
		}
		i += from
		from = i + len(tag)
		rest := strings.TrimLeft(s[from:], " \t\r\n")
		if rest == "" || slices.ContainsFunc(next, func(n string) bool { return strings.HasPrefix(rest, n) }) {
			return i
		}
	}
}

// inValue reports whether a body ends inside a value.
func inValue(body, open, tag string, next ...string) bool {
	for {
		_, value, ok := strings.Cut(body, open)
		if !ok {
			return false
		}
		end := valueEnd(value, tag, next...)
		if end < 0 {
			return true
		}
		body = value[end+len(tag):]
	}
}

const (
	paramOpen  = "<parameter="
	paramClose = "</parameter>"
	funcClose  = "</function>"
	keyOpen    = "<arg_key>"
	keyClose   = "</arg_key>"
	valueOpen  = "<arg_value>"
	valueClose = "</arg_value>"
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
			if rest, ok = strings.CutPrefix(rest, paramOpen); !ok {
				break
			}
			key, value, ok := strings.Cut(rest, ">")
			if !ok || key == "" || strings.Contains(key, "\n") {
				return nil, false
			}
			end := valueEnd(value, paramClose, paramOpen, funcClose)
			if end < 0 {
				return nil, false
			}
			value, after = value[:end], value[end+len(paramClose):]
			value = strings.TrimPrefix(value, "\n")
			value = strings.TrimSuffix(value, "\n")
			args.set(key, t.typed(name, key, value))
		}
		rest = strings.TrimSpace(after)
		if more, ok := strings.CutPrefix(rest, funcClose); ok {
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
	return inValue(string(body), paramOpen, paramClose, paramOpen, funcClose)
}

// glmCalls reads a name, then <arg_key>k</arg_key><arg_value>value</arg_value> pairs.
func glmCalls(t toolset, body string) ([]call, bool) {
	name, rest, found := strings.Cut(body, keyOpen)
	name = strings.TrimSpace(name)
	if !isName(name) {
		return nil, false
	}
	var args members
	for found {
		var key string
		var ok bool
		if key, rest, ok = strings.Cut(rest, keyClose); !ok {
			return nil, false
		}
		if rest, ok = strings.CutPrefix(strings.TrimSpace(rest), valueOpen); !ok {
			return nil, false
		}
		end := valueEnd(rest, valueClose, keyOpen)
		if end < 0 {
			return nil, false
		}
		key = strings.TrimSpace(key)
		args.set(key, t.typed(name, key, rest[:end]))
		rest = rest[end+len(valueClose):]
		if rest = strings.TrimSpace(rest); rest == "" {
			break
		}
		if rest, found = strings.CutPrefix(rest, keyOpen); !found {
			return nil, false
		}
	}
	return []call{{Name: name, Arguments: args.object()}}, true
}

func openGLM(body []byte) bool {
	return inValue(string(body), valueOpen, valueClose, keyOpen)
}

const (
	deepSeekBegin = "<｜tool▁call▁begin｜>"
	deepSeekSep   = "<｜tool▁sep｜>"
	deepSeekEnd   = "<｜tool▁call▁end｜>"
)

// deepSeekCalls reads the calls of a section: function<sep>name, then a fenced JSON object, or in later
// versions name<sep>object. A call ends where its object does: markers inside are text.
func deepSeekCalls(_ toolset, body string) ([]call, bool) {
	var out []call
	rest := strings.TrimSpace(body)
	for rest != "" {
		one, ok := strings.CutPrefix(rest, deepSeekBegin)
		if !ok {
			return nil, false
		}
		end, _ := deepSeekObject(one)
		tail := one[end:]
		last, after, _ := strings.Cut(tail, deepSeekEnd)
		c, ok := deepSeekCall(one[:end] + last)
		if !ok {
			return nil, false
		}
		out = append(out, c)
		rest = strings.TrimSpace(after)
	}
	return out, len(out) > 0
}

// deepSeekObject returns the end of the object that holds a call's arguments, 0 where there is none
// before the call ends, and whether the text ends inside a string of it.
func deepSeekObject(s string) (end int, inside bool) {
	sep := strings.Index(s, deepSeekSep)
	if sep < 0 {
		return 0, false
	}
	open := strings.IndexByte(s[sep:], '{')
	if stop := strings.Index(s[sep:], deepSeekEnd); open < 0 || stop >= 0 && stop < open {
		return 0, false
	}
	var t tracker
	if !t.advance([]byte(s[sep+open:]), len(s)-sep-open, jsonQuotes) {
		return 0, t.quote != 0
	}
	return sep + open + t.i, false
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

// openDeepSeek reports whether the section ends inside a string of a call's arguments.
func openDeepSeek(body []byte) bool {
	s := string(body)
	for {
		end, inside := deepSeekObject(s)
		if inside || end == 0 {
			return inside
		}
		s = s[end:]
	}
}
