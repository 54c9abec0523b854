package cpu

import (
	"math"

	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model/arch"
)

// Attention of a bundle of rows to one head of keys and values. Positions are taken in fixed
// partitions: within one, scores, their softmax and the weighted sum of the values; partitions are
// merged in order. Rows that have a partition's tiles in common are taken together.

// attendJob computes a layer's attention. A task is a bundle, a head of keys and values and, where
// there are too few of those to go round, some of the partitions: parts is then how many, and
// partial results are merged afterwards by mergeJob.
type attendJob struct {
	r     *Runner
	a     *arch.Attention
	l     *layerCache
	q     []float32 // rows x Heads*HeadDim
	out   []float32 // the same
	parts int       // partitions in a task; 0: all of them

	partials []float32 // state of each bundle row, query head and partition
	offsets  []int     // of each bundle in partials
}

// state is the running softmax of query rows: weighted sums over their values, the largest score so
// far, and the sum of the weights.
type state struct {
	sums     []float32 // rows x padded
	top, sum []float32
}

// attendScratch is one worker's memory.
type attendScratch struct {
	q, weights  []float32
	total, part state
	tiles       [2][partitionTiles]*byte // of keys and of values
}

func (s *state) reset(rows, dim int) {
	s.sums = grown(s.sums, rows*dim)
	s.top, s.sum = grown(s.top, rows), grown(s.sum, rows)
}

// attend computes out from q over the cached keys and values of a layer.
func (r *Runner) attend(a *arch.Attention, l *layerCache, q, out []float32) error {
	j := &r.jobs.attend
	j.a, j.l, j.q, j.out, j.parts = a, l, q, out, 0
	if err := r.gather(l); err != nil {
		return err
	}
	p := &r.plan
	enough := 2 * r.caps.Workers
	size := min(maxBundle, max(minBundle, (len(p.tokens)*l.heads+enough-1)/enough))
	p.bundle(size)
	tasks, most := len(p.bundles)*l.heads, 0
	for i := range p.bundles {
		most = max(most, p.bundles[i].partitions)
	}
	if tasks >= enough || most == 1 {
		return r.workers.Run(j, tasks)
	}
	chunks := min(most, (enough+tasks-1)/tasks)
	j.parts = (most + chunks - 1) / chunks
	chunks = (most + j.parts - 1) / j.parts
	group, width := a.Heads/a.KVHeads, l.padded+2
	j.offsets = j.offsets[:0]
	total := 0
	for i := range p.bundles {
		j.offsets = append(j.offsets, total)
		total += p.bundles[i].rows * group * l.heads * p.bundles[i].partitions * width
	}
	j.partials = grown(j.partials, total)
	if err := r.workers.Run(j, tasks*chunks); err != nil {
		return err
	}
	m := &r.jobs.merge
	m.attendJob = j
	return r.workers.Run(m, tasks)
}

const (
	maxBundle = 64 // rows: their state stays in cache, and keys are read once for all of them
	minBundle = 8
)

func (j *attendJob) Do(worker, task int) {
	tasks := len(j.r.plan.bundles) * j.l.heads
	chunk := task / tasks
	task %= tasks
	b, head := task/j.l.heads, task%j.l.heads
	bundle := &j.r.plan.bundles[b]
	from, to := 0, bundle.partitions
	if j.parts > 0 {
		from, to = chunk*j.parts, min((chunk+1)*j.parts, to)
	}
	if from >= to {
		return
	}
	s := &j.r.scratch[worker]
	group := j.a.Heads / j.a.KVHeads
	rows := bundle.rows * group
	j.loadQueries(s, bundle, head)
	if j.parts == 0 {
		s.total.reset(rows, j.l.padded)
	}
	s.part.reset(rows, j.l.padded)
	for p := from; p < to; p++ {
		j.partition(s, bundle, head, p)
		switch {
		case j.parts > 0:
			j.keep(&s.part, b, head, p)
		case p == 0:
			s.total, s.part = s.part, s.total
			s.part.reset(rows, j.l.padded)
		default:
			j.r.k.merge(&s.total, &s.part, rows, j.l.padded)
		}
	}
	if j.parts == 0 {
		j.finish(&s.total, bundle, head)
	}
}

// each calls f with the number of the first of a row's queries in the bundle, and with the row.
func (j *attendJob) each(b *bundle, f func(query, row int)) {
	group, query := j.a.Heads/j.a.KVHeads, 0
	for _, run := range j.r.plan.runs[b.from:b.to] {
		first := j.r.plan.spans[run.span].first
		for i := run.lo; i < run.hi; i++ {
			f(query, first+int(i))
			query += group
		}
	}
}

