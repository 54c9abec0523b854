package cors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// Unlisted is an origin that no server lists; whoever lets it in lets everybody in.
	Unlisted = "https://unlisted.invalid"

	maxDocument = 8 << 20 // bytes of an OpenAPI document
	maxRoutes   = 500
	atOnce      = 4
)

// ErrCheck is wrapped by the errors of [Check]: the URL or an origin is malformed, or the server
// cannot be reached.
var ErrCheck = errors.New("cors: check")

// Route is a method and the path of a URL.
type Route struct{ Method, Path string }

func (r Route) String() string { return r.Method + " " + r.Path }

// Prober asks a server what a browser would ask it. The zero value is ready to use. It sends
// preflights, and GET requests to routes of that method: nothing that changes the server. It cannot
// tell what a server does with requests that need no preflight, such as a POST of text/plain.
type Prober struct {
	// Client sends the requests; its redirect policy and cookies are not used. Nil means
	// http.DefaultTransport with a time limit of 10 s a request.
	Client *http.Client

	// Routes are the routes to ask about, paths relative to the URL. Nil means those of the server's
	// OpenAPI document (vLLM, SGLang and others publish one at /openapi.json), and without one those
	// of the usual routes of model servers that this server has. Where it answers the wrong method
	// with 404 it hides its POST routes; all usual ones are then asked about and marked as guessed.
	Routes []Route

	// Headers are the headers that the page would send. Nil means Authorization on every route, and
	// Content-Type on those with a body.
	Headers []string

	// Credentials asks for pages that send cookies (fetch with credentials: "include").
	Credentials bool
}

// Check asks the server at a URL, route by route, whether pages of these origins may call it, and
// whether pages with the origin "null", with an unlisted one, and with look-alikes of those given
// may. It is [Prober.Check] of the zero Prober.
func Check(ctx context.Context, url string, origins ...string) (*Report, error) {
	return new(Prober).Check(ctx, url, origins...)
}

// Check is like the function of that name. It returns an error if the server cannot be asked at all;
// a route that fails is a verdict of the report.
func (p *Prober) Check(ctx context.Context, base string, origins ...string) (*Report, error) {
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("%w: %q is not an http or https URL", ErrCheck, clip(base))
	}
	u.RawQuery, u.Fragment = "", ""
	self, err := parseAuthority(u.Scheme, u.Host)
	if err != nil {
		return nil, fmt.Errorf("%w: %q: %w", ErrCheck, clip(base), err)
	}
	var asked []asker
	for _, s := range origins {
		o, ok := parseOrigin(s)
		if !ok && s != "null" {
			return nil, fmt.Errorf("%w: %q is not an origin as browsers write it: scheme://host[:port] in lower case, no default port, no path", ErrCheck, clip(s))
		}
		asked = append(asked, asker{s, false, ok && o == self})
	}
	asked = append(asked, strangers(origins)...)

	c := client{Credentials: p.Credentials, http: http.Client{Timeout: 10 * time.Second}}
	if p.Client != nil {
		c.http.Transport, c.http.Timeout = p.Client.Transport, p.Client.Timeout
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

	routes, guessed := p.Routes, 0
	if routes == nil {
		if routes, guessed, err = c.routes(ctx, u); err != nil {
			return nil, err
		}
	}
	if len(routes) > maxRoutes {
		return nil, fmt.Errorf("%w: %d routes, limit %d", ErrCheck, len(routes), maxRoutes)
	}
	rep := &Report{URL: u.String(), Verdicts: make([]Verdict, len(routes)*len(asked))}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i := range rep.Verdicts {
		route, a := routes[i/len(asked)], asked[i%len(asked)]
		g.Go(func() error {
			v := &rep.Verdicts[i]
			v.Route, v.Origin, v.Stranger, v.Guessed = route, a.origin, a.stranger, i/len(asked) >= len(routes)-guessed
			if a.same {
				v.Allowed, v.Reason = true, "the server's own origin: browsers send no preflight"
				return nil
			}
			c.ask(ctx, u.JoinPath(route.Path).String(), p.headers(route.Method), v)
			return ctx.Err()
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCheck, err)
	}
	rep.Verdicts = slices.DeleteFunc(rep.Verdicts, func(v Verdict) bool { return v.Guessed && v.Status == http.StatusNotFound })
	return rep, nil
}

// headers are the names as browsers write them: lower case, sorted, without duplicates.
func (p *Prober) headers(method string) []string {
	h := []string{"authorization"}
	switch {
	case p.Headers != nil:
		h = nil
		for _, n := range p.Headers {
			h = append(h, strings.ToLower(n))
		}
	case method != http.MethodGet && method != http.MethodHead:
		h = append(h, "content-type")
	}
	slices.Sort(h)
	return slices.Compact(h)
}

type asker struct {
	origin         string
	stranger, same bool
}

// strangers are origins that should not be allowed: everybody's, and what careless comparisons take
// for one of those given.
func strangers(origins []string) []asker {
	var out []asker
	add := func(s string) {
		if !slices.Contains(origins, s) && !slices.ContainsFunc(out, func(a asker) bool { return a.origin == s }) {
			out = append(out, asker{s, true, false})
		}
	}
	add("null")
	add(Unlisted)
	for _, s := range origins {
		o, ok := parseOrigin(s)
		if !ok || o.host[0] == '[' {
			continue
		}
		labels := strings.Split(o.host, ".")
		o.host, o.port = o.host+".unlisted.invalid", ""
		add(o.String())
		// Not below the same domain, which a server may well list.
		if n := len(labels); n > 1 && !isNumber(labels[n-1]) {
			o.host = "unlisted" + labels[n-2] + "." + labels[n-1]
			add(o.String())
		}
	}
	return out
}

// client is the part of a browser that matters here.
type client struct {
	http        http.Client
	Credentials bool
}

// routes finds out what routes a server has; the last ones may be guesses.
func (c *client) routes(ctx context.Context, base *url.URL) (found []Route, guessed int, err error) {
	res, err := c.do(ctx, http.MethodGet, base.JoinPath("openapi.json").String(), nil)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrCheck, err)
	}
	doc, err := io.ReadAll(io.LimitReader(res.Body, maxDocument))
	res.Body.Close()
	if err == nil && res.StatusCode == http.StatusOK {
		if found := openAPI(doc); len(found) > 0 {
			return found, 0, nil
		}
	}
	var hidden []Route // behind a 404, which may be the server's answer to a wrong method
	tells := false
	for _, r := range usual() {
		res, err := c.do(ctx, http.MethodGet, base.JoinPath(r.Path).String(), nil)
		if err != nil {
			return nil, 0, fmt.Errorf("%w: %w", ErrCheck, err)
		}
		res.Body.Close()
		switch {
		case res.StatusCode != http.StatusNotFound:
			found = append(found, r)
			tells = tells || r.Method == http.MethodPost
		case r.Method == http.MethodPost:
			hidden = append(hidden, r)
		}
	}
	if tells || len(found) == 0 {
		return found, 0, nil
	}
	return append(found, hidden...), len(hidden), nil
}

