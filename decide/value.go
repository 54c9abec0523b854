package decide

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Value is what an option stands for in the caller's program: a text or a bool. The zero Value is
// none. Values compare with ==; the text "true" and the bool true are two.
type Value struct {
	text string
	kind valueKind
}

type valueKind uint8

const (
	noValue valueKind = iota
	textValue
	falseValue
	trueValue
)

// ValueOf returns a Value.
func ValueOf[V ~string | ~bool](v V) Value {
	if x := reflect.ValueOf(v); x.Kind() == reflect.String {
		return Value{x.String(), textValue}
	} else if x.Bool() {
		return Value{kind: trueValue}
	}
	return Value{kind: falseValue}
}

// IsZero reports whether there is no value.
func (v Value) IsZero() bool { return v == Value{} }

// Bool returns a bool, and false for ok when the value is none.
func (v Value) Bool() (value, ok bool) {
	return v.kind == trueValue, v.kind == trueValue || v.kind == falseValue
}

// String returns a text as it is, and "true" or "false" for a bool.
func (v Value) String() string {
	switch v.kind {
	case falseValue:
		return "false"
	case trueValue:
		return "true"
	}
	return v.text
}

// MarshalJSON returns a JSON string or bool, or null for no value.
func (v Value) MarshalJSON() ([]byte, error) {
	switch v.kind {
	case noValue:
		return []byte("null"), nil
	case textValue:
		return []byte(quoted(v.text)), nil
	}
	return []byte(v.String()), nil
}

// UnmarshalJSON reads what MarshalJSON writes, and refuses other JSON.
func (v *Value) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "null":
		*v = Value{}
	case "true", "false":
		*v = ValueOf(string(b) == "true")
	default:
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return fmt.Errorf("%w: a value must be a string or a bool: %w", ErrRequest, err)
		}
		*v = ValueOf(s)
	}
	return nil
}

// stands returns what the option stands for.
func (o *Option) stands() Value {
	if o.Value.IsZero() {
		return Value{o.Name, textValue}
	}
	return o.Value
}

// ValueAt returns what option i stands for: its Value, or the text of its name where it has none; of
// a boolean, 0 is true and 1 is false.
func (q *Question) ValueAt(i int) Value {
	if q.Kind == KindBoolean {
		return ValueOf(i == 0)
	}
	return q.Options[i].stands()
}

// checkOptions refuses options that nobody could tell apart. The text "true" and the bool true may
// stand beside each other under these very names, since the model is shown them as JSON then.
func (q *Question) checkOptions(fail func(field, format string, args ...any) error) error {
	type shown struct {
		name string
		bool bool
	}
	names := make(map[shown]int, len(q.Options))
	values := make(map[Value]int, len(q.Options))
	for i := range q.Options {
		o := &q.Options[i]
		field := fmt.Sprintf("Options[%d].Name", i)
		name := norm.NFC.String(strings.TrimSpace(o.Name)) // as many tokenizers see it
		if name == "" {
			return fail(field, "empty")
		}
		if strings.ContainsFunc(name, unicode.IsControl) {
			return fail(field, "%q has a control character", name)
		}
		v := o.stands()
		_, isBool := v.Bool()
		if j, ok := names[shown{name, isBool}]; ok {
			return fail(field, "%q is also that of Options[%d]", name, j)
		}
		if j, ok := names[shown{name, !isBool}]; ok && !(named(o) && named(&q.Options[j])) {
			return fail(field, "%q is also that of Options[%d]", name, j)
		}
		names[shown{name, isBool}] = i
		if q.Kind != KindChoice && !o.Value.IsZero() {
			return fail(fmt.Sprintf("Options[%d].Value", i), "%v; only the options of a choice have one", o.Value)
		}
		if j, ok := values[v]; ok {
			return fail(fmt.Sprintf("Options[%d].Value", i), "%q is also that of Options[%d]", v, j)
		}
		values[v] = i
	}
	return nil
}

// named reports whether the option's name is the text of its value.
func named(o *Option) bool {
	return strings.TrimSpace(o.Name) == strings.TrimSpace(o.stands().String())
}

// asShown returns the question as the model sees it: without values, and with the JSON of all values
// for names where two names are the same.
func (q *Question) asShown() *Question {
	if !slices.ContainsFunc(q.Options, func(o Option) bool { return !o.Value.IsZero() }) {
		return q
	}
	bare := *q
	bare.Options = make([]Option, len(q.Options))
	seen := make(map[string]bool, len(q.Options))
	same := false
	for i, o := range q.Options {
		bare.Options[i] = Option{Name: o.Name, Description: o.Description}
		name := strings.TrimSpace(o.Name)
		same = same || seen[name]
		seen[name] = true
	}
	if !same {
		return &bare
	}
	for i := range bare.Options {
		o := &bare.Options[i]
		if _, ok := q.Options[i].stands().Bool(); !ok {
			o.Name = quoted(strings.TrimSpace(o.Name))
		}
	}
	return &bare
}

// quoted returns a JSON string without escapes for HTML.
func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	return strings.TrimSuffix(b.String(), "\n")
}
