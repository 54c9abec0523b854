package decide

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/hotpath-go/hotpath/model"
)

// declared is the read that a model's file declares: see model.Model.Decision.
type declared struct {
	state, question, option, level pattern
	yes, no                        []int32
	words                          bool

	temperature [KindScore + 1]float64 // that the model ships, by kind
	evidence    [KindScore + 1]float64 // weight of the words that state and option share, by kind
	idf         []float32              // of the model
	fold        []int32                // of the model; nil: each token for itself
}

// parseDeclared returns nil for a model that declares nothing.
func parseDeclared(m *model.Model) (*declared, error) {
	if m.Decision == "" {
		return nil, nil
	}
	var in struct {
		Read, State, Question, Option, Level, Yes, No string
		Words                                         bool
		Spellings                                     string // see parseSpellings
		Temperature, Evidence                         map[string]float64
	}
	fail := func(field, format string, args ...any) (*declared, error) {
		return nil, fmt.Errorf("%w: %s declares its decisions: %s: %s", ErrDeclared, m.Name, field, fmt.Sprintf(format, args...))
	}
	dec := json.NewDecoder(strings.NewReader(m.Decision))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return fail("JSON", "%v", err)
	}
	if in.Read != "each" {
		return fail("read", "%q, must be %q or %q", in.Read, "each", "label")
	}
	if in.Level == "" {
		in.Level = in.Option
	}
	d := &declared{words: in.Words}
	for _, f := range []struct {
		name, source string
		fields       string // that it must, and may, have
		to           *pattern
	}{
		{"state", in.State, "state", &d.state},
		{"question", in.Question, "question", &d.question},
		{"option", in.Option, "name description index", &d.option},
		{"level", in.Level, "name description index", &d.level},
	} {
		var err error
		if *f.to, err = parsePattern(f.source, strings.Fields(f.fields)); err != nil {
			return fail(f.name, "%v", err)
		}
	}
	for _, f := range []struct {
		name, source string
		to           *[]int32
	}{{"yes", in.Yes, &d.yes}, {"no", in.No, &d.no}} {
		if f.source == "" && f.name == "no" {
			continue
		}
		id, ok := m.Tokenizer.ID(f.source)
		if !ok {
			return fail(f.name, "%q is no token", f.source)
		}
		*f.to = []int32{id}
	}
	for k := range d.temperature {
		d.temperature[k] = 1
	}
	for _, f := range []struct {
		name   string
		values map[string]float64
		least  float64 // excluded where zero would divide
		to     *[KindScore + 1]float64
	}{
		{"temperature", in.Temperature, math.SmallestNonzeroFloat64, &d.temperature},
		{"evidence", in.Evidence, 0, &d.evidence},
	} {
		for _, name := range slices.Sorted(maps.Keys(f.values)) {
			k := slices.Index([]string{KindBoolean: "boolean", KindChoice: "choice", KindScore: "score"}, name)
			if k < int(KindBoolean) {
				return fail(f.name, "%q, the kinds are boolean, choice and score", name)
			}
			if v := f.values[name]; !(v >= f.least && v <= maxFactor) {
				return fail(f.name+"."+name, "%v, must be %s and at most %v", v, map[bool]string{true: "above 0", false: "0 or more"}[f.least > 0], maxFactor)
			}
			f.to[k] = f.values[name]
		}
	}
	if d.idf, d.fold = m.IDF, m.Fold; d.evidence != [KindScore + 1]float64{} && len(d.idf) != m.Program.Vocab {
		return fail("evidence", "needs hotpath.idf with a number for each token: %d numbers, the vocabulary has %d", len(d.idf), m.Program.Vocab)
	}
	return d, nil
}

// maxFactor bounds what a file may multiply or divide logits by.
const maxFactor = 1000

// pattern is scaffolding with fields: "<|state|> {state}". What stands in brackets is left out where
// its field is empty. A brace or bracket is not to be had otherwise.
type pattern []piece

type piece struct {
	scaffold string
	field    string // "": scaffolding alone
	optional bool   // scaffold belongs to the field that follows it
}

// parsePattern reads a pattern, which must have the first of the fields and may have the others.
func parsePattern(s string, fields []string) (pattern, error) {
	var p pattern
	optional := false
	seen := map[string]bool{}
	for s != "" {
		i := strings.IndexAny(s, "{}[]")
		if i < 0 {
			i = len(s)
		}
		n := piece{scaffold: s[:i], optional: optional}
		s = s[i:]
		if s == "" {
			p = append(p, n)
			break
		}
		switch {
		case s[0] == '{':
			name, rest, ok := strings.Cut(s[1:], "}")
			if !ok || !slices.Contains(fields, name) || seen[name] {
				return nil, fmt.Errorf("field %q, must be one of %q, once", name, fields)
			}
			seen[name] = true
			n.field, s = name, rest
		case s[0] == '[' && !optional:
			optional, s = true, s[1:]
		case s[0] == ']' && optional && n.scaffold == "" && len(p) > 0 && p[len(p)-1].field != "":
			optional, s = false, s[1:]
			continue
		default:
			return nil, fmt.Errorf("%q out of place", s[0])
		}
		if n != (piece{}) {
			p = append(p, n)
		}
	}
	if optional || !seen[fields[0]] {
		return nil, fmt.Errorf("brackets are open, or no field {%s}", fields[0])
	}
	return p, nil
}

// fill returns the parts of a pattern with its fields.
func (p pattern) fill(value func(field string) string) []part {
	var parts []part
	for _, n := range p {
		v := ""
		if n.field != "" {
			if v = value(n.field); v == "" && n.optional {
				continue
			}
		}
		parts = append(parts, scaffolding(n.scaffold), text(v))
	}
	return parts
}

// before returns the parts that stand before a state.
func (d *declared) before(state string) []part {
	return d.state.fill(func(string) string { return d.plain(state) })
}

func (d *declared) ask(instructions, question string) []part {
	if instructions != "" {
		question = instructions + " " + question
	}
	return d.question.fill(func(string) string { return d.plain(question) })
}

func (d *declared) propose(k Kind, i int, o Option) []part {
	p := d.option
	if k == KindScore {
		p = d.level
	}
	return p.fill(func(field string) string {
		switch field {
		case "name":
			if d.words {
				return d.plain(split(o.Name))
			}
			return o.Name
		case "description":
			return d.plain(o.Description)
		}
		return strconv.Itoa(i)
	})
}

// plain writes a field in lower case with single spaces, where the model wants it so.
func (d *declared) plain(s string) string {
	if !d.words {
		return s
	}
	return strings.ToLower(strings.Join(strings.Fields(s), " "))
}

// split parts a name into words: credit_score, getWeather, HTTPServer, a.b.
func split(s string) string {
	var b strings.Builder
	runes := []rune(s)
	for i, r := range runes {
		switch {
		case r == '_' || r == '.' || r == '-' || r == '/':
			r = ' '
		case i == 0 || !unicode.IsUpper(r):
		case unicode.IsLower(runes[i-1]), unicode.IsDigit(runes[i-1]),
			unicode.IsUpper(runes[i-1]) && i+1 < len(runes) && unicode.IsLower(runes[i+1]):
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}
