package backendtest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/sample"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model/arch"
)

// device is the part of a fake Runner that its own goroutine owns.
type device struct {
	fake     *Fake
	program  *arch.Program
	size     int // positions in a block
	rowBytes int
	slots    []slot         // of all blocks
	nan      map[int32]bool // tokens whose embedding is not a number
	closing  chan struct{}

	sampler sample.Sampler
	logits  []float32
	choices map[int]int32 // of the step before, by row
}

// slot is one position of a block.
type slot struct {
	state      state
	token, pos int32
	prev, hash uint64 // of the history before and up to the token
	step       uint64 // that wrote it
	read       uint64 // last step whose context held it
}

type state uint8

const (
	empty state = iota
	written
	failed // by its step; nobody may read it
)

// slotBytes is what a slot takes in an export.
const slotBytes = 24

// mix is the finaliser of splitmix64: a bijection whose every output bit depends on every input bit.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// origin is the hash of the empty history.
const origin = 0x243f6a8885a308d3

func next(hash uint64, pos, token int32) uint64 {
	return mix(hash ^ mix(uint64(uint32(pos))<<32|uint64(uint32(token))))
}

// FakeLogits fills logits with what a Fake computes for the last token of a history.
func FakeLogits(history []int32, logits []float32) {
	h := uint64(origin)
	for i, id := range history {
		h = next(h, int32(i), id)
	}
	spread(h, logits)
}

// spread fills dst from a hash with values from -8 to 8.
func spread(hash uint64, dst []float32) {
	for i := range dst {
		dst[i] = float32(int64(mix(hash+uint64(i)))>>40) / (1 << 20)
	}
}

// index returns the slot of a position in blocks of which the first holds start.
func (d *device) index(blocks []kvcache.BlockID, start, pos int) int {
	return int(blocks[pos/d.size-start/d.size])*d.size + pos%d.size
}

// trail is a point in a tree of spans.
type trail struct {
	hash   uint64
	tokens []int32
	lost   bool // follows a choice that was not made, or a row whose step failed
}

// run executes a step. Whatever it returns, slots and choices are as a failed or a finished step
// leaves them.
func (d *device) run(s *fakeStep) (err error) {
	choices := map[int]int32{}
	defer func() {
		if p := recover(); p != nil {
			s.panicked = p
			err = fmt.Errorf("backendtest: panic: %v", p)
		}
		if err != nil {
			d.fail(s)
			choices = nil
		}
		d.choices = choices
	}()
	if err := d.fake.hook(Call{Op: OpStep, Batch: s.batch}); err != nil {
		return err
	}
	if d.fake.Latency > 0 {
		timer := time.NewTimer(d.fake.Latency)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-d.closing:
			return backend.ErrClosed
		}
	}
	s.out.Resize(s.batch.Wants())
	results := s.out.Results
	row := 0
	for i := range s.batch.Seqs {
		seq := &s.batch.Seqs[i]
		context, err := d.context(s, seq)
		if err != nil {
			return fmt.Errorf("seq %d: %w", i, err)
		}
		trails := make([]trail, len(seq.Spans))
		for j := range seq.Spans {
			sp := &seq.Spans[j]
			from := context
			if sp.Parent > 0 {
				from = trails[sp.Parent-1]
			}
			if trails[j], err = d.span(s, sp, from, results[:len(sp.Want)], choices, row); err != nil {
				return fmt.Errorf("seq %d: span %d: %w", i, j, err)
			}
			results = results[len(sp.Want):]
			row += len(sp.Tokens)
		}
	}
	if digest(s.batch) != s.digest {
		return d.fake.problem(fmt.Errorf("step %d: the batch changed while it ran", s.number))
	}
	return nil
}

// context walks the rows that a sequence's spans attend to.
func (d *device) context(s *fakeStep, seq *backend.Seq) (trail, error) {
	t := trail{hash: origin}
	for i := range seq.Context {
		g := &seq.Context[i]
		for pos := g.Start; pos < g.Start+g.Len; pos++ {
			c := &d.slots[d.index(g.Blocks, g.Start, pos)]
			c.read = s.number
			if c.state == failed && c.step >= s.unwaited {
				t.lost = true // whoever submitted the step could not know
			}
			if t.lost {
				continue
			}
			if err := d.readable(c, s); err != nil {
				return t, fmt.Errorf("segment %d: position %d in block %d: %w", i, pos, g.Blocks[pos/d.size-g.Start/d.size], err)
			}
			if int(c.pos) != pos || c.prev != t.hash {
				return t, d.fake.problem(fmt.Errorf("%w: segment %d: block %d holds position %d with token %d, which does not continue %d tokens of the context",
					backend.ErrBatch, i, g.Blocks[pos/d.size-g.Start/d.size], c.pos, c.token, pos))
			}
			t.hash = c.hash
			t.tokens = append(t.tokens, c.token)
		}
	}
	return t, nil
}

// readable says why a slot may not be read by a step.
func (d *device) readable(c *slot, s *fakeStep) error {
	switch {
	case c.state == empty:
		return d.fake.problem(fmt.Errorf("%w: never written", backend.ErrBatch))
	case c.state == failed:
		return d.fake.problem(fmt.Errorf("%w: written by step %d, which failed", backend.ErrBatch, c.step))
	case c.step == s.number:
		return d.fake.problem(fmt.Errorf("%w: written by the same step", backend.ErrBatch))
	}
	return nil
}

