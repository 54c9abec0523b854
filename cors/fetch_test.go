package cors

import (
	"net/http"
	"strings"
	"testing"
)

// TestBrowsersRules is written from the Fetch standard: the answer to a preflight for a request of
// https://a.example, and whether the request is then sent.
func TestBrowsersRules(t *testing.T) {
	t.Parallel()
	const acao, acam, acah, acac = "Access-Control-Allow-Origin: ", "Access-Control-Allow-Methods: ", "Access-Control-Allow-Headers: ", "Access-Control-Allow-Credentials: "
	for _, c := range []struct {
		name        string
		status      int
		answer      string
		method      string
		headers     string
		credentials bool
		ok          bool
	}{
		{"exact", 204, acao + "https://a.example", "POST", "", false, true},
		{"200", 200, acao + "https://a.example", "POST", "", false, true},
		{"299", 299, acao + "https://a.example", "POST", "", false, true},
		{"not an ok status", 400, acao + "https://a.example", "POST", "", false, false},
		{"redirect", 307, acao + "https://a.example", "POST", "", false, false},
		{"authentication first", 401, "", "POST", "", false, false},
		{"no header", 204, "", "POST", "", false, false},
		{"empty header", 204, acao, "POST", "", false, false},
		{"other origin", 204, acao + "https://b.example", "POST", "", false, false},
		{"other scheme", 204, acao + "http://a.example", "POST", "", false, false},
		{"compared byte by byte", 204, acao + "https://A.example", "POST", "", false, false},
		{"trailing slash", 204, acao + "https://a.example/", "POST", "", false, false},
		{"a list of origins", 204, acao + "https://a.example, https://b.example", "POST", "", false, false},
		{"two headers", 204, acao + "https://a.example\n" + acao + "https://a.example", "POST", "", false, false},
		{"null is not any", 204, acao + "null", "POST", "", false, false},
		{"asterisk", 204, acao + "*", "POST", "", false, true},
		{"asterisk with credentials", 204, acao + "*\n" + acac + "true", "POST", "", true, false},
		{"pattern is no asterisk", 204, acao + "https://*.example", "POST", "", false, false},
		{"credentials", 204, acao + "https://a.example\n" + acac + "true", "POST", "", true, true},
		{"credentials not allowed", 204, acao + "https://a.example", "POST", "", true, false},
		{"credentials: True", 204, acao + "https://a.example\n" + acac + "True", "POST", "", true, false},
		{"credentials twice", 204, acao + "https://a.example\n" + acac + "true\n" + acac + "true", "POST", "", true, false},
		{"safelisted methods need no mention", 204, acao + "*\n" + acam + "PUT", "GET", "", false, true},
		{"DELETE needs one", 204, acao + "*", "DELETE", "", false, false},
		{"DELETE mentioned", 204, acao + "*\n" + acam + "GET,\tDELETE , POST", "DELETE", "", false, true},
		{"DELETE mentioned in a second line", 204, acao + "*\n" + acam + "GET\n" + acam + "DELETE", "DELETE", "", false, true},
		{"methods compare in case", 204, acao + "*\n" + acam + "delete", "DELETE", "", false, false},
		{"any method", 204, acao + "*\n" + acam + "*", "DELETE", "", false, true},
		{"any method with credentials", 204, acao + "https://a.example\n" + acac + "true\n" + acam + "*", "DELETE", "", true, false},
		{"malformed methods", 204, acao + "*\n" + acam + "GET POST", "POST", "", false, false},
		{"malformed headers", 204, acao + "*\n" + acah + "a b", "POST", "", false, false},
		{"headers compare without case", 204, acao + "*\n" + acah + "Content-Type, AUTHORIZATION", "POST", "authorization,content-type", false, true},
		{"a header is missing", 204, acao + "*\n" + acah + "content-type", "POST", "authorization,content-type", false, false},
		{"any header", 204, acao + "*\n" + acah + "*", "POST", "content-type,x-team", false, true},
		{"any header does not cover authorization", 204, acao + "*\n" + acah + "*", "POST", "authorization", false, false},
		{"authorization beside any", 204, acao + "*\n" + acah + "*, authorization", "POST", "authorization,x-team", false, true},
		{"any header with credentials", 204, acao + "https://a.example\n" + acac + "true\n" + acah + "*", "POST", "x-team", true, false},
		{"no list of headers", 204, acao + "*", "POST", "content-type", false, false},
	} {
		res := &http.Response{StatusCode: c.status, Header: http.Header{}}
		for line := range strings.SplitSeq(c.answer, "\n") {
			if name, value, ok := strings.Cut(line, ": "); ok {
				res.Header.Add(name, value)
			}
		}
		var headers []string
		if c.headers != "" {
			headers = strings.Split(c.headers, ",")
		}
		if why := preflightFails(res, "https://a.example", c.method, headers, c.credentials); (why == "") != c.ok {
			t.Errorf("%s: sent: %v (%s)", c.name, !c.ok, why)
		}
	}
}
