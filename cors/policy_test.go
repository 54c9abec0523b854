package cors

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	rs "github.com/rs/cors"
)

func policy(t testing.TB, o Options) *Policy {
	t.Helper()
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// request is a POST of JSON to models.example.com with headers written as "Name: value" lines.
func request(method, headers string) *http.Request {
	r := httptest.NewRequest(method, "http://models.example.com/v1/decisions", strings.NewReader("{}"))
	r.Header.Set("Content-Type", "application/json")
	for line := range strings.SplitSeq(headers, "\n") {
		name, value, ok := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case !ok:
		case name == "Host":
			r.Host = value
		case name == "-":
			r.Header.Del(value)
		case name == "Content-Type":
			r.Header[name] = append([]string(nil), value)
		default:
			r.Header.Add(name, value)
		}
	}
	return r
}

func accessControl(h http.Header) []string {
	var out []string
	for k, v := range h {
		if strings.HasPrefix(k, "Access-Control-") {
			out = append(out, k+": "+strings.Join(v, "|"))
		}
	}
	slices.Sort(out)
	return out
}

func TestWhoReachesTheHandler(t *testing.T) {
	t.Parallel()
	closed := Options{}
	open := Options{Origins: []string{"https://app.example.com", "https://*.pages.example", "http://localhost:*"}}
	all := Options{Origins: []string{"*"}, RequiresKey: true}
	for _, c := range []struct {
		name    string
		o       Options
		method  string
		headers string
		status  int
		err     error
	}{
		{"no origin", closed, "POST", "", 200, nil},
		{"no origin, GET", closed, "GET", "", 200, nil},
		{"no origin, OPTIONS", closed, "OPTIONS", "", 200, nil},
		{"no origin, looks like a preflight", closed, "OPTIONS", "Access-Control-Request-Method: POST", 200, nil},
		{"own origin", closed, "POST", "Origin: http://models.example.com", 200, nil},
		{"own origin, port spelled out in Host", closed, "POST", "Host: models.example.com:80\nOrigin: http://models.example.com", 200, nil},
		{"own origin, Host in capitals", closed, "POST", "Host: Models.Example.COM\nOrigin: http://models.example.com", 200, nil},
		{"own origin, IPv6", closed, "POST", "Host: [2001:DB8::1]:8000\nOrigin: http://[2001:db8::1]:8000", 200, nil},
		{"own host, other scheme", closed, "POST", "Origin: https://models.example.com", 403, ErrOrigin},
		{"own host, other port", closed, "POST", "Origin: http://models.example.com:8000", 403, ErrOrigin},
		{"own host malformed", closed, "POST", "Host: a b\nOrigin: http://a b", 403, ErrOrigin},
		{"no host", closed, "POST", "Host: \nOrigin: http://", 403, ErrOrigin},
		{"foreign, POST", closed, "POST", "Origin: https://app.example.com", 403, ErrOrigin},
		{"foreign, GET", closed, "GET", "Origin: https://app.example.com", 403, ErrOrigin},
		{"foreign, HEAD", closed, "HEAD", "Origin: https://app.example.com", 403, ErrOrigin},
		{"foreign, DELETE", closed, "DELETE", "Origin: https://app.example.com", 403, ErrOrigin},
		{"foreign, OPTIONS", closed, "OPTIONS", "Origin: https://app.example.com", 403, ErrOrigin},
		{"foreign, unknown method", closed, "BREW", "Origin: https://app.example.com", 403, ErrOrigin},
		{"foreign, simple POST", closed, "POST", "Origin: https://app.example.com\nContent-Type: text/plain", 403, ErrOrigin},
		{"foreign, WebSocket", closed, "GET", "Origin: https://app.example.com\nConnection: Upgrade\nUpgrade: websocket", 403, ErrOrigin},
		{"null", closed, "POST", "Origin: null", 403, ErrOrigin},
		{"null, open to some", open, "POST", "Origin: null", 403, ErrOrigin},
		{"null, open to all", all, "POST", "Origin: null", 403, ErrOrigin},
		{"null, host null", closed, "POST", "Host: null\nOrigin: null", 403, ErrOrigin},
		{"empty origin", open, "POST", "Origin: ", 403, ErrOrigin},
		{"two origins", open, "POST", "Origin: https://app.example.com\nOrigin: https://app.example.com", 403, ErrOrigin},
		{"two origins in one", open, "POST", "Origin: https://app.example.com https://app.example.com", 403, ErrOrigin},
		{"origin with a path", open, "POST", "Origin: https://app.example.com/", 403, ErrOrigin},
		{"origin in capitals", open, "POST", "Origin: HTTPS://APP.EXAMPLE.COM", 403, ErrOrigin},
		{"suffix look-alike", open, "POST", "Origin: https://app.example.com.evil.example", 403, ErrOrigin},
		{"prefix look-alike", open, "POST", "Origin: https://evilapp.example.com", 403, ErrOrigin},
		{"pattern look-alike", open, "POST", "Origin: https://evilpages.example", 403, ErrOrigin},
		{"pattern's own domain", open, "POST", "Origin: https://pages.example", 403, ErrOrigin},
		{"localhost look-alike", open, "POST", "Origin: http://localhost.evil.example:80", 403, ErrOrigin},
		{"user name look-alike", open, "POST", "Origin: https://app.example.com@evil.example", 403, ErrOrigin},
		{"listed", open, "POST", "Origin: https://app.example.com", 200, nil},
		{"listed by pattern", open, "POST", "Origin: https://a.b.pages.example", 200, nil},
		{"listed by any port", open, "POST", "Origin: http://localhost:5173", 200, nil},
		{"listed, plain OPTIONS", open, "OPTIONS", "Origin: https://app.example.com", 200, nil},
		{"all", all, "POST", "Origin: https://anything.example:8443", 200, nil},
		{"all, malformed", all, "POST", "Origin: anything", 403, ErrOrigin},
		{"forwarded, untrusted", closed, "POST", "Origin: https://m.example\nX-Forwarded-Proto: https\nX-Forwarded-Host: m.example", 403, ErrOrigin},
		{"forwarded, trusted", Options{TrustForwarded: true}, "POST", "Origin: https://m.example\nX-Forwarded-Proto: https\nX-Forwarded-Host: m.example", 200, nil},
		{"forwarded scheme, trusted", Options{TrustForwarded: true}, "POST", "Origin: https://models.example.com\nX-Forwarded-Proto: https", 200, nil},
		{"forwarded, trusted, a list", Options{TrustForwarded: true}, "POST", "Origin: https://m.example\nX-Forwarded-Proto: https\nX-Forwarded-Host: m.example, evil.example", 403, ErrOrigin},
		{"forwarded, trusted, twice", Options{TrustForwarded: true}, "POST", "Origin: https://m.example\nX-Forwarded-Proto: https\nX-Forwarded-Host: m.example\nX-Forwarded-Host: m.example", 403, ErrOrigin},
		{"forwarded, trusted, odd scheme", Options{TrustForwarded: true}, "POST", "Origin: gopher://m.example\nX-Forwarded-Proto: gopher\nX-Forwarded-Host: m.example", 403, ErrOrigin},
		{"listed as own", Options{Own: []string{"https://m.example"}}, "POST", "Origin: https://m.example", 200, nil},
		{"not the one listed as own", Options{Own: []string{"https://m.example"}}, "POST", "Origin: http://m.example", 403, ErrOrigin},
		{"JSON in other words", closed, "POST", `Content-Type: Application/JSON; charset="utf-8"`, 200, nil},
		{"text", closed, "POST", "Content-Type: text/plain", 415, ErrContentType},
		{"form", closed, "POST", "Content-Type: application/x-www-form-urlencoded", 415, ErrContentType},
		{"multipart", closed, "POST", "Content-Type: multipart/form-data; boundary=x", 415, ErrContentType},
		{"JSON hidden in a parameter", closed, "POST", "Content-Type: text/plain; x=application/json", 415, ErrContentType},
		{"JSON's look-alike", closed, "POST", "Content-Type: application/jsonx", 415, ErrContentType},
		{"two types in one", closed, "POST", "Content-Type: text/plain, application/json", 415, ErrContentType},
		{"no type", closed, "POST", "-: Content-Type", 415, ErrContentType},
		{"empty type", closed, "POST", "Content-Type: ", 415, ErrContentType},
		{"type of a GET", closed, "GET", "Content-Type: text/plain", 200, nil},
		{"own page, text", closed, "POST", "Origin: http://models.example.com\nContent-Type: text/plain", 415, ErrContentType},
		{"other type by option", Options{MediaTypes: []string{"application/cbor"}}, "POST", "Content-Type: application/cbor", 200, nil},
		{"JSON no more by option", Options{MediaTypes: []string{"application/cbor"}}, "POST", "", 415, ErrContentType},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var refused error
			c.o.Refuse = func(w http.ResponseWriter, _ *http.Request, status int, err error) {
				refused = err
				w.WriteHeader(status)
			}
			p := policy(t, c.o)
			reached := false
			h := p.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }), "POST")
			r, w := request(c.method, c.headers), httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != c.status || reached != (c.status == 200) || !errors.Is(refused, c.err) {
				t.Errorf("status %d, reached %v, %v; want %d, %v", w.Code, reached, refused, c.status, c.err)
			}
			if w.Code == 403 && accessControl(w.Header()) != nil {
				t.Errorf("a refusal has %v", accessControl(w.Header()))
			}
			if !strings.Contains(strings.Join(w.Header()["Vary"], ","), "Origin") {
				t.Errorf("Vary is %v", w.Header()["Vary"])
			}
			if ok := c.status != 403; p.AllowedOrigin(r) != ok {
				t.Errorf("AllowedOrigin says %v", !ok)
			}
		})
	}
}

