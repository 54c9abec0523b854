package cors

import (
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	logEvery = time.Minute
	maxKept  = 256 // origins and hosts that are told apart within a minute
)

// refusals writes one line a minute for each refused origin or host, in bounded memory.
type refusals struct {
	logger *slog.Logger
	mu     sync.Mutex
	seen   map[string]*refusal
}

type refusal struct {
	last  time.Time
	count int // since the last line
}

func (l *refusals) warn(key, msg string, r *http.Request, args ...any) {
	if l.logger == nil {
		return
	}
	count, ok := l.due(key, time.Now())
	if !ok {
		return
	}
	args = append(args, "method", clip(r.Method), "path", clip(r.URL.Path), "refused", count)
	l.logger.WarnContext(r.Context(), msg, args...)
}

// due reports whether a line is due for the key, and how many refusals it stands for.
func (l *refusals) due(key string, now time.Time) (int, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil {
		l.seen = map[string]*refusal{}
	}
	e := l.seen[key]
	if e == nil && len(l.seen) >= maxKept {
		for k, old := range l.seen {
			if now.Sub(old.last) >= logEvery {
				delete(l.seen, k)
			}
		}
		if len(l.seen) >= maxKept {
			key = "" // all that find no room share a line
			e = l.seen[key]
		}
	}
	if e == nil {
		e = &refusal{last: now.Add(-logEvery)}
		l.seen[key] = e
	}
	e.count++
	if now.Sub(e.last) < logEvery {
		return 0, false
	}
	count := e.count
	e.last, e.count = now, 0
	return count, true
}

func (p *Policy) logOrigin(r *http.Request) {
	values := r.Header["Origin"]
	from := clip(strings.Join(values, " "))
	o, ok := parseOrigin(from)
	var hint string
	switch {
	case from == "null":
		hint = "sandboxed frames and local files are never allowed: serve the page from an origin"
	case len(values) != 1 || !ok:
		hint = "no browser sends such an origin"
	case p.listed.any:
		hint = "without an API key \"*\" does not cover this machine: require a key, or list the origin in " + p.names.Origins
	case o.scheme == "https" && o.host+o.port == p.requestOrigin(r).host+p.requestOrigin(r).port:
		hint = "if a proxy ends TLS for this server, add the origin to " + p.names.Own
	default:
		hint = "to allow it, add the origin to " + p.names.Origins
	}
	p.log.warn("origin "+from, "cors: refused a web page of another origin", r, "origin", from, "hint", hint)
}

func (p *Policy) logHost(r *http.Request) {
	host := clip(r.Host)
	p.log.warn("host "+host, "cors: refused a request for another host", r, "host", host,
		"hint", "if this is a name of this server, add it to "+p.names.Hosts)
}

func (p *Policy) logPreflight(r *http.Request, err error) {
	from := clip(r.Header.Get("Origin"))
	p.log.warn("preflight "+from, "cors: refused a preflight of an allowed origin", r, "origin", from, "reason", err.Error(),
		"hint", "headers that pages may send are listed in "+p.names.Headers)
}
