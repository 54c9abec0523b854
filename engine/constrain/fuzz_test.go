package constrain

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/chat/parse"
)

// FuzzSchema: no schema panics or takes more than the limits; what its grammar writes is JSON, and
// satisfies the schema wherever an independent validator takes it.
func FuzzSchema(f *testing.F) {
	for _, s := range walkSchemas {
		f.Add([]byte(s), uint64(1))
	}
	f.Add([]byte(`{"not":{"type":"string"},"dependentRequired":{"a":["b"]}}`), uint64(2))
	f.Add([]byte(`{"anyOf":[{"$ref":"#"},{"items":{"$ref":"#/anyOf/0"}}]}`), uint64(3))
	c, err := NewCompiler(smallVocab(), Options{MaxStates: 4000, MaxDepth: 24, Grammars: 4})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, schema []byte, seed uint64) {
		g, err := c.Compile(JSONSchema(schema, Whitespace(seed%3)))
		if err != nil {
			return
		}
		r := rand.New(rand.NewPCG(seed, 0))
		s := g.Start()
		var text []byte
		var mask []uint32
		for step := 0; !s.Ended() && (step < 60 || !s.Done()); step++ {
			if mask = s.Mask(mask); step > 300 {
				return // a long word that a pattern asks for
			}
			allowed := ids(mask)
			if len(allowed) == 0 {
				t.Fatalf("%s: stuck behind %q", schema, text)
			}
			id := allowed[r.IntN(len(allowed))]
			if err := s.Accept(id); err != nil {
				t.Fatalf("%s: behind %q: %v", schema, text, err)
			}
			text = append(text, g.vocab[id]...)
		}
		if !json.Valid(text) {
			t.Fatalf("%s: not JSON: %q", schema, text)
		}
		check := independent(schema)
		if check == nil {
			return
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := check.Validate(doc); err != nil {
			t.Fatalf("%s: wrote %q: %v", schema, text, err)
		}
	})
}

// FuzzArguments: whatever a schema is, the arguments that its grammar writes are read back as one call.
func FuzzArguments(f *testing.F) {
	for i, s := range append(slices.Clip(argumentSchemas), walkSchemas...) {
		f.Add([]byte(s), uint64(i))
	}
	c, err := NewCompiler(vocabFor(), Options{MaxStates: 4000, MaxDepth: 24, Grammars: 4})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, schema []byte, seed uint64) {
		format := notated[seed%uint64(len(notated))]
		g, err := c.Compile(argumentsOf(format, schema))
		if err != nil {
			return
		}
		r := rand.New(rand.NewPCG(seed, 0))
		s := g.Start()
		var text []byte
		var mask []uint32
		for step := 0; !s.Ended(); step++ {
			if mask = s.Mask(mask); step > 300 {
				return // a long word
			}
			allowed := ids(mask)
			if len(allowed) == 0 {
				t.Fatalf("%s: %s: stuck behind %q", format, schema, text)
			}
			id := allowed[r.IntN(len(allowed))]
			if err := s.Accept(id); err != nil {
				t.Fatalf("%s: %s: behind %q: %v", format, schema, text, err)
			}
			text = append(text, g.vocab[id]...)
		}
		args, err := readBack(t, format, chat.Tool{Name: "run", Parameters: schema}, string(text))
		if err != nil || !json.Valid(args) || args[0] != '{' {
			// Gemma's arguments are whatever the schema says; a call takes an object.
			if format == parse.Gemma && (len(text) == 0 || text[0] != '{') {
				return
			}
			t.Fatalf("%s: %s: %q is read as %s: %v", format, schema, text, args, err)
		}
	})
}

// independent compiles the schema with another library, or returns nil where that refuses it or
// reads it differently.
func independent(schema []byte) *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil || bytes.Contains(schema, []byte(`$schema`)) || bytes.Contains(schema, []byte(`$id`)) {
		return nil
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", doc); err != nil {
		return nil
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		return nil
	}
	return s
}

// FuzzRegexp: no expression panics or takes more than the limits; what it writes matches.
func FuzzRegexp(f *testing.F) {
	for _, e := range expressions {
		f.Add(e, uint64(1))
	}
	f.Add(`(a|b)*a(a|b){14}`, uint64(2))
	c, err := NewCompiler(smallVocab(), Options{MaxStates: 2000, Grammars: 4})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, expr string, seed uint64) {
		g, err := c.Compile(Regexp(expr))
		if err != nil {
			return
		}
		r := rand.New(rand.NewPCG(seed, 0))
		s := g.Start()
		var text []byte
		for step := 0; !s.Ended() && (step < 40 || !s.Done()); step++ {
			allowed := ids(s.Mask(nil))
			if len(allowed) == 0 || step > 300 {
				t.Skip("a word out of reach")
			}
			id := allowed[r.IntN(len(allowed))]
			if err := s.Accept(id); err != nil {
				t.Fatalf("%q: behind %q: %v", expr, text, err)
			}
			text = append(text, g.vocab[id]...)
		}
		d, err := pattern(expr, false, runeBytes, 2000)
		if err != nil || !d.matches(string(text)) {
			t.Fatalf("%q: wrote %q: %v", expr, text, err)
		}
		if !strings.ContainsAny(expr, "^$") && !strings.Contains(expr, `\z`) && !strings.Contains(expr, `\A`) {
			if re := wholeRegexp(expr); re != nil && !re.Match(text) {
				t.Fatalf("%q: wrote %q", expr, text)
			}
		}
	})
}

func wholeRegexp(expr string) *regexp.Regexp {
	re, err := regexp.Compile(`^(?:` + expr + `)$`)
	if err != nil {
		return nil
	}
	return re
}

// FuzzVocabulary: masks agree with a check of each token's bytes, for any vocabulary.
func FuzzVocabulary(f *testing.F) {
	f.Add([]byte("{\"\x00\":\x00\"}\x00[[\x00]]\x00\xc3\x00\xa9\"\x00\\u0\x00,\""), uint64(1))
	f.Fuzz(func(t *testing.T, raw []byte, seed uint64) {
		v := byteVocab()
		for _, b := range bytes.SplitN(raw, []byte{0}, 200) {
			if len(b) < 200 {
				v.Tokens = append(v.Tokens, b)
			}
		}
		c, err := NewCompiler(v, Options{MaxDepth: 8})
		if err != nil {
			t.Fatal(err)
		}
		schemas := []string{walkSchemas[0], walkSchemas[1], walkSchemas[4], walkSchemas[6], walkSchemas[12]}
		g, err := c.Compile(JSONSchema([]byte(schemas[seed%uint64(len(schemas))]), Whitespace(seed%3)))
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(seed, 0))
		s := g.Start()
		for range 12 {
			got, want := ids(s.Mask(nil)), naiveMask(&s, v)
			if len(got) != len(want) {
				t.Fatalf("%d tokens allowed, want %d", len(got), len(want))
			}
			for _, id := range got {
				if !want[id] {
					t.Fatalf("token %q allowed", v.Tokens[id])
				}
			}
			if len(got) == 0 || s.Accept(got[r.IntN(len(got))]) != nil {
				return
			}
		}
	})
}
