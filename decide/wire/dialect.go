package wire

import (
	"fmt"

	"github.com/hotpath-go/hotpath/decide"
)

// Shape is one of the three bodies.
type Shape uint8

// The shapes.
const (
	SystemOneShape Shape = iota // state, questions by id, noul, choice, score
	OpenAIShape                 // input, a list of questions, predicate, choice, score
	SGLangShape                 // input, a list of questions with ids, yes_no, choice, score
)

// String returns "systemone", "openai" or "sglang".
func (s Shape) String() string {
	return [...]string{"systemone", "openai", "sglang"}[min(s, SGLangShape)]
}

// Limits of a request. Zero upper limits are none; package decide has its own, which hold besides.
type Limits struct {
	Body       int // bytes of a body
	Depth      int // nested levels of a body
	Questions  int
	MinOptions int // of a choice
	Options    int
	Levels     int // of a score; at least 2
	Text       int // code points of an instruction, name, value, label or description
	Input      int // code points of a text of the input
	Messages   int // of the input
	Parts      int // of a message
}

// Dialect is a shape as one speaker of it writes and reads it. The zero Dialect is System One
// without limits; a copy of a preset with other Limits is a dialect too.
type Dialect struct {
	Name   string
	Shape  Shape
	Limits Limits
	// Confidence is the formula that the speaker puts under that name. SGLangShape writes none.
	Confidence decide.Confidence

	needModel        bool
	needInstructions bool
	anyState         bool // System One: numbers, booleans and null are states
	scalarNull       bool // with anyState: null is one
	forbid           bool // unknown fields at the top are refused
	strictName       bool // OpenAI: a name of null is refused
	plainNames       bool // names of options: not blank, no control characters, distinct whatever their case
	blankID          bool // System One: blank ids are taken
	boolConfidence   bool // System One: a noul has probabilities and confidence
	envelope         bool // System One: id, object, created, diagnostics
	diagnostics      bool // System One: those of the envelope, without it
	labelMass        bool // System One: x_label_mass
	refusal          bool // OpenAI: an abstained answer is a refusal
	sglangFields     bool // System One: the fields of SGLang's other route are refused unless null
	engineFields     bool // instructions, cache_salt, priority and request_id are read
	schemaStatus     int  // HTTP status of a body that breaks the schema
	limitStatus      int  // and of one that breaks a limit
	detail           bool // errors as FastAPI writes them
}

// What all dialects share: the rules that TypeSafe documents for bodies.
const (
	maxBody  = 32 << 20
	maxDepth = 64
)

// most returns the smaller of a published limit, where there is one, and that of package decide.
func most(published, own int) int {
	if published > 0 {
		return min(published, own)
	}
	return own
}

// TypeSafe is POST /v1/systemone as TypeSafe documents it: options 1 to 255, levels up to 10. It
// publishes no number of questions.
func TypeSafe() Dialect {
	return Dialect{
		Name: "typesafe", Shape: SystemOneShape,
		Limits:    Limits{Body: maxBody, Depth: maxDepth, MinOptions: 1, Options: 255, Levels: 10},
		needModel: true, schemaStatus: 422, limitStatus: 400, detail: true,
	}
}

// VLLM is POST /v1/systemone of vLLM: 64 questions, 26 options, 10 levels, any JSON as state;
// confidence is decide.Mass, and every answer has one.
func VLLM() Dialect {
	return Dialect{
		Name: "vllm", Shape: SystemOneShape, Confidence: decide.Mass,
		Limits:   Limits{Body: maxBody, Depth: maxDepth, Questions: 64, MinOptions: 1, Options: 26, Levels: 10},
		anyState: true, scalarNull: true, boolConfidence: true, envelope: true, engineFields: true, schemaStatus: 400, limitStatus: 400,
	}
}

// SGLang is POST /v1/systemone of SGLang: options 1 to 255, levels up to 10; answers carry
// x_label_mass.
func SGLang() Dialect {
	return Dialect{
		Name: "sglang", Shape: SystemOneShape,
		Limits:     Limits{Body: maxBody, Depth: maxDepth, MinOptions: 1, Options: 255, Levels: 10},
		plainNames: true, blankID: true, labelMass: true, sglangFields: true, schemaStatus: 422, limitStatus: 422, detail: true,
	}
}

