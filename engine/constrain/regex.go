package constrain

import (
	"fmt"
	"regexp/syntax"
	"unicode"
)

// maxPattern bounds the length of an expression.
const maxPattern = 1 << 16

// parsePattern parses RE2 syntax and compiles it to a program over code points.
func parsePattern(expr string) (*syntax.Prog, error) {
	if len(expr) > maxPattern {
		return nil, fmt.Errorf("%w: an expression of %d bytes, limit %d", ErrLimit, len(expr), maxPattern)
	}
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSpec, err)
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSpec, err)
	}
	return prog, nil
}

// spell says how a range of code points is written in the text.
type spell func(seqs [][]byteRange, lo, hi rune) [][]byteRange

// pattern returns the automaton of the texts that the expression matches: whole texts, or, where
// search is set, texts with a match anywhere in them.
func pattern(expr string, search bool, write spell, limit int) (*dfa, error) {
	prog, err := parsePattern(expr)
	if err != nil {
		return nil, err
	}
	n := &nfa{limit: 16 * limit}
	base := n.node()
	for range prog.Inst[1:] {
		n.node()
	}
	start, accept := base+int32(prog.Start), n.node()
	for pc := range prog.Inst {
		in := &prog.Inst[pc]
		at := base + int32(pc)
		switch in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			n.empty(at, base+int32(in.Out))
			n.empty(at, base+int32(in.Arg))
		case syntax.InstCapture, syntax.InstNop:
			n.empty(at, base+int32(in.Out))
		case syntax.InstMatch:
			n.empty(at, accept)
		case syntax.InstFail:
		case syntax.InstEmptyWidth:
			switch op := syntax.EmptyOp(in.Arg); op {
			case syntax.EmptyBeginText:
				n.arc(at, arc{kind: arcBegin, to: base + int32(in.Out)})
			case syntax.EmptyEndText:
				n.arc(at, arc{kind: arcEnd, to: base + int32(in.Out)})
			default:
				names := map[syntax.EmptyOp]string{syntax.EmptyBeginLine: "^ in (?m)", syntax.EmptyEndLine: "$ in (?m)",
					syntax.EmptyWordBoundary: `\b`, syntax.EmptyNoWordBoundary: `\B`}
				return nil, fmt.Errorf("%w: %s in expression %q", ErrUnsupported, names[op], expr)
			}
		case syntax.InstRuneAny:
			n.runes(at, base+int32(in.Out), write, 0, unicode.MaxRune)
		case syntax.InstRuneAnyNotNL:
			n.runes(at, base+int32(in.Out), write, 0, '\n'-1)
			n.runes(at, base+int32(in.Out), write, '\n'+1, unicode.MaxRune)
		case syntax.InstRune, syntax.InstRune1:
			if len(in.Rune) == 1 {
				r := in.Rune[0]
				n.runes(at, base+int32(in.Out), write, r, r)
				if syntax.Flags(in.Arg)&syntax.FoldCase != 0 {
					for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
						n.runes(at, base+int32(in.Out), write, f, f)
					}
				}
				break
			}
			for i := 0; i+1 < len(in.Rune); i += 2 {
				n.runes(at, base+int32(in.Out), write, in.Rune[i], in.Rune[i+1])
			}
		}
	}
	if search {
		// Anything before the match and anything behind it.
		before, behind := n.node(), n.node()
		n.runes(before, before, write, 0, unicode.MaxRune)
		n.empty(before, start)
		n.empty(accept, behind)
		n.runes(behind, behind, write, 0, unicode.MaxRune)
		start, accept = before, behind
	}
	d, err := n.determinize(start, accept, limit)
	if err != nil {
		return nil, fmt.Errorf("expression %q: %w", expr, err)
	}
	return d.trim(), nil
}

// runes adds the spellings of a range of code points between two nodes.
func (n *nfa) runes(from, to int32, write spell, lo, hi rune) {
	for _, seq := range write(nil, lo, hi) {
		n.bytes(from, to, seq)
	}
}

// jsonBytes spells code points inside a JSON string, each in one way: raw where JSON allows it,
// else the short escape, else \u00xx in lower case.
func jsonBytes(seqs [][]byteRange, lo, hi rune) [][]byteRange {
	for r := max(lo, 0); r <= min(hi, '\\'); r++ {
		if s := jsonRune(r); len(s) > 1 {
			seq := make([]byteRange, len(s))
			for i := range seq {
				seq[i] = byteRange{s[i], s[i]}
			}
			seqs = append(seqs, seq)
		}
	}
	for _, raw := range [][2]rune{{' ', '"' - 1}, {'"' + 1, '\\' - 1}, {'\\' + 1, unicode.MaxRune}} {
		seqs = runeBytes(seqs, max(lo, raw[0]), min(hi, raw[1]))
	}
	return seqs
}

// jsonRune is the spelling of one code point.
func jsonRune(r rune) string {
	switch r {
	case '"':
		return `\"`
	case '\\':
		return `\\`
	case '\b':
		return `\b`
	case '\f':
		return `\f`
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	if r < ' ' {
		return fmt.Sprintf(`\u%04x`, r)
	}
	return string(r)
}

// jsonText is the content of the JSON string for s.
func jsonText(s string) string {
	out := make([]byte, 0, len(s))
	for _, r := range s {
		out = append(out, jsonRune(r)...)
	}
	return string(out)
}