func TestPreflights(t *testing.T) {
	t.Parallel()
	usual := "authorization,content-type"
	for _, c := range []struct {
		name, origin, method string
		headers              []string
		err                  error
	}{
		{"usual", "https://app.example.com", "POST", []string{usual}, nil},
		{"no headers", "https://app.example.com", "POST", nil, nil},
		{"other method of the route", "https://app.example.com", "DELETE", nil, nil},
		{"an SDK", "https://app.example.com", "POST", []string{"authorization,content-type,traceparent,x-request-id,x-stainless-arch,x-stainless-lang,x-stainless-os,x-stainless-package-version,x-stainless-retry-count,x-stainless-runtime,x-stainless-runtime-version,x-stainless-timeout"}, nil},
		{"by option", "https://app.example.com", "POST", []string{"x-team"}, nil},
		{"split by a gateway", "https://app.example.com", "POST", []string{"authorization", "content-type"}, nil},
		{"own", "http://models.example.com", "POST", []string{usual}, nil},
		{"foreign", "https://evil.example", "POST", []string{usual}, ErrOrigin},
		{"null", "null", "POST", []string{usual}, ErrOrigin},
		{"method of no route", "https://app.example.com", "PUT", nil, ErrMethod},
		{"GET", "https://app.example.com", "GET", nil, ErrMethod},
		{"OPTIONS", "https://app.example.com", "OPTIONS", nil, ErrMethod},
		{"method in lower case", "https://app.example.com", "post", nil, ErrMethod},
		{"two methods", "https://app.example.com", "POST, DELETE", nil, ErrMethod},
		{"header not listed", "https://app.example.com", "POST", []string{"authorization,x-evil"}, ErrHeaders},
		{"asterisk", "https://app.example.com", "POST", []string{"*"}, ErrHeaders},
		{"twice", "https://app.example.com", "POST", []string{"authorization,authorization"}, ErrHeaders},
		{"huge list of commas", "https://app.example.com", "POST", []string{strings.Repeat(",", 1<<20)}, ErrHeaders},
		{"huge name", "https://app.example.com", "POST", []string{strings.Repeat("a", 1<<20)}, ErrHeaders},
		{"many values", "https://app.example.com", "POST", slices.Repeat([]string{"authorization"}, 10_000), ErrHeaders},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var refused error
			p := policy(t, Options{Origins: []string{"https://app.example.com"}, Headers: []string{"X-Team", "authorization"},
				Refuse: func(w http.ResponseWriter, _ *http.Request, status int, err error) {
					refused = err
					w.WriteHeader(status)
				}})
			h := p.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a preflight reached the handler") }), "POST", "DELETE")
			r := request("OPTIONS", "Origin: "+c.origin+"\nAccess-Control-Request-Method: "+c.method)
			if c.headers != nil {
				r.Header["Access-Control-Request-Headers"] = c.headers
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if got := strings.Join(w.Header()["Vary"], ", "); got != "Origin, Access-Control-Request-Method, Access-Control-Request-Headers" {
				t.Errorf("Vary is %q", got)
			}
			if c.err != nil {
				if w.Code != 403 || !errors.Is(refused, c.err) || accessControl(w.Header()) != nil {
					t.Errorf("status %d, %v, %v; want 403, %v", w.Code, refused, accessControl(w.Header()), c.err)
				}
				if len(refused.Error()) > 1000 {
					t.Errorf("the error has %d bytes", len(refused.Error()))
				}
				return
			}
			want := []string{
				"Access-Control-Allow-Headers: " + strings.Join(DefaultHeaders(), ", ") + ", X-Team",
				"Access-Control-Allow-Methods: POST, DELETE",
				"Access-Control-Allow-Origin: " + c.origin,
				"Access-Control-Max-Age: 600",
			}
			if w.Code != 204 || refused != nil || !slices.Equal(accessControl(w.Header()), want) {
				t.Errorf("status %d, %v\n got %q\nwant %q", w.Code, refused, accessControl(w.Header()), want)
			}
			asked := strings.Split(strings.Join(c.headers, ","), ",")
			if c.headers == nil {
				asked = nil
			}
			if why := preflightFails(w.Result(), c.origin, c.method, asked, false); why != "" {
				t.Errorf("a browser would refuse: %s", why)
			}
		})
	}
}

