package engine

import (
	"strings"

	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/chat/parse"
	"github.com/hotpath-go/hotpath/model/tokenizer"
)

// reply collects what a generation shows: its text and, for a chat, its reasoning and tool calls. Stop
// texts are looked for in the text alone, as it is shown: one that a model thinks of, or puts into the
// arguments of a call, must not end its reply.
type reply struct {
	stream    *tokenizer.Stream
	parser    *parse.Parser // nil: everything is text
	stop      stopper
	text      strings.Builder
	reasoning strings.Builder
	calls     []chat.ToolCall
	unknown   []string // names of them that the prompt offers no tool of
}

// push adds a token and puts what is now certain into ev. stopped says that a stop text came to its end.
func (r *reply) push(id int32, ev *Event) (stopped bool) {
	return r.show(r.stream.Push(id), ev)
}

// flush adds what was held back, at the end.
func (r *reply) flush(ev *Event) (stopped bool) {
	if r.show(r.stream.Flush(), ev) || r.parser != nil && r.take(r.parser.Flush(), ev) {
		return true
	}
	r.write(r.stop.rest(), ev)
	return false
}

func (r *reply) show(text string, ev *Event) (stopped bool) {
	if r.parser != nil {
		return r.take(r.parser.Push(text), ev)
	}
	return r.content(text, ev)
}

func (r *reply) take(events []parse.Event, ev *Event) (stopped bool) {
	for _, e := range events {
		switch e.Kind {
		case parse.Reasoning:
			r.reasoning.WriteString(e.Text)
			ev.Reasoning += e.Text
		case parse.Call:
			r.calls = append(r.calls, e.Call)
			if e.Unknown {
				r.unknown = append(r.unknown, e.Call.Name)
			}
			ev.ToolCalls = append(ev.ToolCalls, e.Call)
		default:
			if r.content(e.Text, ev) {
				return true
			}
		}
	}
	return false
}

// content adds text up to a stop text.
func (r *reply) content(text string, ev *Event) (stopped bool) {
	text, stopped = r.stop.push(text)
	r.write(text, ev)
	return stopped
}

func (r *reply) write(text string, ev *Event) {
	r.text.WriteString(text)
	ev.Text += text
}

// thinking reports whether the reply stands in a reasoning section.
func (r *reply) thinking() bool { return r.parser != nil && r.parser.Thinking() }
