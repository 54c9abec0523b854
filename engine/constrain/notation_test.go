package constrain

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/hotpath-go/hotpath/internal/race"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/chat/parse"
)

// notated are the formats that do not write arguments as one JSON object.
var notated = []parse.Format{parse.Qwen3Coder, parse.GLM45, parse.Pythonic, parse.LFM2, parse.Gemma}

// argumentsOf returns the constraint of the arguments of a call in a format.
func argumentsOf(f parse.Format, schema []byte) Spec {
	s, _ := f.CallShape()
	a := s.Arguments
	if a.Values == parse.JSON {
		return JSONSchema(schema, WhitespaceNone)
	}
	values := map[parse.Values]Values{parse.Python: ValuesPython, parse.Text: ValuesText, parse.Marked: ValuesMarked}[a.Values]
	return Arguments(schema, Notation{
		Values: values, Before: a.Before, Between: a.Between, After: a.After, Join: a.Join, Close: a.Close, Mark: a.Mark, Names: a.Names,
	})
}

// readBack parses a whole call and returns its arguments.
func readBack(t testing.TB, f parse.Format, tool chat.Tool, arguments string) (json.RawMessage, error) {
	t.Helper()
	s, _ := f.CallShape()
	o := parse.Options{Tools: []chat.Tool{tool}, Opened: "<think>\n\n</think>\n\n"}
	if f.Channels() {
		o.Opened = "<|start|>assistant"
	}
	p, err := parse.New(f, o)
	if err != nil {
		t.Fatal(err)
	}
	var calls []json.RawMessage
	rest := ""
	events := append([]parse.Event(nil), p.Push(s.Open+tool.Name+s.Middle+arguments+s.Close)...)
	for _, e := range append(events, p.Flush()...) {
		if e.Kind == parse.Call {
			calls = append(calls, e.Call.Arguments)
		}
		rest += e.Text
	}
	if len(calls) != 1 || rest != "" {
		return nil, fmt.Errorf("%d calls and text %q", len(calls), rest)
	}
	return calls[0], nil
}

// vocabFor has the pieces that the formats are made of, and ends of marks.
func vocabFor() Vocab {
	v := smallVocab()
	for _, s := range []string{"<parameter=", "</parameter>", "</", "</parameter", ">\n", "\n</", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "</arg",
		`<|"|>`, `<|`, `"|>`, `<|"`, "None", "True", "False", "rue", "one", "=", "(", ")", ", ", "='", "</tool_call>", "<tool_call|>", "function", "</function>", "null ", " null", "[1]", "- 1"} {
		v.Tokens = append(v.Tokens, []byte(s))
	}
	return v
}

var argumentSchemas = []string{
	`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":1,"maximum":31},"deep":{"type":"object","properties":{"a":{"type":"array","items":{"type":["string","null","boolean"]},"maxItems":3},"b c":{"type":"number"}},"required":["a"]}},"required":["city"],"additionalProperties":false}`,
	`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{"type":["string","integer","boolean"]},"c":{"anyOf":[{"type":"array","items":{"type":"string"},"maxItems":2},{"type":"string","maxLength":4}]},"d":{"type":["null","string","boolean"],"maxLength":4}},"required":["a","b","c","d"]}`,
	`{"type":"object","properties":{"mode":{"enum":["fast","slow",1,null,true,[1,"x"],{"k":"v"},"5"]},"level":{"const":3.5},"n":{"type":"number"},"flag":{"type":"boolean"},"none":{"type":"null"}},"required":["mode","n"]}`,
	`{"type":"object","properties":{},"additionalProperties":false}`,
	`{"type":"object","properties":{"s":{"type":"string","minLength":2,"maxLength":5},"t":{"type":"string","pattern":"^[a-z\"\n<]{1,6}$"},"u":{"type":"string","maxLength":300},"d":{"type":"string","format":"date"}},"required":["s","t","u"]}`,
	`{"type":"object","properties":{"free":{"type":"object"},"any":{},"list":{"type":"array","items":{"type":"object","additionalProperties":{"type":"integer"}},"maxItems":2}},"required":["free","any"]}`,
	`{"type":"object","properties":{"node":{"$ref":"#/$defs/node"}},"required":["node"],"$defs":{"node":{"type":"object","properties":{"v":{"type":"string"},"next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},"required":["v","next"],"additionalProperties":false}}}`,
	`{"$ref":"#/$defs/all","$defs":{"all":{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"string"}},"required":["x"]}}}`,
	`{"type":"object","allOf":[{"properties":{"x":{"type":"integer","minimum":3}},"required":["x"]},{"properties":{"x":{"maximum":9},"y":{"type":"string"}}}]}`,
	`{"type":"object","anyOf":[{"properties":{"kind":{"const":"a"},"x":{"type":"integer"}},"required":["kind","x"]},{"properties":{"kind":{"const":"b"},"x":{"type":"string"}},"required":["kind","x"]}]}`,
	`{"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"boolean"},"c":{"type":"boolean"}},"minProperties":2,"maxProperties":2,"additionalProperties":false}`,
	`{"type":"object","properties":{"o":{"type":"object","patternProperties":{"^n_":{"type":"integer"}},"additionalProperties":false,"maxProperties":2},"p":{"type":"object","propertyNames":{"maxLength":3},"additionalProperties":{"type":"string","maxLength":2}}},"required":["o","p"]}`,
}