func TestAnswersOfAllowedOrigins(t *testing.T) {
	t.Parallel()
	listed := []string{"https://app.example.com"}
	for _, c := range []struct {
		name string
		o    Options
		want []string
	}{
		{"listed", Options{Origins: listed}, []string{"Access-Control-Allow-Origin: https://app.example.com", "Access-Control-Expose-Headers: X-Request-Id, Retry-After"}},
		{"credentials", Options{Origins: listed, Credentials: true, Expose: []string{"x-tokens"}}, []string{"Access-Control-Allow-Credentials: true", "Access-Control-Allow-Origin: https://app.example.com", "Access-Control-Expose-Headers: X-Request-Id, Retry-After, X-Tokens"}},
		{"all", Options{Origins: []string{"*"}, RequiresKey: true}, []string{"Access-Control-Allow-Origin: *", "Access-Control-Expose-Headers: X-Request-Id, Retry-After"}},
		{"own", Options{Own: listed}, nil},
	} {
		p := policy(t, c.o)
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
			// Also where the route answers 405 or worse.
			w := httptest.NewRecorder()
			p.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }), "POST").
				ServeHTTP(w, request(method, "Origin: https://app.example.com"))
			if w.Code != 500 || !slices.Equal(accessControl(w.Header()), c.want) {
				t.Errorf("%s, %s: %d %q, want %q", c.name, method, w.Code, accessControl(w.Header()), c.want)
			}
		}
		w := httptest.NewRecorder()
		p.Handler(http.NotFoundHandler(), "POST").ServeHTTP(w, request("POST", "Origin: https://app.example.com\nContent-Type: text/plain"))
		if w.Code != 415 || !slices.Equal(accessControl(w.Header()), c.want) {
			t.Errorf("%s, 415: %d %q, want %q", c.name, w.Code, accessControl(w.Header()), c.want)
		}
	}
}

