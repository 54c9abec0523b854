package wire

import (
	"encoding/json"
	"strconv"
)

// is refuses anything but one word.
func (n node) is(word string) error {
	if err := n.want(`"`, strconv.Quote(word)); err != nil {
		return err
	}
	if n.str() != word {
		return n.fail(CodeValue, "%q, must be %q", n.str(), word)
	}
	return nil
}

func (n node) number() (float64, error) {
	return n.float(), n.want("0", "a number")
}

// probability reads a number from 0 to 1.
func (n node) probability() (float64, error) {
	x, err := n.number()
	if err == nil && !(x >= 0 && x <= 1) {
		err = n.fail(CodeValue, "%s, must be 0 to 1", n.text)
	}
	return x, err
}

// optional reads a number from 0 to 1 that may be absent.
func (n node) optional() (*float64, error) {
	if n.null() {
		return nil, nil
	}
	x, err := n.probability()
	return &x, err
}

// tokens reads a count; an absent one is 0.
func (n node) tokens() (int, error) {
	if n.null() {
		return 0, nil
	}
	x, err := strconv.ParseInt(n.text, 10, 32)
	if err != nil || x < 0 {
		return 0, n.fail(CodeValue, "must be a whole number of 0 to %d", 1<<31-1)
	}
	return int(x), nil
}

// among returns which option a value is.
func (n node) among(options []json.RawMessage) (int, error) {
	raw := n.text
	if n.kind() == '"' {
		raw = string(quote(n.str()))
	}
	for i, o := range options {
		if string(o) == raw {
			return i, nil
		}
	}
	if n.null() {
		return 0, n.fail(CodeMissing, "missing")
	}
	return 0, n.fail(CodeValue, "no option of the question")
}

// byName reads probabilities under the options' names.
func (n node) byName(options []json.RawMessage) ([]float64, error) {
	keys := make([]string, len(options))
	for i, raw := range options {
		keys[i] = node{text: string(raw)}.words()
	}
	return n.byKeys(keys)
}

// byLevel reads probabilities under the levels' numbers.
func (n node) byLevel(levels int) ([]float64, error) {
	keys := make([]string, levels)
	for i := range keys {
		keys[i] = strconv.Itoa(i)
	}
	return n.byKeys(keys)
}

// byKeys reads an object of exactly these keys, in any order, with probabilities.
func (n node) byKeys(keys []string) ([]float64, error) {
	if err := n.want("{", "an object of probabilities"); err != nil {
		return nil, err
	}
	at := make(map[string]int, len(keys))
	for i, k := range keys {
		at[k] = i
	}
	p := make([]float64, len(keys))
	total := 0
	for key, v := range n.members() {
		i, ok := at[key]
		if !ok {
			return nil, v.fail(CodeValue, "no option of the question")
		}
		var err error
		if p[i], err = v.probability(); err != nil {
			return nil, err
		}
		total++
	}
	if total != len(keys) {
		return nil, n.fail(CodeValue, "%d probabilities for %d options", total, len(keys))
	}
	return p, nil
}
