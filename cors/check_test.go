package cors

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// server answers as a kind of model server would and records what it was asked.
type server struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func serve(t *testing.T, h http.HandlerFunc) *server {
	s := new(server)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.Method+" "+r.URL.Path)
		s.mu.Unlock()
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func check(t *testing.T, p *Prober, url string, origins ...string) *Report {
	t.Helper()
	rep, err := p.Check(t.Context(), url, origins...)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func hotpathMux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/decisions", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) })
	return mux
}

func TestCheckOfAPolicy(t *testing.T) {
	t.Parallel()
	s := serve(t, policy(t, Options{Origins: []string{"https://app.example.com", "https://*.pages.example"}}).Mux(hotpathMux()).ServeHTTP)
	rep := check(t, new(Prober), s.URL, "https://app.example.com", "https://x.pages.example", "https://other.example.com", s.URL)
	want := strings.ReplaceAll(`URL

route               origin                     may call  why
GET /v1/models      https://app.example.com    yes
GET /v1/models      https://x.pages.example    yes
GET /v1/models      https://other.example.com  no        no Access-Control-Allow-Origin (preflight 403)
GET /v1/models      URL     yes       the server's own origin: browsers send no preflight
POST /v1/decisions  https://app.example.com    yes
POST /v1/decisions  https://x.pages.example    yes
POST /v1/decisions  https://other.example.com  no        no Access-Control-Allow-Origin (preflight 403)
POST /v1/decisions  URL     yes       the server's own origin: browsers send no preflight

Strangers (null, unlisted and look-alike origins) are refused everywhere (16 of 16).
`, "URL", s.URL)
	if strings.Contains(rep.String(), " \n") {
		t.Error("lines end in spaces")
	}
	if got := rep.String(); squeeze(got) != squeeze(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if len(rep.Open()) != 0 {
		t.Errorf("open: %+v", rep.Open())
	}
	for _, a := range s.asked {
		if !strings.HasPrefix(a, "OPTIONS ") && !strings.HasPrefix(a, "GET ") {
			t.Errorf("the check sent %s", a)
		}
	}
}

func squeeze(s string) string {
	var lines []string
	for line := range strings.Lines(s) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

// TestCheckOfOtherServers: the ways in which servers are open or shut, and what is said of them.
func TestCheckOfOtherServers(t *testing.T) {
	t.Parallel()
	app := "https://app.example.com"
	allow := func(w http.ResponseWriter, origin string) {
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Access-Control-Allow-Headers", "authorization, content-type")
	}
	for _, c := range []struct {
		name   string
		h      http.HandlerFunc
		get    string // why app may not GET; empty: it may
		post   string
		delete string
		open   string // the strangers that may POST
	}{
		{"no CORS at all", func(w http.ResponseWriter, r *http.Request) {},
			"no Access-Control-Allow-Origin", "no Access-Control-Allow-Origin", "no Access-Control-Allow-Origin", ""},
		{"everybody", func(w http.ResponseWriter, r *http.Request) { allow(w, "*") },
			"", "", "lacks DELETE", "null unlisted suffix prefix"},
		{"everybody, asterisk for headers", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Access-Control-Allow-Origin", "*")
			w.Header().Set("Access-Control-Allow-Headers", "*")
		}, "does not cover authorization", "does not cover authorization", "lacks DELETE", ""},
		{"whoever asks", func(w http.ResponseWriter, r *http.Request) {
			allow(w, r.Header.Get("Origin"))
			w.Header().Set("Access-Control-Allow-Methods", r.Header.Get("Access-Control-Request-Method"))
		}, "", "", "", "null unlisted suffix prefix"},
		{"comparing prefixes", func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.Header.Get("Origin"), app) {
				allow(w, r.Header.Get("Origin"))
			}
		}, "", "", "lacks DELETE", "suffix"},
		{"comparing suffixes", func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.Header.Get("Origin"), "example.com") {
				allow(w, r.Header.Get("Origin"))
			}
		}, "", "", "lacks DELETE", "prefix"},
		{"authentication first", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(401)
		}, "preflight 401", "preflight 401", "preflight 401", ""},
		{"not on errors", func(w http.ResponseWriter, r *http.Request) {
			if r.Method == "OPTIONS" {
				allow(w, app)
			} else {
				w.WriteHeader(401)
			}
		}, "the answer (401) may not be read", "", "lacks DELETE", ""},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			allow(w, app)
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, "redirected (307)", "redirected (307)", "redirected (307)", ""},
		{"hanging up", func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }, "EOF", "EOF", "EOF", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.h)
			p := &Prober{Routes: []Route{{"GET", "/v1/models"}, {"POST", "/v1/completions"}, {"DELETE", "/v1/files"}}}
			var open []string
			for _, v := range check(t, p, s.URL, app).Verdicts {
				switch {
				case v.Stranger:
					if v.Allowed && v.Route.Method == "POST" {
						open = append(open, map[string]string{"null": "null", Unlisted: "unlisted", app + ".unlisted.invalid": "suffix", "https://unlistedexample.com": "prefix"}[v.Origin])
					}
				default:
					why := map[string]string{"GET": c.get, "POST": c.post, "DELETE": c.delete}[v.Route.Method]
					if v.Allowed != (why == "") || !strings.Contains(v.Reason, why) {
						t.Errorf("%v: %v %q, want %q", v.Route, v.Allowed, v.Reason, why)
					}
				}
			}
			if got := strings.Join(open, " "); got != c.open {
				t.Errorf("open to %q, want %q", got, c.open)
			}
		})
	}
}

