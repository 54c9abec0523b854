package decide

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Decider answers questions: an engine, a session, a scripted fake, a remote client. Implementations
// are safe for concurrent use unless they say otherwise.
type Decider interface {
	Decide(ctx context.Context, r Request) (*Result, error)
}

// Result holds one answer for each question, in the order of the request. It belongs to the caller.
type Result struct {
	Answers  []Answer
	Usage    Usage
	Border   Border
	Cut      *Cut     // what was left out of the state; nil: nothing
	Model    string   // name of the model that answered
	Numerics string   // numerics id: equal ids and equal requests give equal bits
	Warnings []string // settings that were ignored, and why
}

// Answer is the answer to one question. Which fields are set depends on Kind.
type Answer struct {
	ID     string
	Kind   Kind
	Index  int    // the most probable option; the lowest of equals
	Value  string // what that option stands for, as text: its name where it has no Value; "yes" or "no" for a boolean
	Chosen Value  // the same with its type: true or false for a boolean and for an option whose Value is a bool
	Tied   bool   // another option is exactly as probable

	// Probabilities of the options in the caller's order, summing to 1; a boolean's are of yes and no.
	Probabilities []float64
	Probability   float64 // of Value; for a boolean that of yes
	Score         float64 // expected level, 0 to len(options)-1, for a score

	Confidence   float64 // 0 to 1, by the definition that ConfidenceIs names
	ConfidenceIs Confidence
	LabelMass    *float64 // what the whole vocabulary gives to the labels together; nil when skipped, and where each option is read alone by one token
	OrderSpread  *float64 // the largest difference that the order of the options made to a probability; nil for one order
	Abstained    bool     // below a threshold of the request, or no such answer
	Why          string   // reason of an abstention
	Method       Method   // how the options were read
	Orders       int      // in how many orders, averaged; 0: the caller's alone
	Length       Length   // normalisation of paths
	Prior        float64  // the power of the contextual prior that the probabilities were divided by
	Calibrated   bool     // a calibrator of the caller's was fitted for the question, and applied
	Temperature  float64  // that the logits were divided by: the calibrator's, else the one that the model ships, else 1

	// Evidence is what the words that the state shares with each option added to its logit, before the
	// temperature: in the caller's order, 0 or more; nil where the model declares none.
	Evidence []float64
}

// Method is how an option is read off the model.
type Method uint8

// The methods.
const (
	// Automatic is what the model declares, else Label where the tokenizer has enough labels, else
	// Code, else Path.
	Automatic Method = iota
	Label            // one token that stands for the option: yes, a digit, a letter
	Code             // two tokens that stand for it: B7
	Path             // its own words, token by token
	Each             // alone, after a question of which it sees no other option, by the log-odds of a yes token
)

// String returns "label" and so on.
func (m Method) String() string {
	return [...]string{"automatic", "label", "code", "path", "each"}[min(m, Each)]
}

// Length says how the log-probability of an option's own words is set off against their number.
type Length uint8

// The normalisations of Path.
const (
	Sum      Length = iota // none: the log-probability of the words
	PerToken               // divided by the number of tokens read, an end token included
	PerByte                // divided by the bytes of the name
)

// String returns "sum" and so on.
func (l Length) String() string {
	return [...]string{"sum", "per token", "per byte"}[min(l, PerByte)]
}

// Border is the form in which question and state meet.
type Border uint8

// The borders.
const (
	BorderNone       Border = iota
	BorderRaw               // a newline after raw text or token ids, for prompts without a template
	BorderTurn              // one more user turn, as the template renders it after the same history
	BorderInside            // at the end of the last user content: the template refuses two user turns in a row
	BorderAppended          // one more user turn, where the template would rewrite the turns before it
	BorderCanonical         // the template's own render, at whatever prefix that shares with the history
	BorderDeclared          // as the model's file declares its questions
	turnAfterControl        // a form of Turn and Appended that no result names: see Compiler.after
	borders
)

// String returns "raw" and so on.
func (b Border) String() string {
	return [...]string{"none", "raw", "turn", "inside", "appended", "canonical", "declared"}[min(b, BorderDeclared)]
}

// Usage is what a decision cost.
type Usage struct {
	StateTokens    int           // tokens of the state
	CachedTokens   int           // of them, read from blocks that were there
	ComputedTokens int           // rows computed: uncached state and questions
	Recomputed     int           // state tokens computed although the prefix was hot
	Steps          int           // steps that carried rows of this request
	KVBytesRead    int64         // bytes of keys and values of earlier steps that its rows attended to, each row once a step
	Queued         time.Duration // until its first row ran
	Total          time.Duration
}

// String prints the usage in one line.
func (u Usage) String() string {
	steps := "steps"
	if u.Steps == 1 {
		steps = "step"
	}
	return fmt.Sprintf("state %d tokens, cached %d, computed %d, %d %s, %v",
		u.StateTokens, u.CachedTokens, u.ComputedTokens, u.Steps, steps, u.Total.Round(100*time.Microsecond))
}

// Boolean returns the answer to a boolean question. For an unknown id, or another kind, it is an
// abstained zero answer. The same holds for Choice and Score.
func (r *Result) Boolean(id string) Answer { return r.answer(id, KindBoolean) }

// Choice returns the answer to a choice.
func (r *Result) Choice(id string) Answer { return r.answer(id, KindChoice) }

// Score returns the answer to a score.
func (r *Result) Score(id string) Answer { return r.answer(id, KindScore) }

func (r *Result) answer(id string, kind Kind) Answer {
	why := "no such question"
	for i := range r.Answers {
		if a := &r.Answers[i]; a.ID == id {
			if a.Kind == kind {
				return *a
			}
			why = fmt.Sprintf("the question is a %v", a.Kind)
		}
	}
	return Answer{ID: id, Kind: kind, Abstained: true, Why: why}
}

// String prints one aligned line per answer, then the usage.
func (r *Result) String() string {
	width := 0
	for _, a := range r.Answers {
		width = max(width, len(a.ID))
	}
	var b strings.Builder
	for _, a := range r.Answers {
		fmt.Fprintf(&b, "%-*s  %v\n", width, a.ID, a)
	}
	fmt.Fprintf(&b, "%v", r.Usage)
	return b.String()
}

// String prints the answer in one line.
func (a Answer) String() string {
	var b strings.Builder
	switch {
	case a.Kind == KindScore:
		fmt.Fprintf(&b, "%.2f (%s)", a.Score, a.Value)
	case a.Kind == KindBoolean:
		fmt.Fprintf(&b, "%s  p(yes) %.3f", a.Value, a.Probability)
	default:
		fmt.Fprintf(&b, "%s  p %.3f", a.Value, a.Probability)
	}
	fmt.Fprintf(&b, "  confidence %.3f", a.Confidence)
	if a.LabelMass != nil {
		fmt.Fprintf(&b, "  label mass %.3f", *a.LabelMass)
	}
	if a.Abstained {
		fmt.Fprintf(&b, "  abstained: %s", a.Why)
	}
	return b.String()
}
