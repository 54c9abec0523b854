package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/hotpath-go/hotpath/cors"
)

func TestExitStatus(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/decisions", func(http.ResponseWriter, *http.Request) {})
	policy, err := cors.New(cors.Options{Origins: []string{"https://app.example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(policy.Mux(mux))
	defer s.Close()
	for _, c := range []struct {
		args []string
		ok   bool
		err  bool
	}{
		{[]string{"-url", s.URL, "-origin", "https://app.example.com"}, true, false},
		{[]string{"-url", s.URL}, true, false},
		{[]string{"-url", s.URL, "-origin", "https://app.example.com", "-origin", "https://other.example.com"}, false, false},
		{[]string{"-url", s.URL, "-origin", "https://app.example.com", "-route", "DELETE /v1/decisions"}, false, false},
		{[]string{"-url", s.URL, "-origin", "https://app.example.com", "-header", "x-evil"}, false, false},
		{[]string{"-url", s.URL, "-origin", "https://app.example.com", "-credentials"}, false, false},
		{[]string{"-url", s.URL, "-origin", "app.example.com"}, false, true},
		{[]string{"-url", s.URL, "-route", "DELETE"}, false, true},
		{[]string{"-url", "nowhere"}, false, true},
	} {
		if ok, err := run(t.Context(), c.args); ok != c.ok || (err != nil) != c.err {
			t.Errorf("%q: %v, %v", c.args, ok, err)
		}
	}
}
