package decide

import (
	"fmt"
	"slices"
	"strings"
)

// asked is a question compiled for one border. It is immutable.
type asked struct {
	key     [32]byte // of everything that it was made from
	names   []string // of the options, in the caller's order
	method  Method
	length  Length
	orders  int // as asked; 0: the caller's order
	prompts []prompt
}

// prompt is a question written in one order of its options, and how its readings make logits.
type prompt struct {
	order []int // the option at each place; nil: the caller's order

	tokens []int32 // that continue the state
	reads  []Read  // of those rows
	spans  []Span  // that branch off them: Parent 0 is their end, i is spans[i-1]

	scores   [][]term  // of the options, by place
	evidence []overlap // that the state gives for them; nil: none counts
	divide   []float64
}

// term is a part of an option's logit: the log-sum-exp over labels of a read.
type term struct {
	read     int  // of the prompt: the question's own, then span after span
	from, to int  // labels
	log      bool // as a log-probability: less the log-sum-exp over the vocabulary
	minus    bool
	max      bool // the largest label instead of their log-sum-exp
}

// compile compiles a question, or finds it among those compiled lately.
func (c *Compiler) compile(b Border, instructions string, q *Question) (*asked, error) {
	q = q.asShown()
	key := keyOf(b, instructions, q)
	if a, ok := c.asked.get(key); ok {
		return a, nil
	}
	f, err := c.frame(b)
	if err != nil {
		return nil, err
	}
	a := &asked{key: key, method: q.Method, length: q.Length, orders: q.Orders}
	a.names = namesOf(q)
	if err := c.read(a, f, instructions, q); err != nil {
		return nil, err
	}
	c.asked.put(key, a, a.size())
	return a, nil
}

// read fills in the prompts by the question's method.
func (c *Compiler) read(a *asked, f *frame, instructions string, q *Question) error {
	declared, err := c.declared()
	if err != nil {
		return err
	}
	likeliest, err := c.likeliest()
	if err != nil {
		return err
	}
	w := writer{c: c, f: f, instructions: instructions, q: q, likeliest: likeliest}
	switch {
	case a.method == Automatic && declared != nil:
		a.method = Each
	case a.method == Automatic:
		// The first that can be.
		for _, a.method = range []Method{Label, Code, Path} {
			if err = w.write(a, nil); err == nil {
				return nil
			}
		}
		return err
	}
	return w.write(a, declared)
}

// writer writes the prompts of a question.
type writer struct {
	c            *Compiler
	f            *frame
	instructions string
	q            *Question
	likeliest    bool // of the spellings of a label, the likeliest counts alone
}

// write makes the prompts of all orders; the ones before are dropped.
func (w *writer) write(a *asked, d *declared) error {
	a.prompts = nil
	if a.method == Each {
		p, err := w.each(a.names, d)
		if err != nil {
			return err
		}
		a.prompts = []prompt{p}
		return nil
	}
	for _, order := range ordersOf(w.q, a.names, a.orders) {
		options := make([]Option, len(a.names))
		for i := range options {
			j := i
			if order != nil {
				j = order[i]
			}
			options[i].Name = a.names[j]
			if len(w.q.Options) > 0 {
				options[i] = w.q.Options[j]
			}
		}
		var p prompt
		var err error
		switch a.method {
		case Label:
			p, err = w.label(options, order)
		case Code:
			p, err = w.code(options)
		case Path:
			p, err = w.path(options, a.length)
		default:
			err = fmt.Errorf("%w: question %q: Method: %d, the methods are %d to %d", ErrRequest, w.q.ID, a.method, Automatic, Each)
		}
		if err != nil {
			return err
		}
		p.order = order
		if !slices.ContainsFunc(a.prompts, func(o prompt) bool { return slices.Equal(o.tokens, p.tokens) }) {
			a.prompts = append(a.prompts, p)
		}
	}
	return nil
}

// label asks for one token: yes or no for a boolean, a digit for up to ten levels, a letter
// otherwise, and where the tokenizer splits the words or digits.
func (w *writer) label(options []Option, order []int) (prompt, error) {
	lines, closing := options, "Answer with the letter of one option only."
	var s scheme
	switch {
	case w.q.Kind == KindBoolean:
		if s = w.f.scheme(yesNo, 2); s.ids != nil {
			closing = "Answer with yes or no only."
			s.names = nil
			lines = nil
			for _, o := range options {
				if o.Description != "" {
					s.names = append(s.names, o.Name)
					lines = append(lines, Option{Name: o.Description})
				}
			}
			if order != nil && order[0] == 1 {
				n := len(s.ids) / 2
				s.ids = slices.Concat(s.ids[n:], s.ids[:n])
			}
		}
	case w.q.Kind == KindScore && len(options) <= 10:
		if s = w.f.scheme(digits, len(options)); s.ids != nil {
			closing = "Answer with the number of one level only."
		}
	}
	if s.ids == nil {
		if s = w.f.scheme(letters, len(options)); s.ids == nil {
			return prompt{}, fmt.Errorf("%w: question %q: %d options, the tokenizer has %d one-letter labels", ErrLabels, w.q.ID, len(options), s.have)
		}
	}
	p, err := w.prompt(lines, s.names, closing, s.first)
	if err != nil {
		return p, err
	}
	p.reads = []Read{{Row: len(p.tokens) - 1, Labels: s.ids, LogSumExp: true, Mass: true}}
	n := len(s.ids) / len(options)
	for i := range options {
		p.scores = append(p.scores, []term{{from: i * n, to: (i + 1) * n, max: w.likeliest}})
	}
	return p, nil
}

