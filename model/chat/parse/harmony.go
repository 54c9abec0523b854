package parse

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Harmony frames every message: <|start|>role<|channel|>name to=recipient<|message|>body<|end|>.
const (
	hStart   = "<|start|>"
	hChannel = "<|channel|>"
	hMessage = "<|message|>"
	hEnd     = "<|end|>"
	hReturn  = "<|return|>"
	hCall    = "<|call|>"
)

func harmonyEnds() []string { return []string{hEnd, hReturn, hCall, hStart, hChannel} }

// openHarmony takes the header that the prompt began.
func (p *Parser) openHarmony(opened string) {
	i := strings.LastIndex(opened, hStart)
	if i < 0 {
		return
	}
	header := opened[i+len(hStart):]
	if head, _, ok := strings.Cut(header, hMessage); ok {
		p.beginMessage(head)
		return
	}
	p.state, p.open, p.header = inHeader, "", header
}

// stepHeader reads up to <|message|>.
func (p *Parser) stepHeader(final bool) bool {
	const longest = 1024 // headers are a few words
	i := bytes.Index(p.buf[:min(len(p.buf), longest)], []byte(hMessage))
	if i < 0 {
		if !final && len(p.buf) < longest {
			return false
		}
		p.state, p.kind = inText, Content // an unfinished header is text
		p.add(p.open)
		p.text(len(p.buf))
		return true
	}
	head := p.open + string(p.buf[:i+len(hMessage)])
	p.consume(i + len(hMessage))
	p.raw += head
	header := p.header + strings.TrimSuffix(head, hMessage)
	p.header = ""
	p.beginMessage(header)
	return true
}

// beginMessage enters the body of a message with the given header.
func (p *Parser) beginMessage(header string) {
	p.state, p.kind = inText, Content
	channel := header
	if i := strings.LastIndex(header, hChannel); i >= 0 {
		channel = header[i+len(hChannel):]
	}
	switch word, _, _ := strings.Cut(strings.TrimSpace(channel), " "); {
	case strings.Contains(header, " to="):
		_, to, _ := strings.Cut(header, " to=")
		if i := strings.IndexAny(to, " <"); i >= 0 {
			to = to[:i]
		}
		p.open, p.state, p.scan = "", inCall, tracker{}
		p.syn = harmonyCall(strings.TrimPrefix(to, "functions."))
	case word == "analysis":
		p.kind = Reasoning
	}
}

// stepHarmony reads the body of a message, or what stands between two.
func (p *Parser) stepHarmony(final bool) bool {
	at, which := first(p.buf, harmonyEnds())
	if at < 0 {
		return p.hold(final, harmonyEnds()...)
	}
	m := harmonyEnds()[which]
	p.text(at)
	p.consume(len(m))
	if m == hStart || m == hChannel {
		p.state, p.open = inHeader, m
	} else {
		p.raw += m
		p.kind = Content
	}
	return true
}

// harmonyCall reads the body of a message to a tool: a JSON object up to the message's end. Markers
// inside its strings are text.
func harmonyCall(name string) *syntax {
	scan := func(p *Parser, body []byte, final bool) (int, []call, verdict) {
		end, m := p.messageEnd(body, final)
		if end < 0 {
			return 0, nil, more
		}
		args, ok := object(json.RawMessage(escapeControls(string(body[:end]))))
		if !ok || name == "" {
			return end, nil, no
		}
		n := end
		if m != hStart && m != hChannel {
			n += len(m)
		}
		return n, []call{{Name: name, Arguments: args}}, yes
	}
	return &syntax{"", scan}
}

// messageEnd returns where the body of a message to a tool ends, and the marker there. With final it
// ends somewhere: where a string never does, at the first marker.
func (p *Parser) messageEnd(body []byte, final bool) (int, string) {
	object := bytes.HasPrefix(bytes.TrimLeft(body, " \t\n"), []byte("{"))
	t := &p.scan
	from := max(0, t.from-len(hChannel)+1)
	for {
		i, which := first(body[from:], harmonyEnds())
		if i < 0 {
			break
		}
		i += from
		if object && !t.closed {
			t.closed = t.advance(body, i, jsonQuotes)
		}
		if !object || t.quote == 0 {
			return i, harmonyEnds()[which]
		}
		from = i + len(harmonyEnds()[which])
		t.from = from + len(hChannel) - 1
	}
	if !final {
		t.from = max(t.from, len(body))
		return -1, ""
	}
	if t.quote != 0 {
		if i, which := first(body, harmonyEnds()); i >= 0 {
			return i, harmonyEnds()[which]
		}
	}
	return len(body), ""
}