// TestAuthenticationComesAfter: preflights pass without a key, and 401s can be read by the page.
func TestAuthenticationComesAfter(t *testing.T) {
	t.Parallel()
	authenticated := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	h := policy(t, Options{Origins: []string{"https://app.example.com"}}).Handler(authenticated, "POST")
	for method, want := range map[string]int{"OPTIONS": 204, "POST": 401} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, request(method, "Origin: https://app.example.com\nAccess-Control-Request-Method: POST\nAccess-Control-Request-Headers: authorization"))
		if w.Code != want || w.Header().Get("Access-Control-Allow-Origin") != "https://app.example.com" {
			t.Errorf("%s: %d, %v", method, w.Code, w.Header())
		}
	}
}

func TestHeadersFromOutsideLetNobodyIn(t *testing.T) {
	t.Parallel()
	h := policy(t, Options{Origins: []string{"https://app.example.com"}}).Handler(http.NotFoundHandler(), "POST")
	for _, headers := range []string{"Origin: https://evil.example", "Origin: https://app.example.com\nAccess-Control-Request-Method: PUT", ""} {
		w := httptest.NewRecorder()
		w.Header().Set("Access-Control-Allow-Origin", "*")
		h.ServeHTTP(w, request("OPTIONS", headers))
		if w.Code < 400 || accessControl(w.Header()) != nil {
			t.Errorf("%q: %d %v", headers, w.Code, w.Header())
		}
	}
}

