package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hotpath-go/hotpath/cors"
)

// Handler serves an engine. Make one with New. It is safe for concurrent use and owns no goroutine;
// the engine stays the caller's.
type Handler struct {
	engine  Engine
	opt     options
	models  []string
	opened  time.Time
	keys    *keyring
	policy  http.Handler
	routes  map[string]map[string]*route // by path and method
	metrics *metrics

	draining atomic.Bool
}

// route is one way to call the handler.
type route struct {
	name  string // for logs and metrics
	open  bool   // needs no key, and is there while draining
	form  form   // of errors before the body says more
	serve func(*exchange) error
}

// New returns a handler for an engine. All mistakes in the options are reported at once.
func New(e Engine, opts ...Option) (*Handler, error) {
	if e == nil {
		return nil, fmt.Errorf("%w: no engine", ErrOption)
	}
	o := defaults()
	var errs []error
	for _, opt := range opts {
		errs = append(errs, opt(&o))
	}
	errs = append(errs, o.finish())

	h := &Handler{engine: e, opt: o, models: o.models, opened: time.Now(), keys: newKeyring(o.keys), metrics: newMetrics(e)}
	if len(h.models) == 0 {
		h.models = []string{e.Info().Model}
	}
	if err := h.route(); err != nil {
		errs = append(errs, err)
	}
	policy, err := h.origins()
	errs = append(errs, err)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	h.policy = policy
	return h, nil
}

// origins returns the handler behind the policy for pages of other origins.
func (h *Handler) origins() (http.Handler, error) {
	c := h.opt.cors
	c.Origins = append(slices.Clone(c.Origins), h.opt.origins...)
	c.Headers = append(slices.Clone(c.Headers), "X-TypeSafe-SDK", "X-TypeSafe-Runtime", "X-TypeSafe-Retry-Count")
	c.Expose = append(slices.Clone(c.Expose), "X-TypeSafe-Request-Id", "X-State-Tokens", "X-Cached-Tokens", "X-Computed-Tokens", "Server-Timing")
	c.RequiresKey = h.opt.keyed
	c.MediaTypes = nil
	if c.Logger == nil {
		c.Logger = h.opt.logger
	}
	if c.Names == (cors.Names{}) {
		c.Names = cors.Names{Origins: "serve.WithOrigins", Own: "serve.WithCORS: Own", Headers: "serve.WithCORS: Headers", Hosts: "serve.WithCORS: Hosts"}
	}
	c.Refuse = func(_ http.ResponseWriter, r *http.Request, status int, err error) {
		exchangeOf(r).fail(&problem{status: status, code: "forbidden", text: err.Error()})
	}
	policy, err := cors.New(c)
	if err != nil {
		return nil, err
	}
	return policy.Routes(http.HandlerFunc(h.admit), func(r *http.Request) []string {
		var methods []string
		for m := range h.methods(r.URL.Path) {
			methods = append(methods, m)
		}
		slices.Sort(methods)
		return methods
	}), nil
}

// route fills the table of routes.
func (h *Handler) route() error {
	h.routes = map[string]map[string]*route{}
	add := func(method, path string, r route) {
		if h.routes[path] == nil {
			h.routes[path] = map[string]*route{}
		}
		r.name = method + " " + path
		if r.form == nil {
			r.form = openAIForm
		}
		h.routes[path][method] = &r
		if method == http.MethodGet {
			h.routes[path][http.MethodHead] = &r
		}
	}
	add("POST", "/v1/systemone", route{serve: h.systemOne, form: dialectForm(h.opt.dialects[0])})
	add("POST", "/v1/decisions", route{serve: h.decisions})
	add("POST", "/v1/chat/completions", route{serve: h.chatCompletions})
	add("POST", "/v1/completions", route{serve: h.completions})
	add("GET", "/v1/models", route{serve: h.listModels})
	add("GET", modelPath, route{serve: h.oneModel})
	add("POST", "/tokenize", route{serve: h.tokenize})
	add("POST", "/detokenize", route{serve: h.detokenize})
	add("GET", "/metrics", route{serve: func(x *exchange) error { h.metrics.handler.ServeHTTP(x.w, x.r); return nil }})
	add("GET", "/healthz", route{open: true, serve: func(x *exchange) error { return x.json(http.StatusOK, status{"ok"}) }})
	add("GET", "/readyz", route{open: true, serve: h.ready})
	if h.opt.playground {
		page, err := newPage()
		if err != nil {
			return err
		}
		add("GET", "/", route{open: true, serve: page.serve})
	}
	return nil
}

