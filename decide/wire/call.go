package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hotpath-go/hotpath/decide"
)

// Call is a request to one of the routes.
type Call struct {
	Model   string // empty: the server's
	Request decide.Request
	// Fields has one item for each of Request.Questions: how the wire names it and its options.
	Fields []Field
	// Temperature divides the logits of the labels before the softmax; 0 is 1. SGLangShape alone has it.
	Temperature float64
	// ID is the request id that a client of vLLM may choose.
	ID string
	// Extra holds the other fields that the speaker knows and that change no answer here, as sent and in
	// order: safety_identifier, prompt_cache_key, chat_template_kwargs and the like.
	Extra []Extra
}

// Field is what the wire says of a question besides a decide.Question.
type Field struct {
	Name *string // id or name; nil: a question without a name (OpenAIShape)
	// Options are the names, values (a string or a boolean) or levels as the wire writes them, in
	// order: JSON. Empty for a boolean.
	Options []json.RawMessage
}

// Extra is a field that is passed on unread.
type Extra struct {
	Name  string
	Value json.RawMessage
}

// NewCall returns the call that asks a request: names are the ids of its questions, options the
// names of theirs, as a boolean where the name is that of a bool that the option stands for. Other
// values of options are not sent: the answers that DecodeResponse reads have them.
func NewCall(model string, r decide.Request) *Call {
	c := &Call{Model: model, Request: r, Fields: make([]Field, len(r.Questions))}
	for i := range r.Questions {
		q := &r.Questions[i]
		c.Fields[i].Name = &q.ID
		if q.Kind == decide.KindBoolean {
			continue
		}
		for _, o := range q.Options {
			raw := quote(o.Name)
			if _, ok := o.Value.Bool(); ok && o.Name == o.Value.String() {
				raw = json.RawMessage(o.Name)
			}
			c.Fields[i].Options = append(c.Fields[i].Options, raw)
		}
	}
	return c
}

// What is asked where a question has no instructions of its own.
const (
	askBoolean = "Which holds, yes or no?"
	askChoice  = "Which option fits best?"
	askScore   = "Which level fits best?"
)

// DecodeRequest reads the body of a request. The error is an Error, or decide.ErrRequest for a
// request that package decide refuses.
func (d Dialect) DecodeRequest(body []byte) (*Call, error) {
	root, err := scan(body, d.Limits)
	if err != nil {
		return nil, err
	}
	c := &Call{}
	switch d.Shape {
	case SystemOneShape:
		err = d.systemOneRequest(c, root)
	case OpenAIShape:
		err = d.openAIRequest(c, root)
	case SGLangShape:
		err = d.sglangRequest(c, root)
	default:
		err = fmt.Errorf("%w: Shape: %d, the shapes are 0 to %d", ErrShape, d.Shape, SGLangShape)
	}
	if err != nil {
		return nil, err
	}
	if err := c.Request.Check(); err != nil {
		return nil, err
	}
	return c, nil
}

// EncodeRequest writes the body that asks a call. Fields may be shorter than Request.Questions;
// missing ones are those of NewCall. What the shape has no words for, and would change an answer,
// is ErrShape.
func (d Dialect) EncodeRequest(c *Call) ([]byte, error) {
	if err := c.Request.Check(); err != nil {
		return nil, err
	}
	if err := d.wordless(c); err != nil {
		return nil, err
	}
	full := *c
	var err error
	if full.Fields, err = d.asked(c); err != nil {
		return nil, err
	}
	var top []member
	switch d.Shape {
	case SystemOneShape:
		top, err = d.systemOneBody(&full)
	case OpenAIShape:
		top, err = d.openAIBody(&full)
	default:
		top, err = d.sglangBody(&full)
	}
	if err != nil {
		return nil, err
	}
	for _, x := range c.Extra {
		if !json.Valid(x.Value) {
			return nil, fmt.Errorf("%w: Extra %q: not JSON", ErrShape, x.Name)
		}
		top = append(top, member{x.Name, x.Value})
	}
	return appendJSON(nil, top), nil
}

