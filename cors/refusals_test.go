package cors

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestOneLineAMinuteForEachOrigin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := policy(t, Options{Logger: slog.New(slog.NewTextHandler(&out, nil)), Names: Names{Origins: "-origin"}})
		h := p.Handler(http.NotFoundHandler(), "POST")
		send := func(origin string) string {
			out.Reset()
			h.ServeHTTP(httptest.NewRecorder(), request("POST", "Origin: "+origin))
			return out.String()
		}
		first := send("https://a.example")
		for _, want := range []string{"level=WARN", "origin=https://a.example", "add the origin to -origin", "path=/v1/decisions", "refused=1", "method=POST"} {
			if !strings.Contains(first, want) {
				t.Errorf("the line lacks %q: %s", want, first)
			}
		}
		if strings.Count(first, "\n") != 1 {
			t.Errorf("not one line: %q", first)
		}
		for range 10 {
			time.Sleep(time.Second)
			if again := send("https://a.example"); again != "" {
				t.Errorf("a second line within the minute: %s", again)
			}
		}
		if other := send("https://b.example"); !strings.Contains(other, "https://b.example") {
			t.Errorf("another origin has no line: %q", other)
		}
		time.Sleep(time.Minute)
		if later := send("https://a.example"); !strings.Contains(later, "refused=11") {
			t.Errorf("a minute later: %q", later)
		}
	})
}

func TestManyOriginsAreKeptInBoundedMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := policy(t, Options{Logger: slog.New(slog.NewTextHandler(&out, nil))})
		h := p.Handler(http.NotFoundHandler(), "POST")
		for i := range 10 * maxKept {
			h.ServeHTTP(httptest.NewRecorder(), request("POST", fmt.Sprintf("Origin: https://%d.example", i)))
		}
		if len(p.log.seen) > maxKept+1 {
			t.Errorf("%d origins are kept", len(p.log.seen))
		}
		if lines := strings.Count(out.String(), "\n"); lines != maxKept+1 {
			t.Errorf("%d lines, want %d", lines, maxKept+1)
		}
		time.Sleep(time.Minute)
		out.Reset()
		h.ServeHTTP(httptest.NewRecorder(), request("POST", "Origin: https://new.example"))
		if !strings.Contains(out.String(), "https://new.example") || len(p.log.seen) != 1 {
			t.Errorf("old origins stay: %d, %q", len(p.log.seen), out.String())
		}
	})
}

func TestHintsNameTheOption(t *testing.T) {
	t.Parallel()
	names := Names{Origins: "ORIGINS", Own: "OWN", Headers: "HEADERS", Hosts: "HOSTS"}
	for _, c := range []struct {
		name    string
		o       Options
		headers string
		want    string
	}{
		{"foreign", Options{}, "Origin: https://a.example", "ORIGINS"},
		{"behind a proxy", Options{}, "Origin: https://models.example.com", "OWN"},
		{"null", Options{}, "Origin: null", "never allowed"},
		{"malformed", Options{}, "Origin: a b", "no browser"},
		{"host", Options{Hosts: []string{"a.example"}}, "", "HOSTS"},
		{"header", Options{Origins: []string{"https://a.example"}}, "Origin: https://a.example\nAccess-Control-Request-Method: POST\nAccess-Control-Request-Headers: x-evil", "HEADERS"},
		{"all, loopback", Options{Addr: ":80", Origins: []string{"*"}}, "Origin: null", "never allowed"},
	} {
		var out bytes.Buffer
		c.o.Logger, c.o.Names = slog.New(slog.NewTextHandler(&out, nil)), names
		policy(t, c.o).Handler(http.NotFoundHandler(), "POST").ServeHTTP(httptest.NewRecorder(), request("OPTIONS", c.headers))
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: %q does not name %s", c.name, out.String(), c.want)
		}
		for line := range strings.SplitSeq(out.String(), "\n") {
			if len(line) > 1000 {
				t.Errorf("a line of %d bytes", len(line))
			}
		}
	}
	var out bytes.Buffer
	policy(t, Options{Logger: slog.New(slog.NewTextHandler(&out, nil))}).Handler(http.NotFoundHandler()).
		ServeHTTP(httptest.NewRecorder(), request("POST", "Origin: https://"+strings.Repeat("a", 1<<16)+"\nHost: "+strings.Repeat("b", 1<<16)))
	if out.Len() == 0 || out.Len() > 1000 {
		t.Errorf("a huge origin makes a line of %d bytes", out.Len())
	}
}
