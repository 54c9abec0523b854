package sched

import (
	"cmp"
	"slices"

	"github.com/hotpath-go/hotpath/kvcache"
)

// build turns the choice into items: it reserves blocks, and moves what is scheduled on.
func (s *Scheduler) build(p *Plan, out choice) {
	b := builder{s: s, p: p, size: s.cache.BlockSize(), step: s.steps + 1, left: s.cfg.StepSpans}
	// Rows that share leading blocks stand together, so that those are read once.
	order := s.scratch.order[:0]
	for i, n := range out.rows {
		if n > 0 {
			order = append(order, place{s.scratch.picked[i].leading(), i})
		}
	}
	s.scratch.order = order
	slices.SortStableFunc(order, func(a, b place) int { return cmp.Compare(a.block, b.block) })
	var shape Shape
	streamed := map[int]bool{} // groups whose context is read already
	for _, o := range order {
		i, n := o.index, out.rows[o.index]
		j, c := s.scratch.picked[i], &s.scratch.candidates[i]
		weight := promptWeight
		if c.class == decode {
			weight = decodeWeight
		}
		ran := 0
		if j.seq != nil && (j.scheduled < len(j.tokens) || !j.isDecision()) {
			ran = b.history(j, n)
		} else {
			ran = b.branches(j, n, nil)
		}
		j.account.served += float64(ran) * weight
		if ran > 0 {
			shape = shape.Add(chunk(c.context, ran, !streamed[c.group]))
			streamed[c.group] = c.group != 0
			if c.class == decode {
				shape.Decodes += ran
			}
		}
	}
	if len(p.Items) == 0 {
		return
	}
	for _, f := range s.forked {
		if f.job.stage == running {
			p.StateMoves = append(p.StateMoves, f.move)
			p.forked = append(p.forked, f.job)
		}
	}
	s.forked = s.forked[:0]
	s.steps++
	s.flight++
	p.Step, p.underWay = s.steps, true
	b.number()
	p.Shape = shape
	p.Predicted = s.cfg.Cost.Time(p.Shape)
}

// place is a candidate's place among the items.
type place struct {
	block kvcache.BlockID
	index int
}

// leading returns the first block that the job's rows attend to.
func (j *Job) leading() kvcache.BlockID {
	if blocks := j.state(); len(blocks) > 0 {
		return blocks[0]
	}
	return kvcache.NoBlock
}

type builder struct {
	s    *Scheduler
	p    *Plan
	size int
	step uint64
	left int // spans
}

// segment and span hand out one-element slices of the plan's arrays: most items have one of each.
func (b *builder) segment(s Segment) []Segment {
	b.p.segs = push(b.p.segs, s)
	return b.p.segs[len(b.p.segs)-1 : len(b.p.segs) : len(b.p.segs)]
}

func (b *builder) span(s Span) []Span {
	b.p.spans = push(b.p.spans, s)
	return b.p.spans[len(b.p.spans)-1 : len(b.p.spans) : len(b.p.spans)]
}

// push appends without moving what was handed out: a full array stays with its holders.
func push[T any](to []T, v T) []T {
	if len(to) == cap(to) {
		to = make([]T, 0, max(64, 2*cap(to)))
	}
	return append(to, v)
}

// history runs up to n rows of a sequence; a decision's spans follow where its state ends here.
func (b *builder) history(j *Job, n int) int {
	if b.left == 0 {
		return 0
	}
	b.left--
	from := j.scheduled
	known := len(j.tokens)
	to := from + n
	if j.isDecision() {
		to = min(to, known)
	}
	to = j.seq.NextStop(from, to)
	move, moved, err := j.seq.Reserve(to)
	if err != nil {
		return 0 // the choice counted the blocks; someone else took them since: the next step tries again
	}
	if moved {
		b.p.Copies = append(b.p.Copies, move)
	}
	span := Span{Index: -1, From: from, To: to, Pos: from, Last: to >= known}
	if to <= known {
		span.Tokens = j.tokens[from:to:to]
	} else { // the choice of the job's last row in the step before
		span.Tokens = []int32{int32(-1 - j.lastRow)}
	}
	table := j.seq.Blocks()
	span.Dst = table[from/b.size : kvcache.BlocksFor(0, to, b.size)]
	item := Item{Job: j}
	if from > 0 {
		item.Context = b.segment(Segment{Blocks: table[:kvcache.BlocksFor(0, from, b.size)], Len: from})
	}
	item.State, span.Save = j.seq.States(to)
	item.Spans = b.span(span)
	j.Usage.Recomputed += max(0, min(to, j.high)-from)
	j.scheduled, j.high = to, max(j.high, to)
	ran := to - from
	if j.isDecision() && to == known && n > ran {
		open := item
		ran += b.branches(j, n-ran, &open)
		item = open
	}
	b.add(item)
	return ran
}

// placed says where, in this step, a branch's end stands.
type placed struct{ item, span int }

