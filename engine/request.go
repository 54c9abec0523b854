package engine

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/hotpath-go/hotpath/engine/constrain"
	"github.com/hotpath-go/hotpath/engine/sample"
	"github.com/hotpath-go/hotpath/model/chat"
)

// Generator writes text: an engine, a session, a scripted fake, a remote client. Implementations
// are safe for concurrent use unless they say otherwise.
type Generator interface {
	// Generate returns the whole continuation. Beside an error that ends it early, such as the
	// context's, it returns what there was until then, with that Finish; nil where it was refused.
	Generate(ctx context.Context, r GenerateRequest) (*Generation, error)
	// Stream yields events until the last one, whose Done is set, or an error. Leaving the loop
	// cancels the generation.
	Stream(ctx context.Context, r GenerateRequest) iter.Seq2[Event, error]
}

// GenerateRequest asks for a continuation of a prompt. Its zero fields have the meaning that their
// comments give.
type GenerateRequest struct {
	Prompt    chat.Prompt
	MaxTokens int      // zero: until the context is full
	Stop      []string // texts that end the generation where they come in its Text, of which they are no part; reasoning and calls may hold them
	StopIDs   []int32  // token ids that end it, beside the model's own
	IgnoreEOS bool     // go on past the model's own end tokens

	Sampling sample.Settings // what is nil: greedy, all tokens, no penalties
	Seed     uint64          // equal seeds give equal texts, whatever runs beside them; 0 is a seed like any other
	Bias     []sample.Bias   // added to logits, in rising order of id
	Banned   []int32         // ids that are never chosen

	// Constraint says what the reply must be; it applies after a reasoning section. Nil: nothing.
	Constraint *constrain.Spec
	// ToolChoice is ToolAuto, ToolNone, ToolRequired, or the name of the tool to call. It constrains
	// the reply, in the writing of the model's own calls, and never changes how the prompt is rendered.
	// Where that writing has no way to spell a tool's or a property's name, the request is ErrRequest.
	ToolChoice string
	N          int // continuations, each with its own random numbers; 0: 1
	// Lookup is how many tokens are guessed at a time, from what followed the same words before, and
	// verified in one step. The text is the same with and without. 0: none; at most 64.
	Lookup int

	// OnDecision asks questions while the reply is written: see Every. Nil: none.
	OnDecision *Watch

	LogProbs    bool // report the log-probability of each chosen token
	TopLogProbs int  // and of this many of the largest; at most sample.MaxTopLogProbs

	Caller    string // who asks, for fairness and statistics
	Namespace string // of the prefix cache: calls in different namespaces never share blocks; at most kvcache.MaxNamespace bytes
	Priority  int    // higher runs first; 0 is ordinary
}

// The choices of tools beside their names.
const (
	ToolAuto     = "auto"     // the model decides; so does an empty ToolChoice
	ToolNone     = "none"     // calls are text
	ToolRequired = "required" // one call of any tool
)

// Finish says why a generation ended.
type Finish string

// The reasons.
const (
	FinishStop      Finish = "stop"      // an end token, a stop id or a stop text
	FinishLength    Finish = "length"    // MaxTokens, or the context is full
	FinishTool      Finish = "tool"      // tool calls are complete
	FinishCancelled Finish = "cancelled" // the context ended, or the loop over the stream was left
	FinishError     Finish = "error"
)

// Generation is a finished continuation. It belongs to the caller.
type Generation struct {
	Text      string // of a chat: its content alone
	Reasoning string
	ToolCalls []chat.ToolCall
	// Message is the reply as a turn of the conversation. It carries the exact tokens, so that a later
	// prompt can take them as they are.
	Message  chat.Message
	IDs      []int32   // every token, an end token included
	LogProbs []LogProb // of chosen tokens; forced ones have none
	Finish   Finish
	Usage    GenerateUsage
	Model    string
	Numerics string       // numerics id
	Warnings []string     // settings that were ignored, and why; calls of tools that are not the prompt's
	Others   []Generation // the further continuations that N asked for
}

// LogProb is what the model's own distribution (temperature 1, no penalties) gave to a token.
type LogProb struct {
	ID      int32
	Text    string // the bytes of the token as text; may be part of a character
	LogProb float64
	Top     []LogProb // the largest, in falling order
}

// Event is one item of a stream. The texts of all events of a choice, joined, are its Generation's
// text.
type Event struct {
	Choice    int    // which of the continuations asked for, from 0
	Text      string // valid UTF-8; empty while a character, a stop text or a marker is incomplete
	Reasoning string
	ToolCalls []chat.ToolCall // complete
	IDs       []int32
	LogProbs  []LogProb
	Done      *Generation // set in the last event of the choice alone
}

// GenerateUsage is what a generation cost.
type GenerateUsage struct {
	PromptTokens    int
	CachedTokens    int // of them, read from blocks that were there
	ComputedTokens  int // rows computed, prompt and output
	GeneratedTokens int
	Steps           int
	Queued          time.Duration // until its first row ran
	First           time.Duration // until the first token
	Total           time.Duration
}

// String prints the usage in one line.
func (u GenerateUsage) String() string {
	return fmt.Sprintf("prompt %d tokens, cached %d, computed %d, generated %d, first token %v, %v",
		u.PromptTokens, u.CachedTokens, u.ComputedTokens, u.GeneratedTokens,
		u.First.Round(100*time.Microsecond), u.Total.Round(100*time.Microsecond))
}
