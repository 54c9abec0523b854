package chat

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/hotpath-go/hotpath/model/chat/jinja"
)

// RenderOptions say what is rendered beside the messages.
type RenderOptions struct {
	// AddGenerationPrompt appends the scaffolding that opens the assistant's reply.
	AddGenerationPrompt bool
	// ContinueFinal ends the text where the content of the last message ends, so that the model goes on
	// with it. The last message must be an assistant's, and AddGenerationPrompt unset.
	ContinueFinal bool
	// EveryTurn marks the end of every turn and not only of the last. It costs a render per message.
	EveryTurn bool
	// Now is what strftime_now tells. The zero time stands for itself, not for the present.
	Now time.Time
}

// MarkKind says what a Mark marks.
type MarkKind uint8

// The kinds of marks.
const (
	ContentEnd MarkKind = iota // after the last byte of a message's content
	TurnEnd                    // up to here the text stays as it is when the conversation goes on
	ReplyStart                 // before the scaffolding that opens the reply
)

// Mark is a place in a rendered prompt.
type Mark struct {
	Kind    MarkKind
	Message int // index; of a ReplyStart, the number of messages
	Offset  int // in bytes of the text
}

// Source says where a stretch of the text comes from.
type Source int32

// Scaffold is the template's own text, the only one in which control tokens are found.
const Scaffold Source = 0

// Message returns the index of the message that the text came from, and false for the scaffolding,
// tools and template arguments.
func (s Source) Message() (int, bool) {
	return int(s-1) / 2, s != Scaffold && jinja.Origin(s) != otherData
}

// Content reports whether the text came from the content of a message.
func (s Source) Content() bool { _, ok := s.Message(); return ok && s%2 == 1 }

// Span is a stretch of the text with one source; it begins where the one before it ends.
type Span struct {
	End    int
	Source Source
}

// Rendered is a prompt as text. Spans cover it; Marks are in order of their offsets.
type Rendered struct {
	Text  string
	Spans []Span
	Marks []Mark
	// Dropped lists the messages whose content is not empty and of which the template shows nothing,
	// such as a tool's result without a call before it.
	Dropped []int

	ids [][]int32 // Message.IDs by message; nil when no message has any
}

// Render renders a prompt of messages.
//
// Marks are found by comparing renders. A content's end is exact, since every byte of the text knows
// where it came from. A turn ends where the render of the messages up to it and the render of all part,
// or, for the last turn, the renders with and without an opened reply; set back to the end of the
// template statement before. Where a template rewrites earlier turns there is no such place, and no
// mark. A template that always opens a reply is compared with itself and one more turn.
//
// The error is ErrPrompt or ErrRender.
func (t *Template) Render(p Prompt, o RenderOptions) (*Rendered, error) {
	if t == nil {
		return nil, ErrNoTemplate
	}
	if p.Kind() != KindMessages {
		return nil, fmt.Errorf("%w: only messages are rendered by a template", ErrPrompt)
	}
	return t.render(p, o, t.shape)
}

func (t *Template) render(p Prompt, o RenderOptions, s shape) (*Rendered, error) {
	ms := p.Turns()
	if o.ContinueFinal {
		return t.continued(p, o, s)
	}
	full, err := t.renderAs(ms, p.Tools(), p.Args(), o.AddGenerationPrompt, o.Now, s)
	if err != nil {
		return nil, err
	}
	r := newRendered(full)
	r.markContents(ms)
	r.keepIDs(ms)
	if len(ms) > 0 {
		t.markTurns(p, o, s, full, r)
	}
	sort.SliceStable(r.Marks, func(i, j int) bool { return r.Marks[i].Offset < r.Marks[j].Offset })
	return r, nil
}

// markTurns finds the ends of turns and the start of the reply in full, the render under way.
func (t *Template) markTurns(p Prompt, o RenderOptions, s shape, full jinja.Output, r *Rendered) {
	ms := p.Turns()
	as := func(ms []Message, generate bool) (jinja.Output, bool) {
		out, err := t.renderAs(ms, p.Tools(), p.Args(), generate, o.Now, s)
		return out, err == nil
	}
	if o.EveryTurn {
		for i := range len(ms) - 1 {
			if part, ok := as(ms[:i+1], false); ok {
				if end, ok := agreement(full, part, dataEnd(part)); ok {
					r.mark(TurnEnd, i, end)
				}
			}
		}
	}
	last := len(ms) - 1
	other, ok := as(ms, !o.AddGenerationPrompt)
	if !ok {
		return
	}
	end, reply := len(r.Text), o.AddGenerationPrompt
	switch {
	case other.String() != r.Text:
		end, ok = agreement(full, other, dataEnd(full))
	case !t.tmpl.Uses("add_generation_prompt"): // it may open a reply, asked or not
		next, more := as(p.With(User("x")).Turns(), false)
		if !more {
			next, more = as(p.With(Assistant("x")).Turns(), false)
		}
		if more {
			end, ok = agreement(full, next, dataEnd(full))
			reply = reply || end < len(r.Text)
		}
	}
	if !ok {
		return
	}
	r.mark(TurnEnd, last, end)
	if reply {
		r.mark(ReplyStart, len(ms), end)
	}
}

