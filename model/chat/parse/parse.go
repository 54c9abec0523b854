package parse

import (
	"bytes"
	"fmt"

	"github.com/hotpath-go/hotpath/model/chat"
)

// Kind says what an Event holds.
type Kind uint8

// The kinds of events.
const (
	Content Kind = iota
	Reasoning
	Call
)

// Event is a piece of a reply. Texts of one kind that follow each other are one text cut in pieces.
type Event struct {
	Kind Kind
	Text string        // of Content and Reasoning; empty when Raw is markers alone
	Call chat.ToolCall // of Call, complete; Arguments is a JSON object
	// Unknown is set for a Call of a name that no tool of Options has.
	Unknown bool
	// Raw is what the event was read from, markers and blank lines around them included. The Raws of
	// all events, joined, are the stream.
	Raw string
}

// Options of a Parser. The zero value is ready.
type Options struct {
	// Tools of the prompt: their schemas say how arguments that are written as text are typed.
	// Formats that write calls without a marker find calls only of these tools.
	Tools []chat.Tool
	// Opened is the text that the prompt ends with to open the reply, from its ReplyStart mark on. A
	// reasoning section that it leaves open goes on in the stream.
	Opened string
	// FirstCall numbers the calls that the model gives no id: "call00000" and up, nine characters.
	FirstCall int
	// NoCalls leaves calls in the content as they stand.
	NoCalls bool
}

// Parser splits a reply into reasoning, content and calls, as it comes. The events depend on the text
// alone and not on how it is cut into deltas. Memory is what is held back: a call until it is complete,
// otherwise what may become a marker. A Parser is for one goroutine and one reply.
type Parser struct {
	f     *format
	tools toolset
	calls int // numbers given so far

	buf   []byte // not decided yet
	out   []Event
	state state
	kind  Kind   // of the section under way
	raw   string // markers that belong to the next event
	held  string // newlines that end the section if a marker follows, and are text otherwise
	trim  bool   // newlines that follow a marker
	fresh bool   // nothing but newlines since the reply, or since a marker

	syn    *syntax // of the call under way
	open   string  // its opener as written
	header string  // of the harmony message under way, as far as the prompt wrote it
	scan   tracker
	called bool   // a call was found
	echo   string // what a model may repeat after a call
}

type state uint8

const (
	inText state = iota
	inCall
	inHeader // of a harmony message
)

// New returns a Parser for one reply in the given format. An unknown format is ErrFormat.
func New(f Format, o Options) (*Parser, error) {
	spec := formatNamed(f)
	if spec == nil {
		return nil, fmt.Errorf("%w: %q, known are %v", ErrFormat, f, Formats())
	}
	if o.NoCalls {
		spec.dropCalls()
	}
	p := &Parser{f: spec, tools: newToolset(o.Tools), calls: o.FirstCall, fresh: true}
	if spec.harmony {
		p.openHarmony(o.Opened)
		return p, nil
	}
	open, closed := lastIndex(o.Opened, spec.thinkOpen), lastIndex(o.Opened, spec.thinkClose)
	if spec.thinkOpen != "" && (open > closed || spec.thinksFirst && closed < 0) {
		p.kind, p.trim = Reasoning, true
	}
	return p, nil
}

// Push takes the next delta and returns the events that became certain. They are valid until the next call.
func (p *Parser) Push(delta string) []Event {
	p.out = p.out[:0]
	p.buf = append(p.buf, delta...)
	for len(p.buf) > 0 && p.step(false) {
	}
	return p.out
}

// Flush ends the reply and returns the events of what was held back: a call that is complete but for its
// closing marker is one, anything else unfinished is text.
func (p *Parser) Flush() []Event {
	p.out = p.out[:0]
	for len(p.buf) > 0 || p.state == inCall {
		p.step(true)
	}
	if p.state == inHeader {
		p.state = inText
		p.raw += p.open
	}
	if p.held != "" {
		held := p.held
		p.held = ""
		p.emit(held)
	}
	if p.raw != "" {
		p.emit("")
	}
	return p.out
}

// step consumes some of buf and reports whether it could. With final it always can.
func (p *Parser) step(final bool) bool {
	switch {
	case p.state == inCall:
		return p.stepCall(final)
	case p.state == inHeader:
		return p.stepHeader(final)
	case p.f.harmony:
		return p.stepHarmony(final)
	case p.kind == Reasoning:
		return p.stepReasoning(final)
	}
	return p.stepContent(final)
}

func (p *Parser) consume(n int) { p.buf = p.buf[n:] }

// emit appends an event of the section's kind; its Raw takes the markers before it.
func (p *Parser) emit(text string) {
	p.out = append(p.out, Event{Kind: p.kind, Text: text, Raw: p.raw + text})
	p.raw = ""
}

// text takes the first n bytes of buf as text of the section.
func (p *Parser) text(n int) {
	s := string(p.buf[:n])
	p.consume(n)
	p.add(s)
}

func (p *Parser) add(s string) {
	if p.f.harmony {
		if s != "" {
			p.emit(s)
		}
		return
	}
	if p.trim {
		i := 0
		for i < len(s) && s[i] == '\n' {
			i++
		}
		p.raw += s[:i]
		if s = s[i:]; s == "" {
			return
		}
		p.trim = false
	}
	end := len(s)
	for end > 0 && s[end-1] == '\n' {
		end--
	}
	if end == 0 {
		p.held += s
		return
	}
	text := p.held + s[:end]
	p.held = s[end:]
	p.fresh = false
	p.emit(text)
}