func TestMethodsOfAMux(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	ok := func(http.ResponseWriter, *http.Request) {}
	mux.HandleFunc("POST /v1/decisions", ok)
	mux.HandleFunc("GET /v1/models/{id}", ok)
	mux.HandleFunc("DELETE /v1/models/{id}", ok)
	mux.HandleFunc("/any", ok)
	h := policy(t, Options{Origins: []string{"https://app.example.com"}}).Mux(mux)
	for _, c := range []struct{ path, method, allow string }{
		{"/v1/decisions", "POST", "POST"},
		{"/v1/decisions", "GET", ""},
		{"/v1/models/a", "GET", "GET, HEAD, DELETE"},
		{"/v1/models/a", "DELETE", "GET, HEAD, DELETE"},
		{"/v1/models/a", "POST", ""},
		{"/v1/models/a%2Fb", "DELETE", "GET, HEAD, DELETE"},
		{"/v1/../v1/decisions", "DELETE", ""},
		{"/any", "PATCH", "GET, HEAD, POST, PUT, PATCH, DELETE"},
		{"/none", "POST", ""},
	} {
		r := httptest.NewRequest("OPTIONS", c.path, nil)
		r.Header.Set("Origin", "https://app.example.com")
		r.Header.Set("Access-Control-Request-Method", c.method)
		for range 2 {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if got := w.Header().Get("Access-Control-Allow-Methods"); got != c.allow || (w.Code == 204) != (c.allow != "") {
				t.Errorf("%s %s: %d %q, want %q", c.method, c.path, w.Code, got, c.allow)
			}
		}
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/none", nil)
	r.Header.Set("Origin", "https://app.example.com")
	h.ServeHTTP(w, r)
	if w.Code != 404 || w.Header().Get("Access-Control-Allow-Origin") == "" {
		t.Errorf("an unknown path: %d %v", w.Code, w.Header())
	}
}

// TestHosts sends names as an attacker's DNS would have a browser send them.
func TestHosts(t *testing.T) {
	t.Parallel()
	at := func(addr string) context.Context {
		a, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		return context.WithValue(context.Background(), http.LocalAddrContextKey, net.Addr(a))
	}
	unix := context.WithValue(context.Background(), http.LocalAddrContextKey, net.Addr(&net.UnixAddr{Name: "/tmp/s", Net: "unix"}))
	loopback := Options{Addr: "127.0.0.1:8000"}
	named := Options{Hosts: []string{"Models.example.com."}}
	for _, c := range []struct {
		name    string
		o       Options
		ctx     context.Context
		in, out string
	}{
		{"loopback bind", loopback, context.Background(),
			"localhost localhost:8000 LOCALHOST:1 localhost. localhost.:8000 127.0.0.1 127.0.0.1:8000 127.0.0.2:8000 [::1] [::1]:8000",
			"evil.example evil.example:8000 localhost.evil.example localhost.evil.example:8000 127.0.0.1.evil.example evil-localhost 192.0.2.1 [2001:db8::1] 0.0.0.0 localhost:x localhost..:8000 127.1 [::ffff:127.0.0.1] localhost@evil.example a,localhost"},
		{"loopback connection", Options{Addr: ":8000"}, at("127.0.0.1:8000"), "localhost 127.0.0.1:8000", "evil.example:8000 models.example.com"},
		{"loopback connection, IPv6", Options{}, at("[::1]:8000"), "localhost [::1]:8000", "evil.example:8000"},
		{"loopback connection, mapped", Options{}, at("[::ffff:127.0.0.1]:8000"), "localhost", "evil.example:8000"},
		{"other connection", Options{}, at("192.0.2.1:8000"), "evil.example models.example.com 192.0.2.1", ""},
		{"unknown connection", Options{}, context.Background(), "evil.example", ""},
		{"unix socket", Options{}, unix, "evil.example", ""},
		{"names", named, at("192.0.2.1:8000"), "models.example.com models.example.com:443 MODELS.EXAMPLE.COM. localhost 192.0.2.1:8000", "evil.example a.models.example.com models.example.com.evil.example 192.0.2.2 192.0.2.1.evil.example"},
		{"names, loopback", named, at("127.0.0.1:8000"), "models.example.com localhost", "evil.example"},
		{"own origins", Options{Own: []string{"https://models.example.com"}}, at("127.0.0.1:8000"), "models.example.com", "evil.example"},
		{"own origins, other connection", Options{Own: []string{"https://models.example.com"}}, at("192.0.2.1:8000"), "models.example.com evil.example", ""},
	} {
		p := policy(t, c.o)
		h := p.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), "GET")
		for want, hosts := range map[int]string{200: c.in, 421: c.out} {
			for _, host := range append(strings.Fields(hosts), "") {
				if host == "" && (want != 421 || c.out == "") {
					continue
				}
				// With the very origin that rebinding gives a page, and without.
				for _, origin := range []string{"http://" + host, ""} {
					r := httptest.NewRequest("GET", "/", nil).WithContext(c.ctx)
					r.Host = host
					if _, ok := parseOrigin(origin); ok {
						r.Header.Set("Origin", origin)
					}
					w := httptest.NewRecorder()
					h.ServeHTTP(w, r)
					if w.Code != want {
						t.Errorf("%s: Host %q, Origin %q: %d, want %d", c.name, host, origin, w.Code, want)
					}
					if p.AllowedOrigin(r) != (want == 200) {
						t.Errorf("%s: Host %q, Origin %q: AllowedOrigin disagrees", c.name, host, origin)
					}
				}
			}
		}
	}
}

