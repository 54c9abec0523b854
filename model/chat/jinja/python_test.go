package jinja

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

// TestPython compares with what Jinja2 3.1.6 renders (testdata/generate.py): filters, tests, operators and
// methods over many values, slices, formats, scopes, white space, malformed templates.
func TestPython(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/python.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, 1<<20)
	lines.Scan()
	context := bytes.Clone(lines.Bytes())
	n := 0
	for lines.Scan() {
		var c struct{ Template, Rendered, Error string }
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		vars, err := ParseJSON(context, 1)
		if err != nil {
			t.Fatal(err)
		}
		n++
		got, err := render(t, c.Template, vars.(*Map))
		switch {
		case c.Error != "" && err == nil:
			t.Errorf("%s\nrendered %q, want error %s", c.Template, got, c.Error)
		case c.Error == "" && err != nil:
			t.Errorf("%s\n%v, want %q", c.Template, err, c.Rendered)
		case got != c.Rendered:
			t.Errorf("%s\n got %q\nwant %q", c.Template, got, c.Rendered)
		}
	}
	if n < 1000 {
		t.Errorf("%d cases", n)
	}
}
