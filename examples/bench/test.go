package main

import (
	"fmt"

	"github.com/hotpath-go/hotpath/kvcache"
)

// kind is what a test does.
type kind uint8

const (
	prefill kind = iota
	decoding
	deciding
	cold
	loading
)

const (
	suffix    = 40  // tokens of a decision's question
	chunk     = 512 // rows of a prefill step
	blockSize = 16
	decodes   = 8 // steps of one decoding sample
)

// test is one parsed entry of -tests.
type test struct {
	name     string
	kind     kind
	context  int // hot positions before the rows
	rows     int // of each sequence or span
	parallel int // sequences or spans of a step
}

// parse reads the name of a test.
func parse(name string) (test, error) {
	t := test{name: name, parallel: 1}
	var rest string
	scan := func(format string, values ...any) bool {
		n, _ := fmt.Sscanf(name+" .", format+" %s", append(values, &rest)...)
		return n == len(values)+1 && rest == "."
	}
	switch {
	case name == "load":
		t.kind = loading
	case scan("pp%d", &t.rows):
		t.kind = prefill
	case scan("tg%dx%d", &t.context, &t.parallel), scan("tg%d", &t.context):
		t.kind, t.rows = decoding, 1
	case scan("warm%d", &t.context):
		t.kind, t.rows = deciding, suffix
	case scan("w%dx%dp%d", &t.parallel, &t.rows, &t.context):
		t.kind = deciding
	case scan("cold%d", &t.rows):
		t.kind = cold
		t.rows += suffix
	default:
		return t, fmt.Errorf("-tests: unknown test %q", name)
	}
	const most = 1 << 20
	if t.kind != loading && (t.rows < 1 || t.parallel < 1 || t.context < 0 || t.rows > most || t.parallel > 4096 || t.context > most) {
		return t, fmt.Errorf("-tests: %q: counts must be 1 to %d", name, most)
	}
	return t, nil
}

// tokens returns how many tokens a sample makes, 0 for tests that are given in seconds.
func (t test) tokens() int {
	switch t.kind {
	case prefill:
		return t.rows
	case decoding:
		return t.parallel * decodes
	}
	return 0
}

// shape is what tests need of a runner.
type shape struct {
	positions int // of the longest sequence
	spans     int // of a step
	poolWant  int // blocks
	scratched int // blocks
	stepRows  int
}

func (t test) shape() shape {
	s := shape{positions: t.context + t.rows + decodes, spans: t.parallel}
	s.poolWant = kvcache.BlocksFor(0, t.context, blockSize)
	each := kvcache.BlocksFor(t.context, t.rows+decodes, blockSize)
	switch t.kind {
	case decoding:
		s.poolWant *= t.parallel // sequences of their own, as a peer has them
		s.poolWant += each * t.parallel
	case deciding:
		s.scratched = each * t.parallel
		s.stepRows = t.rows * t.parallel
	default:
		s.poolWant = each
	}
	return s
}

// cover makes s large enough for o as well.
func (s *shape) cover(o shape) {
	s.positions = max(s.positions, o.positions)
	s.spans = max(s.spans, o.spans)
	s.poolWant = max(s.poolWant, o.poolWant)
	s.scratched = max(s.scratched, o.scratched)
	s.stepRows = max(s.stepRows, o.stepRows)
}

func (s *shape) pool() int    { return max(s.poolWant, 1) }
func (s *shape) scratch() int { return max(s.scratched, 1) }
func (s *shape) rows() int    { return max(s.stepRows, chunk) }
