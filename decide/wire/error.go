package wire

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var (
	// ErrBody is wrapped by every Error: a body that is no request or response of the shape.
	ErrBody = errors.New("wire: bad body")
	// ErrShape is returned by EncodeRequest for a request that the shape has no words for, and by
	// EncodeResponse for a result that does not answer the call. The message names the field.
	ErrShape = errors.New("wire: no words for it")
)

// Code says what is wrong with a body, in the words that FastAPI servers use for it.
type Code string

// The codes.
const (
	CodeSyntax  Code = "json_invalid"    // not JSON, or JSON that is read differently by different readers
	CodeMissing Code = "missing"         // a required field
	CodeUnknown Code = "extra_forbidden" // a field that the speaker refuses
	CodeType    Code = "type_error"      // a value of another type
	CodeValue   Code = "value_error"     // a value that is not allowed
	CodeLimit   Code = "limit"           // too many, too few, too long, too deep: Got and Limit say by how much
)

// Error says what is wrong with a body, and where.
type Error struct {
	Path []any // keys (string) and indexes (int) from the root of the body; empty: the body itself
	Code Code
	Text string // what is wrong, with both numbers
	// Got and Limit are the two numbers of CodeLimit.
	Got, Limit int
}

// Error returns the path and what is wrong there.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(ErrBody.Error())
	b.WriteString(": ")
	if len(e.Path) > 0 {
		b.WriteString(e.Where())
		b.WriteString(": ")
	}
	b.WriteString(e.Text)
	return b.String()
}

// Where returns the path as text, such as questions.team.criteria or questions[2].choices.
func (e *Error) Where() string {
	var b strings.Builder
	for _, step := range e.Path {
		switch step := step.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(step) + "]")
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step)
		}
	}
	return b.String()
}

// Unwrap returns ErrBody.
func (e *Error) Unwrap() error { return ErrBody }

// trail is a path under way, from its end to the root.
type trail struct {
	up   *trail
	step any
}

func (t *trail) then(step any) *trail { return &trail{t, step} }

func (t *trail) path() []any {
	if t == nil {
		return nil
	}
	return append(t.up.path(), t.step)
}

func (n node) fail(code Code, format string, args ...any) error {
	return &Error{Path: n.at.path(), Code: code, Text: fmt.Sprintf(format, args...)}
}

// limit refuses a count outside least to most; most 0 is no upper limit.
func (n node) limit(what string, got, least, most int) error {
	e := &Error{Path: n.at.path(), Code: CodeLimit, Got: got}
	switch {
	case got < least:
		e.Limit, e.Text = least, fmt.Sprintf("%d %s, at least %d", got, what, least)
	case most > 0 && got > most:
		e.Limit, e.Text = most, fmt.Sprintf("%d %s, limit %d", got, what, most)
	default:
		return nil
	}
	return e
}
