package decide

import (
	"fmt"
	"slices"
	"sync"

	"github.com/hotpath-go/hotpath/model"
)

// Plan is a request's questions compiled for one model: the token spans that branch off the state,
// and which logits are read where. It holds nothing of any state and may be used by many goroutines
// at once.
type Plan struct {
	model      [32]byte // the model it was compiled for
	questions  []Question
	calibrator *Calibrator
	declared   *declared                      // nil: the model declares no read
	forms      [borders]func() (*form, error) // by border; made when first needed
}

// form is a plan's questions behind one border.
type form struct {
	asked []*asked
	spans []Span
	reads int
	rows  int
	depth int // of the longest way through the spans
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
	LogSumExp bool    // over the whole vocabulary
	Mass      bool    // LogSumExp is for the label mass alone: not needed by a request with SkipMass
}

// Compile compiles the questions of a request for the model, once. A program that compiles often, or
// has states to encode too, keeps a Compiler.
func Compile(m *model.Model, r Request, o Options) (*Plan, error) {
	return NewCompiler(m, o).Compile(r)
}

// Compile checks the questions of a request and turns them into a plan for the model. The state is
// not looked at. A request with a Plan gives that plan.
func (c *Compiler) Compile(r Request) (*Plan, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if err := c.fits(); err != nil {
		return nil, err
	}
	if r.Plan != nil {
		if r.Plan.model != c.model.ID {
			return nil, fmt.Errorf("%w: it was compiled for another model than %s", ErrPlan, c.model.Name)
		}
		if r.Plan.calibrator != c.options.Calibrator {
			return nil, fmt.Errorf("%w: it was compiled under another calibrator", ErrPlan)
		}
		return r.Plan, nil
	}
	d, err := c.declared()
	if err != nil {
		return nil, err
	}
	p := &Plan{model: c.model.ID, calibrator: c.options.Calibrator, declared: d, questions: make([]Question, len(r.Questions))}
	for i, q := range r.Questions {
		if q.Method == Automatic {
			q.Method = r.Method
		}
		if q.Orders == 0 {
			q.Orders = r.Orders
		}
		if q.Length == Sum {
			q.Length = r.Length
		}
		p.questions[i] = q
	}
	for b := range p.forms {
		p.forms[b] = sync.OnceValues(func() (*form, error) { return c.form(p.questions, r.Instructions, Border(b)) })
	}
	// What can be wrong with a question is told now, and not when it meets its first state.
	_, err = p.forms[c.usual()]()
	return p, err
}

// form compiles questions behind a border.
func (c *Compiler) form(questions []Question, instructions string, b Border) (*form, error) {
	f := &form{asked: make([]*asked, len(questions))}
	for i := range questions {
		var err error
		if f.asked[i], err = c.compile(b, instructions, &questions[i]); err != nil {
			return nil, err
		}
	}
	f.spans = layout(f.asked)
	ends := make([]int, len(f.spans))
	for i := range f.spans {
		s := &f.spans[i]
		f.rows += len(s.Tokens)
		f.reads += len(s.Reads)
		if ends[i] = len(s.Tokens); s.Parent > 0 {
			ends[i] += ends[s.Parent-1]
		}
		f.depth = max(f.depth, ends[i])
	}
	return f, nil
}

func (p *Plan) form(b Border) (*form, error) {
	switch {
	case b >= borders:
		return nil, fmt.Errorf("%w: no spans for the border %d", ErrPlan, b)
	case b == BorderAppended:
		b = BorderTurn // one more user turn, after whatever is there
	}
	return p.forms[b]()
}

// Spans returns the spans that continue a state in the given form, parents before children. The
// slice must not be changed.
func (p *Plan) Spans(b Border) ([]Span, error) {
	f, err := p.form(b)
	if err != nil {
		return nil, err
	}
	return f.spans, nil
}

// Rows returns how many rows the spans have: what a decision computes beside its state.
func (p *Plan) Rows(b Border) (int, error) {
	f, err := p.form(b)
	if err != nil {
		return 0, err
	}
	return f.rows, nil
}

// Warnings says which settings of a request and its questions, and which parts of the state, come to
// nothing.
func (p *Plan) Warnings(r Request, e Encoded) []string {
	f, err := p.form(e.Form)
	if err != nil {
		return nil
	}
	var list []string
	if r.Border == BorderCanonical && e.Border != BorderCanonical {
		list = append(list, fmt.Sprintf("Border: %v, no template renders this state and its border is %v", r.Border, e.Border))
	}
	if r.MaxSpread > 0 && !slices.ContainsFunc(f.asked, func(a *asked) bool { return len(a.prompts) > 1 }) {
		list = append(list, fmt.Sprintf("MaxSpread: %v, no question is asked in several orders", r.MaxSpread))
	}
	for i, a := range f.asked {
		q := &p.questions[i]
		if q.Orders > 0 && a.method == Each {
			list = append(list, fmt.Sprintf("question %q: Orders: %d, each option is read alone: the order does not matter", q.ID, q.Orders))
		}
		if q.Length != Sum && a.method != Path {
			list = append(list, fmt.Sprintf("question %q: Length: %v, only paths have one and this was read by %v", q.ID, q.Length, a.method))
		}
	}
	for _, m := range e.Hidden {
		list = append(list, fmt.Sprintf("State: message %d is not shown by the template", m))
	}
	return list
}

// Depth returns how many positions the longest way through the spans takes after the state.
func (p *Plan) Depth(b Border) (int, error) {
	f, err := p.form(b)
	if err != nil {
		return 0, err
	}
	return f.depth, nil
}

// Questions returns how many questions the plan answers.
func (p *Plan) Questions() int { return len(p.questions) }

// layout makes one forest of the prompts of all questions. The tokens that all questions share are
// one span, and so are those that all prompts of a question share. A prompt keeps at least one token
// of its own, and its spans follow each other, so that its reads do too.
func layout(list []*asked) []Span {
	var spans []Span
	all := make([][]int32, len(list)) // what the prompts of a question share
	for i, a := range list {
		all[i] = a.prompts[0].tokens
		for j := range a.prompts {
			all[i] = cut(all[i], a.prompts[j].tokens)
		}
	}
	parent := 0
	depth := 0
	if len(list) > 1 {
		prefix := list[0].prompts[0].tokens
		for _, a := range list {
			for j := range a.prompts {
				prefix = cut(prefix, a.prompts[j].tokens)
			}
		}
		if depth = len(prefix); depth > 0 {
			spans = append(spans, Span{Tokens: prefix})
			parent = 1
		}
	}
	for i, a := range list {
		parent, depth := parent, depth
		if n := len(all[i]); len(a.prompts) > 1 && n > depth {
			spans = append(spans, Span{Parent: parent, Tokens: all[i][depth:]})
			parent, depth = len(spans), n
		}
		for j := range a.prompts {
			p := &a.prompts[j]
			own := Span{Parent: parent, Tokens: p.tokens[depth:]}
			for _, r := range p.reads {
				r.Row -= depth
				own.Reads = append(own.Reads, r)
			}
			spans = append(spans, own)
			root := len(spans)
			for _, s := range p.spans {
				s.Parent += root
				spans = append(spans, s)
			}
		}
	}
	return spans
}

// cut returns what a prefix shares with tokens that keep one of their own.
func cut(prefix, tokens []int32) []int32 {
	n := min(len(prefix), len(tokens)-1)
	for i := range n {
		if prefix[i] != tokens[i] {
			return prefix[:i]
		}
	}
	return prefix[:n]
}
