package engine

import (
	"strings"

	"github.com/hotpath-go/hotpath/model/tokenizer"
)

// emitter turns chosen tokens into text that may be shown: complete characters, and nothing that
// may yet turn out to be the start of a stop text.
type emitter struct {
	stream *tokenizer.Stream
	stops  []string
	held   string
}

// push adds a token and returns the text that is now certain. stopped says that a stop text came
// to its end; it and what follows are dropped.
func (e *emitter) push(id int32) (text string, stopped bool) {
	return e.take(e.stream.Push(id))
}

// flush returns what was held back, for a generation that ends without a stop text.
func (e *emitter) flush() (text string, stopped bool) {
	text, stopped = e.take(e.stream.Flush())
	if !stopped {
		text, e.held = text+e.held, ""
	}
	return text, stopped
}

func (e *emitter) take(piece string) (string, bool) {
	if len(e.stops) == 0 {
		return piece, false
	}
	e.held += piece
	first := -1
	for _, s := range e.stops {
		if i := strings.Index(e.held, s); i >= 0 && (first < 0 || i < first) {
			first = i
		}
	}
	if first >= 0 {
		text := e.held[:first]
		e.held = ""
		return text, true
	}
	keep := 0
	for _, s := range e.stops {
		keep = max(keep, overlap(e.held, s))
	}
	text := e.held[:len(e.held)-keep]
	e.held = e.held[len(text):]
	return text, false
}

// overlap returns the length of the longest end of text that is a beginning of stop.
func overlap(text, stop string) int {
	for n := min(len(text), len(stop)-1); n > 0; n-- {
		if strings.HasSuffix(text, stop[:n]) {
			return n
		}
	}
	return 0
}