func TestCheckWithCredentials(t *testing.T) {
	t.Parallel()
	s := serve(t, policy(t, Options{Origins: []string{"*"}, RequiresKey: true}).Mux(hotpathMux()).ServeHTTP)
	for credentials, want := range map[bool]bool{false: true, true: false} {
		rep := check(t, &Prober{Routes: []Route{{"POST", "/v1/decisions"}}, Credentials: credentials}, s.URL, "https://app.example.com")
		if v := rep.Verdicts[0]; v.Allowed != want || !v.AnyOrigin {
			t.Errorf("credentials %v: %+v", credentials, v)
		}
		if !credentials && !strings.Contains(rep.String(), "STRANGERS MAY CALL: 3 of 4") {
			t.Errorf("the summary hides an open server:\n%s", rep)
		}
	}
}

func TestRoutesOfAServer(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/openapi.json":
			fmt.Fprint(w, `{"paths":{"/v1/b/{id}":{"delete":{},"get":{},"parameters":[]},"/v1/a":{"post":{}}}}`)
		case "/v1/models", "/":
		case "/tokenize":
			w.WriteHeader(405)
		case "/metrics":
			w.WriteHeader(401)
		default:
			w.WriteHeader(404)
		}
	})
	for base, want := range map[string]string{
		"":                  "GET / GET /v1/models POST /tokenize GET /metrics",
		"/":                 "GET / GET /v1/models POST /tokenize GET /metrics",
		"/api":              "POST /v1/a DELETE /v1/b/id GET /v1/b/id",
		"/api/?query#frag":  "POST /v1/a DELETE /v1/b/id GET /v1/b/id",
		"/nothing/to/see/x": "",
	} {
		var got []string
		rep := check(t, new(Prober), s.URL+base)
		for _, v := range rep.Verdicts {
			if v.Origin == "null" {
				got = append(got, v.Route.String())
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: routes %q, want %q", base, got, want)
		}
		if want == "" && !strings.Contains(rep.String(), "No routes found") {
			t.Errorf("%s", rep)
		}
	}
	if slices.ContainsFunc(s.asked, func(a string) bool { return a[:4] != "GET " && a[:8] != "OPTIONS " }) {
		t.Errorf("asked: %q", s.asked)
	}
}

