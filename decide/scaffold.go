package decide

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hotpath-go/hotpath/model/chat"
)

// scaffold is what a chat template writes around one more user turn, whatever the conversation.
type scaffold struct {
	open  string // from the end of a turn to the content of a user turn after it
	close string // from the end of that content to the end of the turn
	reply string // opens the reply, its reasoning section closed
	// alternate says that the template refuses two user turns in a row.
	alternate bool
}

// The contents of neutral conversations: words that no template looks for.
const (
	neutralUser      = "Orchard"
	neutralAssistant = "Lantern"
	neutralQuestion  = "Harbour"
)

// newScaffold finds a template's scaffold with a few small renders.
func newScaffold(t *chat.Template, clock time.Time) (scaffold, error) {
	var s scaffold
	turns := []chat.Message{chat.User(neutralUser), chat.User(neutralQuestion)}
	r, err := renderTurns(t, clock, turns)
	if errors.Is(err, chat.ErrRender) {
		s.alternate = true
		turns = []chat.Message{chat.User(neutralUser), chat.Assistant(neutralAssistant), chat.User(neutralQuestion)}
		r, err = renderTurns(t, clock, turns)
	}
	if err != nil {
		return s, fmt.Errorf("%w: the template takes no question: %w", ErrState, err)
	}
	last := len(turns) - 1
	from, to, ok := contentOf(r, last, neutralQuestion)
	end, marked := markOf(r, chat.TurnEnd, last)
	before, _ := markOf(r, chat.ContentEnd, last-1)
	if !ok || !marked || before > from {
		return s, fmt.Errorf("%w: the template shows no user turn apart from the others", ErrState)
	}
	s.close = r.Text[to:end]
	if start, ok := markOf(r, chat.TurnEnd, last-1); ok {
		s.open = r.Text[start:from]
	} else if s.open, ok = strings.CutPrefix(r.Text[before:from], s.close); !ok {
		return s, fmt.Errorf("%w: the template shows no end of the turn before a question", ErrState)
	}
	s.reply, err = closedReply(t, clock, turns, r.Text[:end], r.Text[end:])
	return s, err
}

// switches are template variables that turn reasoning off.
var switches = []chat.Arg{
	{Name: "enable_thinking", Value: []byte("false")},
	{Name: "thinking", Value: []byte("false")},
	{Name: "enable_reasoning", Value: []byte("false")},
	{Name: "reasoning", Value: []byte("false")},
}

// closedReply returns what opens a reply without reasoning: what a switch makes of the opening; or
// what the template writes before the content of an assistant's message without reasoning; or the
// opening itself. A switch that changes the text before the reply is not used.
func closedReply(t *chat.Template, clock time.Time, turns []chat.Message, before, opening string) (string, error) {
	for _, a := range switches {
		if !t.Uses(a.Name) {
			continue
		}
		r, err := t.Render(chat.Messages(turns...).WithArg(a.Name, a.Value), chat.RenderOptions{AddGenerationPrompt: true, Now: clock})
		if err != nil {
			continue
		}
		if reply, ok := strings.CutPrefix(r.Text, before); ok && !reasons(reply) {
			return reply, nil
		}
	}
	r, err := t.Render(chat.Messages(turns...).With(chat.Assistant(neutralAssistant)), chat.RenderOptions{Now: clock})
	if err == nil {
		from, _, ok := contentOf(r, len(turns), neutralAssistant)
		reply, follows := strings.CutPrefix(r.Text[:max(from, 0)], before)
		if more, opens := strings.CutPrefix(reply, opening); ok && follows && opens && strings.TrimSpace(more) != "" && !reasons(reply) {
			return reply, nil
		}
	}
	if reasons(opening) {
		return "", fmt.Errorf("%w: replies begin with %q", ErrReasoning, opening)
	}
	return opening, nil
}

// sections are how templates spell the ends of a reasoning section.
var sections = [][2]string{
	{"<think>", "</think>"},
	{"<thinking>", "</thinking>"},
	{"<thought>", "</thought>"},
	{"<reasoning>", "</reasoning>"},
	{"<seed:think>", "</seed:think>"},
	{"[THINK]", "[/THINK]"},
	{"<|channel>thought", "<channel|>"},
	{"<|channel|>analysis", "<|end|>"},
	{"<|START_THINKING|>", "<|END_THINKING|>"},
	{"<|begin_of_thought|>", "<|end_of_thought|>"},
	{"<|inner_prefix|>", "<|inner_suffix|>"},
	{"◁think▷", "◁/think▷"},
}

// reasons reports whether the text ends inside a reasoning section.
func reasons(text string) bool {
	for _, s := range sections {
		if i := strings.LastIndex(text, s[0]); i >= 0 && !strings.Contains(text[i:], s[1]) {
			return true
		}
	}
	return false
}

func renderTurns(t *chat.Template, clock time.Time, turns []chat.Message) (*chat.Rendered, error) {
	return t.Render(chat.Messages(turns...), chat.RenderOptions{AddGenerationPrompt: true, EveryTurn: true, Now: clock})
}

// markOf returns the offset of a message's mark.
func markOf(r *chat.Rendered, kind chat.MarkKind, message int) (int, bool) {
	for _, m := range r.Marks {
		if m.Kind == kind && m.Message == message {
			return m.Offset, true
		}
	}
	return 0, false
}

// contentOf returns where the content of a message stands, which must be the text, whole and once.
func contentOf(r *chat.Rendered, message int, text string) (from, to int, ok bool) {
	to, ok = markOf(r, chat.ContentEnd, message)
	from = to - len(text)
	return from, to, ok && strings.HasSuffix(r.Text[:to], text)
}
