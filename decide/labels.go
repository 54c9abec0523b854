package decide

import (
	"fmt"
	"slices"

	"github.com/hotpath-go/hotpath/model/tokenizer"
)

// label is a short name of an option in the rendered question, and how the model may spell it.
type label struct {
	name      string
	spellings []string
}

// maxSpellings is the most spellings that one label has.
const maxSpellings = 6

// scheme is how a question's options are labelled.
type scheme struct {
	labels  []label
	options []Option // as shown; an empty name is not shown
	names   []string // as answered
	closing string   // tells the model how to answer
}

// labelsOf picks the label scheme of a question: yes and no for a boolean, digits for up to ten
// levels, letters otherwise; letters too where the tokenizer splits the words or digits.
func labelsOf(t *tokenizer.Tokenizer, q *Question) (scheme, error) {
	var s scheme
	for _, o := range q.Options {
		s.names = append(s.names, o.Name)
	}
	switch q.Kind {
	case KindBoolean:
		s.names = []string{"yes", "no"}
		s.labels = []label{
			{"yes", []string{" yes", " Yes", "yes", "Yes", " YES", "YES"}},
			{"no", []string{" no", " No", "no", "No", " NO", "NO"}},
		}
		s.closing = "Answer with yes or no only."
		s.options = make([]Option, 2)
		for i, o := range q.Options {
			if o.Description != "" {
				s.options[i] = Option{Name: o.Description}
			}
		}
		if usable(t, s.labels) {
			return s, nil
		}
		s.options = []Option{{Name: "yes"}, {Name: "no"}}
		for i, o := range q.Options {
			s.options[i].Description = o.Description
		}
	case KindScore:
		s.options = q.Options
		if len(q.Options) <= 10 {
			s.labels = plain("0123456789"[:len(q.Options)])
			s.closing = "Answer with the number of one level only."
			if usable(t, s.labels) {
				return s, nil
			}
		}
	default:
		s.options = q.Options
	}

	s.labels = slices.DeleteFunc(plain("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"), func(l label) bool {
		return !usable(t, []label{l})
	})
	if len(s.labels) < len(s.options) {
		return s, fmt.Errorf("%w: question %q: %d options, the tokenizer has %d one-letter labels", ErrLabels, q.ID, len(s.options), len(s.labels))
	}
	s.labels = s.labels[:len(s.options)]
	s.closing = "Answer with the letter of one option only."
	return s, nil
}

// plain returns one label per letter or digit, spelled with and without a leading space.
func plain(characters string) []label {
	list := make([]label, 0, len(characters))
	for _, c := range characters {
		list = append(list, label{string(c), []string{" " + string(c), string(c)}})
	}
	return list
}

// usable reports whether every label has a spelling that is one token after the tail, and no two
// labels share one.
func usable(t *tokenizer.Tokenizer, labels []label) bool {
	base := t.Encode(nil, tail, tokenizer.Text)
	seen := map[int32]bool{}
	for _, l := range labels {
		found := false
		for _, s := range l.spellings {
			if id, ok := next(t, tail, base, s); ok {
				if seen[id] {
					return false
				}
				seen[id], found = true, true
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// next returns the token that spelling adds to text, whose ids are base, and false when it adds
// another number of tokens or changes the ones before.
func next(t *tokenizer.Tokenizer, text string, base []int32, spelling string) (int32, bool) {
	ids := t.Encode(make([]int32, 0, len(base)+4), text+spelling, tokenizer.Text)
	if len(ids) != len(base)+1 || !slices.Equal(ids[:len(base)], base) {
		return 0, false
	}
	return ids[len(base)], true
}
