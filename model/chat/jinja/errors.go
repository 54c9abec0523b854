package jinja

import (
	"errors"
	"fmt"
)

// The kinds of failure. Every error of this package is an *Error that wraps one of them.
var (
	// ErrSyntax: the template is malformed, or uses a statement that the sandbox leaves out.
	ErrSyntax = errors.New("jinja: syntax")
	// ErrRender: an expression failed, such as an undefined value used or types that do not fit.
	ErrRender = errors.New("jinja: render")
	// ErrRaised: the template itself refused its input with raise_exception.
	ErrRaised = errors.New("jinja: raised by the template")
	// ErrLimit: the render passed one of its Limits.
	ErrLimit = errors.New("jinja: limit")
	// ErrData: the data given to ParseJSON or Execute is malformed.
	ErrData = errors.New("jinja: data")
)

// Error is a failure at a place in the template.
type Error struct {
	Kind error  // one of the sentinels
	Line int    // from 1; 0 when no place is known
	Col  int    // in characters, from 1
	Msg  string // what Python's Jinja would say, where it says something
}

// Error names the place and the failure.
func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%v: %s", e.Kind, e.Msg)
	}
	return fmt.Sprintf("%v: %d:%d: %s", e.Kind, e.Line, e.Col, e.Msg)
}

// Unwrap returns the sentinel.
func (e *Error) Unwrap() error { return e.Kind }

func failf(format string, a ...any) error {
	return &Error{Kind: ErrRender, Msg: fmt.Sprintf(format, a...)}
}

func limitErr(what string, got, limit int) error {
	return &Error{Kind: ErrLimit, Msg: fmt.Sprintf("%s: %d, limit %d", what, got, limit)}
}

// place fills in the position of an error that has none yet.
func place(err error, src string, pos int32) error {
	e, ok := err.(*Error)
	if !ok || e.Line != 0 {
		return err
	}
	e.Line, e.Col = lineCol(src, int(pos))
	return e
}

func lineCol(src string, pos int) (line, col int) {
	line, col = 1, 1
	for i, r := range src {
		if i >= pos {
			break
		}
		if r == '\n' {
			line, col = line+1, 1
		} else {
			col++
		}
	}
	return line, col
}