// asked returns the fields of a call, those that are missing from NewCall. A choice is told by strings
// in a shape that has no booleans.
func (d Dialect) asked(c *Call) ([]Field, error) {
	fields := NewCall("", c.Request).Fields
	for i := range fields {
		f := &fields[i]
		if i < len(c.Fields) {
			if want, got := len(f.Options), len(c.Fields[i].Options); got == want {
				f.Options = slices.Clone(c.Fields[i].Options)
			} else if got > 0 {
				return nil, fmt.Errorf("%w: Fields[%d].Options: %d, the question has %d", ErrShape, i, got, want)
			}
			if c.Fields[i].Name != nil || d.Shape == OpenAIShape {
				f.Name = c.Fields[i].Name
			}
		}
		if d.Shape == OpenAIShape || c.Request.Questions[i].Kind != decide.KindChoice {
			continue
		}
		seen := make(map[string]int, len(f.Options))
		for j, raw := range f.Options {
			if s := string(raw); s == "true" || s == "false" {
				f.Options[j] = quote(s)
			}
			if k, ok := seen[string(f.Options[j])]; ok {
				return nil, fmt.Errorf("%w: Fields[%d].Options[%d]: %s, and option %d is told by the same string", ErrShape, i, j, raw, k)
			}
			seen[string(f.Options[j])] = j
		}
	}
	return fields, nil
}

// wordless refuses the settings that no shape, or not this one, can say.
func (d Dialect) wordless(c *Call) error {
	r := &c.Request
	no := func(field string, value any) error {
		return fmt.Errorf("%w: %s: %v, the %v shape cannot say it", ErrShape, field, value, d.Shape)
	}
	switch {
	case r.Plan != nil:
		return no("Plan", "a compiled plan")
	case r.Method != decide.Automatic:
		return no("Method", r.Method)
	case r.Orders != 0:
		return no("Orders", r.Orders)
	case r.Prior != 0:
		return no("Prior", r.Prior)
	case r.Length != decide.Sum:
		return no("Length", r.Length)
	case r.Border != decide.BorderNone:
		return no("Border", r.Border)
	case r.Truncate != decide.Truncation{}:
		return no("Truncate", r.Truncate)
	case r.Instructions != "" && !d.engineFields:
		return no("Instructions", "text for all questions")
	case c.Temperature != 0 && d.Shape != SGLangShape:
		return no("Temperature", c.Temperature)
	}
	for i := range r.Questions {
		if q := &r.Questions[i]; q.Method != decide.Automatic || q.Orders != 0 || q.Length != decide.Sum {
			return no(fmt.Sprintf("Questions[%d]", i), "Method, Orders or Length")
		}
	}
	return nil
}

// entry is a question under way.
type entry struct {
	node
	name         *string
	kind         decide.Kind
	instructions string
	raw          []json.RawMessage // options as the wire writes them
	names        []string          // what they say
	descriptions []string
	where        []node // of each option
}

