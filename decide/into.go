package decide

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// ErrType is returned by Into for a type whose fields or tags it cannot turn into questions; the
// message names the field.
var ErrType = errors.New("decide: type cannot be asked for")

// Level is the answer to a score in a struct.
type Level struct {
	Index int     // most probable level, 0 the lowest
	Name  string  // its name
	Score float64 // expected level
}

// Maybe holds the answer to a question that the model may abstain from.
type Maybe[X any] struct {
	Value X    // zero when not Known
	Known bool // false: abstained
}

// Get returns the value, and whether there is one.
func (m Maybe[X]) Get() (X, bool) { return m.Value, m.Known }

// maybe is satisfied by pointers to every Maybe.
type maybe interface{ inner() reflect.Value }

func (m *Maybe[X]) inner() reflect.Value {
	m.Known = true
	return reflect.ValueOf(&m.Value).Elem()
}

// Into asks the questions that the fields of T stand for and returns them answered. T is a struct;
// its exported fields with a decide tag, which is the question's instructions, are asked:
//
//	bool                 a boolean
//	string kinds         a choice of the tag options:"billing,technical=errors and outages"
//	[]string kinds       one boolean for each of the options: those that hold
//	Level                a score over the tag levels:"calm,annoyed,furious"
//	Maybe[any of these]  the same, nothing when abstained
//	a struct             its own fields
//
// A name may be followed by = and a description; where a tag holds a |, that separates the items
// instead of the comma. The tag min:"0.9" is the question's MinConfidence, the tag criteria:"..." its
// Criteria. A question's id is the field's path, as in Customer.Mood.
//
// r.Questions must be empty and r.Plan nil. An abstained answer in a field that is no Maybe makes
// Into return ErrAbstained with the paths of all such fields; those fields are zero, the others are
// set. The Result is returned whenever there is one.
func Into[T any](ctx context.Context, d Decider, r Request) (T, *Result, error) {
	var out T
	if len(r.Questions) > 0 || r.Plan != nil {
		return out, nil, fmt.Errorf("%w: Questions: Into asks those of the type alone", ErrRequest)
	}
	var fields []field
	if err := collect(&fields, reflect.TypeOf(&out).Elem(), "", nil); err != nil {
		return out, nil, err
	}
	if len(fields) == 0 {
		return out, nil, fmt.Errorf("%w: %T has no field with a decide tag", ErrType, out)
	}
	for i := range fields {
		r.Questions = append(r.Questions, fields[i].questions...)
	}
	res, err := d.Decide(ctx, r)
	if err != nil {
		return out, res, err
	}
	if len(res.Answers) != len(r.Questions) {
		return out, res, fmt.Errorf("%w: %d answers to %d questions", ErrRequest, len(res.Answers), len(r.Questions))
	}
	var abstained []string
	at := 0
	for i := range fields {
		f := &fields[i]
		answers := res.Answers[at : at+len(f.questions)]
		at += len(f.questions)
		if !f.set(reflect.ValueOf(&out).Elem().FieldByIndex(f.index), answers) {
			abstained = append(abstained, f.path)
		}
	}
	if abstained != nil {
		return out, res, fmt.Errorf("%w: %s", ErrAbstained, strings.Join(abstained, ", "))
	}
	return out, res, nil
}

// field is a field of the struct and the questions it stands for.
type field struct {
	path      string
	index     []int
	questions []Question
	options   []Option // of a choice, a score or a list
}

var levelType = reflect.TypeFor[Level]()

// collect lists the fields of a struct type that are asked.
func collect(dst *[]field, t reflect.Type, path string, index []int) error {
	if t.Kind() != reflect.Struct {
		return fmt.Errorf("%w: %v is no struct", ErrType, t)
	}
	for i := range t.NumField() {
		sf := t.Field(i)
		f := field{path: path + sf.Name, index: append(append([]int(nil), index...), i)}
		text, asked := sf.Tag.Lookup("decide")
		kind := sf.Type
		if m, ok := reflect.New(kind).Interface().(maybe); ok {
			kind = m.inner().Type()
		} else if !asked && kind.Kind() == reflect.Struct && kind != levelType && sf.IsExported() {
			if err := collect(dst, kind, f.path+".", f.index); err != nil {
				return err
			}
			continue
		}
		if !asked {
			continue
		}
		if !sf.IsExported() {
			return fmt.Errorf("%w: %s: has a decide tag and is not exported", ErrType, f.path)
		}
		if err := f.ask(text, kind, sf.Tag); err != nil {
			return err
		}
		*dst = append(*dst, f)
	}
	return nil
}

// ask fills in the questions of a field of the given kind.
func (f *field) ask(text string, kind reflect.Type, tag reflect.StructTag) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s: %s", ErrType, f.path, fmt.Sprintf(format, args...))
	}
	threshold := 0.0
	if s, ok := tag.Lookup("min"); ok {
		var err error
		if threshold, err = strconv.ParseFloat(s, 64); err != nil || !(threshold >= 0 && threshold <= 1) {
			return fail("min %q, must be 0 to 1", s)
		}
	}
	name := "options"
	if kind == levelType {
		name = "levels"
	}
	list, listed := tag.Lookup(name)
	needs := kind.Kind() != reflect.Bool
	switch {
	case needs && !listed:
		return fail("a %v needs the tag %s", kind, name)
	case !needs && listed:
		return fail("a %v has no %s", kind, name)
	}
	f.options = items(list)
	q := Question{ID: f.path, Instructions: text, Criteria: tag.Get("criteria"), MinConfidence: threshold}
	switch {
	case kind.Kind() == reflect.Bool:
		q.Kind = KindBoolean
	case kind == levelType:
		q.Kind, q.Options = KindScore, f.options
	case kind.Kind() == reflect.String:
		q.Kind, q.Options = KindChoice, f.options
	case kind.Kind() == reflect.Slice && kind.Elem().Kind() == reflect.String:
		for _, o := range f.options {
			each := q
			each.ID, each.Kind = f.path+"."+o.Name, KindBoolean
			each.Instructions = text + " " + o.Name
			if o.Description != "" {
				each.Instructions += " (" + o.Description + ")"
			}
			f.questions = append(f.questions, each)
		}
		return nil
	default:
		return fail("a field of type %v stands for no question", kind)
	}
	f.questions = []Question{q}
	return nil
}

// items splits a tag into options.
func items(tag string) []Option {
	if tag == "" {
		return nil
	}
	separator := ","
	if strings.Contains(tag, "|") {
		separator = "|"
	}
	var list []Option
	for item := range strings.SplitSeq(tag, separator) {
		name, description, _ := strings.Cut(item, "=")
		list = append(list, Option{Name: strings.TrimSpace(name), Description: strings.TrimSpace(description)})
	}
	return list
}

// set stores the answers and reports whether they could be: an abstained answer has a place in a
// Maybe alone.
func (f *field) set(v reflect.Value, answers []Answer) bool {
	m, optional := v.Addr().Interface().(maybe)
	for _, a := range answers {
		if a.Abstained {
			return optional
		}
	}
	if optional {
		v = m.inner()
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(answers[0].Value == "yes")
	case reflect.String:
		v.SetString(answers[0].Value)
	case reflect.Slice:
		for i, a := range answers {
			if a.Value == "yes" {
				v.Set(reflect.Append(v, reflect.ValueOf(f.options[i].Name).Convert(v.Type().Elem())))
			}
		}
	default:
		v.Set(reflect.ValueOf(Level{Index: answers[0].Index, Name: answers[0].Value, Score: answers[0].Score}))
	}
	return true
}
