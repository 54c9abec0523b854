package decide

import (
	"fmt"
	"slices"
	"strings"
)

// each asks about every option alone: the question once, and after it, each in a span that sees no
// other, whether the option fits. An option's logit is that of yes, less that of no where there is one.
func (w *writer) each(names []string, d *declared) (prompt, error) {
	options := w.q.Options
	if len(options) == 0 {
		options = Names(names...)
	}
	var p prompt
	var yes, no []int32
	tails := make([][]int32, len(options))
	if d != nil {
		yes, no = d.yes, d.no
		p.tokens = w.f.tokens(d.ask(w.instructions, w.q.Text())...)
		for i, o := range options {
			tails[i] = w.f.tokens(d.propose(w.q.Kind, i, o)...)
			if d.evidence[w.q.Kind] != 0 {
				p.evidence = append(p.evidence, d.overlap(w.q.Kind, tails[i]))
			}
		}
	} else {
		s, closing := w.f.scheme(yesNo, 2), "Answer with yes or no only."
		if s.ids == nil {
			if s = w.f.scheme(letters, 2); s.ids == nil {
				return p, fmt.Errorf("%w: question %q: neither yes and no nor two letters are one token each", ErrLabels, w.q.ID)
			}
			closing = s.names[0] + ": yes\n" + s.names[1] + ": no\nAnswer with the letter of one option only."
		}
		yes, no = s.ids[:len(s.ids)/2], s.ids[len(s.ids)/2:]
		var b strings.Builder
		w.ask(&b)
		p.tokens = w.f.tokens(scaffolding(w.f.open), text(w.f.lead+b.String()))
		for i, o := range options {
			b.Reset()
			b.WriteString("\nProposed answer: ")
			writeOption(&b, o)
			b.WriteString("\nDoes this answer fit?\n")
			b.WriteString(closing)
			b.WriteString(w.f.tail)
			tails[i] = w.f.tokens(text(b.String()), scaffolding(w.f.close))
		}
	}
	labels := slices.Concat(yes, no)
	for i, tokens := range tails {
		if len(tokens) == 0 || len(p.tokens) == 0 {
			return p, fmt.Errorf("%w: question %q: it has no tokens", ErrLabels, w.q.ID)
		}
		p.spans = append(p.spans, Span{Tokens: tokens, Reads: []Read{{
			Row: len(tokens) - 1, Labels: labels, LogSumExp: len(no) > 0, Mass: true,
		}}})
		terms := []term{{read: i, to: len(yes), max: w.likeliest}}
		if len(no) > 0 {
			terms = append(terms, term{read: i, from: len(yes), to: len(labels), minus: true, max: w.likeliest})
		}
		p.scores = append(p.scores, terms)
	}
	return p, nil
}
