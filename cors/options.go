package cors

import (
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"
)

// Options says who may call. The zero value lets no other origin in. It is read by [New] alone.
type Options struct {
	// Origins lists the origins of the pages that may call: exact ones ("https://app.example.com"),
	// all subdomains of one ("https://*.example.com": one label or more, not example.com itself),
	// any port of this machine ("http://localhost:*"; loopback addresses too), or "*" alone for all
	// pages. Never "null". "*" excludes Credentials, and without RequiresKey it asks for an Addr
	// that is not loopback, and does not cover connections that arrive on a loopback address.
	Origins []string

	// Own lists the server's own origins beside the scheme and host of each request: what browsers
	// see in front of a proxy. Exact origins only. Their hosts count as Hosts for loopback binds.
	Own []string

	// TrustForwarded believes X-Forwarded-Proto and X-Forwarded-Host about the own origin. Lists of
	// several values are not believed. Without it the headers are ignored.
	TrustForwarded bool

	// Credentials lets pages send cookies and client certificates. API keys do not need it.
	Credentials bool

	// Headers are request headers that pages may send beside [DefaultHeaders].
	Headers []string

	// Expose are response headers that pages may read beside X-Request-Id and Retry-After.
	Expose []string

	// MaxAge is how long browsers may remember a preflight, in whole seconds up to 24 hours.
	// Zero means 10 minutes, a negative value not at all.
	MaxAge time.Duration

	// Addr is the address that the server listens on, as for net.Listen("tcp", Addr). Empty means
	// unknown; loopback connections are recognised all the same where net/http serves.
	Addr string

	// RequiresKey says that every route asks for an API key or the like.
	RequiresKey bool

	// Hosts are names under which the server may be called beside localhost and the IP address that
	// it was reached at, without ports. Empty: checked on loopback binds and connections only.
	Hosts []string

	// MediaTypes are the content types a POST may have. Empty means application/json.
	MediaTypes []string

	// Logger gets one line a minute per refused origin or host. Nil means no line.
	Logger *slog.Logger

	// Names is how the log calls the options that would let a request in.
	Names Names

	// Refuse writes the answer to a refused request. err wraps one of this package's errors and may
	// be shown to the client. Nil means http.Error with err's text. It must not set Access-Control
	// headers. Several goroutines may call it at once.
	Refuse func(w http.ResponseWriter, r *http.Request, status int, err error)
}

// Names are the names of options in the program that uses this package, such as a flag. Empty ones
// mean the fields of [Options], such as "cors.Options.Origins".
type Names struct {
	Origins, Own, Headers, Hosts string
}

// DefaultHeaders returns the request headers that pages of allowed origins may send in any case:
// those of JSON calls with an API key, of traces, and of the SDKs that model servers are called with.
func DefaultHeaders() []string {
	return []string{
		"Authorization", "Content-Type", "X-Request-Id", "traceparent", "tracestate", "User-Agent",
		"x-stainless-arch", "x-stainless-async", "x-stainless-custom-poll-interval", "x-stainless-helper",
		"x-stainless-helper-method", "x-stainless-lang", "x-stainless-os", "x-stainless-package-version",
		"x-stainless-poll-helper", "x-stainless-raw-response", "x-stainless-read-timeout",
		"x-stainless-retry-count", "x-stainless-runtime", "x-stainless-runtime-version",
		"x-stainless-stream-helper", "x-stainless-timeout",
	}
}

