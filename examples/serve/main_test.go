package main

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestFlagsAndEnvironment(t *testing.T) {
	t.Parallel()
	env := map[string]string{"HOTPATH_SERVE_ADDR": ":9", "HOTPATH_SERVE_CONTEXT": "64", "HOTPATH_SERVE_KEYS": "a b"}
	s, err := parse([]string{"-context", "128", "-separate"}, func(n string) string { return env[n] })
	if err != nil || s.addr != ":9" || s.context != 128 || s.keys != "" || !s.namespaces || s.drain != 30*time.Second {
		t.Errorf("%+v %v", s, err)
	}
	env["HOTPATH_SERVE_WORKERS"] = "many"
	if _, err := parse([]string{}, func(n string) string { return env[n] }); err == nil || !strings.Contains(err.Error(), "HOTPATH_SERVE_WORKERS") {
		t.Errorf("%v", err)
	}
}

// What is printed can be called, and an interrupt ends it.
func TestRun(t *testing.T) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) { testRun(t, "", 3) })
	t.Run("writes", func(t *testing.T) { testRun(t, "../../model/embedded/stories260K.gguf", 4) })
}

func testRun(t *testing.T, model string, want int) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	r, w := io.Pipe()
	over := make(chan error, 1)
	go func() {
		err := run(ctx, settings{model: model, addr: "127.0.0.1:0", playground: true, quiet: true}, w, io.Discard)
		w.Close()
		over <- err
	}()
	text := ""
	buf := make([]byte, 1<<16)
	for !strings.Contains(text, "/v1/models") {
		n, err := r.Read(buf)
		if text += string(buf[:n]); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	go io.Copy(io.Discard, r)
	calls := regexp.MustCompile(`curl (\S+)(?: -H '\S+ \S+' -d '(.*)')?`).FindAllStringSubmatch(text, -1)
	if len(calls) != want {
		t.Fatalf("%d calls in %s", len(calls), text)
	}
	for _, c := range calls {
		resp, err := http.Post(c[1], "application/json", strings.NewReader(c[2]))
		if c[2] == "" {
			resp, err = http.Get(c[1])
		}
		if err != nil || resp.StatusCode != 200 {
			t.Errorf("%q: %v %v", c[0], resp, err)
		}
		if err == nil {
			resp.Body.Close()
		}
	}
	stop()
	if err := <-over; err != nil {
		t.Error(err)
	}
}
