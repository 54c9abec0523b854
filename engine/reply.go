package engine

import (
	"strings"

	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/chat/parse"
)

// reply collects what a generation shows: its text and, for a chat, its reasoning and tool calls.
type reply struct {
	emit      emitter
	parser    *parse.Parser // nil: everything is text
	text      strings.Builder
	reasoning strings.Builder
	calls     []chat.ToolCall
}

// push adds a token and puts what is now certain into ev. stopped says that a stop text came to its end.
func (r *reply) push(id int32, ev *Event) (stopped bool) {
	text, stopped := r.emit.push(id)
	r.show(text, ev)
	return stopped
}

// flush adds what was held back, at the end.
func (r *reply) flush(ev *Event) (stopped bool) {
	text, stopped := r.emit.flush()
	r.show(text, ev)
	if r.parser != nil {
		r.take(r.parser.Flush(), ev)
	}
	return stopped
}

func (r *reply) show(text string, ev *Event) {
	if r.parser != nil {
		r.take(r.parser.Push(text), ev)
		return
	}
	r.text.WriteString(text)
	ev.Text += text
}

func (r *reply) take(events []parse.Event, ev *Event) {
	for _, e := range events {
		switch e.Kind {
		case parse.Reasoning:
			r.reasoning.WriteString(e.Text)
			ev.Reasoning += e.Text
		case parse.Call:
			r.calls = append(r.calls, e.Call)
			ev.ToolCalls = append(ev.ToolCalls, e.Call)
		default:
			r.text.WriteString(e.Text)
			ev.Text += e.Text
		}
	}
}

// thinking reports whether the reply stands in a reasoning section.
func (r *reply) thinking() bool { return r.parser != nil && r.parser.Thinking() }
