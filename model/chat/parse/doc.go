// Package parse reads replies: it splits what a model writes into reasoning, content and tool calls.
//
//	p, err := parse.New(parse.ForTemplate(source), parse.Options{Tools: tools, Opened: opened})
//	for delta := range deltas {
//		for _, e := range p.Push(delta) { … }
//	}
//	for _, e := range p.Flush() { … }
//
// There is one automaton, and a [Format] is a table for it: which markers open and close reasoning, which
// open a call, and how a call's body is read.
//
//   - The events depend on the text and not on how it is cut. No byte is lost or doubled: the Raw texts of
//     the events, joined, are the stream.
//   - Arguments may hold any marker, that of their call's end included: a JSON object ends where its
//     bracket closes. A value that stands as it is ends at its closing tag with something after it that
//     may follow a value, which it cannot hold itself.
//   - A call is whole or it is text. Its body is held back until it is complete; when it cannot be read, it
//     becomes content as it stands.
//   - Where a format writes arguments as text, the tool's schema gives them their types: "5" is the number
//     5 where it says integer. Formats of JSON keep what the model wrote.
//   - Newlines around markers are layout, not text.
//   - Markers must be in the stream: decode tokens with the special ones kept.
//   - A reasoning marker counts only where a section can open, so that content may speak of it.
package parse
