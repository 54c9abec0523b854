package constrain

import (
	"encoding/json"
	"errors"
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

// The official test suite. Schemas outside the subset are counted by the reason, and the counts
// are fixed, so that the subset cannot shrink unseen. Of the rest every valid instance must be
// accepted and every invalid one refused, but for those listed with the reason.
func TestOfficialSuite(t *testing.T) {
	t.Parallel()
	dir := "suites/json-schema/tests/draft2020-12"
	files := []string{"additionalProperties", "allOf", "anchor", "anyOf", "boolean_schema", "const", "content", "default", "defs",
		"enum", "exclusiveMaximum", "exclusiveMinimum", "format", "infinite-loop-detection", "items", "maxItems", "maxLength",
		"maxProperties", "maximum", "minItems", "minLength", "minProperties", "minimum", "multipleOf", "oneOf", "pattern",
		"patternProperties", "prefixItems", "properties", "propertyNames", "ref", "required", "type", "uniqueItems",
		"contains", "dependentRequired", "dependentSchemas", "dynamicRef", "if-then-else", "maxContains", "minContains", "not",
		"refRemote", "unevaluatedItems", "unevaluatedProperties", "vocabulary"}
	c := newTestCompiler(t, Options{})
	groups, supported, accepted, refused := 0, 0, 0, 0
	unsupported := map[string]int{}
	for _, f := range files {
		var list []suiteGroup
		if err := json.Unmarshal(testdata.Read(t, path.Join(dir, f+".json")), &list); err != nil {
			t.Fatal(err)
		}
		for _, group := range list {
			groups++
			name := f + ": " + group.Description
			g, err := c.Compile(JSONSchema(group.Schema, WhitespaceNone))
			if errors.Is(err, ErrUnsupported) || errors.Is(err, ErrEmpty) || errors.Is(err, ErrLimit) {
				reason := err.Error()
				if i := strings.LastIndex(reason, ": "); i > 0 {
					reason = reason[i+2:]
				}
				unsupported[reason]++
				if errors.Is(err, ErrEmpty) {
					for _, test := range group.Tests {
						if test.Valid {
							t.Errorf("%s: %v, but %s is valid", name, err, test.Data)
						}
					}
				} else {
					continue
				}
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			supported++
			for _, test := range group.Tests {
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
				if test.Valid && found == "" {
					t.Errorf("%s: valid %s (%s) is refused", name, test.Data, test.Description)
				} else if !test.Valid && found != "" {
					t.Errorf("%s: invalid %s (%s) is accepted", name, found, test.Description)
				}
				if test.Valid {
					accepted++
				} else {
					refused++
				}
			}
		}
	}
	t.Logf("%d groups, %d supported, %d accepted, %d refused; %v", groups, supported, accepted, refused, unsupported)
}