// span writes the rows of a span and fills the results of its wants. first is the number of its
// first row in the step.
func (d *device) span(s *fakeStep, sp *backend.Span, t trail, results []backend.Result, choices map[int]int32, first int) (trail, error) {
	t.tokens = t.tokens[:len(t.tokens):len(t.tokens)] // siblings must not share what follows
	want := 0
	for i, token := range sp.Tokens {
		if token < 0 {
			var ok bool
			if token, ok = d.choices[-1-int(token)]; !ok {
				t.lost = true
			}
		}
		pos := sp.Pos + i
		at := d.index(sp.Dst, sp.Pos, pos)
		c := &d.slots[at]
		switch s.number {
		case c.step:
			return t, d.fake.problem(fmt.Errorf("%w: position %d: its slot is written twice", backend.ErrBatch, pos))
		case c.read:
			return t, d.fake.problem(fmt.Errorf("%w: position %d: its slot is read by the same step", backend.ErrBatch, pos))
		}
		*c = slot{state: written, token: token, pos: int32(pos), prev: t.hash, hash: next(t.hash, int32(pos), token), step: s.number}
		s.rows = append(s.rows, at)
		if t.lost {
			c.state = failed
		}
		t.hash = c.hash
		t.tokens = append(t.tokens, token)
		for ; want < len(sp.Want) && sp.Want[want].Row == i; want++ {
			d.result(&sp.Want[want], &results[want], t)
			if sp.Want[want].Sample != nil && results[want].Err == nil {
				choices[first+i] = results[want].Choice.Token
			}
		}
	}
	return t, nil
}

func (d *device) result(w *backend.Want, r *backend.Result, t trail) {
	if t.lost {
		r.Reset()
		r.Err = errors.New("backendtest: the row follows one that was not computed, or a choice that was not made")
		return
	}
	if len(d.logits) != d.program.Vocab {
		d.logits = make([]float32, d.program.Vocab)
	}
	spread(t.hash, d.logits)
	if len(d.nan) > 0 && slices.ContainsFunc(t.tokens, func(id int32) bool { return d.nan[id] }) {
		for i := range d.logits {
			d.logits[i] = float32(math.NaN())
		}
	}
	if d.fake.Logits != nil {
		d.fake.Logits(t.tokens, d.logits)
	}
	r.Fill(w, d.logits, &d.sampler)
	if w.Hidden && r.Err == nil {
		r.Hidden = append(r.Hidden, make([]float32, d.program.Width)...)
		spread(^t.hash, r.Hidden)
	}
}

// fail marks the rows of a step that is still running so that nobody reads them.
func (d *device) fail(s *fakeStep) {
	for i := range s.batch.Seqs {
		for j := range s.batch.Seqs[i].Spans {
			sp := &s.batch.Seqs[i].Spans[j]
			for pos := sp.Pos; pos < sp.Pos+len(sp.Tokens); pos++ {
				d.slots[d.index(sp.Dst, sp.Pos, pos)] = slot{state: failed, step: s.number}
			}
		}
	}
}

// forget is fail for a step that is over: it leaves alone what later steps have written.
func (d *device) forget(rows []int, step uint64) {
	for _, i := range rows {
		if d.slots[i].step == step {
			d.slots[i] = slot{state: failed, step: step}
		}
	}
}

func (d *device) copy(moves []backend.Move) error {
	for _, m := range moves {
		from, to := d.slots[int(m.From)*d.size:], d.slots[int(m.To)*d.size:]
		for i := m.Start; i < m.Start+m.Rows; i++ {
			if from[i].state != written {
				return d.fake.problem(fmt.Errorf("%w: move of row %d from block %d: never written, or by a step that failed", backend.ErrBatch, i, m.From))
			}
		}
		copy(to[m.Start:m.Start+m.Rows], from[m.Start:])
	}
	return nil
}

func (d *device) export(block kvcache.BlockID, rows int, dst []byte) (int, error) {
	for i, c := range d.slots[int(block)*d.size:][:rows] {
		if c.state != written {
			return 0, d.fake.problem(fmt.Errorf("%w: export of row %d of block %d: never written, or by a step that failed", backend.ErrBatch, i, block))
		}
		row := dst[i*d.rowBytes:][:d.rowBytes]
		binary.LittleEndian.PutUint32(row, uint32(c.pos))
		binary.LittleEndian.PutUint32(row[4:], uint32(c.token))
		binary.LittleEndian.PutUint64(row[8:], c.prev)
		binary.LittleEndian.PutUint64(row[16:], c.hash)
		clear(row[slotBytes:])
	}
	return rows * d.rowBytes, nil
}

// load is the inverse of export. Bytes that no export wrote leave an empty slot.
func (d *device) load(block kvcache.BlockID, rows int, src []byte) {
	for i := range rows {
		row := src[i*d.rowBytes:]
		c := slot{
			state: written,
			pos:   int32(binary.LittleEndian.Uint32(row)),
			token: int32(binary.LittleEndian.Uint32(row[4:])),
			prev:  binary.LittleEndian.Uint64(row[8:]),
			hash:  binary.LittleEndian.Uint64(row[16:]),
		}
		if c.hash != next(c.prev, c.pos, c.token) || int(c.pos)%d.size != i {
			c = slot{}
		}
		d.slots[int(block)*d.size+i] = c
	}
}
