package cors

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestMistakesAreReportedAllAtOnce(t *testing.T) {
	t.Parallel()
	_, err := New(Options{
		Origins: []string{
			"null", "*", "example.com", "https://example.com/", "http://*.example.com", "https://*.com", "https://*.co:1:2", "https://*", "https://a.*.com",
			"http://example.com:*", "file:///tmp", "https://bücher.example", "", "https://u@example.com", "https://*.localhost", "https://*.0.0.1", "https://ok.example.com", "tauri://localhost:*",
		},
		Own:         []string{"https://*.example.com", "nonsense"},
		Credentials: true,
		Headers:     []string{"*", "a b", "", "Cookie", "X-Ok"},
		Expose:      []string{"a:b"},
		MaxAge:      25 * time.Hour,
		Addr:        "localhost",
		Hosts:       []string{"a b", "models.example.com:80"},
		MediaTypes:  []string{"json", "application/json; charset=utf-8"},
	})
	if !errors.Is(err, ErrOptions) {
		t.Fatalf("%v is no ErrOptions", err)
	}
	for _, want := range []string{
		`Origins[0] "null"`, `Origins[2] "example.com"`, `Origins[3] "https://example.com/"`, `Origins[4] "http://*.example.com"`, `Origins[5] "https://*.com"`, `Origins[6]`, `Origins[7]`, `Origins[8]`,
		`Origins[9] "http://example.com:*"`, `Origins[10] "file:///tmp"`, `Origins[11]`, `Origins[12] ""`, `Origins[13]`, `Origins[14]`, `Origins[15]`, `Origins[17]`,
		`Origins "*": stands alone, there are 18 entries`, `Origins "*" with Credentials`,
		`Own[0]`, `Own[1]`, `Headers[0] "*"`, `Headers[1] "a b"`, `Headers[2] ""`, `Headers[3] "Cookie"`, `Expose[0]`, `MaxAge 25h`, `Addr "localhost"`,
		`Hosts[0]`, `Hosts[1]`, `MediaTypes[0]`, `MediaTypes[1]`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %s", want)
		}
	}
	for _, good := range []string{"Origins[16]", "Origins[1]", "Headers[4]"} {
		if strings.Contains(err.Error(), good) {
			t.Errorf("the error names %s, which is right", good)
		}
	}
	for line := range strings.Lines(err.Error()) {
		if !strings.HasPrefix(line, "cors: wrong options: ") {
			t.Errorf("a line does not say whose error it is: %s", line)
		}
	}
}

func TestAllPagesOnlyWhereHarmless(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		o    Options
		ok   bool
	}{
		{"no key, loopback", Options{Addr: "127.0.0.1:8000"}, false},
		{"no key, localhost", Options{Addr: "LOCALHOST:8000"}, false},
		{"no key, IPv6 loopback", Options{Addr: "[::1]:8000"}, false},
		{"no key, 127.9.9.9", Options{Addr: "127.9.9.9:8000"}, false},
		{"no key, unknown bind", Options{}, false},
		{"no key, all interfaces", Options{Addr: ":8000"}, true},
		{"no key, an address", Options{Addr: "192.0.2.1:8000"}, true},
		{"key, loopback", Options{Addr: "127.0.0.1:8000", RequiresKey: true}, true},
		{"key, unknown bind", Options{RequiresKey: true}, true},
		{"key, credentials", Options{RequiresKey: true, Credentials: true}, false},
	} {
		c.o.Origins = []string{"*"}
		if _, err := New(c.o); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestTheZeroValueIsAPolicy(t *testing.T) {
	t.Parallel()
	if _, err := New(Options{}); err != nil {
		t.Fatal(err)
	}
}