// dataEnd returns the end of the last byte that did not come from the template.
func dataEnd(out jinja.Output) int {
	runs := out.Runs()
	for i := len(runs) - 1; i >= 0; i-- {
		if runs[i].Origin != 0 {
			return runs[i].End
		}
	}
	return 0
}

// agreement returns up to where two renders agree, at the end of a statement of the first, so that a
// scaffolding both begin with is not torn; or, where the template writes all at once, the whole of the
// shorter. It must reach least.
func agreement(a, b jinja.Output, least int) (int, bool) {
	x, y := a.String(), b.String()
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	i := sort.SearchInts(a.Ends, n+1)
	if i > 0 && a.Ends[i-1] >= least {
		return a.Ends[i-1], true
	}
	return n, n >= least && (n == len(x) || n == len(y))
}

// continued renders a prompt whose last message the model goes on with.
func (t *Template) continued(p Prompt, o RenderOptions, s shape) (*Rendered, error) {
	ms := p.Turns()
	last := len(ms) - 1
	switch {
	case o.AddGenerationPrompt:
		return nil, fmt.Errorf("%w: ContinueFinal and AddGenerationPrompt exclude each other", ErrPrompt)
	case last < 0 || ms[last].Role != RoleAssistant:
		return nil, fmt.Errorf("%w: ContinueFinal needs an assistant's message at the end", ErrPrompt)
	}
	o.ContinueFinal = false
	r, err := t.render(p, o, s)
	if err != nil {
		return nil, err
	}
	for _, m := range r.Marks {
		if m.Kind == ContentEnd && m.Message == last {
			head, _ := r.Cut(m.Offset)
			return head, nil
		}
	}
	return nil, fmt.Errorf("%w: message %d, to be continued, shows no content in the render", ErrPrompt, last)
}

func (t *Template) renderAs(ms []Message, tools []Tool, args []Arg, generate bool, now time.Time, s shape) (jinja.Output, error) {
	vars, err := t.variables(ms, tools, args, generate, s)
	if err != nil {
		return jinja.Output{}, err
	}
	out, err := t.tmpl.Execute(vars, jinja.Options{Now: now, Limits: t.o.Limits})
	if err != nil {
		return jinja.Output{}, fmt.Errorf("%w: %w", ErrRender, err)
	}
	return out, nil
}

func newRendered(text jinja.Output) *Rendered {
	r := &Rendered{Text: text.String()}
	for _, run := range text.Runs() {
		r.Spans = append(r.Spans, Span{run.End, Source(run.Origin)})
	}
	return r
}

func (r *Rendered) mark(k MarkKind, message, offset int) {
	r.Marks = append(r.Marks, Mark{k, message, offset})
}

// markContents marks the ends of contents and lists the messages that left none.
func (r *Rendered) markContents(ms []Message) {
	ends := make([]int, len(ms))
	for _, s := range r.Spans {
		if i, ok := s.Source.Message(); ok && s.Source.Content() {
			ends[i] = s.End
		}
	}
	for i, end := range ends {
		switch {
		case end > 0:
			r.mark(ContentEnd, i, end)
		case strings.TrimSpace(ms[i].Content) != "" || hasText(ms[i].Parts):
			r.Dropped = append(r.Dropped, i)
		}
	}
}

func (r *Rendered) keepIDs(ms []Message) {
	for i := range ms {
		if len(ms[i].IDs) == 0 {
			continue
		}
		if r.ids == nil {
			r.ids = make([][]int32, len(ms))
		}
		r.ids[i] = ms[i].IDs
	}
}

func hasText(parts []Part) bool {
	for _, p := range parts {
		if strings.TrimSpace(p.Text) != "" {
			return true
		}
	}
	return false
}

// Last returns the last mark of a kind, and false when there is none.
func (r *Rendered) Last(k MarkKind) (Mark, bool) {
	for i := len(r.Marks) - 1; i >= 0; i-- {
		if r.Marks[i].Kind == k {
			return r.Marks[i], true
		}
	}
	return Mark{}, false
}

// Cut splits the prompt at an offset into what lies before it and what follows. A mark at the offset
// itself goes with the head, a reply's start with the tail.
func (r *Rendered) Cut(offset int) (head, tail *Rendered) {
	head = &Rendered{Text: r.Text[:offset], Dropped: r.Dropped, ids: r.ids}
	tail = &Rendered{Text: r.Text[offset:], ids: r.ids}
	start := 0
	for _, s := range r.Spans {
		if start < offset {
			head.Spans = append(head.Spans, Span{min(s.End, offset), s.Source})
		}
		if s.End > offset {
			tail.Spans = append(tail.Spans, Span{s.End - offset, s.Source})
		}
		start = s.End
	}
	for _, m := range r.Marks {
		if m.Offset < offset || m.Offset == offset && m.Kind != ReplyStart {
			head.Marks = append(head.Marks, m)
		} else {
			m.Offset -= offset
			tail.Marks = append(tail.Marks, m)
		}
	}
	return head, tail
}