// add appends a question to the call.
func (d Dialect) add(c *Call, e entry) error {
	q := decide.Question{Kind: e.kind, Instructions: e.instructions}
	if strings.TrimSpace(q.Instructions) == "" {
		switch {
		case d.needInstructions || d.Shape != SystemOneShape:
			return e.fail(CodeValue, "no instructions")
		case e.kind == decide.KindBoolean && strings.Join(e.descriptions, "") == "":
			return e.fail(CodeValue, "neither instructions nor criteria")
		}
		q.Instructions = [...]string{"", askBoolean, askChoice, askScore}[e.kind]
	}
	q.ID = c.id(e.name)
	size := 0
	for _, text := range slices.Concat([]string{e.instructions}, e.names, e.descriptions) {
		if n := utf8.RuneCountInString(text); d.Limits.Text > 0 && n > d.Limits.Text {
			return e.limit("characters of a text", n, 0, d.Limits.Text)
		}
		size += len(text)
	}
	if err := e.limit("bytes of texts", size, 0, decide.MaxText); err != nil {
		return err
	}
	if n := utf8.RuneCountInString(q.ID); d.Limits.Text > 0 && n > d.Limits.Text {
		return e.limit("characters of a name", n, 0, d.Limits.Text)
	}
	if err := d.checkNames(e); err != nil {
		return err
	}
	if e.kind != decide.KindBoolean {
		for i, name := range shown(e) {
			o := decide.Option{Name: name, Description: e.descriptions[i]}
			if e.kind == decide.KindChoice {
				o.Value = value(e.raw[i], e.names[i], name)
			}
			q.Options = append(q.Options, o)
		}
	} else if strings.Join(e.descriptions, "") != "" {
		q.Options = []decide.Option{{Name: "yes", Description: e.descriptions[0]}, {Name: "no", Description: e.descriptions[1]}}
	}
	c.Request.Questions = append(c.Request.Questions, q)
	c.Fields = append(c.Fields, Field{Name: e.name, Options: e.raw})
	return nil
}

// id returns the id that package decide knows a question by: its name, or, where that is blank or
// taken, its place.
func (c *Call) id(name *string) string {
	taken := func(id string) bool {
		return slices.ContainsFunc(c.Request.Questions, func(q decide.Question) bool { return q.ID == id })
	}
	if name != nil && strings.TrimSpace(*name) != "" && !taken(*name) {
		return *name
	}
	id := fmt.Sprintf("#%d", len(c.Request.Questions))
	for taken(id) {
		id = "#" + id
	}
	return id
}

// checkNames refuses options that nobody could tell apart.
func (d Dialect) checkNames(e entry) error {
	seen := make(map[string]int, len(e.names))
	folded := make(map[string]int, len(e.names))
	for i, name := range e.names {
		trimmed := strings.TrimSpace(name)
		if trimmed == "" {
			return e.where[i].fail(CodeValue, "blank")
		}
		key := string(e.raw[i])
		if j, ok := seen[key]; ok {
			return e.where[i].fail(CodeValue, "%s is also option %d", key, j)
		}
		seen[key] = i
		if !d.plainNames || e.kind != decide.KindChoice {
			continue
		}
		if strings.ContainsFunc(name, breaks) {
			return e.where[i].fail(CodeValue, "%q has a control character or line break", name)
		}
		fold := strings.ToLower(strings.ToUpper(trimmed))
		if j, ok := folded[fold]; ok {
			return e.where[i].fail(CodeValue, "%q is also option %d but for case and space", name, j)
		}
		folded[fold] = i
	}
	return nil
}

func breaks(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

// shown returns the names that the model sees: what the options say, or, where two would look the
// same or one has a control character, the JSON of all.
func shown(e entry) []string {
	seen := make(map[string]bool, len(e.names))
	for _, name := range e.names {
		trimmed := strings.TrimSpace(name)
		if seen[trimmed] || strings.ContainsFunc(trimmed, unicode.IsControl) {
			list := make([]string, len(e.raw))
			for i, raw := range e.raw {
				list[i] = controls(raw)
			}
			return list
		}
		seen[trimmed] = true
	}
	return e.names
}

// value returns what an option stands for, where its name does not say it.
func value(raw json.RawMessage, text, name string) decide.Value {
	switch {
	case raw[0] != '"':
		return decide.ValueOf(raw[0] == 't')
	case text != name:
		return decide.ValueOf(text)
	}
	return decide.Value{}
}

// controls escapes the control characters that JSON leaves as they are.
func controls(raw json.RawMessage) string {
	var b strings.Builder
	for _, r := range string(raw) {
		if unicode.IsControl(r) {
			fmt.Fprintf(&b, "\\u%04x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
