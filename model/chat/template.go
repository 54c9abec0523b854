package chat

import (
	"fmt"
	"strings"
	"time"

	"github.com/hotpath-go/hotpath/model/chat/jinja"
)

// TemplateOptions are what a template needs to know of its model. The zero value is ready.
type TemplateOptions struct {
	BOS, EOS string       // the texts that templates read as bos_token and eos_token
	Limits   jinja.Limits // of one render; zero fields take jinja's defaults
}

// Template is a model's compiled chat template. It is immutable and safe for concurrent use.
type Template struct {
	tmpl  *jinja.Template
	o     TemplateOptions
	shape shape
}

// NewTemplate compiles the source of a chat template. An error is ErrTemplate and names the place.
//
// It also finds out, with a few small renders, in which of the forms in circulation the template takes
// an assistant's calls (arguments as an object or as text, content empty or null) and contents (a
// string or a list of parts). The form that the transformers library passes is kept wherever it works.
func NewTemplate(source string, o TemplateOptions) (*Template, error) {
	tmpl, err := jinja.Parse(source)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTemplate, err)
	}
	t := &Template{tmpl: tmpl, o: o}
	t.shape = t.probe()
	return t, nil
}

// shape is how messages are passed where templates differ. The zero shape is that of transformers.
type shape struct {
	textArguments bool // a call's arguments are JSON text
	nullContent   bool // the empty content beside calls is null
	partContent   bool // a text content is a list of one part
}

// probe tries the shapes on small conversations. A shape works when what went in comes out.
func (t *Template) probe() shape {
	small := *t
	small.o.Limits = jinja.Limits{Steps: 20_000, Output: 1 << 20, Memory: 16 << 20}
	shows := func(s shape, words []string, m ...Message) bool {
		r, err := small.renderAs(m, nil, nil, false, time.Time{}, s)
		if err != nil {
			return false
		}
		for _, w := range words {
			if !strings.Contains(r.String(), w) {
				return false
			}
		}
		return true
	}
	var s shape
	user := User("probe-user")
	if !shows(s, []string{"probe-user"}, user) {
		parts := shape{partContent: true}
		if shows(parts, []string{"probe-user"}, user) {
			s = parts
		}
	}
	call := Message{Role: RoleAssistant, ToolCalls: []ToolCall{{
		ID: "probe0001", Name: "probe_name", Arguments: []byte(`{"probe_key": "probe-value"}`)}}}
	result := ToolResult("probe0001", "probe_name", "probe-result")
	words := []string{"probe_name", "probe_key", "probe-value"}
	for _, form := range []shape{{}, {nullContent: true}, {textArguments: true}, {textArguments: true, nullContent: true}} {
		form.partContent = s.partContent
		if shows(form, words, user, call, result) {
			return form
		}
	}
	return s
}

// Uses reports whether the template mentions the variable, such as enable_thinking.
func (t *Template) Uses(name string) bool { return t.tmpl.Uses(name) }
