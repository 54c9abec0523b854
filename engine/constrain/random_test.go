package constrain

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/hotpath-go/hotpath/internal/race"
)

// randomSchema draws a schema from the supported subset.
func randomSchema(r *rand.Rand, depth int) map[string]any {
	s := map[string]any{}
	if depth > 0 && r.IntN(6) == 0 {
		list := []any{}
		for range 1 + r.IntN(3) {
			list = append(list, randomSchema(r, depth-1))
		}
		s[[]string{"anyOf", "anyOf", "allOf", "oneOf"}[r.IntN(4)]] = list
	}
	if r.IntN(25) == 0 {
		s["not"] = map[string]any{"type": []string{"null", "string", "number", "array"}[r.IntN(4)]}
	}
	if r.IntN(12) == 0 {
		s["$ref"] = "#/$defs/" + string("ab"[r.IntN(2)])
	}
	if r.IntN(12) == 0 {
		s["enum"] = []any{1, "x", nil, true, []any{1, 2}, map[string]any{"a": 1}, -3.5, "long text"}[:1+r.IntN(8)]
	}
	names := []string{"a", "b", "ab", "name", "é\"", ""}
	kind := []string{"object", "array", "string", "number", "integer", "boolean", "null", ""}[r.IntN(8)]
	if depth == 0 && (kind == "object" || kind == "array") {
		kind = "integer"
	}
	switch {
	case kind == "":
	case r.IntN(8) == 0 && kind != "string":
		s["type"] = []any{kind, "string"}
	default:
		s["type"] = kind
	}
	switch kind {
	case "object":
		props := map[string]any{}
		for range r.IntN(4) {
			props[names[r.IntN(len(names))]] = randomSchema(r, depth-1)
		}
		s["properties"] = props
		if r.IntN(2) == 0 {
			s["required"] = []any{names[r.IntN(len(names))]}
		}
		switch r.IntN(3) {
		case 0:
			s["additionalProperties"] = false
		case 1:
			s["additionalProperties"] = randomSchema(r, depth-1)
		}
		if r.IntN(5) == 0 {
			s["patternProperties"] = map[string]any{"^a": randomSchema(r, depth-1), "b$": randomSchema(r, depth-1)}
		}
		if r.IntN(6) == 0 {
			s["propertyNames"] = map[string]any{"maxLength": 1 + r.IntN(4)}
		}
		if r.IntN(5) == 0 {
			s["maxProperties"] = r.IntN(4)
		}
		if r.IntN(5) == 0 {
			s["minProperties"] = r.IntN(3)
		}
		if r.IntN(6) == 0 {
			s["dependentRequired"] = map[string]any{"a": []any{"b"}}
		}
	case "array":
		if r.IntN(2) == 0 {
			s["items"] = randomSchema(r, depth-1)
		}
		if r.IntN(3) == 0 {
			s["prefixItems"] = []any{randomSchema(r, depth-1), randomSchema(r, depth-1)}[:1+r.IntN(2)]
		}
		if r.IntN(3) == 0 {
			s["minItems"] = r.IntN(3)
		}
		if r.IntN(3) == 0 {
			s["maxItems"] = r.IntN(4)
		}
	case "string":
		if r.IntN(3) == 0 {
			s["minLength"] = r.IntN(4)
		}
		if r.IntN(3) == 0 {
			s["maxLength"] = r.IntN(6)
		}
		if r.IntN(3) == 0 {
			s["pattern"] = []string{"^[a-z]{1,4}$", "a|b", "^é?x{0,3}$", "^[^\"]{0,3}\\\\?$", "^$"}[r.IntN(5)]
		}
	case "number", "integer":
		if r.IntN(3) == 0 {
			s[[]string{"minimum", "exclusiveMinimum"}[r.IntN(2)]] = float64(r.IntN(400)-200) / 4
		}
		if r.IntN(3) == 0 {
			s[[]string{"maximum", "exclusiveMaximum"}[r.IntN(2)]] = float64(r.IntN(400)-100) / 4
		}
		if r.IntN(6) == 0 {
			s["multipleOf"] = []any{2, 3, 0.5, 0.1, 10}[r.IntN(5)]
		}
	}
	return s
}

// Texts of random schemas validate; and of random values, those that a supported schema's
// validator takes are accepted.
func TestRandomSchemas(t *testing.T) {
	t.Parallel()
	schemas := 1500
	switch {
	case os.Getenv("HOTPATH_LONG") == "1":
		schemas = 20_000
	case race.Enabled:
		schemas = 60
	}
	v := smallVocab()
	c, err := NewCompiler(v, Options{MaxStates: 20_000, MaxDepth: 30})
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]int{}
	written, tried := 0, 0
	for i := range schemas {
		r := rand.New(rand.NewPCG(uint64(i), 77))
		s := randomSchema(r, 3)
		s["$defs"] = map[string]any{"a": randomSchema(r, 1), "b": randomSchema(r, 2)}
		doc, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		g, err := c.Compile(JSONSchema(doc, Whitespace(i%3)))
		if err != nil {
			for _, e := range []error{ErrUnsupported, ErrRecursion, ErrEmpty, ErrLimit} {
				if errors.Is(err, e) {
					reasons[e.Error()]++
				}
			}
			if errors.Is(err, ErrSpec) {
				t.Fatalf("%s: %v", doc, err)
			}
			if check := independent(doc); check != nil && errors.Is(err, ErrEmpty) {
				for range 40 {
					if value := randomValue(r, 2); check.Validate(value) == nil {
						t.Fatalf("%s is not empty: %v", doc, value)
					}
				}
			}
			continue
		}
		check := independent(doc)
		if check == nil {
			reasons["refused by the validator"]++
			continue
		}
		for range 6 {
			text := walkText(t, g, r, nil)
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
			if err == nil {
				err = check.Validate(value)
			}
			if err != nil {
				t.Fatalf("%s wrote %q: %v", doc, text, err)
			}
			written++
		}
		if i%3 != 0 { // values are spelled without white space
			continue
		}
		for range 20 {
			value := randomValue(r, 2)
			if err := check.Validate(value); err != nil {
				continue
			}
			tried++
			found := false
			for _, text := range spellings(value) {
				found = found || accepts(g, text)
			}
			if !found {
				t.Fatalf("%s refuses %v", doc, spellings(value))
			}
		}
	}
	t.Logf("%d texts, %d values, refused: %v", written, tried, reasons)
	if written < schemas || tried < schemas/4 {
		t.Fatalf("%d texts and %d values of %d schemas; refused: %v", written, tried, schemas, reasons)
	}
}

func randomValue(r *rand.Rand, depth int) any {
	switch k := r.IntN(8); {
	case k == 0 && depth > 0:
		m := map[string]any{}
		for range r.IntN(3) {
			m[[]string{"a", "b", "ab", "name", "é\"", ""}[r.IntN(6)]] = randomValue(r, depth-1)
		}
		return m
	case k == 1 && depth > 0:
		list := []any{}
		for range r.IntN(3) {
			list = append(list, randomValue(r, depth-1))
		}
		return list
	case k == 2:
		return nil
	case k == 3:
		return r.IntN(2) == 0
	case k == 4:
		return json.Number(fmt.Sprint(r.IntN(60) - 30))
	case k == 5:
		return json.Number(fmt.Sprint(float64(r.IntN(400)-200) / 8))
	}
	return []string{"", "a", "x", "xx", "ab", "abc", "é", "long text", "\"\\", "\n"}[r.IntN(10)]
}