// Whatever a grammar of arguments lets through is read back by the format's parser, and satisfies the
// schema by an independent validator.
func TestArgumentsAreReadBack(t *testing.T) {
	t.Parallel()
	walks := 40
	switch {
	case os.Getenv("HOTPATH_LONG") == "1":
		walks = 2000
	case race.Enabled:
		walks = 4
	}
	v := vocabFor()
	for _, f := range notated {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			c, err := NewCompiler(v, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for i, schema := range argumentSchemas {
				g, err := c.Compile(argumentsOf(f, []byte(schema)))
				if err != nil {
					t.Errorf("%s: %v", schema, err)
					continue
				}
				check := validator(t, schema)
				tool := chat.Tool{Name: "run", Parameters: []byte(schema)}
				r := rand.New(rand.NewPCG(uint64(i), 9))
				for round := range walks {
					text := walkText(t, g, r, func(s *State, mask []uint32) {
						if round > 1 {
							return
						}
						got, want := ids(mask), naiveMask(s, v)
						if len(got) != len(want) {
							t.Fatalf("%s: %d tokens allowed, want %d", schema, len(got), len(want))
						}
					})
					args, err := readBack(t, f, tool, text)
					if err != nil {
						t.Fatalf("%s: %q: %v", schema, text, err)
					}
					doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(args)))
					if err == nil {
						err = check.Validate(doc)
					}
					if err != nil {
						t.Fatalf("%s: %q is read as %s: %v", schema, text, args, err)
					}
				}
			}
		})
	}
}

// TestRandomArguments does the same with random schemas.
func TestRandomArguments(t *testing.T) {
	t.Parallel()
	schemas := 150
	switch {
	case os.Getenv("HOTPATH_LONG") == "1":
		schemas = 10_000
	case race.Enabled:
		schemas = 20
	}
	v := vocabFor()
	for _, f := range notated {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			c, err := NewCompiler(v, Options{MaxStates: 20_000, MaxDepth: 30})
			if err != nil {
				t.Fatal(err)
			}
			written := 0
			reasons := map[string]int{}
			for i := range schemas {
				r := rand.New(rand.NewPCG(uint64(i), 78))
				props := map[string]any{}
				for _, name := range []string{"a", "b", "name"}[:1+r.IntN(3)] {
					props[name] = randomSchema(r, 2)
				}
				s := map[string]any{"type": "object", "properties": props, "$defs": map[string]any{"a": randomSchema(r, 1), "b": randomSchema(r, 2)}}
				if r.IntN(2) == 0 {
					s["required"] = []any{"a"}
				}
				if strings.Contains(fmt.Sprint(props), "allOf") && strings.Contains(fmt.Sprint(props), "enum") {
					continue // a text that both list is read as either
				}
				doc, err := json.Marshal(s)
				if err != nil {
					t.Fatal(err)
				}
				check := independent(doc)
				g, err := c.Compile(argumentsOf(f, doc))
				if err != nil || check == nil {
					for _, e := range []error{ErrUnsupported, ErrRecursion, ErrEmpty, ErrLimit} {
						if errors.Is(err, e) {
							reasons[e.Error()]++
						}
					}
					continue
				}
				tool := chat.Tool{Name: "run", Parameters: doc}
				for range 5 {
					text := walkText(t, g, r, nil)
					args, err := readBack(t, f, tool, text)
					if err != nil {
						t.Fatalf("%s: %q: %v", doc, text, err)
					}
					value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(args)))
					if err == nil {
						err = check.Validate(value)
					}
					if err != nil {
						t.Fatalf("%s: %q is read as %s: %v", doc, text, args, err)
					}
					written++
				}
			}
			t.Logf("%d arguments written, refused: %v", written, reasons)
			if written < schemas {
				t.Errorf("%d arguments of %d schemas", written, schemas)
			}
		})
	}
}

