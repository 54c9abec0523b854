package cpu

import (
	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/kvcache"
)

// plan is a batch as the forward pass wants it. Its slices are reused from step to step.
type plan struct {
	spans   []span
	tokens  []int32
	tiles   []tile      // of all contexts and spans; span.tiles are views by index
	gathers []gather    // tiles whose positions come from several blocks
	shared  []int32     // for each span and partition, the first span with the same tiles there
	order   []int32     // spans, those that share their beginning side by side
	runs    []run       // rows to attend, in bundles
	bundles []bundle    // rows that one task attends
	wants   []wantedRow // wanted outputs, in order
}

// span is a run of rows in the plan.
type span struct {
	first, rows int // rows of the step
	pos, end    int // absolute positions
	tilesFrom   int // tiles[tilesFrom : tilesTo] cover positions 0 to end-1
	tilesTo     int
	sharedFrom  int // of the span's part of shared
	mask        backend.Mask
	dst         []kvcache.BlockID
}

// limit returns how many positions row i of the span attends to, from position 0 on.
func (s *span) limit(i int) int {
	if s.mask == backend.Bidirectional {
		return s.end
	}
	return s.pos + i + 1
}

// tile says where 16 positions lie: in the block of that id, or, from -1 down, in a gather.
type tile int32

// gather names the block of each slot.
type gather [blockSize]kvcache.BlockID

// run is some rows of one span, in a bundle.
type run struct{ span, lo, hi int32 }

// bundle is runs[from:to], rows in all.
type bundle struct{ from, to, rows, partitions int }

// wantedRow is a want and the row of the step it looks at.
type wantedRow struct {
	*backend.Want
	row int
}

// partition is the number of positions whose scores are summed together before they are merged
// with those of the partitions before.
const (
	partition      = 256
	partitionTiles = partition / blockSize
)

func partitions(positions int) int { return (positions + partition - 1) / partition }

func (p *plan) reset() {
	p.spans, p.tokens, p.tiles, p.gathers = p.spans[:0], p.tokens[:0], p.tiles[:0], p.gathers[:0]
	p.shared, p.order, p.runs, p.bundles, p.wants = p.shared[:0], p.order[:0], p.runs[:0], p.bundles[:0], p.wants[:0]
}

// build fills the plan from a batch that was checked.
func (p *plan) build(b *backend.Batch) {
	p.reset()
	for i := range b.Seqs {
		p.seq(&b.Seqs[i])
	}
	p.share()
}

func (p *plan) seq(s *backend.Seq) {
	from := len(p.tiles)
	for i := range s.Context {
		g := &s.Context[i]
		p.extend(from, g.Start, g.Len, g.Blocks)
	}
	to, base := len(p.tiles), len(p.spans)
	for i := range s.Spans {
		sp := &s.Spans[i]
		if sp.Parent == 0 {
			p.span(sp, from, to)
		} else {
			parent := &p.spans[base+sp.Parent-1]
			p.span(sp, parent.tilesFrom, parent.tilesTo)
		}
	}
}

// span adds a span that continues tiles from:to.
func (p *plan) span(s *backend.Span, from, to int) {
	n, first, at := len(s.Tokens), len(p.tokens), len(p.tiles)
	for i := range s.Want {
		w := &s.Want[i]
		p.wants = append(p.wants, wantedRow{w, first + w.Row})
	}
	p.tiles = append(p.tiles, p.tiles[from:to]...)
	p.extend(at, s.Pos, n, s.Dst)
	p.tokens = append(p.tokens, s.Tokens...)
	p.spans = append(p.spans, span{
		first: first, rows: n, pos: s.Pos, end: s.Pos + n,
		tilesFrom: at, tilesTo: len(p.tiles), mask: s.Mask, dst: s.Dst,
	})
}

// extend adds n positions from start on to the tiles from index from on, which end at start.
func (p *plan) extend(from, start, n int, blocks []kvcache.BlockID) {
	for t := start / blockSize; n > 0 && t <= (start+n-1)/blockSize; t++ {
		block := blocks[t-start/blockSize]
		if at := from + t; at == len(p.tiles) {
			p.tiles = append(p.tiles, tile(block))
		} else {
			p.tiles[at] = p.mixed(p.tiles[at], start%blockSize, block)
		}
	}
}

// mixed returns a tile whose slots below slot are those of t, and the others of a block.
func (p *plan) mixed(t tile, slot int, block kvcache.BlockID) tile {
	if t == tile(block) {
		return t
	}
	var g gather
	for i := range g {
		switch {
		case i >= slot:
			g[i] = block
		case t >= 0:
			g[i] = kvcache.BlockID(t)
		default:
			g[i] = p.gathers[-1-t][i]
		}
	}
	p.gathers = append(p.gathers, g)
	return tile(-len(p.gathers))
}

// share finds, for each span and partition, the first span with the same tiles there.
func (p *plan) share() {
	for i := range p.spans {
		s := &p.spans[i]
		s.sharedFrom = len(p.shared)
		for part := range partitions(s.end) {
			p.shared = append(p.shared, p.firstLike(i, part))
		}
		p.order = append(p.order, int32(i))
	}
	// Insertion keeps equal ones in order; there are few spans.
	key := func(i int32) int32 { return p.shared[p.spans[i].sharedFrom] }
	for i := 1; i < len(p.order); i++ {
		for j := i; j > 0 && key(p.order[j]) < key(p.order[j-1]); j-- {
			p.order[j], p.order[j-1] = p.order[j-1], p.order[j]
		}
	}
}

func (p *plan) firstLike(i, part int) int32 {
	mine := p.part(i, part)
	for j := range i {
		if partitions(p.spans[j].end) <= part || int(p.shared[p.spans[j].sharedFrom+part]) != j {
			continue
		}
		other := p.part(j, part)
		if len(other) != len(mine) || other[0] != mine[0] {
			continue
		}
		same := true
		for k := range mine {
			same = same && other[k] == mine[k]
		}
		if same {
			return int32(j)
		}
	}
	return int32(i)
}

// part returns the tiles of a partition of a span.
func (p *plan) part(i, part int) []tile {
	s := &p.spans[i]
	from := s.tilesFrom + part*partitionTiles
	return p.tiles[from:min(from+partitionTiles, s.tilesTo)]
}

// bundle cuts the rows into bundles of at most size rows.
func (p *plan) bundle(size int) {
	p.runs, p.bundles = p.runs[:0], p.bundles[:0]
	b := bundle{}
	flush := func() {
		if b.rows > 0 {
			b.to = len(p.runs)
			p.bundles = append(p.bundles, b)
			b = bundle{from: b.to}
		}
	}
	for _, i := range p.order {
		s := &p.spans[i]
		for lo := 0; lo < s.rows; {
			n := min(s.rows-lo, size-b.rows)
			p.runs = append(p.runs, run{i, int32(lo), int32(lo + n)})
			b.rows += n
			b.partitions = max(b.partitions, partitions(s.limit(lo+n-1)))
			lo += n
			if b.rows == size {
				flush()
			}
		}
	}
	flush()
}
