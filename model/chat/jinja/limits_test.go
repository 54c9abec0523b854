package jinja

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	double := strings.Repeat("{% set ns.x = [ns.x, ns.x] %}", 60)
	deep := "{% for i in range(2000) %}{% set ns.x = [ns.x] %}{% endfor %}"
	for name, src := range map[string]string{
		"loops":             "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
		"recursion":         "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
		"recursive loop":    "{% for i in [[1]] recursive %}{{ loop([i]) }}{% endfor %}",
		"output":            "{% for i in range(99999) %}{{ 'x' * 1000 }}{% endfor %}",
		"doubling":          "{% set ns = namespace(x='x') %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
		"doubling lists":    "{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
		"repetition":        "{{ 'x' * 99999999999 }}",
		"list repetition":   "{{ [1] * 99999999999 }}",
		"width":             "{{ 'x'.center(99999999999) }}",
		"filter width":      "{{ 'x'|center(99999999999) }}",
		"indent":            "{{ 'x'|indent(99999999999, true) }}",
		"json indent":       "{{ [1]|tojson(indent=99999999999) }}",
		"format width":      "{{ '%99999999999d' % 1 }}",
		"format precision":  "{{ '%.99999999999f' % 1 }}",
		"str.format":        "{{ '{:99999999999}'.format(1) }}",
		"tabs":              "{{ '\t'.expandtabs(99999999999) }}",
		"power":             "{{ 10 ** 100000 }}",
		"power of power":    "{{ 2 ** (2 ** 62) }}",
		"squares":           "{% set ns = namespace(x=3) %}{% for i in range(99) %}{% set ns.x = ns.x * ns.x %}{% endfor %}",
		"range":             "{{ range(99999999999)|list }}",
		"replace":           "{% set s = 'x' * 100000 %}{{ s|replace('x', s) }}",
		"shared printed":    "{% set ns = namespace(x=[1]) %}" + double + "{{ ns.x }}",
		"shared as JSON":    "{% set ns = namespace(x=[1]) %}" + double + "{{ ns.x|tojson }}",
		"shared compared":   "{% set ns = namespace(x=[1]) %}" + double + "{% set a = ns.x %}{% set ns.x = [1] %}" + double + "{{ a == ns.x }}",
		"deep printed":      "{% set ns = namespace(x=1) %}" + deep + "{{ ns.x }}",
		"deep as JSON":      "{% set ns = namespace(x=1) %}" + deep + "{{ ns.x|tojson }}",
		"deep pretty":       "{% set ns = namespace(x=1) %}" + deep + "{{ ns.x|pprint }}",
		"shared pretty":     "{% set ns = namespace(x=[1]) %}" + double + "{{ ns.x|pprint }}",
		"looking through":   "{% set s = 'x' * 4000000 %}{% for i in range(100000) %}{% if 'y' in s %}{% endif %}{% endfor %}",
		"searching":         "{% set s = [1] * 1000000 %}{% for i in range(100000) %}{{ s.count(2) }}{% endfor %}",
		"indexing":          "{% set s = 'é' * 1000000 %}{% for i in range(100000) %}{{ s[-1] }}{% endfor %}",
		"itself printed":    "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}",
		"batch":             "{{ [1]|batch(99999999999, 0)|list }}",
		"slices":            "{{ [1]|slice(99999999999)|list }}",
		"join":              "{% set s = 'x' * 1000000 %}{{ ([s] * 1000)|join(s) }}",
		"filters are steps": "{% for i in range(100000) %}{{ [1]|map('string')|list }}{% endfor %}",
	} {
		tmpl, err := Parse(src)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		start := time.Now()
		_, err = tmpl.Execute(&Map{}, Options{Limits: Limits{Steps: 100_000, Output: 4 << 20, Memory: 64 << 20}})
		if !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), "limit ") {
			t.Errorf("%s: %v, want ErrLimit with the limit", name, err)
		}
		t.Logf("%s: %v after %v", name, err, time.Since(start))
	}
}