// TestRoutesOfAServerThatHidesThem: to a GET of a POST route many routers say 404.
func TestRoutesOfAServerThatHidesThem(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == "OPTIONS" && r.URL.Path != "/tokenize":
			w.Header().Set("Access-Control-Allow-Origin", "https://app.example.com")
			w.Header().Set("Access-Control-Allow-Headers", "authorization,content-type")
			w.WriteHeader(204)
		case r.URL.Path != "/v1/models":
			w.WriteHeader(404)
		}
	})
	rep := check(t, new(Prober), s.URL, "https://app.example.com")
	routes := map[string]bool{}
	for _, v := range rep.Verdicts {
		routes[v.Route.String()] = v.Guessed
	}
	if guessed, ok := routes["POST /v1/chat/completions"]; !ok || !guessed {
		t.Error("a POST route behind a 404 is not asked about as a guess")
	}
	if guessed, ok := routes["GET /v1/models"]; !ok || guessed {
		t.Error("a GET route that is there counts as a guess")
	}
	if _, ok := routes["POST /tokenize"]; ok {
		t.Error("a guess whose preflight is 404 stays")
	}
	if _, ok := routes["GET /health"]; ok {
		t.Error("a GET route that is not there stays")
	}
	if !strings.Contains(rep.String(), "POST /v1/chat/completions (?)") || !strings.Contains(rep.String(), "does not tell") {
		t.Errorf("guesses are not marked:\n%s", rep)
	}
}

func TestOpenAPIIsHostile(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 10 * maxRoutes {
		fmt.Fprintf(&many, `"/%d":{"get":{}},`, i)
	}
	for doc, want := range map[string]int{
		"": 0, "[]": 0, "{": 0, `{"paths":[]}`: 0, `{"paths":{"/a":[]}}`: 0, `{"paths":{"/a":{"brew":{}}}}`: 0,
		`{"paths":{"/\u001b[2J":{"get":{}}}}`:      1,
		`{"paths":{` + many.String() + `"/z":{}}}`: maxRoutes,
	} {
		if got := openAPI([]byte(doc)); len(got) != want {
			t.Errorf("%.40s: %d routes, want %d", doc, len(got), want)
		}
	}
	rep := &Report{Verdicts: []Verdict{{Route: Route{"GET", "/\x1b[2J"}, Origin: "https://a.example", Reason: "\u009b1m"}}}
	if strings.ContainsAny(rep.String(), "\x1b\u009b") {
		t.Error("a path reaches the terminal as it is")
	}
}

func TestCheckRefusesWhatItCannotAsk(t *testing.T) {
	t.Parallel()
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	shut := httptest.NewServer(nil)
	shut.Close()
	for _, c := range [][]string{
		{"", "https://a.example"}, {"localhost:8000"}, {"ftp://localhost"}, {"http://"}, {"http://a b"}, {"http://%zz"},
		{s.URL, "a.example"}, {s.URL, "https://a.example/"}, {s.URL, "https://A.example"}, {s.URL, "https://a.example:443"}, {s.URL, "*"}, {s.URL, ""},
		{shut.URL, "https://a.example"},
	} {
		if _, err := Check(t.Context(), c[0], c[1:]...); !errors.Is(err, ErrCheck) {
			t.Errorf("%q: %v", c, err)
		}
	}
	if _, err := (&Prober{Routes: make([]Route, maxRoutes+1)}).Check(t.Context(), s.URL); !errors.Is(err, ErrCheck) {
		t.Errorf("too many routes: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Check(ctx, s.URL, "https://a.example"); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled check: %v", err)
	}
}

func TestHeadersAreAskedForAsBrowsersDo(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	got := map[string]bool{}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == "OPTIONS" {
			got[r.Header.Get("Access-Control-Request-Method")+" "+strings.Join(r.Header["Access-Control-Request-Headers"], "|")] = true
		}
	})
	for _, headers := range [][]string{nil, {}, {"X-Team", "Authorization", "x-team"}} {
		check(t, &Prober{Routes: []Route{{"GET", "/a"}, {"POST", "/b"}}, Headers: headers}, s.URL, "https://a.example")
	}
	for _, want := range []string{"GET authorization", "POST authorization,content-type", "GET ", "POST ", "GET authorization,x-team", "POST authorization,x-team"} {
		if !got[want] {
			t.Errorf("%q was not asked: %v", want, got)
		}
	}
}
