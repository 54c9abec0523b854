package cors

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

const maxHost = 253

// origin is a scheme, host and port as browsers serialise them: ASCII in lower case, no default
// port, IPv6 addresses compressed and in brackets.
type origin struct {
	scheme, host, port string // port is empty for the scheme's default
}

func (o origin) String() string {
	if o.port == "" {
		return o.scheme + "://" + o.host
	}
	return o.scheme + "://" + o.host + ":" + o.port
}

// parseOrigin reads an Origin header. Only what a browser would write passes: whatever else has the
// same meaning in another spelling was not written by one.
func parseOrigin(s string) (origin, bool) {
	scheme, authority, ok := strings.Cut(s, "://")
	if !ok || !validScheme(scheme) {
		return origin{}, false
	}
	o, err := parseAuthority(scheme, authority)
	return o, err == nil && o.String() == s
}

// parseAuthority reads host or host:port, in any case and with or without the default port.
func parseAuthority(scheme, authority string) (origin, error) {
	host, port, hasPort := authority, "", false
	if i := strings.LastIndexByte(authority, ':'); i >= 0 && !strings.HasSuffix(authority, "]") {
		host, port, hasPort = authority[:i], authority[i+1:], true
	}
	host, err := parseHost(host)
	if err != nil {
		return origin{}, err
	}
	if hasPort {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || port[0] == '0' {
			return origin{}, fmt.Errorf("the port %q is not a number from 1 to 65535", clip(port))
		}
		if port == defaultPort(scheme) {
			port = ""
		}
	}
	return origin{scheme, host, port}, nil
}

// parseHost returns a host name or an IP address in the spelling of browsers.
func parseHost(s string) (string, error) {
	switch {
	case s == "":
		return "", errors.New("there is no host")
	case len(s) > maxHost:
		return "", fmt.Errorf("the host has %d bytes, limit %d", len(s), maxHost)
	case s[0] == '[':
		a, err := netip.ParseAddr(strings.TrimSuffix(s[1:], "]"))
		if err != nil || !a.Is6() || a.Is4In6() || a.Zone() != "" || s[len(s)-1] != ']' {
			return "", fmt.Errorf("%q is not an IPv6 address in brackets", s)
		}
		return "[" + a.String() + "]", nil
	}
	s = strings.ToLower(s)
	last := ""
	for label := range strings.SplitSeq(s, ".") {
		if !validLabel(label) {
			return "", fmt.Errorf("%q is not a host name (names beyond ASCII are written in Punycode)", clip(s))
		}
		last = label
	}
	// Browsers take a host whose last label is a number for an IPv4 address and write it in full.
	if isNumber(last) {
		if a, err := netip.ParseAddr(s); err != nil || a.String() != s {
			return "", fmt.Errorf("%q is not an IPv4 address", s)
		}
	}
	return s, nil
}

func validScheme(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	return s != "" && s != "file" // a file's origin is opaque
}

func validLabel(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return s != "" && len(s) <= 63
}

func isNumber(label string) bool {
	digits, hex := strings.CutPrefix(label, "0x")
	for i := range len(digits) {
		c := digits[i]
		if (c < '0' || c > '9') && (!hex || c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func defaultPort(scheme string) string {
	switch scheme {
	case "http":
		return "80"
	case "https":
		return "443"
	}
	return ""
}

// loopbackHost reports whether a parsed host is localhost or a loopback address.
func loopbackHost(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && a.IsLoopback()
}

// origins is a set of exact origins and of the two patterns.
type origins struct {
	any     bool
	exact   map[origin]bool
	below   []origin        // host: what follows the asterisk, from its dot on
	anyPort map[origin]bool // without a port
}

func (s *origins) has(o origin) bool {
	if s.any || s.exact[o] || s.anyPort[origin{o.scheme, o.host, ""}] {
		return true
	}
	for _, p := range s.below {
		if o.scheme == p.scheme && o.port == p.port && len(o.host) > len(p.host) && strings.HasSuffix(o.host, p.host) {
			return true
		}
	}
	return false
}

// add reads an entry of the list.
func (s *origins) add(entry string) error {
	scheme, authority, ok := strings.Cut(entry, "://")
	switch scheme = strings.ToLower(scheme); {
	case entry == "*":
		s.any = true
		return nil
	case strings.EqualFold(entry, "null"):
		return errors.New("every sandboxed frame and local file has this origin; it is never allowed")
	case !ok:
		return fmt.Errorf("an origin starts with a scheme, such as https://%s", clip(entry))
	case !validScheme(scheme):
		return fmt.Errorf("the scheme %q has no origins that could be told apart", clip(scheme))
	case strings.ContainsAny(authority, "/?#"):
		return fmt.Errorf("an origin ends with its host and port: %s://%s", clip(scheme), clip(authority[:strings.IndexAny(authority, "/?#")]))
	case strings.Contains(authority, "@"):
		return errors.New("an origin has no user name")
	}
	if rest, ok := strings.CutPrefix(authority, "*."); ok {
		o, err := parseAuthority(scheme, rest)
		switch {
		case err != nil:
			return err
		case scheme != "https":
			return errors.New("subdomains need https: over http anybody on the way can answer for a name")
		case !strings.Contains(o.host, ".") || loopbackHost(o.host) || isNumber(o.host[strings.LastIndexByte(o.host, '.')+1:]):
			return fmt.Errorf("%q is too wide: name a domain of at least two labels", "*."+o.host)
		}
		o.host = "." + o.host
		s.below = append(s.below, o)
		return nil
	}
	if rest, ok := strings.CutSuffix(authority, ":*"); ok {
		host, err := parseHost(rest)
		switch {
		case err != nil:
			return err
		case !loopbackHost(host) || defaultPort(scheme) == "":
			return errors.New("any port is for http and https on localhost and loopback addresses only")
		}
		s.anyPort[origin{scheme, host, ""}] = true
		return nil
	}
	if strings.Contains(authority, "*") {
		return errors.New("an asterisk stands for the subdomains in https://*.example.com, for the port in http://localhost:*, or alone")
	}
	o, err := parseAuthority(scheme, authority)
	if err != nil {
		return err
	}
	s.exact[o] = true
	return nil
}

// clip shortens what a client sent for messages.
func clip(s string) string {
	if len(s) > 128 {
		return s[:128] + "..."
	}
	return s
}
