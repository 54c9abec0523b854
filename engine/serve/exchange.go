package serve

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

// exchange is a request and its response under way. It belongs to the request's goroutine.
type exchange struct {
	h     *Handler
	w     *response
	r     *http.Request
	begun time.Time
	route *route // nil: no such path or method
	form  form   // of errors
	id    string
	key   *Key // nil: none was needed
	attrs []slog.Attr
}

// response remembers what was sent.
type response struct {
	http.ResponseWriter
	status int // 0: nothing yet
}

func (w *response) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// goodID reports whether a request id of the client's can be kept: 1 to 128 of A-Z a-z 0-9 . _ -
func goodID(s string) bool { return len(s) <= 128 && plain(s) }

// plain reports whether a text is one or more of A-Z a-z 0-9 . _ -
func plain(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return s != ""
}

// goodTrace reports whether a traceparent is one as W3C writes them.
func goodTrace(s string) bool {
	parts := strings.Split(s, "-")
	if len(parts) != 4 {
		return false
	}
	for i, n := range []int{2, 32, 16, 2} {
		if len(parts[i]) != n || strings.Trim(parts[i], "0123456789abcdef") != "" {
			return false
		}
	}
	return true
}

func randomID() string {
	var b [12]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func (h *Handler) begin(w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{h: h, w: &response{ResponseWriter: w}, begun: time.Now(), form: openAIForm}
	x.r = withExchange(r, x)
	if x.id = r.Header.Get("X-Request-Id"); !goodID(x.id) {
		x.id = "req-" + randomID()
	}
	x.w.Header().Set("X-Request-Id", x.id)
	if r.URL.Path == "/v1/systemone" {
		x.w.Header().Set("X-TypeSafe-Request-Id", x.id) // where its SDKs look
	}
	x.w.Header().Set("X-Content-Type-Options", "nosniff")
	if x.route = h.methods(r.URL.Path)[r.Method]; x.route != nil {
		x.form = x.route.form
	}
	h.metrics.running.Inc()
	return x
}

// statusGone is written to the log for a client that went away.
const statusGone = 499

// end logs the exchange. A panic below becomes a response of 500.
func (x *exchange) end() {
	p := recover()
	if p == http.ErrAbortHandler {
		defer panic(p)
	} else if p != nil {
		x.attrs = append(x.attrs, slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
		x.fail(&problem{status: http.StatusInternalServerError, code: "internal_error", text: "internal error", err: errors.New("panic")})
	}
	took := time.Since(x.begun)
	status, name := x.w.status, "none"
	if status == 0 {
		status = statusGone
	}
	if x.route != nil {
		name = x.route.name
	}
	x.h.metrics.running.Dec()
	x.h.metrics.observe(name, status, took)
	attrs := []slog.Attr{
		slog.String("id", x.id), slog.String("route", name), slog.Int("status", status), slog.Duration("took", took),
	}
	if x.key != nil {
		attrs = append(attrs, slog.String("key", x.key.Name))
	}
	if t := x.r.Header.Get("traceparent"); goodTrace(t) {
		attrs = append(attrs, slog.String("traceparent", t))
	}
	x.h.opt.logger.LogAttrs(context.WithoutCancel(x.r.Context()), logged(status), "request", append(attrs, x.attrs...)...)
}

// log adds to the exchange's line in the log.
func (x *exchange) log(attrs ...slog.Attr) { x.attrs = append(x.attrs, attrs...) }

// body reads the request's body.
func (x *exchange) body() ([]byte, error) {
	limit := x.h.opt.body
	tooLarge := func(size string) error {
		return &problem{
			status: http.StatusRequestEntityTooLarge, code: "request_too_large",
			text: fmt.Sprintf("the body has %s bytes, limit %d", size, limit),
		}
	}
	if x.r.ContentLength > limit {
		return nil, tooLarge(fmt.Sprint(x.r.ContentLength))
	}
	if e := x.r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return nil, &problem{status: http.StatusUnsupportedMediaType, code: "unsupported_encoding", text: "encoded bodies are not read"}
	}
	control := http.NewResponseController(x.w)
	_ = control.SetReadDeadline(time.Now().Add(x.h.opt.bodyTime)) // not every writer has one
	var b bytes.Buffer
	if x.r.ContentLength > 0 {
		b.Grow(int(min(x.r.ContentLength, 1<<20)) + bytes.MinRead) // what it says, not more than is likely
	}
	_, err := b.ReadFrom(http.MaxBytesReader(x.w, x.r.Body, limit))
	if err == nil {
		_ = control.SetReadDeadline(time.Time{})
	} else {
		x.w.Header().Set("Connection", "close") // what is left of the body is not waited for
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, tooLarge(fmt.Sprintf("over %d", limit))
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &problem{status: http.StatusRequestTimeout, code: "request_timeout", text: "the body did not come in time", err: err}
	case err != nil && x.r.Context().Err() != nil:
		return nil, context.Canceled
	case err != nil:
		return nil, &problem{status: http.StatusBadRequest, code: "bad_body", text: "the body is cut off or badly encoded", err: err}
	}
	if x.h.opt.prompts {
		x.log(slog.String("body", strings.ToValidUTF8(string(b.Bytes()[:min(b.Len(), 64<<10)]), "?")))
	}
	return b.Bytes(), nil
}

// send writes a whole response.
func (x *exchange) send(status int, contentType string, body []byte) error {
	_ = http.NewResponseController(x.w).SetWriteDeadline(time.Now().Add(x.h.opt.writeTime))
	x.w.Header().Set("Content-Type", contentType)
	x.w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body) // a client that went away is seen by its context
	return nil
}

// json writes a value as a whole response.
func (x *exchange) json(status int, v any) error {
	body, err := encode(v)
	if err != nil {
		return err
	}
	return x.send(status, "application/json", body)
}

// encode writes JSON as it is, without escapes for HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