// TestArgumentsKeepStrings: every string that a format can write at all is accepted as it writes it,
// and read back as it was.
func TestArgumentsKeepStrings(t *testing.T) {
	t.Parallel()
	schema := []byte(`{"type":"object","properties":{"s":{"type":"string"},"l":{"type":"array","items":{"type":"string"}}},"required":["s","l"]}`)
	tool := chat.Tool{Name: "run", Parameters: schema}
	quoted := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(b))
	}
	writers := map[parse.Format]func(s string) string{
		parse.Qwen3Coder: func(s string) string {
			return "<parameter=s>\n" + s + "\n</parameter>\n<parameter=l>\n[" + quoted(s) + "]\n</parameter>\n</function>"
		},
		parse.GLM45: func(s string) string {
			return "<arg_key>s</arg_key>\n<arg_value>" + s + "</arg_value>\n<arg_key>l</arg_key>\n<arg_value>[" + quoted(s) + "]</arg_value>\n</tool_call>"
		},
		parse.Pythonic: func(s string) string { return "s=" + quoted(s) + ", l=[" + quoted(s) + "])" },
		parse.LFM2:     func(s string) string { return "s=" + quoted(s) + ", l=[" + quoted(s) + "])" },
		parse.Gemma:    func(s string) string { return `{s:<|"|>` + s + `<|"|>,l:[<|"|>` + s + `<|"|>]}` },
	}
	values := []string{"", "a", "\n", "\n\nx\n", " ", `"`, `'`, `\`, `\n`, "it's \"so\"", "é😀日本", "a\tb\r\nc", "</tool_call>", "</function>", "<parameter=s>", "<arg_key>k</arg_key>",
		"<|tool_call_end|>", "<tool_call|>", ")]", "{", "}", "[", "5", "true", "null", "None", "call:f{a:1}", "<|call|>", "</think>", "\u2028", "a</parameter", "x <|\"", "`" + "``json"}
	v := vocabFor()
	for f, write := range writers {
		c, err := NewCompiler(v, Options{})
		if err != nil {
			t.Fatal(err)
		}
		g, err := c.Compile(argumentsOf(f, schema))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range values {
			text := write(s)
			if !accepts(g, text) {
				t.Errorf("%s: %q is refused", f, text)
				continue
			}
			args, err := readBack(t, f, tool, text)
			var got struct {
				S string
				L []string
			}
			if err == nil {
				err = json.Unmarshal(args, &got)
			}
			if err != nil || got.S != s || !reflect.DeepEqual(got.L, []string{s}) {
				t.Errorf("%s: %q is read as %s, %v", f, text, args, err)
			}
		}
		shape, _ := f.CallShape()
		if m := shape.Arguments.Mark; m != "" && accepts(g, write("a"+m+"b")) {
			t.Errorf("%s: a string with %q is accepted", f, m)
		}
	}
}

func TestArgumentsRefusals(t *testing.T) {
	t.Parallel()
	c, err := NewCompiler(smallVocab(), Options{MaxStates: 5000})
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]struct {
		format parse.Format
		schema string
		want   error
		says   string
	}{
		"name with a blank":    {parse.LFM2, `{"type":"object","properties":{"a b":{"type":"string"}}}`, ErrUnsupported, `"a b"`},
		"name of a digit":      {parse.Pythonic, `{"type":"object","properties":{"1a":{}}}`, ErrUnsupported, `"1a"`},
		"empty name":           {parse.Qwen3Coder, `{"type":"object","properties":{"":{}}}`, ErrUnsupported, `""`},
		"name with a bracket":  {parse.Qwen3Coder, `{"type":"object","properties":{"a>b":{}}}`, ErrUnsupported, `"a>b"`},
		"name with a mark":     {parse.Gemma, `{"type":"object","properties":{"a<|\"|>b":{}}}`, ErrUnsupported, "a<|"},
		"name with a tag":      {parse.GLM45, `{"type":"object","properties":{"a</arg_key>":{}}}`, ErrUnsupported, "arg_key"},
		"no object":            {parse.LFM2, `{"type":"string"}`, ErrEmpty, ""},
		"unlisted and needed":  {parse.LFM2, `{"type":"object","minProperties":1}`, ErrEmpty, ""},
		"whole arguments":      {parse.GLM45, `{"type":"object","enum":[{"a":1}]}`, ErrUnsupported, "whole arguments"},
		"anchor":               {parse.GLM45, `{"type":"object","properties":{"a":{"$ref":"#x"}},"$defs":{"b":{"$anchor":"x","type":"integer"}}}`, ErrUnsupported, "#x"},
		"only the mark":        {parse.GLM45, `{"type":"object","properties":{"a":{"const":"</arg_value>"}},"required":["a"]}`, ErrEmpty, ""},
		"nothing but integers": {parse.Qwen3Coder, `{"type":"object","properties":{"a":{"not":{"type":"string"}}},"required":["a"]}`, ErrEmpty, ""},
		"endless recursion":    {parse.Gemma, `{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`, ErrRecursion, ""},
		"malformed":            {parse.Gemma, `{"type":`, ErrSpec, "byte"},
	} {
		_, err := c.Compile(argumentsOf(r.format, []byte(r.schema)))
		if !errors.Is(err, r.want) || !strings.Contains(err.Error(), r.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, n := range []Notation{{Values: 9}, {Values: ValuesText}, {Values: ValuesMarked}, {Between: "=", Names: "("}} {
		if _, err := c.Compile(Arguments([]byte(`{"type":"object","properties":{"a":{}}}`), n)); !errors.Is(err, ErrSpec) {
			t.Errorf("%+v: %v", n, err)
		}
	}
}
