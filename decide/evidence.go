package decide

import (
	"math"
	"slices"
)

// overlap is what an option's words can add to its logit. It is made from its tokens alone and summed
// in the order of their ids, so that neither the other options nor the state's order move a bit.
type overlap struct {
	tokens []int32 // distinct, folded, that the model's file gives a number
	scale  float64 // of the sum over those that the state has
}

// overlap returns the evidence of an option with the given tokens, for a kind of question.
func (d *declared) overlap(k Kind, tokens []int32) overlap {
	list := slices.Clone(tokens)
	if d.fold != nil {
		for i, id := range list {
			list[i] = d.fold[id]
		}
	}
	slices.Sort(list)
	list = slices.DeleteFunc(slices.Compact(list), func(id int32) bool { return d.idf[id] == 0 })
	return overlap{tokens: list, scale: d.evidence[k] / math.Sqrt(1+float64(len(list)))}
}

// in returns what the option's logit gains from the tokens of a state.
func (o *overlap) in(state tokenSet, idf []float32) float64 {
	sum := 0.0
	for _, id := range o.tokens {
		if state.has(id) {
			sum += float64(idf[id])
		}
	}
	return o.scale * sum
}

// tokenSet is a set of token ids.
type tokenSet []uint64

// seen returns the folded tokens of a state. Ids that the model does not have are left out.
func (d *declared) seen(tokens []int32) tokenSet {
	s := make(tokenSet, (len(d.idf)+63)/64)
	for _, id := range tokens {
		if id < 0 || int(id) >= len(d.idf) {
			continue
		}
		if d.fold != nil {
			id = d.fold[id]
		}
		s[id>>6] |= 1 << (id & 63)
	}
	return s
}

func (s tokenSet) has(id int32) bool { return s[id>>6]>>(id&63)&1 != 0 }

// tempered divides the logits of a question by the temperature that the model ships for its kind.
func (d *declared) tempered(k Kind, m Method, p []float64) ([]float64, float64) {
	if d == nil || m != Each || d.temperature[k] == 1 {
		return p, 1
	}
	return softmax(logarithms(p), d.temperature[k]), d.temperature[k]
}