// branches runs up to n rows of a decision's spans. Those that continue what this step computes
// join its item; others that start from the same finished rows share an item. open is the item
// that ends with the state, or nil when the state was computed before.
func (b *builder) branches(j *Job, n int, open *Item) int {
	var items []*Item
	ends := map[int]placed{} // by branch
	starts := map[int]int{}  // items by the branch they continue
	if open != nil {
		items = append(items, open)
		ends[0] = placed{}
	}
	ran := 0
	for i := range j.branches {
		br := &j.branches[i]
		want := min(len(br.tokens)-br.scheduled, n-ran)
		if want <= 0 {
			continue
		}
		if b.left == 0 {
			break
		}
		if br.parent >= 0 {
			if up := &j.branches[br.parent]; up.scheduled < len(up.tokens) {
				continue // its parent is still on the way
			}
		}
		save, ok := j.saveFor(i, br.scheduled+want == len(br.tokens))
		if !ok {
			continue
		}
		at, within := placed{span: -1}, false
		if br.scheduled == 0 {
			if end, ok := ends[br.parent]; ok {
				at, within = end, true
			}
		}
		if !within {
			key := br.parent
			if br.scheduled > 0 {
				key = -2 - i // its own rows are context: nobody else's item
			}
			k, ok := starts[key]
			if !ok {
				k = len(items)
				starts[key] = k
				items = append(items, &Item{Job: j, State: j.stateBefore(i), Context: j.context(i, b.size)})
			}
			at = placed{item: k, span: -1}
		}
		item := items[at.item]
		from, to := br.scheduled, br.scheduled+want
		pos := br.pos + from
		item.Spans = append(item.Spans, Span{
			Index: i - 1, From: from, To: to, Tokens: br.tokens[from:to:to], Parent: at.span + 1, Pos: pos,
			Dst:  br.blocks[pos/b.size-br.pos/b.size : (pos+want-1)/b.size-br.pos/b.size+1],
			Save: save, Last: to == len(br.tokens),
		})
		if to == len(br.tokens) {
			ends[i] = placed{at.item, len(item.Spans) - 1}
		}
		b.left--
		br.scheduled = to
		j.rowsOf -= want
		ran += want
	}
	for _, item := range items {
		if item != open {
			b.add(*item)
		}
	}
	return ran
}

// context lists what the next rows of branch i attend to: the state, the branches before it, and
// its own earlier rows.
func (j *Job) context(i, size int) []Segment {
	var out []Segment
	blocks, n := j.state(), len(j.tokens)
	if j.hit != nil {
		n = j.hit.Len
	}
	if n > 0 {
		out = append(out, Segment{Blocks: blocks[:kvcache.BlocksFor(0, n, size)], Len: n})
	}
	var chain []int
	for up := j.branches[i].parent; up >= 0; up = j.branches[up].parent {
		chain = append(chain, up)
	}
	slices.Reverse(chain)
	for _, up := range append(chain, i) {
		br := &j.branches[up]
		if rows := br.scheduled; rows > 0 {
			out = append(out, Segment{Blocks: br.blocks[:kvcache.BlocksFor(br.pos, rows, size)], Start: br.pos, Len: rows})
		}
	}
	return out
}

// saveFor returns the state that the rows of branch i are saved to, where the model has recurrent
// state and a later step goes on from them.
func (j *Job) saveFor(i int, ends bool) (save kvcache.StateID, ok bool) {
	cache := j.sched.cache
	if !cache.HasStates() {
		return 0, true
	}
	br := &j.branches[i]
	if ends && j.ExtraScratch == 0 && !slices.ContainsFunc(j.branches, func(o branch) bool { return o.parent == i }) {
		return 0, true
	}
	if br.state == 0 {
		var err error
		if br.state, err = cache.TakeState(); err != nil {
			return 0, false
		}
	}
	return br.state, true
}

// stateBefore returns the recurrent state that the next rows of branch i start from.
func (j *Job) stateBefore(i int) kvcache.StateID {
	br := &j.branches[i]
	switch {
	case br.scheduled > 0:
		return br.state
	case br.parent >= 0 && len(j.branches[br.parent].tokens) > 0:
		return j.branches[br.parent].state
	case j.seq != nil:
		return j.seq.State()
	}
	return j.hit.State
}

func (b *builder) add(item Item) {
	for _, sp := range item.Spans {
		rows := sp.To - sp.From
		b.p.Rows += rows
		item.Job.Usage.Computed += rows
	}
	j := item.Job
	if j.lastStep != b.step {
		j.lastStep = b.step
		j.inFlight++
		j.Usage.Steps++
	}
	b.p.Items = append(b.p.Items, item)
}

// number gives each item its first row's number, in the order of items, spans, tokens.
func (b *builder) number() {
	row := 0
	for i := range b.p.Items {
		item := &b.p.Items[i]
		item.Row = row
		for _, sp := range item.Spans {
			row += len(sp.Tokens)
		}
		item.Job.lastRow = row - 1
	}
}
