package jinja

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/hotpath-go/hotpath/internal/testdata"
)

// noon is the clock of the reference renders.
var noon = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

func render(t testing.TB, src string, vars *Map) (string, error) {
	t.Helper()
	tmpl, err := Parse(src)
	if err != nil {
		return "", err
	}
	out, err := tmpl.Execute(vars, Options{Now: noon})
	return out.String(), err
}

func TestSyntaxCases(t *testing.T) {
	t.Parallel()
	var suite struct {
		Context json.RawMessage
		Cases   []struct {
			Template, Rendered, Error, Message, Skip string
		}
	}
	if err := json.Unmarshal(testdata.Read(t, "tokenizer-cases/jinja-syntax.json"), &suite); err != nil {
		t.Fatal(err)
	}
	if len(suite.Cases) != 125 {
		t.Fatalf("%d cases, want 125", len(suite.Cases))
	}
	for i, c := range suite.Cases {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			vars, err := ParseJSON(suite.Context, 1)
			if err != nil {
				t.Fatal(err)
			}
			got, err := render(t, c.Template, vars.(*Map))
			switch {
			case c.Error != "" && err == nil:
				t.Errorf("%s\nrendered %q, want %s: %s", c.Template, got, c.Error, c.Message)
			case c.Error != "":
				t.Logf("%v (reference: %s)", err, c.Message)
			case err != nil:
				t.Errorf("%s\n%v", c.Template, err)
			case got != c.Rendered:
				t.Errorf("%s\n got %q\nwant %q", c.Template, got, c.Rendered)
			}
		})
	}
}