// marker takes s, which is syntax, and the newlines before it.
func (p *Parser) marker(s string) {
	p.raw += p.held + s
	p.held = ""
	p.trim = !p.f.harmony
	p.fresh = true
}

// enter begins a section of another kind; markers so far belong to it.
func (p *Parser) enter(k Kind) { p.kind = k }

func (p *Parser) stepReasoning(final bool) bool {
	open := []byte(p.f.thinkOpen)
	if p.fresh && p.f.thinkOpen != "" { // the prompt opened the section and the model does again
		lead := bytes.TrimLeft(p.buf, "\n")
		if bytes.HasPrefix(lead, open) {
			n := len(p.buf) - len(lead) + len(open)
			p.marker(string(p.buf[:n]))
			p.consume(n)
			return true
		}
		if bytes.HasPrefix(open, lead) && !final {
			return false
		}
	}
	i := bytes.Index(p.buf, []byte(p.f.thinkClose))
	if i >= 0 {
		p.text(i)
		p.marker(p.f.thinkClose)
		p.consume(len(p.f.thinkClose))
		p.enter(Content)
		return true
	}
	return p.hold(final, p.f.thinkClose)
}

// hold emits all that cannot begin one of the markers.
func (p *Parser) hold(final bool, markers ...string) bool {
	keep := 0
	if !final {
		for _, m := range markers {
			keep = max(keep, overlap(p.buf, m))
		}
	}
	n := len(p.buf) - keep
	if n == 0 {
		return false
	}
	p.text(n)
	return true
}

// overlap returns the length of the longest end of b that m begins with, short of all of m.
func overlap(b []byte, m string) int {
	for n := min(len(b), len(m)-1); n > 0; n-- {
		if string(b[len(b)-n:]) == m[:n] {
			return n
		}
	}
	return 0
}

func (p *Parser) stepContent(final bool) bool {
	if p.echo != "" {
		if done, progress := p.stepEcho(final); done {
			return progress
		}
	}
	if p.fresh && p.f.bare != nil && len(p.tools) > 0 {
		if done, progress := p.stepBare(final); done {
			return progress
		}
	}
	at, which := first(p.buf, p.f.markers)
	if at < 0 {
		return p.hold(final, p.f.markers...)
	}
	m, s := p.f.markers[which], p.f.syntaxes[which]
	p.text(at)
	switch {
	case s != nil:
		p.begin(s, m)
	case m == p.f.thinkOpen && !p.fresh: // literal: sections open a reply, or follow one another
		p.text(len(m))
	case m == p.f.thinkOpen:
		p.marker(m)
		p.consume(len(m))
		p.enter(Reasoning)
	default: // a stray closing marker
		p.marker(m)
		p.consume(len(m))
	}
	return true
}

// first finds the first place where one of the markers stands, and which. No marker begins with another.
func first(b []byte, markers []string) (at, which int) {
	for i, c := range b {
		if c != '<' && c != '[' { // all markers begin with one of them
			continue
		}
		for j, m := range markers {
			if len(b)-i >= len(m) && string(b[i:i+len(m)]) == m {
				return i, j
			}
		}
	}
	return -1, -1
}

// begin enters a call whose opener stands at the start of buf.
func (p *Parser) begin(s *syntax, open string) {
	p.syn, p.open, p.state = s, open, inCall
	p.scan = tracker{}
	p.consume(len(open))
}

func (p *Parser) stepCall(final bool) bool {
	n, calls, v := p.syn.scan(p, p.buf, final)
	if v == more {
		return false
	}
	p.state = inText
	body := string(p.buf[:n])
	p.consume(n)
	if v == no {
		p.fresh = false // what was taken for a call without a marker is not looked at again
		p.add(p.open + body)
		return true
	}
	p.marker(p.open + body)
	p.deliver(calls)
	if p.f.echoes {
		p.echo = body
	}
	return true
}

// deliver emits calls; all that was read belongs to the first.
func (p *Parser) deliver(calls []chat.ToolCall) {
	p.called = true
	for _, c := range calls {
		if c.ID == "" {
			c.ID = fmt.Sprintf("call%05d", p.calls%100_000)
		}
		p.calls++
		_, known := p.tools[c.Name]
		p.out = append(p.out, Event{Kind: Call, Call: c, Unknown: !known, Raw: p.raw})
		p.raw = ""
	}
}

// stepBare enters a call that has no marker, when what stands at the start may be one.
func (p *Parser) stepBare(final bool) (done, progress bool) {
	lead := len(p.buf) - len(bytes.TrimLeft(p.buf, " \t\n;"))
	if lead == len(p.buf) {
		if !final {
			return true, false
		}
		if !p.called {
			return false, false
		}
		p.marker(string(p.buf))
		p.consume(lead)
		return true, true
	}
	if p.buf[lead] != p.f.bareStart {
		return false, false
	}
	p.begin(p.f.bare, string(p.buf[:lead]))
	return true, true
}

// stepEcho drops the repetition of a call's body, which some models write after it.
func (p *Parser) stepEcho(final bool) (done, progress bool) {
	lead := bytes.TrimLeft(p.buf, "\n")
	skip := len(p.buf) - len(lead)
	if bytes.HasPrefix(lead, []byte(p.echo)) {
		n := skip + len(p.echo)
		p.marker(string(p.buf[:n]))
		p.consume(n)
		p.echo = ""
		return true, true
	}
	if !final && bytes.HasPrefix([]byte(p.echo), lead) {
		return true, false
	}
	p.echo = ""
	return false, false
}

func lastIndex(s, sub string) int {
	if sub == "" {
		return -1
	}
	return bytes.LastIndex([]byte(s), []byte(sub))
}
