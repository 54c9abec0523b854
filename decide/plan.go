package decide

import (
	"fmt"
	"strings"

	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/tokenizer"
)

// Plan is a request's questions compiled for one model: the token spans that branch off the state,
// and which logits are read at their ends. It holds nothing of any state, is read-only, and may be
// used by many goroutines at once.
type Plan struct {
	model     [32]byte // the model it was compiled for
	questions []question
	spans     []Span
}

// Span is a run of tokens that continues the state (Parent 0) or span Parent-1, which comes before it.
type Span struct {
	Parent int
	Tokens []int32
	Labels []int32 // logits to read at the last row; nil for none
}

// question is a Question with the labels that stand for its options.
type question struct {
	Question
	names     []string // of the options
	labels    []int32  // ids, option after option
	spellings []int    // how many of labels each option has
}

// Compile checks the questions of a request and turns them into spans for the model. The state is
// not looked at.
func Compile(m *model.Model, r Request) (*Plan, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if r.Plan != nil {
		if r.Plan.model != m.ID {
			return nil, fmt.Errorf("%w: it was compiled for another model than %s", ErrPlan, m.Name)
		}
		return r.Plan, nil
	}
	p := &Plan{model: m.ID, questions: make([]question, len(r.Questions))}
	tokens := make([][]int32, len(r.Questions))
	for i, q := range r.Questions {
		var err error
		if p.questions[i], tokens[i], err = compile(m.Tokenizer, r.Instructions, q); err != nil {
			return nil, err
		}
	}
	p.spans = branch(tokens)
	first := len(p.spans) - len(tokens)
	for i := range p.questions {
		p.spans[first+i].Labels = p.questions[i].labels
	}
	return p, nil
}

// Spans returns the spans, parents before children. The last len(questions) of them end in the
// read rows of the questions, in order. The slice must not be changed.
func (p *Plan) Spans() []Span { return p.spans }

// Questions returns how many questions the plan answers.
func (p *Plan) Questions() int { return len(p.questions) }

// Rows returns how many rows the spans have: what a decision computes beside its state.
func (p *Plan) Rows() int {
	n := 0
	for _, s := range p.spans {
		n += len(s.Tokens)
	}
	return n
}

// branch makes the tokens that all questions share one parent span. Each question keeps at least
// one token of its own.
func branch(tokens [][]int32) []Span {
	shared := 0
	if len(tokens) > 1 {
		for shared = len(tokens[0]) - 1; shared > 0; shared-- {
			if all(tokens, tokens[0][:shared]) {
				break
			}
		}
	}
	var spans []Span
	parent := 0
	if shared > 0 {
		spans = append(spans, Span{Tokens: tokens[0][:shared]})
		parent = 1
	}
	for _, t := range tokens {
		spans = append(spans, Span{Parent: parent, Tokens: t[shared:]})
	}
	return spans
}

// all reports whether every list is longer than prefix and starts with it.
func all(lists [][]int32, prefix []int32) bool {
	for _, l := range lists {
		if len(l) <= len(prefix) {
			return false
		}
		for i, id := range prefix {
			if l[i] != id {
				return false
			}
		}
	}
	return true
}

// EncodeState returns the tokens of a state and the border that follows them. Text and JSON are
// encoded as raw text, with the BOS token where the model wants one, in the mode where nothing
// becomes a control token. A chat state is chat.ErrNoTemplate: no template border is known yet.
func EncodeState(m *model.Model, s State) ([]int32, Border, error) {
	if err := s.Err(); err != nil {
		return nil, BorderNone, err
	}
	ids, err := m.Encode(s.Prompt())
	if err != nil {
		return nil, BorderNone, fmt.Errorf("%w: %w", ErrState, err)
	}
	return ids, BorderRaw, nil
}

// compile renders a question as raw text after the state and finds its labels.
func compile(t *tokenizer.Tokenizer, instructions string, q Question) (question, []int32, error) {
	c := question{Question: q}
	scheme, err := labelsOf(t, &q)
	if err != nil {
		return c, nil, err
	}
	text := render(instructions, &q, scheme)
	ids := t.Encode(nil, text, tokenizer.Text)
	for i, l := range scheme.labels {
		n := 0
		for _, s := range l.spellings {
			if id, ok := next(t, text, ids, s); ok {
				c.labels = append(c.labels, id)
				n++
			}
		}
		if n == 0 {
			return c, nil, fmt.Errorf("%w: question %q: label %q of option %d is not one token after %q", ErrLabels, q.ID, l.name, i, tail)
		}
		c.spellings = append(c.spellings, n)
		c.names = append(c.names, scheme.names[i])
	}
	return c, ids, nil
}

// tail ends every rendered question: the label is the next token.
const tail = "\nAnswer:"

// render writes the question as it stands after the state.
func render(instructions string, q *Question, s scheme) string {
	var b strings.Builder
	b.WriteString("\n\n")
	if instructions != "" {
		b.WriteString(instructions)
		b.WriteString("\n\n")
	}
	b.WriteString("Question: ")
	b.WriteString(q.Instructions)
	for i, o := range s.options {
		if o.Name == "" {
			continue
		}
		b.WriteString("\n")
		b.WriteString(s.labels[i].name)
		b.WriteString(": ")
		b.WriteString(o.Name)
		if o.Description != "" {
			b.WriteString(" - ")
			b.WriteString(o.Description)
		}
	}
	b.WriteString("\n")
	b.WriteString(s.closing)
	b.WriteString(tail)
	return b.String()
}
