package decide

import (
	"fmt"
	"slices"

	"github.com/hotpath-go/hotpath/model/tokenizer"
)

// label is a short name of an option in the rendered question, and how the model may spell it. The
// labels of a question have their spellings in the same order of forms.
type label struct {
	name      string
	spellings []string
}

// scheme is how a question's options are labelled.
type scheme struct {
	labels  []label
	ids     []int32  // of the usable forms, label after label
	form    int      // the first usable one
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
	s.options = q.Options
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
			s.options[i].Name = o.Description
		}
		if s.ids, s.form = usable(t, s.labels); s.ids != nil {
			return s, nil
		}
		for i := range s.options {
			s.options[i] = Option{Name: s.names[i], Description: s.options[i].Name}
		}
	case KindScore:
		if len(q.Options) <= 10 {
			s.labels = plain("0123456789"[:len(q.Options)])
			s.closing = "Answer with the number of one level only."
			if s.ids, s.form = usable(t, s.labels); s.ids != nil {
				return s, nil
			}
		}
	}

	s.closing = "Answer with the letter of one option only."
	all := plain("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
	most := 0
	for form := range all[0].spellings {
		// Letters that are one token in this form; other forms count where all of those have them.
		letters := slices.DeleteFunc(slices.Clone(all), func(l label) bool {
			ids, _ := usable(t, []label{{l.name, l.spellings[form : form+1]}})
			return ids == nil
		})
		most = max(most, len(letters))
		if len(letters) < len(s.options) {
			continue
		}
		s.labels = letters[:len(s.options)]
		if s.ids, s.form = usable(t, s.labels); s.ids != nil {
			return s, nil
		}
	}
	return s, fmt.Errorf("%w: question %q: %d options, the tokenizer has %d one-letter labels", ErrLabels, q.ID, len(s.options), most)
}

// plain returns one label per letter or digit, spelled with and without a leading space.
func plain(characters string) []label {
	list := make([]label, 0, len(characters))
	for _, c := range characters {
		list = append(list, label{string(c), []string{" " + string(c), string(c)}})
	}
	return list
}

// usable returns the ids of the forms in which every label is one token after the tail, label after
// label. Forms that some label lacks are left out for all, so that none has more ways to be said
// than another, and so is a form in which two labels share a token. ids is nil when no form is left;
// first is the first of those that are.
func usable(t *tokenizer.Tokenizer, labels []label) (ids []int32, first int) {
	base := t.Encode(nil, tail, tokenizer.Text)
	var byForm [][]int32
	seen := map[int32]bool{}
	for form := range labels[0].spellings {
		ids := make([]int32, 0, len(labels))
		for _, l := range labels {
			id, ok := next(t, tail, base, l.spellings[form])
			if !ok || seen[id] {
				break
			}
			seen[id] = true
			ids = append(ids, id)
		}
		if len(ids) < len(labels) {
			for _, id := range ids {
				delete(seen, id)
			}
			continue
		}
		if byForm == nil {
			first = form
		}
		byForm = append(byForm, ids)
	}
	if byForm == nil {
		return nil, 0
	}
	for i := range labels {
		for _, form := range byForm {
			ids = append(ids, form[i])
		}
	}
	return ids, first
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
