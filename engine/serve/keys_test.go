package serve_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotpath-go/hotpath/cors"
	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/engine/serve"
)

func TestReadKeys(t *testing.T) {
	t.Parallel()
	// printf alpha-secret | sha256sum
	const hash = "sha256:3f8ad42d6dc52445378196cb2e49281f812253eaea7830fe46f4756f2ca0a3d4"
	keys, err := serve.ReadKeys(strings.NewReader("# ours\n\n alpha " + hash + " 3\nbeta.2 b-secret\r\n"))
	if err != nil || len(keys) != 2 || keys[0] != (serve.Key{Name: "alpha", Hash: serve.NewKey("", "alpha-secret").Hash, Concurrent: 3}) || keys[1] != serve.NewKey("beta.2", "b-secret") {
		t.Errorf("%+v %v", keys, err)
	}
	for text, want := range map[string]string{
		"alpha":                   "line 1: 1 fields",
		"a b c d":                 "line 1: 4 fields",
		"a sha256:12":             "line 1: the hash has 2 characters, want 64",
		"a b 0":                   "line 1: the number of requests",
		"a b -1":                  "line 1: the number of requests",
		"a b\na c":                `the name "a" is there twice`,
		"a b\nc b":                `"c" has the secret of "a"`,
		"a/b c":                   "its name must be",
		strings.Repeat("a", 5000): "line 1",
	} {
		_, err := serve.ReadKeys(strings.NewReader(text))
		if !errors.Is(err, serve.ErrKeys) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %s", text, err, want)
		}
	}
	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, []byte("a top-secret extra field"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := serve.KeysFromFile(path); err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "top-secret") {
		t.Errorf("%v: it must name the file and no secret", err)
	}
	if _, err := serve.KeysFromFile(path + ".none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestKeysFromEnv(t *testing.T) {
	t.Setenv("SERVE_TEST_KEYS", "a one;b two 4")
	keys, err := serve.KeysFromEnv("SERVE_TEST_KEYS")
	if err != nil || fmt.Sprint(keys) != "[a b]" || keys[1].Concurrent != 4 {
		t.Errorf("%v %v", keys, err)
	}
	if keys, err := serve.KeysFromEnv("SERVE_TEST_NO_KEYS"); err != nil || len(keys) != 0 {
		t.Errorf("%v %v", keys, err)
	}
}

// Every mistake in the options is reported, at once.
func TestOptionMistakes(t *testing.T) {
	t.Parallel()
	e := open(t)
	_, err := serve.New(e, serve.WithKeys(nil), serve.WithKeyNamespaces(), serve.WithOrigins("null", "https://ok.example"), serve.WithBodyLimit(0),
		serve.WithModelNames("*"), serve.WithTimeouts(serve.Timeouts{Write: -time.Second}))
	for _, want := range []string{"WithKeys: no keys", "WithKeyNamespaces", `Origins[0] "null"`, "WithBodyLimit: 0", "WithModelNames", "Write: -1s"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if _, err := serve.New(e, serve.WithOrigins("*")); err == nil {
		t.Error("any page, and no key")
	}
	if _, err := serve.New(nil); !errors.Is(err, serve.ErrOption) {
		t.Errorf("no engine: %v", err)
	}
}

// Every route but health asks for a key; preflights do not have one.
func TestKeysAreAskedFor(t *testing.T) {
	t.Parallel()
	keys := []serve.Key{serve.NewKey("alice", "a-secret"), serve.NewKey("bob", "b-secret")}
	h := handler(t, open(t), serve.WithKeys(keys), serve.WithOrigins("https://app.example.com"), serve.WithPlayground())
	for _, c := range []struct {
		method, path string
		open         bool
	}{
		{"POST", "/v1/systemone", false}, {"POST", "/v1/decisions", false}, {"POST", "/v1/chat/completions", false}, {"POST", "/v1/completions", false},
		{"GET", "/v1/models", false}, {"GET", "/v1/models/tiny-chat", false}, {"POST", "/tokenize", false}, {"POST", "/detokenize", false},
		{"GET", "/metrics", false}, {"HEAD", "/metrics", false}, {"GET", "/healthz", true}, {"GET", "/readyz", true}, {"GET", "/", true},
	} {
		for _, header := range []string{"", "Bearer", "Bearer ", "Bearer wrong", "a-secret", "Basic a-secret", "Bearer a-secret,b-secret", "Bearer A-SECRET"} {
			w := request(t, h, c.method, c.path, `{}`, "Authorization", header)
			if (w.Code == 401) == c.open {
				t.Errorf("%s %s with %q: %d", c.method, c.path, header, w.Code)
			}
			if w.Code == 401 && w.Header().Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s: no WWW-Authenticate", c.path)
			}
		}
		for _, header := range []string{"Bearer a-secret", "bearer  b-secret"} {
			if w := request(t, h, c.method, c.path, `{}`, "Authorization", header); w.Code == 401 {
				t.Errorf("%s %s with %q: 401", c.method, c.path, header)
			}
		}
	}
	w := request(t, h, "OPTIONS", "/v1/systemone", "", "Origin", "https://app.example.com", "Access-Control-Request-Method", "POST",
		"Access-Control-Request-Headers", "authorization,content-type")
	if w.Code != 204 || w.Header().Get("Access-Control-Allow-Origin") != "https://app.example.com" || w.Header().Get("Access-Control-Allow-Methods") != "POST" {
		t.Errorf("preflight: %d %v", w.Code, w.Header())
	}
	w = post(t, h, "/v1/systemone", `{}`, "Origin", "https://app.example.com")
	if w.Code != 401 || w.Header().Get("Access-Control-Allow-Origin") != "https://app.example.com" {
		t.Errorf("an error for a listed origin: %d %v", w.Code, w.Header())
	}
}

