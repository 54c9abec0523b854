package constrain

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/hotpath-go/hotpath/internal/race"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/chat/parse"
)

// On a real vocabulary: every mask along some walks against the plain check of each token.
func TestRealVocabulary(t *testing.T) {
	t.Parallel()
	v := qwenVocab(t)
	c, err := NewCompiler(v, Options{})
	if err != nil {
		t.Fatal(err)
	}
	schemas, rounds, every := 4, 6, 8
	if race.Enabled {
		schemas, rounds, every = 1, 1, 64
	}
	for f, schema := range map[parse.Format]string{parse.Qwen3Coder: argumentSchemas[1], parse.Gemma: argumentSchemas[4]} {
		g, err := c.Compile(argumentsOf(f, []byte(schema)))
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(6, 9))
		steps := 0
		text := walkText(t, g, r, func(s *State, mask []uint32) {
			if steps++; steps%every != 1 {
				return
			}
			if got, want := ids(mask), naiveMask(s, v); len(got) != len(want) {
				t.Fatalf("%s: %d tokens allowed, want %d", schema, len(got), len(want))
			}
		})
		if _, err := readBack(t, f, chat.Tool{Name: "run", Parameters: []byte(schema)}, text); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	}
	for i, schema := range []string{walkSchemas[0], walkSchemas[2], walkSchemas[6], walkSchemas[8]}[:schemas] {
		g, err := c.Compile(JSONSchema([]byte(schema), WhitespaceSpaces))
		if err != nil {
			t.Fatal(err)
		}
		check := validator(t, schema)
		r := rand.New(rand.NewPCG(uint64(i), 9))
		for round := range rounds {
			steps := 0
			text := walkText(t, g, r, func(s *State, mask []uint32) {
				if steps++; round > 0 || steps%every != 1 {
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
			doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
			if err == nil {
				err = check.Validate(doc)
			}
			if err != nil {
				t.Fatalf("%s: %q: %v", schema, text, err)
			}
		}
	}
}