func TestHostileSources(t *testing.T) {
	t.Parallel()
	n := 20_000
	for name, src := range map[string]string{
		"parentheses": "{{ " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n) + " }}",
		"lists":       "{{ " + strings.Repeat("[", n) + strings.Repeat("]", n) + " }}",
		"blocks":      strings.Repeat("{% if 1 %}", n) + strings.Repeat("{% endif %}", n),
		"minus":       "{{ " + strings.Repeat("-", n) + "1 }}",
		"sums":        "{{ 1" + strings.Repeat("+1", n) + " }}",
		"filters":     "{{ 1" + strings.Repeat("|abs", n) + " }}",
		"attributes":  "{{ a" + strings.Repeat(".a", n) + " }}",
		"calls":       "{{ a" + strings.Repeat("()", n) + " }}",
		"choices":     "{{ 1" + strings.Repeat(" if 1", n) + " }}",
		"else chain":  "{{ 1" + strings.Repeat(" if 0 else 1", n) + " }}",
		"ors":         "{{ 1" + strings.Repeat(" or 1", n) + " }}",
		"targets":     "{% for " + strings.Repeat("(", n) + "a" + strings.Repeat(")", n) + " in x %}{% endfor %}",
		"too long":    strings.Repeat(" ", maxSource+1),
		"number":      "{{ " + strings.Repeat("9", n) + " }}",
	} {
		if _, err := Parse(src); !errors.Is(err, ErrSyntax) {
			t.Errorf("%s: %v, want ErrSyntax", name, err)
		}
	}
	for name, src := range map[string]string{ // long, but not deep
		"nots":     "{{ " + strings.Repeat("not ", n) + "1 }}",
		"compares": "{{ 1" + strings.Repeat("==1", n) + " }}",
		"tildes":   "{{ 1" + strings.Repeat("~1", n) + " }}",
		"elifs":    "{% if 0 %}" + strings.Repeat("{% elif 0 %}", n) + "{% endif %}",
		"items":    "{{ [1" + strings.Repeat(",1", n) + "]|length }}",
	} {
		tmpl, err := Parse(src)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := tmpl.Execute(&Map{}, Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBadJSON(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "{", "[1,", `{"a"}`, "1 2", "nope", `"`, strings.Repeat("[", 600) + strings.Repeat("]", 600), strings.Repeat("1", 5000), "\xff"} {
		if v, err := ParseJSON([]byte(s), 0); !errors.Is(err, ErrData) {
			t.Errorf("%.20q: %v, %v", s, v, err)
		}
	}
}

func TestErrorsNameThePlace(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"a\nb {{ x.y }}":                           "2:8: 'x' is undefined",
		"{% if 1 %}\n{% for %}":                    "2:8:",
		"é{{ 1/0 }}":                               "1:6: division by zero",
		"\n\n{{ raise_exception('no ' ~ 'way') }}": "3:19: no way",
		"{{ 'a' + 1 }}":                            "1:8:",
		"{% include 'x' %}":                        "1:4: 'include' is left out",
	} {
		if _, err := render(t, src, &Map{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", src, err, want)
		}
	}
}

// TestOrigins follows bytes of data through what templates do to strings.
func TestOrigins(t *testing.T) {
	t.Parallel()
	data, err := ParseJSON([]byte(`{"a": " ab ", "b": "xyz", "l": ["p", "q"], "m": {"k": "v"}}`), 7)
	if err != nil {
		t.Fatal(err)
	}
	vars := data.(*Map)
	vars.Set("c", NewText("ONE", 8))
	for src, want := range map[string]string{ // 7 and 8 are data, a dot is the template
		"<{{ a }}>":                                         "..7777..",
		"{{ a|trim }}{{ b[1:] }}{{ b[::-1] }}":              "77 77 777",
		"{{ a.strip() + '-' + b.upper() ~ c }}":             "77.777888",
		"{{ '<' ~ b.replace('y', '--') ~ '>' }}":            ".7..7.",
		"{{ 'a-b'|replace('-', b) }}":                       ".777.",
		"{{ (b ~ '.' ~ c).split('.')[1]|lower }}":           "888",
		"{{ l|join(', ') }}":                                "7..7",
		"{{ m|tojson }}":                                    "..7....7..",
		"{{ m }}":                                           "..7....7..",
		"{{ (b ~ c)|length }}":                              ".",
		"{{ '%s=%s' % (b, c) }}":                            "777.888",
		"{{ '{}={x}'.format(b, x=c) }}":                     "777.888",
		"{{ (b ~ '\n' ~ c)|indent(1) }}":                    "777..888",
		"{% set q %}[{{ b }}]{% endset %}{{ q|upper }}":     ".777.",
		"{% macro f(x) %}<{{ x }}>{% endmacro %}{{ f(c) }}": ".888.",
		"{{ b|title }}{{ b|capitalize }}":                   "777777",
		"{{ ('-' ~ b)|e }}":                                 ".777",
		"{{ b * 2 }}":                                       "777777",
		"{{ b if 1 else c }}":                               "777",
		"{% for x in b %}{{ x }}.{% endfor %}":              "7.7.7.",
		"{{ (b ~ ' ' ~ c).split()|last }}":                  "888",
		"{{ b|center(5) }}":                                 ".777.",
		"{{ (b ~ c)[2:4] }}":                                "78",
		"{{ m|items|list|first|first }}":                    "7",
		"{{ b|truncate(1, true, '', 0) }}":                  "7",
	} {
		tmpl, err := Parse(src)
		if err != nil {
			t.Fatal(err)
		}
		out, err := tmpl.Execute(vars, Options{})
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		got, start := "", 0
		for _, r := range out.Runs() {
			mark := "."
			if r.Origin != 0 {
				mark = fmt.Sprint(r.Origin)
			}
			got += strings.Repeat(mark, r.End-start)
			start = r.End
		}
		if want = strings.ReplaceAll(want, " ", ""); src == "<{{ a }}>" {
			want = ".7777."
		}
		if got != want {
			t.Errorf("%s gives %q: origins %s, want %s", src, out, got, want)
		}
	}
}
