package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/decide/wire"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/sched"
)

// problem is an error as a client sees it.
type problem struct {
	status int
	code   string // as OpenAI names it; empty: null
	param  string // the field that is wrong; empty: null
	text   string
	retry  time.Duration // when to try again; 0: it does not say
	err    error         // what is behind it; the client does not see it
}

func (p *problem) Error() string { return p.text }

func (p *problem) Unwrap() error { return p.err }

func errDraining() *problem {
	return &problem{status: http.StatusServiceUnavailable, code: "server_draining", text: "the server is shutting down", retry: 5 * time.Second}
}

// bad is a request that breaks a rule in a field.
func bad(param, format string, args ...any) *problem {
	return &problem{status: http.StatusBadRequest, param: param, text: param + ": " + fmt.Sprintf(format, args...)}
}

// problemOf says what an error means for the client.
func problemOf(err error) *problem {
	var p *problem
	var busy *engine.ErrBusy
	is := func(targets ...error) bool {
		for _, t := range targets {
			if errors.Is(err, t) {
				return true
			}
		}
		return false
	}
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &busy):
		return &problem{
			status: http.StatusTooManyRequests, code: "rate_limit_exceeded", retry: max(busy.RetryAfter, time.Second), err: err,
			text: fmt.Sprintf("the queue is full: it would hold %d %s, limit %d", busy.Have, busy.Field, busy.Most),
		}
	case is(engine.ErrDraining, engine.ErrClosed):
		p := errDraining()
		p.err = err
		return p
	case is(context.Canceled, context.DeadlineExceeded):
		return &problem{status: statusGone, code: "client_gone", text: "the client went away", err: err}
	case is(engine.ErrSlowReader):
		return &problem{status: http.StatusRequestTimeout, code: "slow_reader", text: "the stream was not read in time", err: err}
	case is(kvcache.ErrFull, kvcache.ErrBusy, kvcache.ErrHeld, sched.ErrDeadline):
		return &problem{status: http.StatusServiceUnavailable, code: "overloaded", text: err.Error(), retry: time.Second, err: err}
	case is(engine.ErrTooLong, kvcache.ErrTooLarge, kvcache.ErrScratch):
		return &problem{status: http.StatusBadRequest, code: "context_length_exceeded", text: err.Error(), err: err}
	case is(engine.ErrRequest, decide.ErrRequest, decide.ErrState, decide.ErrLabels, decide.ErrReasoning, kvcache.ErrNamespace):
		return &problem{status: http.StatusBadRequest, text: err.Error(), err: err}
	}
	return &problem{status: http.StatusInternalServerError, code: "internal_error", text: "internal error", err: err}
}

// form writes the body of an error.
type form func(*problem) []byte

// openAIForm is OpenAI's: an object with message, type, param and code.
func openAIForm(p *problem) []byte {
	kind := "invalid_request_error"
	switch {
	case p.status == http.StatusUnauthorized:
		kind = "authentication_error"
	case p.status == http.StatusForbidden:
		kind = "permission_error"
	case p.status == http.StatusNotFound:
		kind = "not_found_error"
	case p.status == http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case p.status >= 500:
		kind = "server_error"
	}
	null := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	type body struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}
	b, _ := encode(struct { // strings alone: it cannot fail
		Error body `json:"error"`
	}{body{p.text, kind, null(p.param), null(p.code)}})
	return b
}

// dialectForm is that of the speakers of a dialect.
func dialectForm(d wire.Dialect) form {
	if d.Shape == wire.OpenAIShape {
		return openAIForm
	}
	return func(p *problem) []byte {
		err := p.err
		var field *wire.Error
		if !errors.As(err, &field) {
			err = errors.New(p.text) // nothing of what is behind it
		}
		return d.EncodeError(err, p.status)
	}
}

// fail answers with an error, unless the response has begun.
func (x *exchange) fail(err error) {
	p := problemOf(err)
	x.log(slog.String("error", cmp.Or(p.code, "invalid_request")))
	if x.h.opt.prompts {
		x.log(slog.String("refusal", p.text))
	}
	if p.status >= 500 && p.err != nil {
		x.log(slog.String("cause", p.err.Error()))
	}
	if x.w.status != 0 {
		return
	}
	if p.retry > 0 {
		x.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(p.retry.Seconds()))))
	}
	if p.status == http.StatusServiceUnavailable {
		x.w.Header().Set("Connection", "close")
	}
	text := x.form(p)
	_ = x.send(p.status, "application/json", text)
}

// modelError refuses a model that is not served.
func (h *Handler) modelError(name string) error {
	if name == "" || h.serves(name) {
		return nil
	}
	if len(name) > 200 {
		name = strings.ToValidUTF8(name[:200], "") + "..."
	}
	return &problem{
		status: http.StatusNotFound, code: "model_not_found", param: "model",
		text: fmt.Sprintf("the model %q does not exist; this server has %q", name, h.models[0]),
	}
}

// serves reports whether the model goes by a name.
func (h *Handler) serves(name string) bool {
	for _, m := range h.models {
		if m == name || m == "*" {
			return true
		}
	}
	return false
}
