package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/serve"
	"github.com/hotpath-go/hotpath/model"
)

// template is a chat template of the common kind, with tools, calls and reasoning.
const template = `{%- if tools %}<|im_start|>system
{% for t in tools %}{{ t | tojson }}
{% endfor %}<tool_call>{"name": ..., "arguments": ...}</tool_call><|im_end|>
{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`

// source is stories260K with a chat template.
type source struct{}

func (source) String() string { return "stories260K, with a template" }

func (source) Load(ctx context.Context) (*model.Model, error) {
	m, err := model.Stories().Load(ctx)
	if err != nil {
		return nil, err
	}
	return model.New("tiny-chat", m.Program, m.Tokenizer, template)
}

// open opens the model until the test ends.
func open(t testing.TB, opts ...engine.Option) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), source{}, append([]engine.Option{engine.WithContextLength(512)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// handler makes a handler of an engine.
func handler(t testing.TB, e serve.Engine, opts ...serve.Option) *serve.Handler {
	t.Helper()
	h, err := serve.New(e, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// post sends a body to a handler. Headers come in pairs.
func post(t testing.TB, h http.Handler, path, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return request(t, h, "POST", path, body, headers...)
}

func request(t testing.TB, h http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, "http://localhost:8080/", strings.NewReader(body))
	r.URL.Path = path
	if method == "POST" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] == "" {
			r.Header.Del(headers[i])
		} else {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(t.Context()))
	return w
}

// object reads a body of JSON.
func object(t testing.TB, w *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return v
}

// at follows keys and indexes into a value.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

// records is a log that tests read.
type records struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(p)
}

func (r *records) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.String()
}

func logger(w io.Writer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// sse splits a stream into the data of its events.
func sse(body string) []string {
	var out []string
	for part := range strings.SplitSeq(body, "\n\n") {
		if data, ok := strings.CutPrefix(part, "data: "); ok {
			out = append(out, data)
		}
	}
	return out
}