// LlamaCPP is POST /v1/systemone of llama-server: options 1 to 255 (52 with openjev models: set
// Limits.Options), levels 2 to 10, instructions required, any state but null.
func LlamaCPP() Dialect {
	return Dialect{
		Name: "llama.cpp", Shape: SystemOneShape,
		Limits:   Limits{Body: maxBody, Depth: maxDepth, MinOptions: 1, Options: 255, Levels: 10},
		anyState: true, needInstructions: true, schemaStatus: 400, limitStatus: 400,
	}
}

// openAI returns the limits of OpenAI's published schema.
func openAI() Limits {
	return Limits{
		Body: maxBody, Depth: maxDepth, Questions: 400, MinOptions: 2, Options: 255, Levels: 10,
		Text: 1 << 20, Input: 10 << 20, Messages: 1 << 17, Parts: 1 << 14,
	}
}

// OpenAI is POST /v1/decisions of OpenAI: 400 questions (200 at launch), choices 2 to 255, levels 2
// to 10. An abstained answer is a refusal. The formula of its confidence is not published.
func OpenAI() Dialect {
	return Dialect{
		Name: "openai", Shape: OpenAIShape, Limits: openAI(),
		needModel: true, forbid: true, refusal: true, schemaStatus: 400, limitStatus: 400,
	}
}

// VLLMDecisions is POST /v1/decisions of vLLM: OpenAI's shape with 64 questions, 26 choices and 10
// levels, no refusals, and decide.Mass as confidence.
func VLLMDecisions() Dialect {
	d := OpenAI()
	d.Name, d.Confidence, d.refusal, d.strictName = "vllm-decisions", decide.Mass, false, true
	d.Limits.Questions, d.Limits.Options = 64, 26
	return d
}

// Fireworks is its OpenAI-shaped route: 208 choices.
func Fireworks() Dialect {
	d := OpenAI()
	d.Name, d.Limits.Options = "fireworks", 208
	return d
}

// SGLangDecisions is POST /v1/decisions of SGLang, a shape of its own: options 2 to 26, levels 2 to
// 10, no confidence.
func SGLangDecisions() Dialect {
	return Dialect{
		Name: "sglang-decisions", Shape: SGLangShape,
		Limits: Limits{Body: maxBody, Depth: maxDepth, MinOptions: 2, Options: 26, Levels: 10},
		forbid: true, plainNames: true, schemaStatus: 400, limitStatus: 400,
	}
}

// Own is a shape with the limits of package decide and no others but those on size and depth of the
// body, and with vLLM's fields instructions, cache_salt, priority and request_id. System One has the extensions of all its speakers: answers carry x_label_mass, and the response
// their diagnostics; errors are TypeSafe's.
func Own(s Shape) Dialect {
	d := Dialect{
		Name: "hotpath-" + s.String(), Shape: s,
		Limits: Limits{
			Body: maxBody, Depth: maxDepth, Questions: decide.MaxQuestions, MinOptions: 1,
			Options: decide.MaxOptions, Levels: decide.MaxLevels,
		},
		anyState: true, labelMass: true, engineFields: true, forbid: s != SystemOneShape, refusal: true, schemaStatus: 400, limitStatus: 400,
	}
	if s == SystemOneShape {
		d.schemaStatus, d.detail, d.diagnostics = 422, true, true
	}
	return d
}

// Dialects returns the presets that speak a shape, the own one last.
func Dialects(s Shape) []Dialect {
	var list []Dialect
	for _, d := range []Dialect{
		TypeSafe(), VLLM(), SGLang(), LlamaCPP(), OpenAI(), VLLMDecisions(), Fireworks(), SGLangDecisions(),
		Own(SystemOneShape), Own(OpenAIShape), Own(SGLangShape),
	} {
		if d.Shape == s {
			list = append(list, d)
		}
	}
	return list
}

// Named returns the preset of a name, such as "vllm-decisions".
func Named(name string) (Dialect, error) {
	for s := range SGLangShape + 1 {
		for _, d := range Dialects(s) {
			if d.Name == name {
				return d, nil
			}
		}
	}
	return Dialect{}, fmt.Errorf("%w: no dialect is called %q", ErrShape, name)
}
