package wire

import (
	"errors"

	"github.com/hotpath-go/hotpath/decide"
)

// Status returns the HTTP status with which the speaker refuses a request: that of its schema
// errors, or 400 for what package decide refuses. Other errors are 0: they are not about the request.
func (d Dialect) Status(err error) int {
	var e *Error
	switch {
	case errors.As(err, &e) && e.Code == CodeLimit && d.limitStatus != 0:
		return d.limitStatus
	case e != nil && d.schemaStatus != 0:
		return d.schemaStatus
	case e != nil, errors.Is(err, decide.ErrRequest), errors.Is(err, decide.ErrState),
		errors.Is(err, decide.ErrLabels), errors.Is(err, decide.ErrReasoning):
		return 400
	}
	return 0
}

// EncodeError writes the body of an error in the speaker's form: for TypeSafe and SGLang a detail,
// which is a list with the location for a status of 422, as FastAPI writes it; elsewhere an error
// with message, type, param and code.
func (d Dialect) EncodeError(err error, status int) []byte {
	var e *Error
	typed := errors.As(err, &e)
	if !d.detail {
		kind := "invalid_request_error"
		if status >= 500 {
			kind = "server_error"
		}
		var param any
		if typed && len(e.Path) > 0 {
			param = e.Where()
		}
		return appendJSON(nil, []member{{"error", []member{
			{"message", err.Error()}, {"type", kind}, {"param", param}, {"code", status},
		}}})
	}
	if !typed || status != 422 {
		return appendJSON(nil, []member{{"detail", []member{{"error_type", errorType(status)}, {"message", err.Error()}}}})
	}
	loc := append([]any{"body"}, e.Path...)
	return appendJSON(nil, []member{{"detail", []any{
		[]member{{"loc", loc}, {"msg", e.Text}, {"type", string(e.Code)}},
	}}})
}

func errorType(status int) string {
	switch {
	case status == 429:
		return "rate_limit"
	case status >= 500:
		return "server_error"
	}
	return "invalid_request"
}
