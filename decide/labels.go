package decide

import "strconv"

// scheme is how the options of a question are named by short labels, in a frame.
type scheme struct {
	names []string  // as shown before the options; nil: there are too few labels
	ids   []int32   // of Label: the tokens of the usable spellings, label after label
	codes [][]int32 // of Code: the tokens of each
	have  int       // labels there are
	first string    // the first spelling, of the first label
}

// alphabet is what labels are made of.
type alphabet uint8

const (
	yesNo   alphabet = iota
	digits           // 0 to 9
	letters          // A to Z, a to z
	codes            // a letter or two, and a digit
)

type schemeKey struct {
	alphabet
	n    int
	form string // of codes
}

// scheme returns n labels of an alphabet that are verified in the frame.
func (f *frame) scheme(a alphabet, n int) scheme {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch a {
	case yesNo:
		return f.kept(schemeKey{a, 2, ""}, f.yesNo)
	case digits:
		return f.kept(schemeKey{a, n, ""}, func() scheme { return f.labels("0123456789", n) })
	case letters:
		return f.kept(schemeKey{a, n, ""}, func() scheme { return f.labels(upper+lower, n) })
	}
	most := 520 // two schemes serve all numbers of options
	if n > most {
		most = MaxOptions
	}
	forms := [...]string{"", " "}
	if f.space {
		forms = [...]string{" ", ""}
	}
	have := 0
	for _, form := range forms {
		s := f.kept(schemeKey{a, most, form}, func() scheme { return f.codes(form, most) })
		if s.have >= n {
			s.names, s.codes = s.names[:n:n], s.codes[:n:n]
			return s
		}
		have = max(have, s.have)
	}
	return scheme{have: have}
}

func (f *frame) kept(k schemeKey, find func() scheme) scheme {
	s, ok := f.schemes[k]
	if !ok {
		s = find()
		f.schemes[k] = s
	}
	return s
}

const (
	upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	lower = "abcdefghijklmnopqrstuvwxyz"
)

// spelled is a label and how the model may spell it. The labels of a scheme have their spellings in
// the same order of forms.
type spelled struct {
	name      string
	spellings []string
}

func (f *frame) yesNo() scheme {
	list := []spelled{
		{"yes", []string{" yes", " Yes", "yes", "Yes", " YES", "YES"}},
		{"no", []string{" no", " No", "no", "No", " NO", "NO"}},
	}
	if ids, first := f.usable(list); ids != nil {
		return scheme{names: []string{"yes", "no"}, ids: ids, have: 2, first: first}
	}
	return scheme{}
}

// labels makes labels of single characters, each with and without a space before it: of those that
// are one token in some form, as many as are wanted.
func (f *frame) labels(characters string, n int) scheme {
	forms := [...]string{" ", ""}
	have := 0
	for i := range forms {
		form := forms[i]
		var list []spelled
		for _, c := range characters {
			if _, ok := f.one(form + string(c)); ok {
				// Other forms count where all labels have them.
				list = append(list, spelled{string(c), []string{form + string(c), forms[1-i] + string(c)}})
			}
		}
		have = max(have, len(list))
		if len(list) < n {
			continue
		}
		list = list[:n]
		if ids, first := f.usable(list); ids != nil {
			s := scheme{ids: ids, have: have, first: first}
			for _, l := range list {
				s.names = append(s.names, l.name)
			}
			return s
		}
	}
	return scheme{have: have}
}

// usable returns the tokens of the forms in which every label is one token in the frame, label after
// label. Forms that only some labels have are left out: a label with more spellings would be more
// probable than another, and so are forms in which two labels share a token. It is nil when no form
// is left. first is the first label in the first of the forms.
func (f *frame) usable(list []spelled) (all []int32, first string) {
	var forms [][]int32
	seen := map[int32]bool{}
	for form := range list[0].spellings {
		ids := make([]int32, 0, len(list))
		for _, l := range list {
			id, ok := f.one(l.spellings[form])
			if !ok || seen[id] {
				break
			}
			seen[id] = true
			ids = append(ids, id)
		}
		if len(ids) < len(list) {
			for _, id := range ids {
				delete(seen, id)
			}
			continue
		}
		if forms == nil {
			first = list[0].spellings[form]
		}
		forms = append(forms, ids)
	}
	for i := range list {
		for _, ids := range forms {
			all = append(all, ids[i])
		}
	}
	return all, first
}

// codes makes up to n labels of exactly two tokens: a letter or two capitals, and a digit.
func (f *frame) codes(form string, n int) scheme {
	var s scheme
	seen := map[[2]int32]bool{}
	add := func(first string) {
		if len(s.names) == n {
			return
		}
		id, ok := f.one(form + first)
		for d := 0; ok && d < 10 && len(s.names) < n; d++ {
			name := first + strconv.Itoa(d)
			ids, follows := f.next(form + name)
			if follows && len(ids) == 2 && ids[0] == id && !seen[[2]int32(ids)] {
				seen[[2]int32(ids)] = true
				s.names, s.codes = append(s.names, name), append(s.codes, ids)
			}
		}
	}
	for _, c := range upper + lower {
		add(string(c))
	}
	for _, a := range upper {
		for _, b := range upper {
			add(string(a) + string(b))
		}
	}
	if s.have = len(s.names); s.have > 0 {
		s.first = form + s.names[0]
	}
	return s
}