// code asks for two tokens.
func (w *writer) code(options []Option) (prompt, error) {
	s := w.f.scheme(codes, len(options))
	if s.codes == nil {
		return prompt{}, fmt.Errorf("%w: question %q: %d options, the tokenizer has %d two-token codes", ErrLabels, w.q.ID, len(options), s.have)
	}
	p, err := w.prompt(options, s.names, "Answer with the code of one option only.", s.first)
	if err != nil {
		return p, err
	}
	return p, w.paths(&p, s.codes, nil)
}

// path asks for an option's own words.
func (w *writer) path(options []Option, length Length) (prompt, error) {
	lines, closing := options, "Answer with the words of one option only."
	if w.q.Kind == KindBoolean {
		closing = "Answer with yes or no only."
		lines = slices.DeleteFunc(slices.Clone(options), func(o Option) bool { return o.Description == "" })
	}
	p, err := w.prompt(lines, nil, closing, "")
	if err != nil {
		return p, err
	}
	seqs := make([][]int32, len(options))
	for i, o := range options {
		seqs[i] = w.f.words(strings.TrimSpace(o.Name))
	}
	if err := w.paths(&p, seqs, w.c.model.Tokenizer.EOG()); err != nil {
		return p, err
	}
	for i, o := range options {
		switch length {
		case PerToken:
			p.divide = append(p.divide, float64(len(p.scores[i])))
		case PerByte:
			p.divide = append(p.divide, float64(len(strings.TrimSpace(o.Name))))
		}
	}
	return p, nil
}

func (w *writer) paths(p *prompt, seqs [][]int32, ends []int32) error {
	if err := addPaths(p, seqs, ends); err != nil {
		return fmt.Errorf("%w: question %q: %w", ErrLabels, w.q.ID, err)
	}
	p.reads[0].Row = len(p.tokens) - 1
	return nil
}

// prompt writes the question with a line for each option, and checks that a reply, the first label,
// follows the whole of it as it follows the frame alone.
func (w *writer) prompt(lines []Option, names []string, closing, reply string) (prompt, error) {
	var b strings.Builder
	w.ask(&b)
	for i, o := range lines {
		b.WriteString("\n")
		if names != nil {
			b.WriteString(names[i])
			b.WriteString(": ")
		} else {
			b.WriteString("- ")
		}
		writeOption(&b, o)
	}
	b.WriteString("\n")
	b.WriteString(closing)
	p := prompt{tokens: w.f.question(b.String(), "")}
	want, ok := w.f.follows(reply)
	if !ok || reply == "" {
		return p, nil
	}
	if whole := w.f.question(b.String(), reply); !slices.Equal(whole, slices.Concat(p.tokens, want)) {
		return p, fmt.Errorf("%w: question %q: %q does not follow its text as it follows the end alone", ErrLabels, w.q.ID, reply)
	}
	return p, nil
}

// ask writes what all methods begin with.
func (w *writer) ask(b *strings.Builder) {
	if w.instructions != "" {
		b.WriteString(w.instructions)
		b.WriteString("\n\n")
	}
	b.WriteString("Question: ")
	b.WriteString(w.q.Text())
}

func writeOption(b *strings.Builder, o Option) {
	b.WriteString(o.Name)
	if o.Description != "" {
		b.WriteString(" - ")
		b.WriteString(o.Description)
	}
}

// size is about how many values the question keeps.
func (a *asked) size() int {
	n := 64
	for i := range a.prompts {
		p := &a.prompts[i]
		n += len(p.tokens) + len(p.order) + 16
		for j := range p.spans {
			n += len(p.spans[j].Tokens) + 16
			for k := range p.spans[j].Reads {
				n += len(p.spans[j].Reads[k].Labels) + 16
			}
		}
		for _, s := range p.scores {
			n += 8 * len(s)
		}
		for _, o := range p.evidence {
			n += len(o.tokens) + 4
		}
	}
	return n
}
