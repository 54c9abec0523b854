package jinja

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
)

// htmlFilter returns one of the filters about markup, which chat templates hardly use, or nil.
func htmlFilter(name string) filterFunc {
	switch name {
	case "safe":
		return textual(func(_ *exec, t Text, a *args) (Value, error) {
			t.safe = true
			return t, a.none(name)
		})
	case "escape", "e", "forceescape":
		return textual(func(x *exec, t Text, a *args) (Value, error) {
			if name == "forceescape" {
				t.safe = false
			}
			return escapeHTML(t), x.charge(6 * t.Len())
		})
	case "striptags":
		return textual(func(_ *exec, t Text, a *args) (Value, error) {
			return t.derive(stripTags(t.s)), a.none(name)
		})
	case "urlencode":
		return urlEncode
	case "urlize":
		return textual(urlize)
	case "wordwrap":
		return textual(wordWrap)
	case "filesizeformat":
		return fileSize
	case "xmlattr":
		return xmlAttr
	}
	return nil
}

func escapeHTML(t Text) Text {
	if t.safe {
		return t
	}
	r := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&#39;", `"`, "&#34;")
	t = t.mapRuns(r.Replace)
	t.safe = true
	return t
}

func stripTags(s string) string {
	for {
		i := strings.Index(s, "<!--")
		if i < 0 {
			break
		}
		j := strings.Index(s[i:], "-->")
		if j < 0 {
			break
		}
		s = s[:i] + s[i+j+3:]
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '<')
		j := strings.IndexByte(s[max(i, 0):], '>')
		if i < 0 || j < 0 {
			break
		}
		b.WriteString(s[:i])
		s = s[i+j+1:]
	}
	b.WriteString(s)
	return html.UnescapeString(strings.Join(strings.FieldsFunc(b.String(), pySpace), " "))
}

func quoteURL(s string, query bool) string {
	s = strings.ReplaceAll(url.QueryEscape(s), "%7E", "~")
	if query {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "+", "%20"), "%2F", "/")
}

func urlEncode(x *exec, v Value, a *args) (Value, error) {
	if err := a.none("urlencode"); err != nil {
		return nil, err
	}
	var pairs []Value
	switch c := v.(type) {
	case *Map:
		pairs = (&view{c, 'i'}).items()
	case *List, *Tuple, *seq, *view:
		var err error
		if pairs, err = x.iterate(v); err != nil {
			return nil, err
		}
	default:
		t, err := x.str(v)
		if err != nil {
			return nil, err
		}
		return t.mapRuns(func(s string) string { return quoteURL(s, false) }), x.charge(3 * t.Len())
	}
	var b builder
	for i, p := range pairs {
		kv, err := x.iterate(p)
		if err != nil {
			return nil, err
		}
		if len(kv) != 2 {
			return nil, failf("urlencode: an item of length %d; 2 is required", len(kv))
		}
		for j, part := range kv {
			t, err := x.str(part)
			if err != nil {
				return nil, err
			}
			if j == 1 {
				b.str("=", 0)
			} else if i > 0 {
				b.str("&", 0)
			}
			b.add(t.mapRuns(func(s string) string { return quoteURL(s, true) }))
		}
		if err := x.charge(len(b.buf)); err != nil {
			return nil, err
		}
	}
	return b.text(false), nil
}

// urlize makes links of words that look like web addresses.
func urlize(x *exec, t Text, a *args) (Value, error) {
	if _, err := a.bind("urlize", 0, "trim_url_limit", "nofollow", "target", "rel", "extra_schemes"); err != nil {
		return nil, err
	}
	if len(a.pos)+len(a.kw) > 0 {
		return nil, failf("urlize: its options are left out")
	}
	web := regexp.MustCompile(`(?i)^(?:https?://|www\.)(?:[\w%-]+\.)+[a-z]{2,63}(?::\d{1,5})?(?:[/?#]\S*)?$`)
	var b strings.Builder
	rest := escapeHTML(t).s
	for rest != "" {
		n := strings.IndexFunc(rest, pySpace)
		if n < 0 {
			n = len(rest)
		}
		word := rest[:n]
		tail := len(word)
		for tail > 0 && strings.IndexByte(".,:;!?)", word[tail-1]) >= 0 {
			tail--
		}
		if core := word[:tail]; web.MatchString(core) {
			href := core
			if !strings.EqualFold(href[:4], "http") {
				href = "https://" + href
			}
			fmt.Fprintf(&b, `<a href="%s" rel="noopener">%s</a>%s`, href, core, word[tail:])
		} else {
			b.WriteString(word)
		}
		rest = rest[n:]
		n = len(rest) - len(strings.TrimLeftFunc(rest, pySpace))
		b.WriteString(rest[:n])
		rest = rest[n:]
	}
	return t.derive(b.String()), x.charge(b.Len())
}

