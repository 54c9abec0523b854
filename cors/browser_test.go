//go:build browser

package cors

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// modelServer is a server behind a policy, as a browser sees it.
type modelServer struct {
	*httptest.Server
	reached atomic.Int32 // requests that came to a handler
}

func newModelServer(t *testing.T, o Options) *modelServer {
	s := new(modelServer)
	mux := http.NewServeMux()
	handle := func(pattern string, h http.HandlerFunc) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			s.reached.Add(1)
			h(w, r)
		})
	}
	var p *Policy
	handle("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			http.Error(w, "no key", http.StatusUnauthorized)
			return
		}
		var body struct{ Stream bool }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("X-Request-Id", "request-7")
		if !body.Stream {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, word := range []string{"he", "llo"} {
			fmt.Fprintf(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":%q}}]}\n\n", word)
			http.NewResponseController(w).Flush()
		}
		io.WriteString(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	})
	handle("DELETE /v1/files", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "deleted") })
	handle("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "models") })
	handle("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<!doctype html><link rel=icon href=data:,>own page")
	})
	handle("GET /socket", func(w http.ResponseWriter, r *http.Request) {
		conn, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		accept := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		fmt.Fprintf(buf, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n\x81\x05hello", base64.StdEncoding.EncodeToString(accept[:]))
		buf.Flush()
		io.Copy(io.Discard, conn)
	})
	var h http.Handler
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, r) }))
	o.Addr = s.Listener.Addr().String()
	p = policy(t, o)
	h = p.Mux(mux)
	t.Cleanup(s.CloseClientConnections)
	return s
}

