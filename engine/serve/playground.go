package serve

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
)

//go:embed playground.html
var playgroundHTML string

// page is the playground, with the policy that lets its own script and style run and nothing else.
type page struct{ policy string }

func newPage() (*page, error) {
	between := func(open, end string) (string, error) {
		_, rest, ok := strings.Cut(playgroundHTML, open)
		inside, _, closed := strings.Cut(rest, end)
		if !ok || !closed {
			return "", errors.New("serve: the playground has no " + open)
		}
		sum := sha256.Sum256([]byte(inside))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'", nil
	}
	script, err := between("<script>", "</script>")
	if err != nil {
		return nil, err
	}
	style, err := between("<style>", "</style>")
	if err != nil {
		return nil, err
	}
	return &page{"default-src 'none'; script-src " + script + "; style-src " + style +
		"; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"}, nil
}

func (p *page) serve(x *exchange) error {
	h := x.w.Header()
	h.Set("Content-Security-Policy", p.policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cache-Control", "no-cache")
	return x.send(http.StatusOK, "text/html; charset=utf-8", []byte(playgroundHTML))
}