func TestAllPagesButNotOnThisMachine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o    Options
		at   net.IP
		want bool
	}{
		{Options{Addr: ":8000"}, net.IPv4(127, 0, 0, 1), false},
		{Options{Addr: ":8000"}, net.IPv4(192, 0, 2, 1), true},
		{Options{Addr: ":8000", RequiresKey: true}, net.IPv4(127, 0, 0, 1), true},
	} {
		c.o.Origins = []string{"*"}
		r := httptest.NewRequest("GET", "http://localhost:8000/", nil)
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: c.at})))
		r.Header.Set("Origin", "https://any.example")
		if got := policy(t, c.o).AllowedOrigin(r); got != c.want {
			t.Errorf("%+v at %v: %v", c.o, c.at, got)
		}
	}
}

func TestOwnOriginOverTLS(t *testing.T) {
	t.Parallel()
	p := policy(t, Options{})
	r := httptest.NewRequest("GET", "https://models.example.com:8443/", nil)
	r.TLS = new(tls.ConnectionState)
	for origin, want := range map[string]bool{"https://models.example.com:8443": true, "http://models.example.com:8443": false, "https://models.example.com": false} {
		r.Header.Set("Origin", origin)
		if p.AllowedOrigin(r) != want {
			t.Errorf("%s: %v", origin, !want)
		}
	}
}