// TestBrowser asks chromium itself. It needs chromium, node, and the packages playwright-core and
// openai in the folder that NODE_PATH names; hence the build tag.
func TestBrowser(t *testing.T) {
	t.Parallel()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal(err)
	}
	modules := os.Getenv("NODE_PATH")
	if _, err := os.Stat(filepath.Join(modules, "openai", "index.mjs")); err != nil {
		t.Fatal(err)
	}
	pages := http.NewServeMux()
	pages.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<!doctype html><link rel=icon href=data:,>a page of another origin")
	})
	pages.Handle("GET /openai/", http.StripPrefix("/openai/", http.FileServer(http.Dir(filepath.Join(modules, "openai")))))
	site := httptest.NewServer(pages)
	defer site.Close()
	page := site.URL
	pagePort := page[strings.LastIndexByte(page, ':'):]

	closed := newModelServer(t, Options{})
	open := newModelServer(t, Options{Origins: []string{page}})
	cookies := newModelServer(t, Options{Origins: []string{page}, Credentials: true})
	ports := newModelServer(t, Options{Origins: []string{"http://127.0.0.1:*"}})
	all := newModelServer(t, Options{Origins: []string{"*"}, RequiresKey: true})

	post := `const r = await fetch(url + '/v1/chat/completions', {method: 'POST', headers: {'Content-Type': 'application/json', Authorization: 'Bearer k'}, body: '{}'})
		return r.status + ' ' + (await r.json()).choices[0].message.content + ' ' + r.headers.get('X-Request-Id')`
	included := strings.Replace(post, "method:", "credentials: 'include', method:", 1)
	simple := `const r = await fetch(url + '/v1/chat/completions', {method: 'POST', mode: 'no-cors', headers: {'Content-Type': 'text/plain'}, body: '{}'})
		return r.type + ' ' + r.status`
	get := `const r = await fetch(url + '/v1/models'); return r.status + ' ' + await r.text()`
	del := `const r = await fetch(url + '/v1/files', {method: 'DELETE'}); return r.status + ' ' + await r.text()`
	put := `const r = await fetch(url + '/v1/files', {method: 'PUT'}); return r.status + ' ' + await r.text()`
	header := `const r = await fetch(url + '/v1/models', {headers: {'X-Evil': '1'}}); return r.status + ' ' + await r.text()`
	socket := `return await new Promise(done => {
		const s = new WebSocket(url.replace('http', 'ws') + '/socket')
		s.onmessage = e => done(e.data)
		s.onerror = () => done('error: no socket')
	})`
	image := `return await new Promise(done => {
		const i = new Image()
		i.onerror = i.onload = () => done('asked')
		i.src = url + '/v1/models'
	})`
	sandboxed := `return await new Promise(done => {
		onmessage = e => done(e.data)
		const f = document.createElement('iframe')
		f.sandbox = 'allow-scripts'
		f.srcdoc = '<script>fetch("' + url + '/v1/models").then(r => r.text()).catch(e => "error: " + e.message).then(s => parent.postMessage(s, "*"))<' + '/script>'
		document.body.append(f)
	})`
	unauthorised := `const r = await fetch(url + '/v1/chat/completions', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{}'})
		return r.status + ' ' + (await r.text()).trim()`
	sdk := `const { default: OpenAI } = await import('/openai/index.mjs')
		const client = new OpenAI({apiKey: 'k', baseURL: url + '/v1', dangerouslyAllowBrowser: true, maxRetries: 0})
		const messages = [{role: 'user', content: 'hi'}]
		const whole = await client.chat.completions.create({model: 'm', messages})
		let text = ''
		for await (const c of await client.chat.completions.create({model: 'm', messages, stream: true})) text += c.choices[0].delta.content ?? ''
		const parsed = await client.chat.completions.stream({model: 'm', messages}).finalContent()
		return [whole.choices[0].message.content, text, parsed, whole._request_id].join(' ')`

	const failed = "error: Failed to fetch"
	type browserCase struct {
		name         string
		Page         string `json:"page"`
		URL          string `json:"url"`
		Script       string `json:"script"`
		server       *modelServer
		want         string
		reach        int // how many requests come to a handler
		status       int // of the page; 0: 200
		consoleNamed string
	}
	rebound := "http://evil.example" + closed.URL[strings.LastIndexByte(closed.URL, ':'):]
	cases := []browserCase{
		{name: "refused by default", Page: page, Script: post, server: closed, want: failed, consoleNamed: "blocked by CORS policy"},
		{name: "refused by default, GET", Page: page, Script: get, server: closed, want: failed},
		{name: "refused by default, simple POST", Page: page, Script: simple, server: closed, want: "opaque 0"},
		{name: "refused by default, WebSocket", Page: page, Script: socket, server: closed, want: "error: no socket"},
		{name: "refused by default, SDK", Page: page, Script: sdk, server: closed, want: "error: Connection error."},
		{name: "an image has no origin", Page: page, Script: image, server: closed, want: "asked", reach: 1},
		{name: "own page", Page: closed.URL, Script: post, server: closed, want: "200 hello request-7", reach: 2},
		{name: "own page, WebSocket", Page: closed.URL, Script: socket, server: closed, want: "hello", reach: 2},
		{name: "rebound name", Page: rebound, URL: rebound, Script: get, server: closed, status: 421, want: "421 cors: host not allowed: \"" + strings.TrimPrefix(rebound, "http://") + "\"\n"},
		{name: "own page, called by another name", Page: closed.URL, URL: strings.Replace(closed.URL, "127.0.0.1", "localhost", 1), Script: get, server: closed, want: failed, reach: 1},
		{name: "listed", Page: page, Script: post, server: open, want: "200 hello request-7", reach: 1},
		{name: "listed, GET", Page: page, Script: get, server: open, want: "200 models", reach: 1},
		{name: "listed, DELETE", Page: page, Script: del, server: open, want: "200 deleted", reach: 1},
		{name: "listed, method of no route", Page: page, Script: put, server: open, want: failed},
		{name: "listed, header not listed", Page: page, Script: header, server: open, want: failed},
		{name: "listed, an error can be read", Page: page, Script: unauthorised, server: open, want: "401 no key", reach: 1},
		{name: "listed, WebSocket", Page: page, Script: socket, server: open, want: "hello", reach: 1},
		{name: "listed, SDK", Page: page, Script: sdk, server: open, want: "hello hello hello request-7", reach: 3},
		{name: "listed, sandboxed frame", Page: page, Script: sandboxed, server: open, want: failed},
		{name: "listed, the page under another name", Page: "http://localhost" + pagePort, Script: post, server: open, want: failed},
		{name: "listed, cookies not allowed", Page: page, Script: included, server: open, want: failed},
		{name: "listed with credentials", Page: page, Script: included, server: cookies, want: "200 hello request-7", reach: 1},
		{name: "any port", Page: page, Script: post, server: ports, want: "200 hello request-7", reach: 1},
		{name: "any port, another name", Page: "http://localhost" + pagePort, Script: post, server: ports, want: failed},
		{name: "all pages", Page: "http://localhost" + pagePort, Script: post, server: all, want: "200 hello request-7", reach: 1},
		{name: "all pages with credentials", Page: page, Script: included, server: all, want: failed, consoleNamed: "wildcard"},
		{name: "all pages, sandboxed frame", Page: page, Script: sandboxed, server: all, want: failed},
	}
	if _, err := New(Options{Origins: []string{"*"}, RequiresKey: true, Credentials: true}); err == nil {
		t.Error("all pages with credentials can be configured")
	}

	wantReached := map[*modelServer]int{}
	for i, c := range cases {
		if c.URL == "" {
			cases[i].URL = c.server.URL
		}
		if c.status == 0 {
			cases[i].status = 200
		}
		wantReached[c.server] += c.reach
	}
	input, err := json.Marshal(map[string]any{
		"executable": chromium,
		"args":       []string{"--no-sandbox", "--host-resolver-rules=MAP evil.example 127.0.0.1"},
		"cases":      cases,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", filepath.Join("testdata", "browser.cjs"))
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	var results []struct {
		Page                  int
		Value, Error, Console string
	}
	if err := json.Unmarshal(output, &results); err != nil || len(results) != len(cases) {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for i, got := range results {
		c := cases[i]
		if got.Page != c.status || got.Value != c.want || !strings.Contains(got.Console, c.consoleNamed) {
			t.Errorf("%s: page %d, %q, %s\n%s\nwant page %d, %q", c.name, got.Page, got.Value, got.Error, got.Console, c.status, c.want)
		}
	}
	for s, want := range wantReached {
		if got := int(s.reached.Load()); got != want {
			t.Errorf("%d requests came to the handlers of a server, want %d", got, want)
		}
	}
}
