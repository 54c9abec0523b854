package cors

import (
	"net/url"
	"strings"
	"testing"
)

func TestParseOrigin(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"http://localhost", "http://localhost:8080", "https://example.com", "https://a-b.c_d.example.com:8443",
		"http://127.0.0.1:1", "http://[::1]", "http://[2001:db8::1]:65535", "https://xn--bcher-kva.example",
		"tauri://localhost", "chrome-extension://aapbdbdomjkkjkaonfhkkikfgjllcleb", "https://example.com:80", "http://example.com:443",
		"https://" + strings.Repeat(strings.Repeat("a", 61)+".", 4) + "com",
	} {
		if o, ok := parseOrigin(s); !ok || o.String() != s {
			t.Errorf("%q: %v %v", s, o, ok)
		}
	}
	for _, s := range []string{
		"", "null", "*", "example.com", "//example.com", "://example.com", "https:example.com", "https:/example.com", "https://",
		"https://example.com/", "https://example.com/a", "https://example.com?x", "https://example.com#x", "https://u@example.com", "https://u:p@example.com",
		"HTTPS://example.com", "https://Example.com", "https://example.com:443", "http://example.com:80", "https://example.com:", "https://example.com:0",
		"https://example.com:080", "https://example.com:65536", "https://example.com:+80", "https://example.com:8 0", "https://example.com:1:2",
		"https://bücher.example", "https://a..b", "https://.example.com", "https://example.com.", "https://exa mple.com", "https://exa\x00mple.com", "https://example.com\x00",
		"https://example.com ", " https://example.com", "https://*.example.com", "https://a,b", "https://a.com, https://b.com", "https://a.com https://b.com",
		"http://127.1", "http://2130706433", "http://0x7f.0.0.1", "http://0x7f000001", "http://127.0.0.01", "http://127.0.0.256", "http://1.2.3.4.5", "http://a.1",
		"http://[::1", "http://::1", "http://[0:0:0:0:0:0:0:1]", "http://[::ffff:127.0.0.1]", "http://[fe80::1%25eth0]", "http://[fe80::1%eth0]", "http://[::1]a", "http://[127.0.0.1]", "http://[", "http://]", "http://[]",
		"file://", "file://host", "1http://a", "ht tp://a", "https://" + strings.Repeat("a", 64) + ".com", "https://" + strings.Repeat("a.", 127) + "com",
	} {
		if o, ok := parseOrigin(s); ok {
			t.Errorf("%q passes as %v", s, o)
		}
	}
}

// TestMatch is written from the meaning of the patterns: each line is a list, then origins that it
// lets in, then origins that it does not.
func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ list, in, out string }{
		{"https://app.example.com", "https://app.example.com",
			"http://app.example.com https://app.example.com:8443 https://example.com https://app.example.com.evil.com https://evilapp.example.com https://app.example.co https://app-example.com https://x.app.example.com"},
		{"https://APP.example.com:443", "https://app.example.com", "https://app.example.com:8443"},
		{"http://localhost:3000", "http://localhost:3000", "http://localhost http://localhost:30001 http://localhost:300 https://localhost:3000 http://127.0.0.1:3000 http://localhost.evil.com:3000"},
		{"https://*.example.com", "https://a.example.com https://a.b.example.com https://xn--bcher-kva.example.com",
			"https://example.com http://a.example.com https://evilexample.com https://a.example.com:8443 https://a.example.com.evil.com https://example.com.evil.com https://a.example.org"},
		{"https://*.example.com:8443", "https://a.example.com:8443", "https://a.example.com https://a.example.com:18443"},
		{"http://localhost:*", "http://localhost http://localhost:1 http://localhost:65535",
			"https://localhost:1 http://127.0.0.1:1 http://a.localhost:1 http://localhost.evil.com http://evillocalhost:1"},
		{"https://localhost:*", "https://localhost https://localhost:80", "http://localhost"},
		{"http://127.0.0.1:*", "http://127.0.0.1:5", "http://127.0.0.2:5 http://localhost:5 http://127.0.0.1.evil.com:5"},
		{"http://[::1]:*", "http://[::1]:5 http://[::1]", "http://[::2]:5"},
		{"tauri://localhost", "tauri://localhost", "http://localhost tauri://localhost2 tauri://localhost:1"},
		{"https://a.com https://*.b.com http://localhost:*", "https://a.com https://x.b.com http://localhost:9", "https://x.a.com https://b.com"},
		{"*", "https://a.com http://b.com:9 chrome-extension://abc", ""},
		{"", "", "https://a.com http://localhost"},
	} {
		set := newOrigins()
		for s := range strings.FieldsSeq(c.list) {
			if err := set.add(s); err != nil {
				t.Fatalf("%q: %v", s, err)
			}
		}
		for in := range strings.FieldsSeq(c.in) {
			if o, ok := parseOrigin(in); !ok || !set.has(o) {
				t.Errorf("%q keeps %q out", c.list, in)
			}
		}
		for out := range strings.FieldsSeq(c.out) {
			if o, ok := parseOrigin(out); !ok || set.has(o) {
				t.Errorf("%q lets %q in (well-formed: %v)", c.list, out, ok)
			}
		}
	}
}

// FuzzOrigin compares parsing and matching with net/url and the plain meaning of the patterns.
func FuzzOrigin(f *testing.F) {
	for _, s := range []string{"https://a.example.com", "http://localhost:80", "http://[::1]:9", "null", "https://a.example.com.evil.com", "http://127.1", "x://0x1", "https://a@b.example.com"} {
		f.Add(s)
	}
	set := newOrigins()
	for _, s := range []string{"https://app.example.com", "https://*.example.com", "http://localhost:*", "tauri://localhost"} {
		if err := set.add(s); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, s string) {
		_ = newOriginsOf(s)
		o, ok := parseOrigin(s)
		if !ok {
			if again := newOriginsOf(s); again != nil && len(again.exact) == 1 {
				for o := range again.exact { // another spelling of a good one
					if _, ok := parseOrigin(o.String()); !ok {
						t.Errorf("%q is listed as %q, which no request can have", s, o)
					}
				}
			}
			return
		}
		u, err := url.Parse(s)
		if err != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || u.Opaque != "" {
			t.Fatalf("%q is no plain URL: %v %v", s, u, err)
		}
		if u.Scheme != o.scheme || u.Port() != o.port || strings.Trim(o.host, "[]") != u.Hostname() || strings.ToLower(s) != s {
			t.Fatalf("%q is read as %+v, net/url says %v", s, o, u)
		}
		want := s == "https://app.example.com" || s == "tauri://localhost" ||
			u.Scheme == "https" && u.Port() == "" && strings.HasSuffix(u.Hostname(), ".example.com") ||
			u.Scheme == "http" && u.Hostname() == "localhost"
		if set.has(o) != want {
			t.Fatalf("%q is let in: %v, want %v", s, !want, want)
		}
		if only := newOriginsOf(s); only == nil || !only.has(o) {
			t.Fatalf("%q does not match itself", s)
		}
	})
}

func newOriginsOf(entry string) *origins {
	set := newOrigins()
	if set.add(entry) != nil {
		return nil
	}
	return &set
}
