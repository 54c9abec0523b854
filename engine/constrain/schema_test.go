package constrain

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestSchemaErrors(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"items":`, 10_000) + "{}" + strings.Repeat("}", 10_000)
	chain := `{"$ref":"#/$defs/d0","$defs":{`
	for i := range 2000 {
		chain += fmt.Sprintf(`"d%d":{"type":"array","minItems":1,"items":{"$ref":"#/$defs/d%d"}},`, i, i+1)
	}
	chain += `"d2000":{"type":"null"}}}`
	c := newTestCompiler(t, Options{MaxStates: 30_000})
	for _, s := range []struct {
		schema string
		err    error
		says   string
	}{
		{``, ErrSpec, "unexpected end"},
		{`{"type":`, ErrSpec, "unexpected end"},
		{`{"type":"string",}`, ErrSpec, "byte 18"},
		{`{"type":"string"} x`, ErrSpec, "byte 19"},
		{`{"type":"string","type":"null"}`, ErrSpec, `"type" twice`},
		{`12`, ErrSpec, "#"},
		{`{"properties":{"a/b~c":{"items":3}}}`, ErrSpec, "#/properties/a~1b~0c/items"},
		{`{"type":"strnig"}`, ErrSpec, "#/type"},
		{`{"type":[]}`, ErrSpec, "at least one type"},
		{`{"enum":3}`, ErrSpec, "#/enum"},
		{`{"minLength":-1}`, ErrSpec, "#/minLength"},
		{`{"maxItems":1.5}`, ErrSpec, "#/maxItems"},
		{`{"pattern":"("}`, ErrSpec, "missing closing )"},
		{`{"multipleOf":0}`, ErrSpec, "#/multipleOf"},
		{`{"required":[1]}`, ErrSpec, "#/required/0"},
		{`{"anyOf":[]}`, ErrSpec, "#/anyOf"},
		{`{"$ref":"#/$defs/x"}`, ErrSpec, `"#/$defs/x" to nothing`},
		{`{"$ref":"#x"}`, ErrSpec, `"#x" to nothing`},
		{`{"$ref":"other.json"}`, ErrUnsupported, `"other.json" outside`},
		{`{"items":{"contains":{}}}`, ErrUnsupported, `#/items/contains: keyword "contains"`},
		{`{"minimun":3}`, ErrUnsupported, `keyword "minimun"`},
		{`{"format":"iri"}`, ErrUnsupported, `format "iri"`},
		{`{"pattern":"\\bx"}`, ErrUnsupported, `\b`},
		{`{"uniqueItems":true}`, ErrUnsupported, "uniqueItems"},
		{`{"oneOf":[{"type":"integer"},{"minimum":3}]}`, ErrUnsupported, "#: oneOf alternatives 0 and 1"},
		{`{"$schema":"http://json-schema.org/draft-04/schema#"}`, ErrUnsupported, "dialect"},
		{`{"$ref":"#"}`, ErrRecursion, "#"},
		{`{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"allOf":[{"$ref":"#/$defs/a"}]}}}`, ErrRecursion, "$defs/a"},
		{`{"anyOf":[{"type":"null"},{"$ref":"#"}]}`, ErrRecursion, ""},
		{`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`, ErrEmpty, ""},
		{`false`, ErrEmpty, ""},
		{`{"enum":[]}`, ErrEmpty, ""},
		{`{"type":"string","enum":[1,2]}`, ErrEmpty, ""},
		{`{"type":"string","minLength":3,"maxLength":2}`, ErrEmpty, ""},
		{`{"type":"integer","minimum":1.2,"maximum":1.8}`, ErrEmpty, ""},
		{`{"allOf":[{"type":"string"},{"type":"null"}]}`, ErrEmpty, ""},
		{`{"type":"object","properties":{"a":false},"required":["a"]}`, ErrEmpty, ""},
		{deep, ErrLimit, "512"},
		{chain, ErrLimit, "nests 2000 levels, limit 256"},
		{`{"minimum":1e400000000}`, ErrLimit, "exponent"},
		{`{"minimum":` + strings.Repeat("1", 500) + `}`, ErrLimit, "500 digits"},
		{`{"multipleOf":0.123456789}`, ErrLimit, "multipleOf"},
		{`{"type":"array","minItems":10000000}`, ErrLimit, "10000000 items"},
		{`{"type":"string","pattern":"^a","minLength":10000000}`, ErrLimit, "10000000"},
		{`{"pattern":"(a|b)*a(a|b){30}"}`, ErrLimit, "states"},
		{`{"type":"object","properties":{"a":true,"b":true},"minProperties":100000,"maxProperties":1000000000}`, ErrUnsupported, "minProperties"},
	} {
		_, err := c.Compile(JSONSchema([]byte(s.schema), WhitespaceNone))
		if !errors.Is(err, s.err) || !strings.Contains(fmt.Sprint(err), s.says) {
			t.Errorf("%.100s: %v, want %v with %q", s.schema, err, s.err, s.says)
		} else if len(err.Error()) > 600 {
			t.Errorf("%.100s: an error of %d bytes", s.schema, len(err.Error()))
		}
	}
}