// TestRawRequests writes bytes to a server of net/http: what its parser makes of them is part of
// who gets in.
func TestRawRequests(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	s := httptest.NewServer(policy(t, Options{Origins: []string{"https://app.example.com"}}).Handler(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }), "POST"))
	defer s.Close()
	addr := s.Listener.Addr().String()
	for _, c := range []struct {
		name, request string
		status        int
	}{
		{"well-formed", "GET / HTTP/1.1\r\nHost: " + addr + "\r\n\r\n", 200},
		{"two Host headers", "GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", 400},
		{"no Host header", "GET / HTTP/1.1\r\n\r\n", 400},
		{"empty Host header", "GET / HTTP/1.1\r\nHost:\r\n\r\n", 421},
		{"HTTP/1.0 without Host", "GET / HTTP/1.0\r\n\r\n", 421},
		{"another Host", "GET / HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\n\r\n", 421},
		{"absolute form beats Host", "GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 421},
		{"header name in lower case", "GET / HTTP/1.1\r\nHost: localhost\r\norigin: https://evil.example\r\n\r\n", 403},
		{"header value with spaces", "GET / HTTP/1.1\r\nHost: localhost\r\nOrigin:   https://app.example.com  \r\n\r\n", 200},
		{"two origins, the first listed", "GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: https://app.example.com\r\nOrigin: https://evil.example\r\n\r\n", 403},
		{"empty origin", "GET / HTTP/1.1\r\nHost: localhost\r\nOrigin:\r\n\r\n", 403},
		{"folded origin", "GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: https://app.example.com\r\n .evil.example\r\n\r\n", 403},
		{"two content types", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n\r\n", 415},
		{"huge request headers", "OPTIONS / HTTP/1.1\r\nHost: localhost\r\nOrigin: https://app.example.com\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: " + strings.Repeat(",", 500_000) + "\r\n\r\n", 403},
	} {
		before := reached.Load()
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, c.request)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		conn.Close()
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if res.StatusCode != c.status || (reached.Load() > before) != (c.status == 200) {
			t.Errorf("%s: %d, reached %v; want %d", c.name, res.StatusCode, reached.Load() > before, c.status)
		}
	}
}

// TestStreams: the headers are there with the first event, before the handler returns.
func TestStreams(t *testing.T) {
	t.Parallel()
	more := make(chan bool)
	s := httptest.NewServer(policy(t, Options{Origins: []string{"https://app.example.com"}}).Handler(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: 1\n\n")
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			<-more
			fmt.Fprint(w, "data: 2\n\n")
		}), "POST"))
	defer s.Close()
	r, err := http.NewRequest("POST", s.URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Origin", "https://app.example.com")
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.Header.Get("Access-Control-Allow-Origin") != "https://app.example.com" {
		t.Error("a stream begins without the headers")
	}
	close(more)
	if b, err := io.ReadAll(res.Body); err != nil || string(b) != "data: 1\n\ndata: 2\n\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestLibraryAgrees draws requests of exact origins and compares with the library alone, which has
// the same lists. Ours refuses where the library leaves headers out, and adds nothing else.
func TestLibraryAgrees(t *testing.T) {
	t.Parallel()
	origins := []string{"https://a.example", "https://b.example:8443", "http://localhost:3000"}
	methods := []string{"POST", "DELETE"}
	for _, credentials := range []bool{false, true} {
		p := policy(t, Options{Origins: origins, Credentials: credentials})
		library := rs.New(rs.Options{AllowedOrigins: origins, AllowedMethods: methods, AllowedHeaders: DefaultHeaders(),
			ExposedHeaders: []string{"X-Request-Id", "Retry-After"}, MaxAge: 600, AllowCredentials: credentials})
		end := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
		ours, theirs := p.Handler(end, methods...), library.Handler(end)
		rnd := rand.New(rand.NewPCG(1, 2))
		pick := func(s ...string) string { return s[rnd.IntN(len(s))] }
		allowed := 0
		for range 3000 {
			r := request(pick("OPTIONS", "OPTIONS", "POST", "DELETE"), "Origin: "+pick(append(origins, "https://c.example", "https://a.example:8443", "http://a.example", "null", "https://b.example")...))
			if r.Method == "OPTIONS" {
				r.Header.Set("Access-Control-Request-Method", pick("POST", "DELETE", "PUT", "GET", "post"))
				r.Header.Set("Access-Control-Request-Headers", pick("authorization", "authorization,content-type", "authorization, content-type", "content-type,authorization", "x-evil", "x-stainless-os", "authorization,", ",", ""))
			}
			w, want := httptest.NewRecorder(), httptest.NewRecorder()
			ours.ServeHTTP(w, r)
			theirs.ServeHTTP(want, r)
			ok := want.Header().Get("Access-Control-Allow-Origin") != ""
			if ok {
				allowed++
			}
			if ok != (w.Code < 300) {
				t.Fatalf("%s %v: %d, the library lets it pass: %v", r.Method, r.Header, w.Code, ok)
			}
			for _, h := range []http.Header{w.Header(), want.Header()} {
				if m := h.Get("Access-Control-Allow-Methods"); m != "" && !strings.Contains(m, r.Header.Get("Access-Control-Request-Method")) {
					t.Fatalf("methods %q", m)
				}
				for _, k := range []string{"Access-Control-Allow-Methods", "Access-Control-Allow-Headers", "Content-Type", "X-Content-Type-Options"} {
					h.Del(k)
				}
				h.Set("Vary", strings.Join(h["Vary"], ", "))
			}
			if !maps.EqualFunc(w.Header(), want.Header(), slices.Equal) {
				t.Fatalf("%s %v:\n%v, the library\n%v", r.Method, r.Header, w.Header(), want.Header())
			}
		}
		if allowed < 300 || allowed > 2700 {
			t.Errorf("%d of 3000 pass: the draw tests nothing", allowed)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/decisions", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /v1/models", func(http.ResponseWriter, *http.Request) {})
	h := policy(t, Options{Origins: []string{"https://app.example.com"}}).Mux(mux)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				origin, want := "https://app.example.com", 204
				if (i+j)%2 == 0 {
					origin, want = fmt.Sprintf("https://evil%d.example", j), 403
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, request("OPTIONS", "Origin: "+origin+"\nAccess-Control-Request-Method: POST"))
				if w.Code != want {
					t.Errorf("%s: %d", origin, w.Code)
				}
			}
		})
	}
	wg.Wait()
}

