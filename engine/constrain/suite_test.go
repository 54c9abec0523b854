package constrain

import (
	"encoding/json"
	"errors"
	"maps"
	"math/big"
	"path"
	"sort"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/internal/testdata"
)

// byteVocab has a token for every byte and one that ends.
func byteVocab() Vocab {
	v := Vocab{End: []int32{256}}
	for b := range 256 {
		v.Tokens = append(v.Tokens, []byte{byte(b)})
	}
	v.Tokens = append(v.Tokens, nil)
	return v
}

func newTestCompiler(t testing.TB, o Options) *Compiler {
	t.Helper()
	c, err := NewCompiler(byteVocab(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// accepts reports whether the whole text is accepted.
func accepts(g *Grammar, text string) bool {
	s := g.Start()
	return s.AcceptBytes([]byte(text)) && s.Done() || text == "" && s.Done()
}

// spellings returns a value's compact texts with members in every order, up to a number.
func spellings(v any) []string {
	switch v := v.(type) {
	case json.Number:
		// Whole numbers are written without a fraction.
		if r, ok := new(big.Rat).SetString(v.String()); ok && r.IsInt() {
			return []string{r.Num().String()}
		}
		return []string{v.String()}
	case string:
		return []string{`"` + jsonText(v) + `"`}
	case []any:
		out := []string{""}
		for i, x := range v {
			comma := ","
			if i == 0 {
				comma = ""
			}
			out = product(out, comma, spellings(x))
		}
		for i := range out {
			out[i] = "[" + out[i] + "]"
		}
		return out
	case map[string]any:
		names := make([]string, 0, len(v))
		for k := range v {
			names = append(names, k)
		}
		sort.Strings(names)
		var out []string
		permute(names, 0, func(order []string) {
			texts := []string{""}
			for i, k := range order {
				comma := ","
				if i == 0 {
					comma = ""
				}
				texts = product(texts, comma+`"`+jsonText(k)+`":`, spellings(v[k]))
			}
			for _, t := range texts {
				if len(out) < 5000 {
					out = append(out, "{"+t+"}")
				}
			}
		})
		return out
	}
	b, _ := json.Marshal(v)
	return []string{string(b)}
}

func product(heads []string, between string, tails []string) []string {
	var out []string
	for _, h := range heads {
		for _, t := range tails {
			if len(out) < 5000 {
				out = append(out, h+between+t)
			}
		}
	}
	return out
}

func permute(names []string, i int, f func([]string)) {
	if i >= len(names) {
		f(names)
		return
	}
	for k := i; k < len(names); k++ {
		names[i], names[k] = names[k], names[i]
		permute(names, i+1, f)
		names[i], names[k] = names[k], names[i]
	}
}

type suiteGroup struct {
	Description string
	Schema      json.RawMessage
	Tests       []struct {
		Description string
		Data        json.RawMessage
		Valid       bool
	}
}

// tally counts what a part of the suite showed.
type tally struct{ groups, supported, accepted, refused, narrower int }

// reason is the keyword, format or the like that an error is about.
func reason(err error) string {
	text := err.Error()
	for _, word := range []string{"keyword ", "format "} {
		if _, name, ok := strings.Cut(text, word+`"`); ok {
			name, _, _ = strings.Cut(name, `"`)
			return name
		}
	}
	for _, word := range []string{"reference", "dialect", "oneOf", "multipleOf", "minProperties"} {
		if strings.Contains(text, word) {
			return word
		}
	}
	return text
}

// runSuite compiles every schema of some files and tries every instance. Schemas outside the
// subset are counted by the keyword or the like. Where narrow is set a valid instance may be refused.
func runSuite(t *testing.T, files []string, narrow bool) (tally, map[string]int) {
	t.Helper()
	c := newTestCompiler(t, Options{})
	var n tally
	unsupported := map[string]int{}
	for _, f := range files {
		var list []suiteGroup
		if err := json.Unmarshal(testdata.Read(t, path.Join("suites/json-schema/tests/draft2020-12", f+".json")), &list); err != nil {
			t.Fatal(err)
		}
		for _, group := range list {
			n.groups++
			name := f + ": " + group.Description
			g, err := c.Compile(JSONSchema(group.Schema, WhitespaceNone))
			switch {
			case errors.Is(err, ErrUnsupported), errors.Is(err, ErrLimit):
				unsupported[reason(err)]++
				continue
			case err != nil && !errors.Is(err, ErrEmpty): // which accepts no instance
				t.Errorf("%s: %v", name, err)
				continue
			}
			n.supported++
			for _, test := range group.Tests {
				if f == "format" {
					continue // takes format for an annotation; here it holds
				}
				d := json.NewDecoder(strings.NewReader(string(test.Data)))
				d.UseNumber()
				var v any
				if err := d.Decode(&v); err != nil {
					t.Fatal(err)
				}
				found := ""
				for _, s := range spellings(v) {
					if g != nil && accepts(g, s) {
						found = s
						break
					}
				}
				switch {
				case test.Valid && found == "" && narrow:
					n.narrower++
				case test.Valid && found == "":
					t.Errorf("%s: valid %s (%s) is refused", name, test.Data, test.Description)
				case !test.Valid && found != "":
					t.Errorf("%s: invalid %s (%s) is accepted", name, found, test.Description)
				case test.Valid:
					n.accepted++
				default:
					n.refused++
				}
			}
		}
	}
	return n, unsupported
}

// Of the official suite every valid instance of a supported schema is accepted and every invalid
// one refused. The numbers are fixed, so that the subset cannot shrink unseen.
func TestOfficialSuite(t *testing.T) {
	t.Parallel()
	files := []string{"additionalProperties", "allOf", "anchor", "anyOf", "boolean_schema", "const", "contains", "content", "default",
		"defs", "dependentRequired", "dependentSchemas", "dynamicRef", "enum", "exclusiveMaximum", "exclusiveMinimum", "format",
		"if-then-else", "infinite-loop-detection", "items", "maxContains", "maxItems", "maxLength", "maxProperties", "maximum",
		"minContains", "minItems", "minLength", "minProperties", "minimum", "multipleOf", "not", "oneOf", "pattern",
		"patternProperties", "prefixItems", "properties", "propertyNames", "ref", "refRemote", "required", "type",
		"unevaluatedItems", "unevaluatedProperties", "uniqueItems", "vocabulary"}
	n, unsupported := runSuite(t, files, false)
	if want := (tally{groups: 383, supported: 197, accepted: 375, refused: 304}); n != want {
		t.Errorf("counted %+v, want %+v", n, want)
	}
	want := map[string]int{"$dynamicRef": 3, "$id": 2, "contains": 20, "else": 1, "if": 18, "maxContains": 1, "minContains": 1, "not": 3, "then": 2,
		"unevaluatedItems": 23, "unevaluatedProperties": 41, "uniqueItems": 3,
		"idn-email": 1, "idn-hostname": 1, "iri": 1, "iri-reference": 1, "json-pointer": 1, "regex": 1, "relative-json-pointer": 1, "uri-reference": 1, "uri-template": 1,
		"dialect": 2, "minProperties": 1, "multipleOf": 1, "oneOf": 8, "reference": 47}
	if !maps.Equal(unsupported, want) {
		t.Errorf("unsupported: %#v, want %#v", unsupported, want)
	}
}

// The formats refuse whatever the suite calls invalid, and write a part of what it calls valid.
func TestOfficialFormats(t *testing.T) {
	t.Parallel()
	var files []string
	for _, f := range []string{"date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"} {
		files = append(files, "optional/format/"+f)
	}
	n, unsupported := runSuite(t, files, true)
	if want := (tally{groups: 11, supported: 11, accepted: 152, refused: 269, narrower: 40}); n != want || len(unsupported) > 0 {
		t.Errorf("counted %+v, want %+v; unsupported %v", n, want, unsupported)
	}
}