// A key has its limit of requests at once, and others are not touched by it.
func TestKeyConcurrency(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	started := make(chan struct{}, 8)
	h := handler(t, blocked{Engine: open(t), started: started, release: release},
		serve.WithKeys([]serve.Key{{Name: "alice", Hash: serve.NewKey("", "a").Hash, Concurrent: 2}, serve.NewKey("bob", "b")}))
	var all sync.WaitGroup
	for _, key := range []string{"a", "a", "b", "b", "b"} {
		all.Go(func() {
			if w := post(t, h, "/v1/systemone", systemOneBody, "Authorization", "Bearer "+key); w.Code != 400 {
				t.Errorf("%s: %d %s", key, w.Code, w.Body)
			}
		})
	}
	for range 5 {
		<-started
	}
	w := post(t, h, "/v1/systemone", systemOneBody, "Authorization", "Bearer a")
	if w.Code != 429 || w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), "2 requests") {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	close(release)
	all.Wait()
	if w := post(t, h, "/v1/systemone", systemOneBody, "Authorization", "Bearer a"); w.Code != 400 {
		t.Errorf("slots were not given back: %d", w.Code)
	}
}

// blocked decides nothing until it is released.
type blocked struct {
	*engine.Engine
	started chan<- struct{}
	release <-chan struct{}
}

func (b blocked) Decide(ctx context.Context, _ decide.Request) (*decide.Result, error) {
	b.started <- struct{}{}
	select {
	case <-b.release:
		return nil, fmt.Errorf("%w: released", decide.ErrRequest)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// With namespaces bound to keys, one key's prompts are cold for another, however the salts are set.
func TestKeyNamespaces(t *testing.T) {
	t.Parallel()
	keys := []serve.Key{serve.NewKey("alice", "a"), serve.NewKey("bob", "b")}
	for _, bound := range []bool{false, true} {
		opts := []serve.Option{serve.WithKeys(keys)}
		if bound {
			opts = append(opts, serve.WithKeyNamespaces())
		}
		h := handler(t, open(t, engine.WithBackend(&backendtest.Fake{})), opts...)
		cached := func(key, salt string) float64 {
			t.Helper()
			body := `{"messages":[{"role":"user","content":"` + strings.Repeat("A long secret. ", 8) + `"}],"max_tokens":1` + salt + `}`
			n, ok := at(object(t, post(t, h, "/v1/chat/completions", body, "Authorization", "Bearer "+key)), "usage", "prompt_tokens_details", "cached_tokens").(float64)
			if !ok {
				t.Fatal("no usage")
			}
			return n
		}
		if n := cached("a", ""); n != 0 {
			t.Errorf("cold: %v", n)
		}
		if n := cached("a", ""); n == 0 {
			t.Errorf("bound %v: a key's own prompt is cold", bound)
		}
		if n := cached("b", ""); (n == 0) != bound {
			t.Errorf("bound %v: another key's prompt: %v tokens cached", bound, n)
		}
		if n := cached("a", `,"cache_salt":"s"`); n != 0 {
			t.Errorf("another salt: %v", n)
		}
		if n := cached("b", `,"cache_salt":"s"`); (n == 0) != bound {
			t.Errorf("bound %v: another key's salted prompt: %v tokens cached", bound, n)
		}
	}
}

// Behind a proxy the server's own origin is the one that is listed, and the headers of a proxy are
// believed only where that was asked for.
func TestOwnOriginBehindProxy(t *testing.T) {
	t.Parallel()
	e := open(t)
	const public = "https://models.example.com"
	forwarded := []string{"Origin", public, "X-Forwarded-Proto", "https", "X-Forwarded-Host", "models.example.com"}
	for name, c := range map[string]struct {
		opts []serve.Option
		want int
	}{
		"default":  {nil, 403},
		"own":      {[]serve.Option{serve.WithCORS(cors.Options{Own: []string{public}})}, 200},
		"trusted":  {[]serve.Option{serve.WithCORS(cors.Options{TrustForwarded: true})}, 200},
		"listed":   {[]serve.Option{serve.WithOrigins(public)}, 200},
		"together": {[]serve.Option{serve.WithOrigins(public), serve.WithCORS(cors.Options{Own: []string{"https://a.example"}})}, 200},
	} {
		if w := post(t, handler(t, e, c.opts...), "/v1/systemone", systemOneBody, forwarded...); w.Code != c.want {
			t.Errorf("%s: %d %s, want %d", name, w.Code, w.Body, c.want)
		}
	}
	var log records
	post(t, handler(t, e, serve.WithLogger(logger(&log))), "/v1/systemone", systemOneBody, forwarded...)
	if !strings.Contains(log.String(), "serve.WithOrigins") {
		t.Errorf("the log does not name the option: %s", log.String())
	}
}