func TestOtherErrors(t *testing.T) {
	t.Parallel()
	c := newTestCompiler(t, Options{MaxStates: 3000})
	nested := Literal("x")
	for range 1000 {
		nested = Sequence(nested)
	}
	for name, s := range map[string]struct {
		spec Spec
		err  error
	}{
		"empty choice":     {Choice(), ErrSpec},
		"zero":             {Spec{}, ErrSpec},
		"empty sequence":   {Sequence(), ErrSpec},
		"empty one of":     {OneOf(), ErrSpec},
		"unknown space":    {JSONSchema([]byte(`{}`), 9), ErrSpec},
		"huge choice":      {Choice(strings.Repeat("a", 4000)), ErrLimit},
		"nested sequences": {nested, ErrLimit},
	} {
		if _, err := c.Compile(s.spec); !errors.Is(err, s.err) {
			t.Errorf("%s: %v, want %v", name, err, s.err)
		}
	}
	for name, v := range map[string]Vocab{
		"no tokens": {}, "end outside": {Tokens: [][]byte{{1}}, End: []int32{1}}, "negative end": {Tokens: [][]byte{{1}}, End: []int32{-1}},
		"long token": {Tokens: [][]byte{make([]byte, maxTokenBytes+1)}},
	} {
		if _, err := NewCompiler(v, Options{}); !errors.Is(err, ErrVocab) {
			t.Errorf("%s: %v, want ErrVocab", name, err)
		}
	}
	if _, err := NewCompiler(byteVocab(), Options{MaxDepth: -1}); !errors.Is(err, ErrLimit) {
		t.Errorf("negative option: %v", err)
	}
}

