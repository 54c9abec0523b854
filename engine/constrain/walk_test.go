package constrain

import (
	"bytes"
	"encoding/json"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/hotpath-go/hotpath/internal/race"
	"github.com/hotpath-go/hotpath/internal/testdata"
)

// smallVocab has all bytes and pieces that cross the borders of JSON's parts.
func smallVocab() Vocab {
	v := byteVocab()
	for _, s := range []string{`{"`, `":`, `": `, `":"`, `","`, `"}`, `"]`, `"},`, `},{"`, `"],"`, `[["`, `[[`, `]]`, `]]]`, `}}`, `}]`,
		`[]`, `{}`, `null`, `true`, `false`, `nul`, `, `, `,"`, `:[`, `:{"`, `123`, `12`, `0.`, `-1`, `e1`, `\"`, `\u00`, `\ud83d`, `\`,
		`\\"`, "é", "\xc3", "\x82\xac", "日本", "\xf0\x9f", "\x98\x80", `abc`, `name`, `"name":"`, `value`, ` `, "\n", "\n  ", `ab","c`, `":{"a":[1,2`, `":null}`,
		`abc`} { // one text twice
		v.Tokens = append(v.Tokens, []byte(s))
	}
	v.Tokens = append(v.Tokens, []byte{}) // a token of nothing
	return v
}

// qwenVocab reads a real vocabulary of 151,643 byte-level tokens.
func qwenVocab(t testing.TB) Vocab {
	t.Helper()
	var file struct {
		Model struct{ Vocab map[string]int32 }
		Added []struct{ ID int32 } `json:"added_tokens"`
	}
	if err := json.Unmarshal(testdata.Read(t, "tokenizers/qwen3/tokenizer.json.gz"), &file); err != nil {
		t.Fatal(err)
	}
	// GPT-2's table: printable Latin-1 stands for itself, the other bytes for U+0100 and up.
	byRune := map[rune]byte{}
	next := rune(0x100)
	for b := rune(0); b < 256; b++ {
		if b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE {
			byRune[b] = byte(b)
		} else {
			byRune[next] = byte(b)
			next++
		}
	}
	n := len(file.Model.Vocab)
	for _, a := range file.Added {
		n = max(n, int(a.ID)+1)
	}
	v := Vocab{Tokens: make([][]byte, n), End: []int32{151643, 151645}}
	for text, id := range file.Model.Vocab {
		var b []byte
		for _, r := range text {
			b = append(b, byRune[r])
		}
		v.Tokens[id] = b
	}
	return v
}

// naiveMask asks for each token whether its bytes can follow.
func naiveMask(s *State, v Vocab) map[int32]bool {
	out := map[int32]bool{}
	for id := range v.Tokens {
		fork := *s
		if fork.Accept(int32(id)) == nil {
			out[int32(id)] = true
		}
	}
	return out
}

func ids(mask []uint32) []int32 {
	var out []int32
	for i, w := range mask {
		for ; w != 0; w &= w - 1 {
			out = append(out, int32(i*32+bits.TrailingZeros32(w)))
		}
	}
	return out
}

// walk generates a text by choosing among the allowed tokens. It leans to ending after a while.
func walkText(t *testing.T, g *Grammar, r *rand.Rand, check func(s *State, mask []uint32)) string {
	t.Helper()
	s := g.Start()
	var mask []uint32
	var text []byte
	var far []int
	for step := 0; !s.Ended(); step++ {
		mask = s.Mask(mask)
		if check != nil {
			check(&s, mask)
		}
		allowed := ids(mask)
		if len(allowed) == 0 {
			t.Fatalf("stuck behind %q", text)
		}
		if forced := s.Forced(nil); len(forced) > 0 {
			for _, id := range allowed {
				b := g.vocab[id]
				if n := min(len(b), len(forced)); !bytes.Equal(b[:n], forced[:n]) {
					t.Fatalf("behind %q %q is forced, but token %q allowed", text, forced, b)
				}
			}
		}
		id := allowed[r.IntN(len(allowed))]
		if step > 30 { // end soon
			if s.Done() {
				break
			}
			if far == nil {
				far = distances(g)
			}
			best := -1
			for _, a := range allowed {
				if b := g.vocab[a]; len(b) == 1 && r.IntN(4) > 0 {
					fork := s
					fork.AcceptBytes(b)
					if d := fork.distance(far); best < 0 || d < best {
						best, id = d, a
					}
				}
			}
		}
		if step > 4000 {
			t.Fatalf("no end after %d tokens: %.300q", step, text)
		}
		if err := s.Accept(id); err != nil {
			t.Fatalf("behind %q: %v", text, err)
		}
		text = append(text, g.vocab[id]...)
	}
	return string(text)
}

// distances finds the fewest bytes from each state to the end of its rule, but for the counts of
// characters in strings.
func distances(g *Grammar) []int {
	const far = 1 << 20
	d := make([]int, len(g.states))
	for i := range d {
		d[i] = far
	}
	for changed := true; changed; {
		changed = false
		for i := len(g.states) - 1; i >= 0; i-- {
			best := d[i]
			if g.states[i].accept {
				best = 0
			}
			for _, e := range g.states[i].edges {
				best = min(best, 1+d[e.to])
			}
			for _, c := range g.states[i].calls {
				best = min(best, d[g.rules[c.rule].start]+d[c.ret])
			}
			if best < d[i] {
				d[i], changed = best, true
			}
		}
	}
	return d
}

// distance is the fewest bytes to a complete text.
func (s *State) distance(far []int) int {
	best := 1 << 30
	if s.at.done {
		best = 0
	}
	for _, h := range s.at.heads {
		d := far[h.q] + int(h.need)
		for up := h.up; up != nil; up = up.up {
			d += far[up.q]
		}
		best = min(best, d)
	}
	return best
}

// schemas of the kind that programs send, and corners.
var walkSchemas = []string{
	`{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":8},"age":{"type":"integer","minimum":0,"maximum":150},"tags":{"type":"array","items":{"enum":["a","b","c d"]},"maxItems":3}},"required":["name","age"],"additionalProperties":false}`,
	`{"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"null"},"c":{"const":{"x":[1,"y\n"]}}},"additionalProperties":{"type":"integer"}}`,
	`{"type":"object"}`, `{"type":"array","items":{"type":"array","items":{"type":"number"}},"minItems":1,"maxItems":4}`, `true`, `{"type":["string","null"]}`,
	`{"$ref":"#/$defs/tree","$defs":{"tree":{"type":"object","properties":{"v":{"type":"integer","minimum":-5,"maximum":5},"kids":{"type":"array","items":{"$ref":"#/$defs/tree"},"maxItems":2}},"required":["v"],"additionalProperties":false}}}`,
	`{"anyOf":[{"type":"integer","exclusiveMinimum":10},{"type":"string","pattern":"^[a-zé]{2,5}$"},{"type":"array","prefixItems":[{"type":"string"},{"type":"number","minimum":-1.5,"maximum":2.25}],"minItems":2,"items":false}]}`,
	`{"oneOf":[{"type":"object","properties":{"kind":{"const":"circle"},"r":{"type":"number","exclusiveMinimum":0}},"required":["kind","r"],"additionalProperties":false},{"type":"object","properties":{"kind":{"const":"square"},"side":{"type":"number","multipleOf":0.25,"maximum":100,"minimum":0}},"required":["kind","side"],"additionalProperties":false}]}`,
	`{"type":"string","pattern":"b+","maxLength":6}`, `{"type":"string","pattern":"^\"\\\\[\n\t]?$"}`, `{"type":"string","pattern":"^[a-c]*$","minLength":2,"maxLength":4}`, `{"type":"string","minLength":3,"maxLength":5}`,
	`{"type":"integer","multipleOf":7,"minimum":-100}`, `{"type":"number","exclusiveMaximum":-0.125}`, `{"type":"number","multipleOf":0.01,"minimum":0}`, `{"type":"integer","minimum":99,"maximum":1001}`,
	`{"type":"object","patternProperties":{"^n_":{"type":"integer"},"^[a-z]?_s$":{"type":["integer","string"]}},"additionalProperties":false,"maxProperties":3}`,
	`{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"integer"},"z":{"type":"integer"}},"minProperties":2,"maxProperties":2,"additionalProperties":false}`,
	`{"type":"object","propertyNames":{"pattern":"^[a-z]{1,3}$"},"additionalProperties":{"type":"boolean"},"minProperties":1}`,
	`{"allOf":[{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},{"properties":{"a":{"maximum":3},"b":{"type":"string"}},"required":["b"]}]}`,
	`{"type":"object","properties":{"d":{"type":"string","format":"date"},"t":{"type":"string","format":"date-time"},"u":{"type":"string","format":"uuid"},"i":{"type":"string","format":"ipv4"},"j":{"type":"string","format":"ipv6"},"m":{"type":"string","format":"email"},"h":{"type":"string","format":"hostname"},"p":{"type":"string","format":"duration"},"r":{"type":"string","format":"uri"},"k":{"type":"string","format":"time"}},"required":["d","t","u","i","j","m","h","p","r","k"],"additionalProperties":false}`,
	`{"enum":[1,"two",null,[3,{"four":4.5}],{"":""},1e3]}`, `{"type":"object","properties":{"\"\\\n":{"type":"integer"},"é😀":{"type":"null"}},"required":["\"\\\n"],"additionalProperties":false}`,
}

func validator(t testing.TB, schema string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Whatever the grammar lets through parses and satisfies the schema, by an independent parser and
// validator; and every mask holds exactly the tokens whose bytes may follow.
func TestWalksValidate(t *testing.T) {
	t.Parallel()
	v := smallVocab()
	c, err := NewCompiler(v, Options{})
	if err != nil {
		t.Fatal(err)
	}
	walks := 120
	if race.Enabled {
		walks = 4
	}
	for i, schema := range walkSchemas {
		for _, space := range []Whitespace{WhitespaceNone, WhitespaceSpaces, WhitespaceAny} {
			check := validator(t, schema)
			g, err := c.Compile(JSONSchema([]byte(schema), space))
			if err != nil {
				t.Errorf("%s: %v", schema, err)
				continue
			}
			r := rand.New(rand.NewPCG(uint64(i), uint64(space)))
			for round := range walks {
				text := walkText(t, g, r, func(s *State, mask []uint32) {
					if round > walks/15 {
						return
					}
					want := naiveMask(s, v)
					got := ids(mask)
					if len(got) != len(want) {
						t.Fatalf("%s: %d tokens allowed, want %d", schema, len(got), len(want))
					}
					for _, id := range got {
						if !want[id] {
							t.Fatalf("%s: token %q allowed", schema, v.Tokens[id])
						}
					}
				})
				if !json.Valid([]byte(text)) {
					t.Fatalf("%s: not JSON: %q", schema, text)
				}
				if space == WhitespaceNone {
					var compact bytes.Buffer
					if err := json.Compact(&compact, []byte(text)); err != nil || compact.String() != text {
						t.Fatalf("%s: white space in %q", schema, text)
					}
				}
				doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
				if err != nil {
					t.Fatalf("%s: %q: %v", schema, text, err)
				}
				if err := check.Validate(doc); err != nil {
					t.Fatalf("%s: %q: %v", schema, text, err)
				}
			}
		}
	}
}

// Masks where parts may be empty, so that a token can pass over several rules at once.
func TestMasksOfSequences(t *testing.T) {
	t.Parallel()
	v := smallVocab()
	for _, s := range []string{"ab1", "a]]12", "aa", "b]]", "]]1", "x]]", `1]]"`, `null"`, "}}>", `"}}>`, "b\n\n"} {
		v.Tokens = append(v.Tokens, []byte(s))
	}
	c, err := NewCompiler(v, Options{MaxDepth: 6})
	if err != nil {
		t.Fatal(err)
	}
	value := JSONSchema([]byte(`{"type":["object","null","integer"],"additionalProperties":{"$ref":"#"}}`), WhitespaceAny)
	for i, spec := range []Spec{
		Sequence(Regexp("a*"), Regexp("b?"), Choice("", "]]"), Regexp("[0-9]*")),
		Sequence(value, Regexp(`\n*`), OneOf(Literal(">"), Sequence(Regexp("b*"), value))),
		OneOf(Sequence(Regexp("a*"), Sequence(Regexp("b*"), Regexp(`(]])*`))), Regexp(`[ab]{0,3}1?`)),
		Sequence(OneOf(Literal(""), Literal("x")), JSONSchema([]byte(`{"type":"array","items":{"type":"string","maxLength":3,"minLength":1}}`), WhitespaceNone), Literal("]")),
	} {
		g, err := c.Compile(spec)
		if err != nil {
			t.Fatal(err)
		}
		rounds := 25
		if race.Enabled {
			rounds = 3
		}
		for round := range rounds {
			walkText(t, g, rand.New(rand.NewPCG(uint64(i), uint64(round))), func(s *State, mask []uint32) {
				want, got := naiveMask(s, v), ids(mask)
				if len(got) != len(want) {
					t.Fatalf("constraint %d: %d tokens allowed, want %d", i, len(got), len(want))
				}
				for _, id := range got {
					if !want[id] {
						t.Fatalf("constraint %d: token %q allowed", i, v.Tokens[id])
					}
				}
			})
		}
	}
}
