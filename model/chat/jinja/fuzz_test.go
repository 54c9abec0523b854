package jinja

import (
	"errors"
	"testing"
	"time"
)

func FuzzTemplate(f *testing.F) {
	for _, s := range []string{
		"{% for m in messages %}{{ '<|' + m['role'] + '|>' + m.content|trim }}{% if not loop.last %},{% endif %}{% endfor %}",
		"{% macro f(a, b=1) %}{{ a|tojson(indent=2) }}{% if b %}{{ f(a, b-1) }}{% endif %}{% endmacro %}{{ f(messages) }}",
		"{% set ns = namespace(x=1) %}{% for i in range(3) %}{% set ns.x = ns.x * 2 %}{% endfor %}{{ ns.x }}",
		"{{ messages[::-1]|map(attribute='role')|list|sort(reverse=true) }}{{ '%5.2f' % 3 }}{{ '{:>5}'.format('x') }}",
		"{%- raw -%}{{ x }}{%- endraw -%}{# c #}{% set q %}{{ s.split('a')[-1].replace('b', 'cc') }}{% endset %}{{ q|indent(2, true) }}",
		"{% call(x) f() %}{{ x }}{% endcall %}{% filter upper %}a{% endfilter %}{% with a=1 %}{{ a is defined and a in [1, 2.0] }}{% endwith %}",
		"{{ s[1:-1:2] ~ messages|groupby('role')|list|length ** 2 // 3 % 4 }}{{ 'a' if s else 'b' }}{{ strftime_now('%Y') }}",
	} {
		f.Add(s, "Hello, é")
	}
	f.Fuzz(func(t *testing.T, src, s string) {
		tmpl, err := Parse(src)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || !errors.Is(err, ErrSyntax) {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		text := NewText(s, 3)
		m := &Map{}
		m.Set("role", NewText("user", 0))
		m.Set("content", text)
		vars := &Map{}
		vars.Set("messages", &List{Items: []Value{m, m}})
		vars.Set("s", text)
		o := Options{Now: time.Unix(0, 0).UTC(), Limits: Limits{Steps: 2000, Output: 1 << 16, Memory: 1 << 20}}
		out, err := tmpl.Execute(vars, o)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		last := 0
		for _, r := range out.Runs() {
			if r.End <= last || r.Origin != 0 && r.Origin != 3 {
				t.Fatalf("run %+v after %d", r, last)
			}
			last = r.End
		}
		if last != out.Len() || out.Len() > 1<<16 {
			t.Fatalf("runs cover %d of %d bytes", last, out.Len())
		}
		again, err := tmpl.Execute(vars, o)
		if err != nil || again.String() != out.String() {
			t.Fatalf("the second render differs: %q, %v; %q", again, err, out)
		}
	})
}
