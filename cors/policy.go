package cors

import (
	"errors"
	"fmt"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"

	rs "github.com/rs/cors"
)

var (
	// ErrOptions is wrapped by the errors of [New].
	ErrOptions = errors.New("cors: wrong options")
	// ErrOrigin refuses a request (403) whose origin is neither the server's own nor listed.
	ErrOrigin = errors.New("cors: origin not allowed")
	// ErrHost refuses a request (421) whose Host is no name of this server.
	ErrHost = errors.New("cors: host not allowed")
	// ErrMethod refuses a preflight (403) for a method that the route does not have.
	ErrMethod = errors.New("cors: method not allowed")
	// ErrHeaders refuses a preflight (403) for headers that pages may not send. Browsers name headers
	// sorted and in lower case; nothing else is accepted.
	ErrHeaders = errors.New("cors: request headers not allowed")
	// ErrContentType refuses a POST (415) of another content type than JSON.
	ErrContentType = errors.New("cors: content type not allowed")
)

// Policy decides about requests. It does not change and may be used by several goroutines at once.
type Policy struct {
	listed, own           origins
	hosts                 map[string]bool
	hostsAlways, loopback bool
	forwarded             bool
	credentials           bool
	requiresKey           bool
	headers, expose       []string
	maxAge                int // seconds; -1: not at all
	media                 map[string]bool
	refuse                func(http.ResponseWriter, *http.Request, int, error)
	names                 Names
	log                   refusals
	actual                *rs.Cors // for requests that are no preflights
}

// Handler applies the policy to one route that has these methods and no others. Put it outside of
// authentication, which preflights do not pass. The handler itself still answers 405. Access-Control
// headers that were set before are removed.
func (p *Policy) Handler(next http.Handler, methods ...string) http.Handler {
	preflight := p.preflight(methods)
	return p.guard(next, func(*http.Request) http.Handler { return preflight })
}

// Mux applies the policy to all routes of a mux. The methods of a route are those that the mux's
// patterns name ("POST /v1/decisions"); a pattern without one has all.
func (p *Policy) Mux(mux *http.ServeMux) http.Handler {
	return p.Routes(mux, func(r *http.Request) []string {
		var methods []string
		probe := *r
		for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			probe.Method = m
			if _, pattern := mux.Handler(&probe); pattern != "" {
				methods = append(methods, m)
			}
		}
		return methods
	})
}

// Routes is like Handler where methods tells the methods of the route that a request is for, none
// if there is no such route. methods is called for preflights alone.
func (p *Policy) Routes(next http.Handler, methods func(*http.Request) []string) http.Handler {
	var mu sync.Mutex
	known := map[string]http.Handler{} // as many as there are combinations of methods
	return p.guard(next, func(r *http.Request) http.Handler {
		m := methods(r)
		key := strings.Join(m, " ")
		mu.Lock()
		defer mu.Unlock()
		h := known[key]
		if h == nil {
			h = p.preflight(m)
			known[key] = h
		}
		return h
	})
}

// AllowedOrigin reports whether a request's Host and Origin pass: it is what Handler asks, and fits
// as the origin check of WebSocket libraries, whose handshakes browsers send to any server.
func (p *Policy) AllowedOrigin(r *http.Request) bool {
	return p.allowedHost(r) && p.classify(r) != foreign
}

// guard is the order of checks: host, origin, preflight, content type.
func (p *Policy) guard(next http.Handler, preflight func(*http.Request) http.Handler) http.Handler {
	typed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := p.checkContentType(r); err != nil {
			p.refuse(w, r, http.StatusUnsupportedMediaType, err)
			return
		}
		next.ServeHTTP(w, r)
	})
	listed := p.actual.Handler(typed)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A middleware around this one must not let in whom the policy refuses.
		maps.DeleteFunc(w.Header(), func(name string, _ []string) bool { return strings.HasPrefix(name, "Access-Control-") })
		if !p.allowedHost(r) {
			p.logHost(r)
			p.refuse(w, r, http.StatusMisdirectedRequest, fmt.Errorf("%w: %q", ErrHost, clip(r.Host)))
			return
		}
		isPreflight := r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
		switch c := p.classify(r); {
		case c == foreign:
			vary(w, "Origin")
			if isPreflight {
				vary(w, "Access-Control-Request-Method, Access-Control-Request-Headers")
			}
			p.logOrigin(r)
			p.refuse(w, r, http.StatusForbidden, fmt.Errorf("%w: %q", ErrOrigin, clip(strings.Join(r.Header["Origin"], " "))))
		case c == absent, c == own && !isPreflight:
			vary(w, "Origin")
			typed.ServeHTTP(w, r)
		case isPreflight:
			preflight(r).ServeHTTP(w, r)
		default:
			listed.ServeHTTP(w, r)
		}
	})
}

