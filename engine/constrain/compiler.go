package constrain

import (
	"container/list"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync"
)

// Options are limits. Zero values stand for the defaults.
type Options struct {
	MaxStates int // of a grammar's automata; default 131,072
	MaxDepth  int // levels of nesting that a text may have; default 256
	Grammars  int // kept by the compiler, least recently used go first; default 32
}

// Compiler compiles constraints for one vocabulary and keeps the grammars. It is safe for
// concurrent use: the same constraint asked for twice at once is compiled once.
type Compiler struct {
	vocab [][]byte
	trie  *trie
	text  *textOutcomes
	o     Options

	mu    sync.Mutex
	known map[[sha256.Size]byte]*list.Element
	order list.List // of *entry, most recently used first
}

type entry struct {
	key  [sha256.Size]byte
	once sync.Once
	g    *Grammar
	err  error
}

// NewCompiler returns a compiler for a vocabulary, whose slices it keeps and which must not
// change. It fails with ErrVocab for one without tokens or with end tokens outside it.
func NewCompiler(v Vocab, o Options) (*Compiler, error) {
	t, err := newTrie(v)
	if err != nil {
		return nil, err
	}
	text, err := stringStates()
	if err != nil {
		return nil, err
	}
	for _, d := range []struct {
		name string
		v    *int
		or   int
	}{{"states", &o.MaxStates, 1 << 17}, {"depth", &o.MaxDepth, 256}, {"grammars", &o.Grammars, 32}} {
		if *d.v < 0 {
			return nil, fmt.Errorf("%w: option %s %d, want at least 0", ErrLimit, d.name, *d.v)
		}
		if *d.v == 0 {
			*d.v = d.or
		}
	}
	return &Compiler{
		vocab: v.Tokens, trie: t, o: o, known: map[[sha256.Size]byte]*list.Element{},
		text: &textOutcomes{states: text, found: make([]*textOutcome, len(text.states))},
	}, nil
}

// Compile returns the grammar of a constraint. Errors wrap ErrSpec, ErrUnsupported, ErrRecursion,
// ErrEmpty or ErrLimit.
func (c *Compiler) Compile(s Spec) (*Grammar, error) {
	key := sha256.Sum256(s.append(nil))
	c.mu.Lock()
	at, ok := c.known[key]
	if ok {
		c.order.MoveToFront(at)
	} else {
		at = c.order.PushFront(&entry{key: key})
		c.known[key] = at
		if c.order.Len() > c.o.Grammars {
			old := c.order.Remove(c.order.Back()).(*entry)
			delete(c.known, old.key)
		}
	}
	c.mu.Unlock()
	e := at.Value.(*entry)
	e.once.Do(func() { e.g, e.err = c.compile(s) })
	return e.g, e.err
}

func (c *Compiler) compile(s Spec) (*Grammar, error) {
	b := newBuilder(c.o.MaxStates, c.text.states)
	start, err := s.build(b, 0)
	if err == nil {
		start, err = b.finish(start, c.o.MaxDepth)
	}
	if err != nil {
		return nil, err
	}
	return &Grammar{trie: c.trie, text: c.text, vocab: c.vocab, states: b.states, rules: b.rules, start: start, depth: int32(c.o.MaxDepth)}, nil
}

// Whitespace says which white space JSON texts may hold outside of strings.
type Whitespace uint8

const (
	// WhitespaceNone: none at all, the shortest form.
	WhitespaceNone Whitespace = iota
	// WhitespaceSpaces: one space, or none, behind each comma and colon.
	WhitespaceSpaces
	// WhitespaceAny: up to 32 characters of white space wherever JSON allows it inside the value.
	WhitespaceAny
)

// Spec is a constraint: what the whole text must be. Make one with JSONSchema, Arguments, Regexp,
// Choice, Literal, Sequence or OneOf.
type Spec struct {
	kind   specKind
	space  Whitespace
	values Values
	texts  []string
	parts  []Spec
}

type specKind uint8

const (
	specNone specKind = iota
	specSchema
	specRegexp
	specChoice
	specSequence
	specOneOf
	specArguments
)

// JSONSchema constrains to JSON values that satisfy a schema; see the package comment for the
// supported subset.
func JSONSchema(schema []byte, space Whitespace) Spec {
	return Spec{kind: specSchema, space: space, texts: []string{string(schema)}}
}

// Regexp constrains to texts that an expression in the syntax of Go's regexp package matches as
// a whole. Word boundaries and multi-line anchors are not supported.
func Regexp(expr string) Spec { return Spec{kind: specRegexp, texts: []string{expr}} }

// Choice constrains to one of the texts, of which there must be at least one.
func Choice(texts ...string) Spec { return Spec{kind: specChoice, texts: texts} }

// Literal constrains to one text, for use in a Sequence.
func Literal(text string) Spec { return Choice(text) }

// Sequence constrains to texts that follow each other, such as a marker and a JSON value.
func Sequence(parts ...Spec) Spec { return Spec{kind: specSequence, parts: parts} }

// OneOf constrains to any of the constraints, such as the calls of several tools.
func OneOf(parts ...Spec) Spec { return Spec{kind: specOneOf, parts: parts} }

// append writes the constraint so that no two different ones are written alike.
func (s Spec) append(dst []byte) []byte {
	dst = append(dst, byte(s.kind), byte(s.space), byte(s.values))
	dst = binary.AppendUvarint(dst, uint64(len(s.texts)))
	for _, t := range s.texts {
		dst = append(binary.AppendUvarint(dst, uint64(len(t))), t...)
	}
	dst = binary.AppendUvarint(dst, uint64(len(s.parts)))
	for _, p := range s.parts {
		dst = p.append(dst)
	}
	return dst
}

// build adds the constraint's rules and returns the first.
func (s Spec) build(b *builder, depth int) (int32, error) {
	if depth > maxNesting {
		return 0, fmt.Errorf("%w: constraints nested deeper than %d levels", ErrLimit, maxNesting)
	}
	switch s.kind {
	case specSchema:
		if s.space > WhitespaceAny {
			return 0, fmt.Errorf("%w: white space %d, want at most %d", ErrSpec, s.space, WhitespaceAny)
		}
		return compileSchema(b, []byte(s.texts[0]), s.space)
	case specArguments:
		return compileArguments(b, []byte(s.texts[0]), s.notation())
	case specRegexp:
		return b.shared("regexp "+s.texts[0], func() (*dfa, error) { return pattern(s.texts[0], false, runeBytes, b.room()) })
	case specChoice:
		if len(s.texts) == 0 {
			return 0, fmt.Errorf("%w: a choice of nothing", ErrSpec)
		}
		d, err := words(s.texts, b.room())
		if err != nil {
			return 0, err
		}
		r := b.reserve()
		return r, b.add(r, d)
	case specSequence, specOneOf:
		if len(s.parts) == 0 {
			return 0, fmt.Errorf("%w: no parts", ErrSpec)
		}
		n := b.nfa()
		start, accept := n.node(), n.node()
		at := start
		for i, p := range s.parts {
			r, err := p.build(b, depth+1)
			if err != nil {
				return 0, fmt.Errorf("part %d: %w", i, err)
			}
			if s.kind == specOneOf {
				n.call(start, accept, r)
				continue
			}
			to := n.node()
			n.call(at, to, r)
			at = to
		}
		if s.kind == specSequence {
			n.empty(at, accept)
		}
		r := b.reserve()
		return r, b.define(r, n, start, accept)
	}
	return 0, fmt.Errorf("%w: an empty constraint", ErrSpec)
}
