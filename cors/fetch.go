package cors

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// The rules of this file are those of the Fetch standard for browsers, in its order.

// preflightFails tells why a browser would not send the request after this answer to its preflight;
// empty means it would.
func preflightFails(res *http.Response, origin, method string, headers []string, credentials bool) string {
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		return fmt.Sprintf("the preflight is redirected (%d)", res.StatusCode)
	}
	if reason := answerUnreadable(res.Header, origin, credentials); reason != "" {
		return reason + fmt.Sprintf(" (preflight %d)", res.StatusCode)
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return fmt.Sprintf("the preflight's status is %d", res.StatusCode)
	}
	methods, ok := names(res.Header, "Access-Control-Allow-Methods")
	if !ok {
		return "Access-Control-Allow-Methods is malformed"
	}
	allowed, ok := names(res.Header, "Access-Control-Allow-Headers")
	if !ok {
		return "Access-Control-Allow-Headers is malformed"
	}
	simple := method == http.MethodGet || method == http.MethodHead || method == http.MethodPost
	if !simple && !slices.Contains(methods, method) && (credentials || !slices.Contains(methods, "*")) {
		return fmt.Sprintf("Access-Control-Allow-Methods %q lacks %s", strings.Join(methods, ", "), method)
	}
	wild := !credentials && slices.Contains(allowed, "*")
	for _, h := range headers {
		named := slices.ContainsFunc(allowed, func(a string) bool { return strings.EqualFold(a, h) })
		switch {
		case named, wild && h != "authorization":
		case wild:
			return "Access-Control-Allow-Headers is *, which does not cover authorization"
		default:
			return "Access-Control-Allow-Headers lacks " + h
		}
	}
	return ""
}

// answerUnreadable is the standard's CORS check; empty means the page may read the answer.
func answerUnreadable(h http.Header, origin string, credentials bool) string {
	values := h.Values("Access-Control-Allow-Origin")
	if len(values) == 0 {
		return "no Access-Control-Allow-Origin"
	}
	switch value := strings.Join(values, ", "); {
	case value == "*" && !credentials:
		return ""
	case value == "*":
		return "Access-Control-Allow-Origin is *, which does not cover credentials"
	case value != origin:
		return fmt.Sprintf("Access-Control-Allow-Origin is %q", clip(value))
	}
	if got := strings.Join(h.Values("Access-Control-Allow-Credentials"), ", "); credentials && got != "true" {
		return fmt.Sprintf("Access-Control-Allow-Credentials is %q, not \"true\"", clip(got))
	}
	return ""
}

// names reads a header that is a list of tokens.
func names(h http.Header, name string) (out []string, ok bool) {
	for _, line := range h.Values(name) {
		for n := range strings.SplitSeq(line, ",") {
			n = strings.Trim(n, " \t")
			if n == "" {
				continue
			}
			if !token(n) {
				return nil, false
			}
			out = append(out, n)
		}
	}
	return out, true
}