// preflight answers the preflights of allowed origins. The library decides; where it allows, the
// answer names all the route's methods and all headers, so that browsers need not ask again.
func (p *Policy) preflight(methods []string) http.Handler {
	methods = slices.Clone(methods)
	allowMethods, allowHeaders := strings.Join(methods, ", "), strings.Join(p.headers, ", ")
	decided := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if w.Header().Get("Access-Control-Allow-Origin") != "" {
			w.Header().Set("Access-Control-Allow-Methods", allowMethods)
			w.Header().Set("Access-Control-Allow-Headers", allowHeaders)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		err := fmt.Errorf("%w: %q", ErrHeaders, clip(strings.Join(r.Header["Access-Control-Request-Headers"], ",")))
		if m := r.Header.Get("Access-Control-Request-Method"); !slices.Contains(methods, m) {
			err = fmt.Errorf("%w: %q, the route has %q", ErrMethod, clip(m), allowMethods)
		}
		p.logPreflight(r, err)
		p.refuse(w, r, http.StatusForbidden, err)
	})
	library := p.mechanics(methods...).Handler(decided)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The library lets OPTIONS pass on any route, and takes no methods for the simple ones.
		if !slices.Contains(methods, r.Header.Get("Access-Control-Request-Method")) {
			vary(w, "Origin, Access-Control-Request-Method, Access-Control-Request-Headers")
			decided.ServeHTTP(w, r)
			return
		}
		library.ServeHTTP(w, r)
	})
}

// mechanics returns the library's handler of requests whose origin was found to be allowed.
func (p *Policy) mechanics(methods ...string) *rs.Cors {
	o := rs.Options{
		AllowedMethods:     methods,
		AllowedHeaders:     p.headers,
		ExposedHeaders:     p.expose,
		MaxAge:             p.maxAge,
		AllowCredentials:   p.credentials,
		OptionsPassthrough: true,
	}
	if p.listed.any {
		o.AllowedOrigins = []string{"*"}
	} else {
		o.AllowOriginVaryRequestFunc = func(r *http.Request, _ string) (bool, []string) {
			return p.classify(r) != foreign, nil
		}
	}
	return rs.New(o)
}

// class is what a request's origin is to the server.
type class int

const (
	foreign class = iota
	absent
	own
	listed
)

func (p *Policy) classify(r *http.Request) class {
	values, ok := r.Header["Origin"]
	if !ok {
		return absent
	}
	if len(values) != 1 {
		return foreign
	}
	o, ok := parseOrigin(values[0])
	if !ok {
		return foreign
	}
	if p.own.has(o) || o == p.requestOrigin(r) {
		return own
	}
	if p.listed.any && !p.requiresKey && p.onLoopback(r) {
		return foreign
	}
	if p.listed.has(o) {
		return listed
	}
	return foreign
}

// requestOrigin is the origin that the request was sent to, zero if its Host is malformed.
func (p *Policy) requestOrigin(r *http.Request) origin {
	scheme, host := "http", r.Host
	if r.TLS != nil {
		scheme = "https"
	}
	if p.forwarded {
		if v := r.Header["X-Forwarded-Proto"]; len(v) == 1 {
			scheme = strings.ToLower(v[0])
		}
		if v := r.Header["X-Forwarded-Host"]; len(v) == 1 {
			host = v[0]
		}
	}
	if scheme != "http" && scheme != "https" {
		return origin{}
	}
	o, err := parseAuthority(scheme, host)
	if err != nil {
		return origin{}
	}
	return o
}

// allowedHost reports whether the name that a request was sent to is one of ours. IP addresses and
// localhost are never the result of a lookup that an attacker answers.
func (p *Policy) allowedHost(r *http.Request) bool {
	if !p.hostsAlways && !p.onLoopback(r) {
		return true
	}
	// A host name may end in the dot of the root.
	o, err := parseAuthority("", strings.TrimSuffix(strings.Replace(r.Host, ".:", ":", 1), "."))
	if err != nil {
		return false
	}
	if loopbackHost(o.host) || p.hosts[o.host] {
		return true
	}
	at, ok := localAddr(r)
	return ok && at.String() == strings.Trim(o.host, "[]")
}

func (p *Policy) onLoopback(r *http.Request) bool {
	at, ok := localAddr(r)
	return p.loopback || ok && at.IsLoopback()
}

// localAddr is the address that the request's connection was accepted at.
func localAddr(r *http.Request) (netip.Addr, bool) {
	a, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return netip.Addr{}, false
	}
	return a.AddrPort().Addr().Unmap().WithZone(""), true
}

func (p *Policy) checkContentType(r *http.Request) error {
	if r.Method != http.MethodPost {
		return nil
	}
	values := r.Header["Content-Type"]
	if len(values) == 1 {
		if t, _, err := mime.ParseMediaType(values[0]); err == nil && p.media[t] {
			return nil
		}
	}
	want := slices.Sorted(maps.Keys(p.media))
	return fmt.Errorf("%w: %q, a POST needs %s", ErrContentType, clip(strings.Join(values, ", ")), strings.Join(want, " or "))
}

func vary(w http.ResponseWriter, names string) { w.Header().Add("Vary", names) }