// loadQueries copies the queries of the heads that read one head of keys, padded.
func (j *attendJob) loadQueries(s *attendScratch, b *bundle, head int) {
	group, dim, padded := j.a.Heads/j.a.KVHeads, j.a.HeadDim, j.l.padded
	s.q = grown(s.q, b.rows*group*padded)
	j.each(b, func(query, row int) {
		for g := range group {
			dst := s.q[(query+g)*padded:][:padded]
			clear(dst[copy(dst, j.q[(row*j.a.Heads+head*group+g)*dim:][:dim]):])
		}
	})
}

// partition computes the state of partition p for all queries of a bundle. Queries that see nothing
// of it get an empty state.
func (j *attendJob) partition(s *attendScratch, b *bundle, head, p int) {
	plan := &j.r.plan
	group := j.a.Heads / j.a.KVHeads
	runs := plan.runs[b.from:b.to]
	query := 0
	for i := 0; i < len(runs); {
		// A stretch of runs with the same tiles.
		sp := &plan.spans[runs[i].span]
		if p >= partitions(sp.end) {
			n := int(runs[i].hi-runs[i].lo) * group
			s.part.empty(query, n, j.l.padded)
			query += n
			i++
			continue
		}
		key := plan.shared[sp.sharedFrom+p]
		first := i
		for i++; i < len(runs); i++ {
			next := &plan.spans[runs[i].span]
			if p >= partitions(next.end) || plan.shared[next.sharedFrom+p] != key {
				break
			}
		}
		tiles := plan.part(int(runs[first].span), p)
		for t, id := range tiles {
			s.tiles[0][t], s.tiles[1][t] = j.r.tileAt(j.l, id, head)
		}
		query = j.stretch(s, runs[first:i], query, p)
	}
}

// stretch computes partition p for the queries of runs that share its tiles, from query on, and
// returns the query after them.
func (j *attendJob) stretch(s *attendScratch, runs []run, query, p int) int {
	group := j.a.Heads / j.a.KVHeads
	var seen [maxTileRows]int // positions of the partition that each query sees
	n := 0
	flush := func() {
		if n > 0 {
			j.tile(s, query, seen[:n])
			query += n
			n = 0
		}
	}
	for _, run := range runs {
		sp := &j.r.plan.spans[run.span]
		for i := run.lo; i < run.hi; i++ {
			count := min(partition, sp.limit(int(i))-p*partition)
			for range group {
				if count <= 0 {
					flush()
					s.part.empty(query, 1, j.l.padded)
					query++
					continue
				}
				seen[n] = count
				if n++; n == maxTileRows {
					flush()
				}
			}
		}
	}
	flush()
	return query
}

// tile computes the partition for a few queries.
func (j *attendJob) tile(s *attendScratch, query int, seen []int) {
	k, dim, rows := j.r.k, j.l.padded, len(seen)
	most, least := seen[0], seen[0]
	for _, n := range seen {
		most, least = max(most, n), min(least, n)
	}
	tiles := (most + blockSize - 1) / blockSize
	s.weights = grown(s.weights, maxTileRows*partition)
	k.scores[j.l.storage](s.weights, s.q[query*dim:], rows, dim, s.tiles[0][:tiles])
	for i, n := range seen {
		w := s.weights[i*partition:][:tiles*blockSize]
		s.part.top[query+i], s.part.sum[query+i] = k.softmax(w, n, j.a.Scale)
	}
	sums := s.part.sums[query*dim:][:rows*dim]
	clear(sums)
	// All rows together as far as all of them see, then each alone: the sums are the same.
	least &^= 1
	values := k.values[j.l.storage]
	values(sums, s.weights, rows, dim, s.tiles[1][:tiles], 0, least)
	for i, n := range seen {
		if n > least {
			values(sums[i*dim:], s.weights[i*partition:], 1, dim, s.tiles[1][:tiles], least, n)
		}
	}
}

func (s *state) empty(query, n, dim int) {
	for i := query; i < query+n; i++ {
		s.top[i], s.sum[i] = float32(math.Inf(-1)), 0
	}
	clear(s.sums[query*dim : (query+n)*dim])
}

