package decide

import (
	"encoding/json"

	"github.com/hotpath-go/hotpath/model/chat"
)

// Request asks questions about one state. Its zero fields have the meaning that their comments give.
type Request struct {
	State        State
	Instructions string     // told to the model before the first question; empty: nothing is told
	Questions    []Question // 1 to MaxQuestions, answered in this order
	// Plan holds questions that were compiled before; Instructions and Questions must then be empty.
	Plan *Plan

	// How the options of questions that do not say it themselves are read: see Question.
	Method Method
	Orders int
	Length Length

	// Prior divides the probabilities by those of an empty state to this power, 0 to MaxPrior. Zero:
	// they stay as they are. The empty state costs one more decision, the first time a question is asked.
	Prior float64
	// Border is BorderNone for the one that shares most of the state with Generate, or
	// BorderCanonical for the template's own render, whatever that shares.
	Border Border
	// Truncate says what is kept of a state that is too long for the context. Zero: it is refused.
	Truncate Truncation

	Confidence Confidence // which definition the answers hold; zero: Concentration
	// An answer whose confidence or label mass is below these is Abstained. Zero: no threshold.
	MinConfidence float64
	MinLabelMass  float64
	MaxSpread     float64 // an answer whose OrderSpread is above it is Abstained; zero: no threshold
	SkipMass      bool    // do not compute the label mass: a cheaper head, and Answer.LabelMass is absent

	Caller    string // who asks, for fairness and statistics; empty is a caller like any other
	Namespace string // of the prefix cache: calls in different namespaces never share blocks; at most kvcache.MaxNamespace bytes
	Priority  int    // higher runs first; 0 is ordinary
}

// Kind is the type of a question.
type Kind uint8

// The kinds of questions.
const (
	KindNone    Kind = iota
	KindBoolean      // yes or no: Answer.Probability is that of yes
	KindChoice       // one of the options
	KindScore        // a level from 0 to len(Options)-1: Answer.Score is the expected level
)

// String returns "boolean", "choice" or "score".
func (k Kind) String() string {
	switch k {
	case KindBoolean:
		return "boolean"
	case KindChoice:
		return "choice"
	case KindScore:
		return "score"
	}
	return "none"
}

// Limits of a request.
const (
	MaxText      = 1 << 20 // bytes of a question's texts together
	MaxQuestions = 256
	MaxOptions   = 4096
	MaxLevels    = 255
	MaxOrders    = 64
	MaxPrior     = 4
)

// Question is one typed question about the state. Use Boolean, Choice and Score to make one.
type Question struct {
	ID           string // unique in the request; not shown to the model
	Kind         Kind
	Instructions string // the question, in words
	Criteria     string // what decides it, told after the question; empty: nothing is told
	// Options of a choice, in the order in which answers list them; the levels of a score, lowest
	// first; for a boolean none, or what yes and what no means, named "yes" and "no".
	Options []Option
	Method  Method // how the options are read; Automatic: as the request says
	// Orders is in how many orders of the options the question is asked; their probabilities are
	// averaged. 0: the caller's order, or as the request says. K: K rotations of the options sorted by
	// name (a score: both directions), so that the answer does not depend on the caller's order. At
	// most MaxOrders, and no more are asked than there are options. Each needs none.
	Orders int
	Length Length // of Path; zero: as the request says
	// MinConfidence is the threshold of this question alone; the larger of it and the request's holds.
	MinConfidence float64
}

// Option is one possible answer.
type Option struct {
	Name        string // shown to the model; unique in its question after trimming and in composed form (NFC)
	Description string // shown beside the name; empty: the name alone
	// Value is what the option of a choice stands for in the caller's program, unique in its question:
	// answers give it back, and the model does not see it. Zero: the text of the name.
	Value Value
}

// Opt returns an option that stands for a text or a bool and is named by it.
func Opt[V ~string | ~bool](value V, description string) Option {
	v := ValueOf(value)
	o := Option{Name: v.String(), Description: description}
	if v.kind != textValue {
		o.Value = v
	}
	return o
}

// Names returns options without descriptions.
func Names(names ...string) []Option {
	list := make([]Option, len(names))
	for i, n := range names {
		list[i].Name = n
	}
	return list
}

// Boolean returns a yes-or-no question.
func Boolean(id, instructions string) Question {
	return Question{ID: id, Kind: KindBoolean, Instructions: instructions}
}

// Means returns a boolean question that tells what yes and what no stand for; an empty text tells
// nothing.
func (q Question) Means(yes, no string) Question {
	q.Options = []Option{{Name: "yes", Description: yes}, {Name: "no", Description: no}}
	return q
}

// Choice returns a question with one right option.
func Choice(id, instructions string, options ...Option) Question {
	return Question{ID: id, Kind: KindChoice, Instructions: instructions, Options: options}
}

// Score returns a question whose answer is a level, given from the lowest to the highest.
func Score(id, instructions string, levels ...string) Question {
	return Question{ID: id, Kind: KindScore, Instructions: instructions, Options: Names(levels...)}
}

// Text returns what is asked, as the model is told it: the instructions, and on a line of their own the
// criteria. Shapes that have one text for both are sent this.
func (q *Question) Text() string {
	if q.Criteria == "" {
		return q.Instructions
	}
	return q.Instructions + "\nCriteria: " + q.Criteria
}

// State is what the questions are about. The zero State is empty: refused by an engine, and the
// conversation so far for a session.
type State struct {
	prompt chat.Prompt
	text   string
	raw    bool // a prompt of text: no message
	json   json.RawMessage
	err    error
}

// Text returns a state of plain text.
func Text(s string) State { return State{text: s, prompt: chat.Text(s)} }

// JSON returns a state of any value that encodes to JSON: compact, in the key order that
// encoding/json gives (that of a struct's fields, or of a json.RawMessage). A value that cannot be
// encoded makes Decide fail.
func JSON(v any) State {
	b, err := compact(v)
	if err != nil {
		return State{err: err}
	}
	return State{json: b, text: string(b), prompt: chat.Text(string(b))}
}

// Chat returns a state of a whole prompt: messages with their tools, text, or token ids. Deciding
// about the prompt that will be generated from shares its blocks.
func Chat(p chat.Prompt) State {
	return State{prompt: p, text: p.RawText(), raw: true}
}

// Tokens returns a state of token ids, used as they are.
func Tokens(ids ...int32) State { return State{prompt: chat.Tokens(ids...)} }

// IsZero reports whether the state is the zero State.
func (s State) IsZero() bool { return s.err == nil && s.json == nil && s.prompt.IsZero() }

// Messages returns the state as the messages that a template renders: those of a chat state, and
// one user message for Text or JSON. Generate over those messages shares the state's blocks on a
// model with a template.
func (s State) Messages() []chat.Message {
	switch s.prompt.Kind() {
	case chat.KindMessages:
		return s.prompt.Turns()
	case chat.KindText:
		if !s.raw {
			return []chat.Message{chat.User(s.text)}
		}
	}
	return nil
}

// Prompt returns the prompt that Generate takes to share the state's blocks on a model without a
// template.
func (s State) Prompt() chat.Prompt { return s.prompt }

// Err returns the error of a state that could not be encoded.
func (s State) Err() error { return s.err }
