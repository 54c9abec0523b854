package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"text/tabwriter"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/decide/fit"
)

// score is what a set came to.
type score struct {
	set     string
	options float64 // mean number
	chance  float64 // accuracy of guessing
	overlap float64 // accuracy of word overlap; not a number: no choice
	fit.Metrics
}

// runSets asks the rows of whole sets and prints a table.
func runSets(ctx context.Context, c config, d decide.Decider, template bool, out io.Writer, progress func(total int) func(done, total int)) error {
	from := source{data: c.data, hand: c.hand}
	list, err := sets(c.sets, from)
	if err != nil {
		return err
	}
	if c.out != "" {
		return write(c.out, func(w io.Writer) error { return writeSets(w, c.sample(list)) })
	}
	weights, err := from.weights()
	if err != nil {
		return err
	}
	var scores []score
	for _, s := range c.sample(list) {
		x, err := measure(ctx, c, d, template, s, weights, progress)
		if err != nil {
			return fmt.Errorf("set %s: %w", s.name, err)
		}
		scores = append(scores, x)
	}
	return printScores(out, scores)
}

// sample draws the rows of each set that are asked.
func (c config) sample(list []set) []set {
	for i, s := range list {
		r := rand.New(rand.NewPCG(c.seed, uint64(len(s.rows))))
		if c.rows > 0 && c.rows < len(s.rows) {
			r.Shuffle(len(s.rows), func(i, j int) { s.rows[i], s.rows[j] = s.rows[j], s.rows[i] })
			list[i].rows = s.rows[:c.rows]
		}
	}
	return list
}

// writeSets writes the rows of sets as lines that say their set.
func writeSets(w io.Writer, list []set) error {
	e := json.NewEncoder(w)
	for _, s := range list {
		for _, r := range s.rows {
			r.Set = s.name
			if err := e.Encode(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// measure asks a set. weights are those of word overlap, nil for none.
func measure(ctx context.Context, c config, d decide.Decider, template bool, s set, weights overlap, progress func(total int) func(done, total int)) (score, error) {
	x := score{set: s.name, overlap: math.NaN()}
	examples := make([]fit.Example, len(s.rows))
	for i, r := range s.rows {
		e, err := r.example(nil, c.question, template)
		if err != nil {
			return x, err
		}
		examples[i] = e
		n := len(e.Question.Options)
		if e.Question.Kind == decide.KindBoolean {
			n = 2
		}
		x.options += float64(n) / float64(len(s.rows))
		x.chance += 1 / float64(n) / float64(len(s.rows))
		if e.Question.Kind == decide.KindChoice && weights != nil && r.Messages == nil {
			if i == 0 {
				x.overlap = 0
			}
			x.overlap += weights.right(r.Input, e.Question.Options, e.Label) / float64(len(s.rows))
		}
	}
	if c.keep == (decide.Truncation{}) {
		c.keep = decide.KeepHead() // a few requests of BFCL are longer than what small models read
	}
	set, err := fit.Read(ctx, d, examples, fit.Options{
		Parallel: c.parallel, Progress: progress(len(examples)),
		Request: decide.Request{Method: c.method, Orders: c.orders, Truncate: c.keep},
	})
	if err != nil {
		return x, err
	}
	x.Metrics = fit.Measure(set.Probabilities(nil))
	return x, nil
}

func printScores(out io.Writer, scores []score) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "set\trows\toptions\tchance\tword overlap\taccuracy\tNLL\tECE\t")
	for _, x := range scores {
		overlap := "-"
		if x.overlap == x.overlap {
			overlap = fmt.Sprintf("%.3f", x.overlap)
		}
		fmt.Fprintf(w, "%s\t%d\t%.1f\t%.3f\t%s\t%.3f\t%.3f\t%.3f\t\n", x.set, x.Examples, x.options, x.chance, overlap, x.Accuracy, x.NLL, x.ECE)
	}
	return w.Flush()
}

// overlap weighs words: a rival that reads nothing. It takes the option with the heaviest words that
// the state has too, words being the same where their first five letters are.
type overlap map[string]float64

var wordPattern = regexp.MustCompile(`[a-z0-9]+`)

func stem(w string) string { return w[:min(5, len(w))] }

// weights counts in how many texts of the training splits a word is.
func (s source) weights() (overlap, error) {
	count, texts := map[string]float64{}, 0.0
	for _, file := range []string{"clinc_intent_train", "banking77_train"} {
		err := s.each(file, func(_ int, r row) error {
			texts++
			seen := map[string]bool{}
			for _, w := range wordPattern.FindAllString(strings.ToLower(r.Input), -1) {
				if !seen[w] {
					seen[w] = true
					count[w]++
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	weights := overlap{"": math.Log(texts)}
	for w, n := range count {
		weights[w] = math.Log(texts / (1 + n))
	}
	return weights, nil
}

// right returns 1 where the rival takes the option with the label alone, and a part where it takes
// others beside it.
func (o overlap) right(state string, options []decide.Option, label int) float64 {
	in := map[string]bool{}
	for _, w := range wordPattern.FindAllString(strings.ToLower(state), -1) {
		in[stem(w)] = true
	}
	best, ties, hit := math.Inf(-1), 0.0, false
	for i, option := range options {
		seen, sum := map[string]bool{}, 0.0
		for _, w := range wordPattern.FindAllString(strings.ToLower(words(option.Name)+" "+option.Description), -1) {
			if seen[w] {
				continue
			}
			seen[w] = true
			if in[stem(w)] {
				weight, ok := o[w]
				if !ok {
					weight = o[""]
				}
				sum += weight
			}
		}
		sum /= math.Sqrt(1 + float64(len(seen)))
		switch {
		case sum > best:
			best, ties, hit = sum, 1, i == label
		case sum == best:
			ties++
			hit = hit || i == label
		}
	}
	if !hit {
		return 0
	}
	return 1 / ties
}
