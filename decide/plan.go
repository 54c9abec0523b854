package decide

import (
	"fmt"
	"strings"
	"time"

	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/tokenizer"
)

// Options are what the opener of a model fixes for its decisions. The zero Options are the defaults.
type Options struct {
	Clock time.Time // that templates may ask for
}

// Plan is a request's questions compiled for one model: the token spans that branch off the state,
// and which logits are read where. It holds nothing of any state, is read-only, and may be used by
// many goroutines at once.
type Plan struct {
	model     [32]byte // the model it was compiled for
	questions []question
	spans     []Span
}

// Span is a run of tokens that continues the state (Parent 0) or span Parent-1, which comes before it.
type Span struct {
	Parent int
	Tokens []int32
	Reads  []Read // in rising order of Row
}

// Read is a look at the output of one row of a span.
type Read struct {
	Row       int     // of the span, from 0
	Labels    []int32 // ids whose logits are read
	LogSumExp bool    // over the whole vocabulary; not needed by a request with SkipMass
}

// question is a Question with the labels that stand for its options.
type question struct {
	Question
	names  []string // of the options
	labels []int32  // ids, option after option, equally many for each
}

// Compile checks the questions of a request and turns them into spans for the model. The state is
// not looked at.
func Compile(m *model.Model, r Request, o Options) (*Plan, error) {
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
		s := &p.spans[first+i]
		s.Reads = []Read{{Row: len(s.Tokens) - 1, Labels: p.questions[i].labels, LogSumExp: true}}
	}
	return p, nil
}

// Spans returns the spans that continue a state which ends in the given border, parents before
// children. The slice must not be changed.
func (p *Plan) Spans(b Border) ([]Span, error) {
	if b != BorderRaw {
		return nil, fmt.Errorf("%w: no spans for the border %v", ErrPlan, b)
	}
	return p.spans, nil
}

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
	shared := len(tokens[0]) - 1
	for _, t := range tokens[1:] {
		shared = common(tokens[0][:shared], t[:len(t)-1])
	}
	if len(tokens) == 1 {
		shared = 0
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

// common returns the length of the longest common prefix.
func common(a, b []int32) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// Encoded is a state in tokens.
type Encoded struct {
	Tokens []int32
	Border Border // what follows them
}

// Encode returns the tokens of a state and the border that follows them. Text and JSON are encoded
// as raw text, with the BOS token where the model wants one, in the mode where nothing becomes a
// control token. A chat state is chat.ErrNoTemplate: no template border is known.
func Encode(m *model.Model, s State, o Options) (Encoded, error) {
	if err := s.Err(); err != nil {
		return Encoded{}, err
	}
	if s.Prompt().Kind() == chat.KindMessages {
		return Encoded{}, fmt.Errorf("%w: %w: %s", ErrState, chat.ErrNoTemplate, m.Name)
	}
	ids, err := m.Encode(s.Prompt(), o.Clock)
	if err != nil {
		return Encoded{}, fmt.Errorf("%w: %w", ErrState, err)
	}
	return Encoded{ids, BorderRaw}, nil
}

// compile renders a question as raw text after the state and finds its labels.
func compile(t *tokenizer.Tokenizer, instructions string, q Question) (question, []int32, error) {
	s, err := labelsOf(t, &q)
	if err != nil {
		return question{}, nil, err
	}
	text := render(instructions, &q, s)
	ids := t.Encode(nil, text, tokenizer.Text)
	// The labels were found after the tail alone: they stand after the whole question too if it ends
	// in the same tokens.
	first := s.labels[0].spellings[s.form]
	if id, ok := next(t, text, ids, first); !ok || id != s.ids[0] {
		return question{}, nil, fmt.Errorf("%w: question %q: %q is not one token after it", ErrLabels, q.ID, first)
	}
	return question{Question: q, names: s.names, labels: s.ids}, ids, nil
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