// merge adds the state of the next partition to a state.
func (k *kernels) merge(total, part *state, rows, dim int) {
	for i := range rows {
		if part.sum[i] == 0 {
			continue // nothing seen; a NaN is not 0
		}
		k.mergeRow(total.sums[i*dim:][:dim], &total.top[i], &total.sum[i], part.sums[i*dim:][:dim], part.top[i], part.sum[i])
	}
}

func (k *kernels) mergeRow(sums []float32, top, sum *float32, part []float32, partTop, partSum float32) {
	best := max(*top, partTop)
	a, b := k.exp(*top-best), k.exp(partTop-best)
	k.blend(sums, part, a, b)
	*sum = float32(*sum*a) + float32(partSum*b)
	*top = best
}

// finish writes the heads' outputs.
func (j *attendJob) finish(s *state, b *bundle, head int) {
	group, dim, padded := j.a.Heads/j.a.KVHeads, j.a.HeadDim, j.l.padded
	j.each(b, func(query, row int) {
		for g := range group {
			out := j.out[(row*j.a.Heads+head*group+g)*dim:][:dim]
			inverse := 1 / s.sum[query+g]
			for d, v := range s.sums[(query+g)*padded:][:dim] {
				out[d] = v * inverse
			}
		}
	})
}

// partial returns where the state of a query of a bundle and head in partition p is kept: its sums,
// its largest score and the sum of its weights.
func (j *attendJob) partial(b, head, query, p int) []float32 {
	bundle := &j.r.plan.bundles[b]
	rows, width := bundle.rows*(j.a.Heads/j.a.KVHeads), j.l.padded+2
	at := j.offsets[b] + ((head*rows+query)*bundle.partitions+p)*width
	return j.partials[at : at+width]
}

func (j *attendJob) keep(s *state, b, head, p int) {
	dim := j.l.padded
	for i := range j.r.plan.bundles[b].rows * (j.a.Heads / j.a.KVHeads) {
		dst := j.partial(b, head, i, p)
		copy(dst, s.sums[i*dim:][:dim])
		dst[dim], dst[dim+1] = s.top[i], s.sum[i]
	}
}

// mergeJob merges the partial states of a bundle and head.
type mergeJob struct{ *attendJob }

func (m *mergeJob) Do(worker, task int) {
	b, head, dim := task/m.l.heads, task%m.l.heads, m.l.padded
	bundle := &m.r.plan.bundles[b]
	rows := bundle.rows * (m.a.Heads / m.a.KVHeads)
	s := &m.r.scratch[worker].total
	s.reset(rows, dim)
	for i := range rows {
		for p := range bundle.partitions {
			part := m.partial(b, head, i, p)
			if p == 0 {
				copy(s.sums[i*dim:][:dim], part)
				s.top[i], s.sum[i] = part[dim], part[dim+1]
			} else if part[dim+1] != 0 {
				m.r.k.mergeRow(s.sums[i*dim:][:dim], &s.top[i], &s.sum[i], part[:dim], part[dim], part[dim+1])
			}
		}
	}
	m.finish(s, bundle, head)
}

// tileAt returns the keys and values of a head in a tile.
func (r *Runner) tileAt(l *layerCache, id tile, head int) (keys, values *byte) {
	if id >= 0 {
		return &l.keys(kvcache.BlockID(id), head)[0], &l.values(kvcache.BlockID(id), head)[0]
	}
	at := (int(-1-id)*l.heads + head) * 2 * l.tile
	return &r.gathered[at], &r.gathered[at+l.tile]
}

// gatherJob copies the tiles whose positions come from several blocks to one place. A task is one
// of them.
type gatherJob struct {
	r *Runner
	l *layerCache
}

func (r *Runner) gather(l *layerCache) error {
	n := len(r.plan.gathers)
	if n == 0 {
		return nil
	}
	r.gathered = grown(r.gathered, n*l.heads*2*l.tile)
	r.jobs.gather.l = l
	return r.workers.Run(&r.jobs.gather, n)
}

func (j *gatherJob) Do(_, task int) {
	l, from := j.l, &j.r.plan.gathers[task]
	for head := range l.heads {
		at := (task*l.heads + head) * 2 * l.tile
		keys, values := j.r.gathered[at:][:l.tile], j.r.gathered[at+l.tile:][:l.tile]
		for lo := 0; lo < blockSize; {
			hi := lo + 1
			for hi < blockSize && from[hi] == from[lo] {
				hi++
			}
			l.copyKeys(keys, l.keys(from[lo], head), lo, hi)
			l.copyValues(values, l.values(from[lo], head), lo, hi)
			lo = hi
		}
	}
}