// wordWrap breaks lines at blanks, and words that are longer than a line anywhere.
func wordWrap(x *exec, t Text, a *args) (Value, error) {
	v, err := a.bind("wordwrap", 0, "width", "break_long_words", "wrapstring")
	if err != nil {
		return nil, err
	}
	width, err := intArg("wordwrap", "width", v[0], 79)
	if err != nil {
		return nil, err
	}
	if width < 1 {
		return nil, failf("invalid width %d (must be > 0)", width)
	}
	nl, err := textArg("wordwrap", "wrapstring", v[2], "\n")
	if err != nil {
		return nil, err
	}
	long := !given(v[1]) || truth(v[1])
	var out []Value
	for _, l := range lines(t, false) {
		out = append(out, wrapLine(l.(Text), int(min(width, maxText)), long)...)
	}
	return x.join(out, nl)
}

func wrapLine(t Text, width int, breakLong bool) []Value {
	var out []Value
	var cur builder
	n := 0
	flush := func() {
		if n > 0 {
			out = append(out, cur.text(false).trim(pySpace, false, true))
		}
		cur, n = builder{}, 0
	}
	for t.Len() > 0 {
		blank := t.Len() - len(strings.TrimLeftFunc(t.s, pySpace))
		end := strings.IndexFunc(t.s[blank:], pySpace)
		if end < 0 {
			end = t.Len() - blank
		}
		gap, word := t.Slice(0, blank), t.Slice(blank, blank+end)
		t = t.Slice(blank+end, t.Len())
		if n > 0 && n+gap.chars()+word.chars() > width {
			flush()
		}
		if n > 0 || len(out) == 0 {
			cur.add(gap)
			n += gap.chars()
		}
		for breakLong && n+word.chars() > width {
			k := byteAt(word.s, max(width-n, 1))
			cur.add(word.Slice(0, k))
			n += k
			word = word.Slice(k, word.Len())
			flush()
		}
		cur.add(word)
		n += word.chars()
	}
	flush()
	if out == nil {
		out = []Value{Text{}}
	}
	return out
}

func fileSize(_ *exec, v Value, a *args) (Value, error) {
	b, err := a.bind("filesizeformat", 0, "binary")
	if err != nil {
		return nil, err
	}
	n, ok := numeric(v)
	if !ok {
		return nil, failf("filesizeformat: a number is needed, not %s", typeName(v))
	}
	bytes, base, suffix := toFloat(n), 1000.0, "B"
	if given(b[0]) && truth(b[0]) {
		base, suffix = 1024, "iB"
	}
	if bytes == 1 {
		return lit("1 Byte"), nil
	}
	if bytes < base {
		return lit(fmt.Sprintf("%d Bytes", int64(bytes))), nil
	}
	prefixes := "kMGTPEZY"
	if suffix == "iB" {
		prefixes = "KMGTPEZY"
	}
	unit := base
	i := 0
	for ; i < len(prefixes)-1 && bytes >= unit*base; i++ {
		unit *= base
	}
	return lit(fmt.Sprintf("%.1f %c%s", bytes/unit, prefixes[i], suffix)), nil
}

func xmlAttr(x *exec, v Value, a *args) (Value, error) {
	b, err := a.bind("xmlattr", 0, "autospace")
	if err != nil {
		return nil, err
	}
	m, ok := v.(*Map)
	if !ok {
		return nil, failf("'%s' object has no attribute 'items'", typeName(v))
	}
	var out builder
	for _, e := range m.entries {
		if e.val == nil || isUndefined(e.val) {
			continue
		}
		k, err := x.str(e.key)
		if err != nil {
			return nil, err
		}
		if strings.ContainsAny(k.s, " \t\n\r\f/>=") {
			return nil, failf("Invalid character in attribute name: %q", k.s)
		}
		t, err := x.str(e.val)
		if err != nil {
			return nil, err
		}
		if len(out.buf) > 0 || !given(b[0]) || truth(b[0]) {
			out.str(" ", 0)
		}
		out.add(escapeHTML(k))
		out.str(`="`, 0)
		out.add(escapeHTML(t))
		out.str(`"`, 0)
	}
	return out.text(false), x.charge(len(out.buf))
}