// What the grammar writes, by hand.
func TestSchemaTexts(t *testing.T) {
	t.Parallel()
	c := newTestCompiler(t, Options{})
	enum := make([]string, 20_000)
	for i := range enum {
		enum[i] = fmt.Sprintf(`"option %d"`, i)
	}
	for _, s := range []struct {
		schema, yes, no string // texts apart by two spaces
		space           Whitespace
	}{
		{schema: `{"type":"object"}`, yes: `{}  {"a":1}  {"a":[{"b":"\ud83d\ude00\/"}],"":null}`, no: `[]  {,}  {"a":1,}  {"a"}  {a:1}  {"a": 1}  {"a":01}  {} `},
		{schema: `{"type":"object","properties":{}}`, yes: `{}  {"x":1}`, no: `null`},
		{schema: `{"type":"object","properties":{"a":true,"b":{"type":"null"}},"required":["b"],"additionalProperties":false}`,
			yes: `{"a":1,"b":null}  {"b":null}`, no: `{}  {"a":1}  {"b":null,"a":1}  {"b":null,"c":1}  {"b":null,"b":null}`},
		{schema: `{"type":"object","properties":{"a":{"type":"null"}}}`, yes: `{"a":null}  {"a":null,"b":1}  {"b":1}  {"aa":1}`, no: `{"b":1,"a":null}  {"a":1}  {"a":null,"a":1}  {"\u0061":1}`},
		{schema: `{"type":"array","items":{"type":"integer"}}`, yes: `[]  [1]  [1,2,3]`, no: `[1,]  [,1]  [1.5]  ["1"]  [1 ,2]`},
		{schema: `{"type":"array","maxItems":0}`, yes: `[]`, no: `[1]`},
		{schema: `{"type":"string"}`, yes: `""  "a"  "\""  "\u0000\uD83D\uDE00"  "é日"`, no: "\"\x01\"  \"\xff\"  \"\\ud83d\"  \"\\ude00\"  \"\\x\"  \"  'a'"},
		{schema: `{"type":"string","minLength":1,"maxLength":2}`, yes: `"a"  "é日"  "\ud83d\ude00\n"`, no: `""  "abc"  "\ud83d\ude00ab"`},
		{schema: `{"type":"array","items":{"type":"integer"}}`, space: WhitespaceSpaces, yes: `[1, 2]  [1,2]`, no: `[ 1]  [1,  2]  [1 ]  [1 ,2]`},
		{schema: `{"type":"object","properties":{"a":{"const":1}}}`, space: WhitespaceAny, yes: "{\n \"a\" :\t1\n}  { }  {}  {\"a\":1,\n\"b\":2}", no: ` {}  {"a":1} `},
		{schema: `{"enum":[` + strings.Join(enum, ",") + `]}`, yes: `"option 0"  "option 19999"`, no: `"option 20000"  "option"  "option 1`},
		{schema: `{"enum":[1,"1",1.0,{"b":[1,2],"a":null},-2.0]}`, yes: `1  "1"  {"b":[1,2],"a":null}  -2`, no: `1.0  {"a":null,"b":[1,2]}`},
		{schema: `{"type":"integer","minimum":-3,"exclusiveMaximum":12}`, yes: `-3  0  11  9`, no: `-4  12  -0  00  100  1.0  1e0`},
		{schema: `{"anyOf":[{"$ref":"#/$defs/x"},{"type":"array","items":{"$ref":"#"}}],"$defs":{"x":{"type":"null"}}}`, yes: `null  []  [[null],null]`, no: `[1]`},
		{schema: `{"properties":{"a":{"type":"integer"}}}`, yes: `1  "x"  {"a":2}`, no: `{"a":"x"}`}, // no type: any
	} {
		g, err := c.Compile(JSONSchema([]byte(s.schema), s.space))
		if err != nil {
			t.Errorf("%.100s: %v", s.schema, err)
			continue
		}
		for _, text := range strings.Split(s.yes, "  ") {
			if !accepts(g, text) {
				t.Errorf("%.100s: %q is refused", s.schema, text)
			}
		}
		for _, text := range strings.Split(s.no, "  ") {
			if accepts(g, text) {
				t.Errorf("%.100s: %q is accepted", s.schema, text)
			}
		}
	}
}

// A schema that nests without end writes texts up to the depth limit, and near it every allowed
// token still leads to a complete text.
func TestDepthLimit(t *testing.T) {
	t.Parallel()
	v := smallVocab()
	for depth := 2; depth < 12; depth++ {
		c, err := NewCompiler(v, Options{MaxDepth: depth})
		if err != nil {
			t.Fatal(err)
		}
		g, err := c.Compile(JSONSchema([]byte(`{"type":"array","items":{"anyOf":[{"$ref":"#"},{"type":"array","minItems":1,"items":{"type":"array","maxItems":0}}]}}`), WhitespaceNone))
		if err != nil {
			t.Fatal(err)
		}
		s := g.Start()
		deepest := 0
		for s.AcceptBytes([]byte("[")) {
			if deepest++; deepest > 100 {
				t.Fatalf("depth %d: no limit", depth)
			}
			got := ids(s.Mask(nil))
			want := naiveMask(&s, v)
			if len(got) != len(want) {
				t.Fatalf("depth %d, level %d: %d tokens allowed, want %d", depth, deepest, len(got), len(want))
			}
			closing := s
			for range 200 {
				if closing.Done() {
					break
				}
				if !closing.AcceptBytes([]byte("]")) && !closing.AcceptBytes([]byte("[")) {
					t.Fatalf("depth %d, level %d: no way on", depth, deepest)
				}
			}
			if !closing.Done() {
				t.Fatalf("depth %d, level %d: no end", depth, deepest)
			}
		}
		if deepest < depth/2 || deepest > depth+2 {
			t.Fatalf("depth %d: %d brackets", depth, deepest)
		}
	}
}