// modelPath stands for the paths of models.
const modelPath = "/v1/models/{model}"

// methods returns the routes of a path by method; none for an unknown one.
func (h *Handler) methods(path string) map[string]*route {
	if strings.HasPrefix(path, "/v1/models/") && len(path) > len("/v1/models/") {
		path = modelPath
	} else if path == modelPath {
		return nil
	}
	return h.routes[path]
}

type status struct {
	Status string `json:"status"`
}

func (h *Handler) ready(x *exchange) error {
	if h.draining.Load() {
		return x.json(http.StatusServiceUnavailable, status{"draining"})
	}
	return x.json(http.StatusOK, status{"ready"})
}

// Drain refuses new requests with 503 from now on, /readyz too; those under way go on. It cannot be
// taken back.
func (h *Handler) Drain() { h.draining.Store(true) }

// ServeHTTP serves one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := h.begin(w, r)
	defer x.end()
	h.policy.ServeHTTP(x.w, x.r)
}

// admit finds the route and lets in who may use it.
func (h *Handler) admit(_ http.ResponseWriter, r *http.Request) {
	x := exchangeOf(r)
	x.r = r
	if x.route == nil {
		methods := h.methods(r.URL.Path)
		if methods == nil {
			x.fail(&problem{status: http.StatusNotFound, code: "not_found", text: "no such path"})
			return
		}
		var allow []string
		for m := range methods {
			allow = append(allow, m)
		}
		slices.Sort(allow)
		x.w.Header().Set("Allow", strings.Join(allow, ", "))
		x.fail(&problem{status: http.StatusMethodNotAllowed, code: "method_not_allowed", text: "the path takes " + strings.Join(allow, " and ")})
		return
	}
	if !x.route.open {
		leave, err := h.enter(x)
		if err != nil {
			x.fail(err)
			return
		}
		defer leave()
	}
	if err := x.route.serve(x); err != nil {
		x.fail(err)
	}
}

// enter checks that the handler takes requests, and takes one of the key's slots.
func (h *Handler) enter(x *exchange) (leave func(), err error) {
	leave = func() {}
	if h.opt.keyed {
		i := h.keys.find(x.r.Header.Get("Authorization"))
		if i < 0 {
			x.w.Header().Set("WWW-Authenticate", "Bearer")
			return nil, &problem{status: http.StatusUnauthorized, code: "invalid_api_key", text: "no known API key in the Authorization header"}
		}
		x.key = &h.keys.keys[i]
		var ok bool
		if leave, ok = h.keys.enter(i); !ok {
			return nil, &problem{
				status: http.StatusTooManyRequests, code: "rate_limit_exceeded", retry: time.Second,
				text: fmt.Sprintf("%d requests of this key are under way, its limit", x.key.Concurrent),
			}
		}
	}
	if h.draining.Load() {
		leave()
		return nil, errDraining()
	}
	return leave, nil
}

// caller returns who asks and in which namespace of the prefix cache: that of the request, within
// the key's own where keys have one.
func (x *exchange) caller(namespace string) (string, string) {
	if x.key == nil {
		return "", namespace
	}
	if x.h.opt.namespaces {
		return x.key.Name, x.key.Name + "/" + namespace
	}
	return x.key.Name, namespace
}

// logged returns the level of a status.
func logged(status int) slog.Level {
	if status >= 500 && status != http.StatusServiceUnavailable {
		return slog.LevelError
	}
	return slog.LevelInfo
}

type exchangeKey struct{}

func exchangeOf(r *http.Request) *exchange {
	x, _ := r.Context().Value(exchangeKey{}).(*exchange)
	return x
}

func withExchange(r *http.Request, x *exchange) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
}