// New checks the options and returns the policy. The error, if any, wraps [ErrOptions] and names all
// mistakes, each on a line of its own.
func New(o Options) (*Policy, error) {
	var errs []error
	wrong := func(err error, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: %s: %w", ErrOptions, fmt.Sprintf(format, args...), err))
	}
	p := &Policy{
		listed:      newOrigins(),
		own:         newOrigins(),
		hosts:       map[string]bool{},
		hostsAlways: len(o.Hosts) > 0,
		forwarded:   o.TrustForwarded,
		credentials: o.Credentials,
		requiresKey: o.RequiresKey,
		media:       map[string]bool{},
		refuse:      o.Refuse,
		log:         refusals{logger: o.Logger},
		names: Names{
			Origins: or(o.Names.Origins, "cors.Options.Origins"),
			Own:     or(o.Names.Own, "cors.Options.Own"),
			Headers: or(o.Names.Headers, "cors.Options.Headers"),
			Hosts:   or(o.Names.Hosts, "cors.Options.Hosts"),
		},
	}
	if p.refuse == nil {
		p.refuse = func(w http.ResponseWriter, _ *http.Request, status int, err error) {
			http.Error(w, err.Error(), status)
		}
	}
	for i, s := range o.Origins {
		if err := p.listed.add(s); err != nil {
			wrong(err, "Origins[%d] %q", i, clip(s))
		}
	}
	for i, s := range o.Own {
		if err := p.own.add(s); err != nil {
			wrong(err, "Own[%d] %q", i, clip(s))
		} else if strings.Contains(s, "*") {
			wrong(errors.New("own origins are exact"), "Own[%d] %q", i, clip(s))
		}
	}
	for i, s := range o.Hosts {
		host, err := parseHost(strings.TrimSuffix(s, "."))
		if err != nil {
			wrong(err, "Hosts[%d] %q", i, clip(s))
		}
		p.hosts[host] = true
	}
	for own := range p.own.exact {
		p.hosts[own.host] = true
	}
	if o.Addr != "" {
		host, _, err := net.SplitHostPort(o.Addr)
		if err != nil {
			wrong(errors.New("want host:port or :port"), "Addr %q", clip(o.Addr))
		}
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		p.loopback = loopbackHost(strings.ToLower(host))
	}
	if p.listed.any {
		if len(o.Origins) > 1 {
			wrong(fmt.Errorf("stands alone, there are %d entries", len(o.Origins)), "Origins %q", "*")
		}
		if o.Credentials {
			wrong(errors.New("any page could act with its visitor's cookies; list the origins, or leave Credentials off (API keys do not need it)"), "Origins %q with Credentials", "*")
		}
		if !o.RequiresKey && (p.loopback || o.Addr == "") {
			wrong(fmt.Errorf("any page could call a server on its visitor's machine; list the origins, require a key, or name in Addr a bind that is not loopback (it is %q)", clip(o.Addr)), "Origins %q without an API key", "*")
		}
	}
	headers := DefaultHeaders()
	for i, h := range o.Headers {
		if err := headerName(h); err != nil {
			wrong(err, "Headers[%d] %q", i, clip(h))
		}
		headers = append(headers, h)
	}
	p.headers = unique(headers)
	expose := []string{"X-Request-Id", "Retry-After"}
	for i, h := range o.Expose {
		if err := headerName(h); err != nil {
			wrong(err, "Expose[%d] %q", i, clip(h))
		}
		expose = append(expose, h)
	}
	p.expose = unique(expose)
	switch age := o.MaxAge; {
	case age == 0:
		p.maxAge = 600
	case age < 0:
		p.maxAge = -1
	case age > 24*time.Hour || age%time.Second != 0:
		wrong(fmt.Errorf("want whole seconds, limit %v", 24*time.Hour), "MaxAge %v", age)
	default:
		p.maxAge = int(age / time.Second)
	}
	for i, s := range o.MediaTypes {
		t, params, err := mime.ParseMediaType(s)
		if err != nil || len(params) > 0 || !strings.Contains(t, "/") {
			wrong(errors.New("want type/subtype"), "MediaTypes[%d] %q", i, clip(s))
		}
		p.media[t] = true
	}
	if len(o.MediaTypes) == 0 {
		p.media["application/json"] = true
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	p.actual = p.mechanics(http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete)
	return p, nil
}

func newOrigins() origins {
	return origins{exact: map[origin]bool{}, anyPort: map[origin]bool{}}
}

// headerName refuses what is no header name, and those that only browsers may write.
func headerName(s string) error {
	if s == "*" {
		return errors.New("headers are named one by one: an asterisk would not cover Authorization")
	}
	if s != "" && !token(s) {
		return errors.New("a byte in it is not allowed in a header's name")
	}
	if s == "" {
		return errors.New("there is no name")
	}
	if l := strings.ToLower(s); strings.HasPrefix(l, "sec-") || strings.HasPrefix(l, "proxy-") || strings.HasPrefix(l, "access-control-") || l == "origin" || l == "host" || l == "cookie" {
		return errors.New("only browsers themselves write this header")
	}
	return nil
}

// token reports whether s is a token of HTTP.
func token(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

// unique drops names that differ by case alone from an earlier one.
func unique(names []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, n := range names {
		if l := strings.ToLower(n); !seen[l] {
			seen[l] = true
			out = append(out, n)
		}
	}
	return out
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