// FuzzRequest: no request of a foreign origin reaches the handler or is answered with a header that
// lets a page read it, whatever its headers.
func FuzzRequest(f *testing.F) {
	f.Add("POST", "localhost:8000", "https://app.example.com", "", "", "application/json")
	f.Add("OPTIONS", "localhost", "https://app.example.com", "POST", "authorization", "")
	f.Add("OPTIONS", "evil.example", "http://evil.example", "POST", ",,,", "")
	f.Add("GET", "[::1]:8000", "null", "", "", "text/plain")
	p := policy(f, Options{Origins: []string{"https://app.example.com"}, Addr: "127.0.0.1:8000"})
	f.Fuzz(func(t *testing.T, method, host, origin, acrm, acrh, contentType string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.Method, r.Host = method, host
		r.Header = http.Header{"Origin": {origin}, "Content-Type": {contentType}, "Access-Control-Request-Method": {acrm}, "Access-Control-Request-Headers": {acrh}}
		reached := false
		w := httptest.NewRecorder()
		p.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }), "POST").ServeHTTP(w, r)
		own := strings.EqualFold(origin, "http://"+host) || strings.EqualFold(origin+":80", "http://"+host)
		known := own || origin == "https://app.example.com"
		if !known && (reached || accessControl(w.Header()) != nil || w.Code < 400) {
			t.Fatalf("%d, reached %v, %v", w.Code, reached, w.Header())
		}
		name := strings.ToLower(strings.Replace(host, ".:", ":", 1))
		if reached && !strings.HasPrefix(name, "localhost") && !strings.HasPrefix(name, "127.") && !strings.HasPrefix(name, "[") {
			t.Fatalf("the handler is reached as %q", host)
		}
		if reached && method == "POST" && !strings.HasPrefix(strings.ToLower(strings.TrimSpace(contentType)), "application/json") {
			t.Fatalf("the handler is reached with %q", contentType)
		}
		if acao := w.Header().Get("Access-Control-Allow-Origin"); acao != "" && acao != origin {
			t.Fatalf("%q is told that %q may read", origin, acao)
		}
	})
}

func BenchmarkHandler(b *testing.B) {
	h := policy(b, Options{Origins: []string{"https://app.example.com", "https://*.pages.example"}}).
		Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), "POST")
	for name, headers := range map[string]string{
		"none":      "",
		"listed":    "Origin: https://app.example.com",
		"refused":   "Origin: https://evil.example",
		"preflight": "Origin: https://app.example.com\nAccess-Control-Request-Method: POST\nAccess-Control-Request-Headers: authorization,content-type",
		"commas":    "Origin: https://app.example.com\nAccess-Control-Request-Method: POST\nAccess-Control-Request-Headers: " + strings.Repeat(",", 1<<20),
	} {
		b.Run(name, func(b *testing.B) {
			method := "POST"
			if strings.Contains(headers, "Request-Method") {
				method = "OPTIONS"
			}
			r := request(method, headers)
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(httptest.NewRecorder(), r)
			}
		})
	}
}
