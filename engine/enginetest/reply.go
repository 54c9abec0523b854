package enginetest

import (
	"fmt"
	"slices"

	"github.com/hotpath-go/hotpath/decide"
)

// Reply makes the answer to a question that was asked. Use Yes, No, Choose, Level, Spread or Abstain.
type Reply func(r decide.Request, q decide.Question) (decide.Answer, error)

// Yes answers a boolean: p is the probability of yes.
func Yes(p float64) Reply { return pick("yes", p) }

// No answers a boolean: p is the probability of no.
func No(p float64) Reply { return pick("no", p) }

// Choose answers a choice with one of its options, by name; p is its probability, and the others
// share the rest equally.
func Choose(option string, p float64) Reply { return pick(option, p) }

// Level answers a score with one of its levels, by name; p is its probability, and the others share
// the rest equally.
func Level(level string, p float64) Reply { return pick(level, p) }

// Spread answers with a whole distribution, in the order of the question's options.
func Spread(p ...float64) Reply {
	return func(r decide.Request, q decide.Question) (decide.Answer, error) {
		if n := len(names(q)); n != len(p) {
			return decide.Answer{}, fmt.Errorf("question %q has %d options, the script gives %d probabilities", q.ID, n, len(p))
		}
		return decide.NewAnswer(r, q, p)
	}
}

// Abstain answers that the model does not know: all options equally probable, and abstained.
func Abstain() Reply {
	return func(r decide.Request, q decide.Question) (decide.Answer, error) {
		n := len(names(q))
		a, err := decide.NewAnswer(r, q, slices.Repeat([]float64{1 / float64(n)}, n))
		a.Abstained, a.Why = true, "scripted"
		return a, err
	}
}

func pick(name string, p float64) Reply {
	return func(r decide.Request, q decide.Question) (decide.Answer, error) {
		options := names(q)
		at := slices.Index(options, name)
		if at < 0 {
			return decide.Answer{}, fmt.Errorf("question %q has the options %q, the script picks %q", q.ID, options, name)
		}
		if !(p >= 0 && p <= 1) || (len(options) == 1 && p != 1) {
			return decide.Answer{}, fmt.Errorf("question %q: probability %v of %q, one of %d options", q.ID, p, name, len(options))
		}
		spread := slices.Repeat([]float64{(1 - p) / float64(max(len(options)-1, 1))}, len(options))
		spread[at] = p
		return decide.NewAnswer(r, q, spread)
	}
}

func names(q decide.Question) []string {
	if q.Kind == decide.KindBoolean {
		return []string{"yes", "no"}
	}
	list := make([]string, len(q.Options))
	for i, o := range q.Options {
		list[i] = o.Name
	}
	return list
}
