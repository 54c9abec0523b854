package constrain

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/internal/race"
)

func repeatList(n int, f string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = strings.ReplaceAll(f, "%d", fmt.Sprint(i))
	}
	return strings.Join(parts, ",")
}

// The same in the notations of calls: a schema that costs much as the arguments', or as one of them.
func TestHostileArguments(t *testing.T) {
	t.Parallel()
	defs := `"$defs":{"big":{"anyOf":[` + repeatList(1000, `{"type":"string","title":"%d"}`) + `]}}`
	for name, s := range map[string]struct {
		schema string
		err    error
	}{
		"500 strings":       {`{"type":"object","properties":{` + repeatList(500, `"name%d":{"type":"string"}`) + `}}`, nil},
		"500 unions":        {`{"type":"object","properties":{` + repeatList(500, `"name%d":{"type":["string","null","integer"],"maxLength":100000}`) + `}}`, nil},
		"many references":   {`{"type":"object","properties":{` + repeatList(1200, `"name%d":{"$ref":"#/$defs/big"}`) + `},` + defs + `}`, ErrLimit},
		"long with pattern": {`{"type":"object","properties":{"a":{"type":"string","pattern":"^a","maxLength":100000}}}`, ErrLimit},
		"large class":       {`{"type":"object","properties":{"a":{"type":"string","pattern":"^(\\pL|\\pN){1,500}$"}}}`, ErrLimit},
		"5000 values":       {`{"type":"object","properties":{"a":{"enum":[` + repeatList(5_000, `"some option %d"`) + `]}}}`, nil},
	} {
		formats := notated
		if race.Enabled { // the way is long, and the same in builds without the detector
			formats = formats[:1]
		}
		if race.Enabled && s.err != nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newTestCompiler(t, Options{MaxStates: 60_000})
			for _, f := range formats {
				g, err := c.Compile(argumentsOf(f, []byte(s.schema)))
				if s.err == nil && err != nil || err != nil && !errors.Is(err, ErrLimit) {
					t.Fatalf("%s: %v, want %v", f, err, s.err)
				}
				if err == nil {
					if s := g.Start(); len(ids(s.Mask(nil))) == 0 {
						t.Fatalf("%s: nothing allowed", f)
					}
				}
			}
		})
	}
}

// Schemas made to be large compile, or run into a limit, and in either case soon.
func TestHostileSchemas(t *testing.T) {
	t.Parallel()
	group := func(f string) string { return `{"anyOf":[` + repeatList(60, f) + `]}` }
	for name, s := range map[string]struct {
		schema string
		err    error
	}{
		"product of alternatives": {`{"allOf":[` + group(`{"maxLength":%d}`) + `,` + group(`{"minLength":%d}`) + `,` + group(`{"maximum":%d}`) + `]}`, ErrLimit},
		"many tagged objects":     {`{"oneOf":[` + repeatList(64, `{"type":"object","properties":{"k":{"const":%d},"v%d":{"type":"string"}},"required":["k"],"additionalProperties":false}`) + `]}`, nil},
		"too many in oneOf":       {`{"oneOf":[` + repeatList(65, `{"const":%d}`) + `]}`, ErrLimit},
		"2000 properties":         {`{"type":"object","properties":{` + repeatList(2000, `"name%d":{"type":"string"}`) + `}}`, nil},
		"long name":               {`{"properties":{"` + strings.Repeat("x", 100_000) + `":true}}`, ErrLimit},
		"many patterns":           {`{"type":"object","patternProperties":{` + repeatList(12, `"a%d.*b":{"type":"integer"}`) + `}}`, ErrLimit},
		"50000 values":            {`{"enum":[` + repeatList(50_000, `"some option %d"`) + `]}`, ErrLimit},
		"5000 values":             {`{"enum":[` + repeatList(5_000, `"some option %d"`) + `]}`, nil},
		"long chain":              {`{"$ref":"#/$defs/d0","$defs":{"d20000":{},` + repeatList(20_000, `"d%d":{"$ref":"#/$defs/e%d"},"e%d":{"type":"string"}`) + `}}`, nil},
		"exponential states":      {`{"pattern":"(a|b)*a(a|b){30}"}`, ErrLimit},
		"large classes":           {`{"pattern":"^(\\pL|\\pN){1,500}$"}`, ErrLimit},
		"counted properties":      {`{"type":"object","minProperties":100,"maxProperties":200,"properties":{` + repeatList(300, `"name%d":{"type":"string"}`) + `},"additionalProperties":false}`, ErrLimit},
		"long bounds":             {`{"minimum":-` + strings.Repeat("9", 390) + `.99999,"maximum":1e-40}`, ErrLimit},
		"long array":              {`{"type":"array","minItems":5000,"maxItems":10000}`, nil},
		"too long array":          {`{"type":"array","minItems":5000,"maxItems":30000}`, ErrLimit},
		"checks of values": {`{"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"},{"$ref":"#/$defs/b"}]},"b":{"anyOf":[{"items":{"$ref":"#/$defs/a"}},{"items":{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b"}]}}]}},` +
			`"$ref":"#/$defs/a","enum":[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]}`, ErrLimit},
	} {
		if race.Enabled && s.err != nil {
			continue // the way to a limit is long, and the same in builds without the detector
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newTestCompiler(t, Options{MaxStates: 40_000})
			g, err := c.Compile(JSONSchema([]byte(s.schema), WhitespaceAny))
			if !errors.Is(err, s.err) {
				t.Fatalf("%v, want %v", err, s.err)
			}
			if err == nil {
				s := g.Start()
				if len(ids(s.Mask(nil))) == 0 {
					t.Fatal("nothing allowed")
				}
			}
		})
	}
}