// usual lists the routes that model servers usually have.
func usual() []Route {
	return []Route{
		{"GET", "/"}, {"GET", "/v1/models"},
		{"POST", "/v1/systemone"}, {"POST", "/v1/decisions"},
		{"POST", "/v1/chat/completions"}, {"POST", "/v1/completions"}, {"POST", "/v1/responses"}, {"POST", "/v1/embeddings"}, {"POST", "/v1/messages"},
		{"POST", "/completion"}, {"POST", "/generate"}, {"POST", "/tokenize"}, {"POST", "/detokenize"},
		{"GET", "/api/tags"}, {"POST", "/api/chat"}, {"POST", "/api/generate"}, {"POST", "/api/pull"}, {"DELETE", "/api/delete"},
		{"GET", "/health"}, {"GET", "/healthz"}, {"GET", "/readyz"}, {"GET", "/metrics"}, {"GET", "/props"}, {"GET", "/slots"},
	}
}

// openAPI reads the routes of an OpenAPI document, in order of their paths. A parameter of a path
// stands for itself without its braces: preflights name no object that could exist.
func openAPI(doc []byte) []Route {
	var d struct {
		Paths map[string]map[string]json.RawMessage
	}
	if json.Unmarshal(doc, &d) != nil {
		return nil
	}
	var out []Route
	for path, methods := range d.Paths {
		for m := range methods {
			switch m = strings.ToUpper(m); m {
			case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE":
				out = append(out, Route{m, strings.NewReplacer("{", "", "}", "").Replace(path)})
			}
		}
	}
	slices.SortFunc(out, func(a, b Route) int {
		return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method)
	})
	return out[:min(len(out), maxRoutes)]
}

func (c *client) do(ctx context.Context, method, url string, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, err
	}
	for k, v := range header {
		req.Header[k] = v
	}
	return c.http.Do(req)
}

// ask fills in a verdict: the preflight, and for GET the answer itself.
func (c *client) ask(ctx context.Context, url string, headers []string, v *Verdict) {
	h := http.Header{"Origin": {v.Origin}, "Access-Control-Request-Method": {v.Route.Method}}
	if len(headers) > 0 {
		h.Set("Access-Control-Request-Headers", strings.Join(headers, ","))
	}
	res, err := c.do(ctx, http.MethodOptions, url, h)
	if err != nil {
		v.Reason = err.Error()
		return
	}
	io.CopyN(io.Discard, res.Body, 4096) // so that the connection can be used again
	res.Body.Close()
	v.Status = res.StatusCode
	v.AnyOrigin = res.Header.Get("Access-Control-Allow-Origin") == "*"
	v.Credentials = res.Header.Get("Access-Control-Allow-Credentials") == "true"
	if v.Reason = preflightFails(res, v.Origin, v.Route.Method, headers, c.Credentials); v.Reason != "" {
		return
	}
	v.Allowed = true
	if v.Route.Method != http.MethodGet {
		return
	}
	res, err = c.do(ctx, http.MethodGet, url, http.Header{"Origin": {v.Origin}})
	if err != nil {
		v.Allowed, v.Reason = false, err.Error()
		return
	}
	res.Body.Close()
	if reason := answerUnreadable(res.Header, v.Origin, c.Credentials); reason != "" {
		v.Allowed, v.Reason = false, fmt.Sprintf("the preflight passes and the answer (%d) may not be read: %s", res.StatusCode, reason)
	}
}
