package serve_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/serve"
	"github.com/hotpath-go/hotpath/kvcache"
)

// broken is an engine whose calls fail.
type broken struct {
	*engine.Engine
	err error
	did bool // one event comes before the error
}

func (b broken) Decide(context.Context, decide.Request) (*decide.Result, error) { return nil, b.err }

func (b broken) Generate(context.Context, engine.GenerateRequest) (*engine.Generation, error) {
	return nil, b.err
}

func (b broken) Stream(context.Context, engine.GenerateRequest) iter.Seq2[engine.Event, error] {
	return func(yield func(engine.Event, error) bool) {
		if b.did && !yield(engine.Event{Text: "begun"}, nil) {
			return
		}
		yield(engine.Event{}, b.err)
	}
}

const (
	chatBody   = `{"messages":[{"role":"user","content":"the secret prompt"}],"max_tokens":4}`
	chatStream = `{"messages":[{"role":"user","content":"the secret prompt"}],"max_tokens":4,"stream":true}`
)

// The engine's errors have a status, and what they tell of the inside stays inside.
func TestEngineErrors(t *testing.T) {
	t.Parallel()
	e := open(t)
	for _, c := range []struct {
		err    error
		status int
		retry  string
		code   string
	}{
		{&engine.ErrBusy{Field: "requests", Have: 1025, Most: 1024, RetryAfter: 2500 * time.Millisecond}, 429, "3", `"rate_limit_exceeded"`},
		{fmt.Errorf("x: %w", engine.ErrDraining), 503, "5", `"server_draining"`},
		{engine.ErrClosed, 503, "5", `"server_draining"`},
		{fmt.Errorf("%w: 9 blocks, there are 8", kvcache.ErrTooLarge), 400, "", `"context_length_exceeded"`},
		{engine.ErrSlowReader, 408, "", `"slow_reader"`},
		{fmt.Errorf("%w: held", kvcache.ErrHeld), 503, "1", `"overloaded"`},
		{fmt.Errorf("%w: MaxTokens", engine.ErrRequest), 400, "", `MaxTokens`},
		{fmt.Errorf("%w: at /home/user/weights.gguf", engine.ErrInternal), 500, "", `"internal error"`},
		{errors.New("dial 10.0.0.7: no route"), 500, "", `"internal error"`},
	} {
		h := handler(t, broken{Engine: e, err: c.err})
		for _, body := range []string{chatBody, chatStream} {
			w := post(t, h, "/v1/chat/completions", body)
			if w.Code != c.status || w.Header().Get("Retry-After") != c.retry || !strings.Contains(w.Body.String(), c.code) {
				t.Errorf("%v: %d %v %s", c.err, w.Code, w.Header(), w.Body)
			}
			if strings.Contains(w.Body.String(), "10.0.0.7") || strings.Contains(w.Body.String(), "/home") {
				t.Errorf("%v: told to the client: %s", c.err, w.Body)
			}
		}
		w := post(t, h, "/v1/systemone", systemOneBody)
		if w.Code != c.status || !strings.Contains(w.Body.String(), `"detail":{"error_type":`) {
			t.Errorf("System One: %v: %d %s", c.err, w.Code, w.Body)
		}
	}
	w := post(t, handler(t, broken{e, errors.New("dial 10.0.0.7"), true}), "/v1/chat/completions", chatStream)
	events := sse(w.Body.String())
	if last := events[len(events)-1]; w.Code != 200 || !strings.Contains(last, `{"error":{"message":"internal error"`) || strings.Contains(w.Body.String(), "10.0.0.7") {
		t.Errorf("an error on a stream that has begun: %d %q", w.Code, events)
	}
}

// panics is an engine with a bug.
type panics struct{ *engine.Engine }

func (panics) Decide(context.Context, decide.Request) (*decide.Result, error) {
	panic("a bug at 0x1234")
}

// The log has one line for each request, with what happened and without what was asked, and the
// response has no stack.
func TestLog(t *testing.T) {
	t.Parallel()
	e := open(t)
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	keys := []serve.Key{serve.NewKey("alice", "a-secret")}
	var log records
	h := handler(t, e, serve.WithLogger(logger(&log)), serve.WithKeys(keys))
	w := post(t, h, "/v1/chat/completions", chatBody, "X-Request-Id", "mine-1", "traceparent", trace, "Authorization", "Bearer a-secret")
	if w.Code != 200 || w.Header().Get("X-Request-Id") != "mine-1" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	for _, part := range []string{`"id":"mine-1"`, `"route":"POST /v1/chat/completions"`, `"status":200`, `"key":"alice"`, `"traceparent":"` + trace, `"generated":4`} {
		if strings.Count(log.String(), part) != 1 {
			t.Errorf("%s is not there once: %s", part, log.String())
		}
	}
	for _, bad := range []string{"", "a b", "é", strings.Repeat("x", 129), "x\ny"} {
		if id := post(t, h, "/v1/systemone", `{}`, "X-Request-Id", bad).Header().Get("X-Request-Id"); !strings.HasPrefix(id, "req-") || len(id) != 28 {
			t.Errorf("%q became %q", bad, id)
		}
	}
	post(t, h, "/v1/systemone", `{"state":"the secret prompt","questions":{"the secret prompt":{"type":"the secret prompt"}}}`, "Authorization", "Bearer a-secret",
		"traceparent", "the secret prompt", "X-Request-Id", "the secret prompt")
	request(t, h, "GET", "/the secret prompt", "")
	post(t, handler(t, panics{e}, serve.WithLogger(logger(&log))), "/v1/systemone", systemOneBody)
	if s := log.String(); strings.Contains(s, "the secret prompt") || strings.Contains(s, "a-secret") || strings.Contains(s, "Third time") {
		t.Errorf("a prompt or key in the log: %s", s)
	}

	var asked records
	h = handler(t, e, serve.WithLogger(logger(&asked)), serve.WithPromptLogging())
	post(t, h, "/v1/chat/completions", chatBody)
	if !strings.Contains(asked.String(), "the secret prompt") {
		t.Errorf("prompts were asked for: %s", asked.String())
	}
}

func TestPanic(t *testing.T) {
	t.Parallel()
	var log records
	h := handler(t, panics{open(t)}, serve.WithLogger(logger(&log)))
	w := post(t, h, "/v1/systemone", systemOneBody)
	if w.Code != 500 || strings.Contains(w.Body.String(), "goroutine") || strings.Contains(w.Body.String(), "0x1234") || !strings.Contains(w.Body.String(), `"detail"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "a bug at 0x1234") || !strings.Contains(log.String(), `"level":"ERROR"`) {
		t.Errorf("the log says nothing: %s", log.String())
	}
	if w := post(t, h, "/v1/completions", `{"prompt":"Once","max_tokens":1}`); w.Code != http.StatusOK {
		t.Errorf("the handler is dead: %d", w.Code)
	}
}
