package sched

// class is what a candidate's rows are to the step.
type class int

const (
	decode  class = iota // the next row of a generation, drafts included
	decide               // rows of a decision's spans
	prefill              // rows of a prompt or a state
	classes
)

// candidate is all that the choice knows of a job.
type candidate struct {
	turn
	class
	want    int  // rows it could run
	context int  // positions before the first of them
	owned   int  // of want, rows whose blocks it already has
	first   int  // blocks it needs before the first row: 1 where that copies on write
	group   int  // decisions of one group read the same blocks; 0: of no group
	victim  bool // could be preempted: holds pool blocks and has no step under way
}

// input is everything a step's choice depends on.
type input struct {
	candidates []candidate
	served     []float64 // by account
	limits     limits
	cost       Cost
	blocks     int // that the pool can hand out
	size       int // of a block
}

// limits of a step.
type limits struct {
	rows       int
	shares     Shares
	stretch    float64 // of a decode-only step's duration; 0: no limit
	minPrefill int
}

// choice is the plan in numbers: rows by candidate. When preempt is not -1 a row that must run has
// no block, and that candidate must give up its own first.
type choice struct {
	rows    []int
	preempt int
	starved int // whose row had no block, when nobody can be preempted; else -1
	blocks  int // taken
	shape   Shape
}

// choose decides which rows run. It reads nothing but its input.
func choose(in input) choice {
	out := choice{rows: make([]int, len(in.candidates)), preempt: -1, starved: -1}
	served := append([]float64(nil), in.served...)
	var demand [classes]int
	var turns [classes][]turn
	for i, c := range in.candidates {
		demand[c.class] += c.want
		t := c.turn
		t.index, t.weight = i, promptWeight
		if c.class == decode {
			t.weight = decodeWeight
		}
		turns[c.class] = append(turns[c.class], t)
	}
	grant := split(demand, in.limits)
	s := step{in: &in, out: &out}

	visit := fairly
	if s.roomForAll(turns[decode], demand[decode], grant[decode]) {
		visit = inTurn
	}
	visit(turns[decode], served, func(i int) (int, bool) {
		c := &in.candidates[i]
		n := min(c.want, grant[decode])
		if n == 0 {
			return 0, grant[decode] > 0
		}
		if s.fits(c, n) < n {
			out.preempt = leastValuable(in.candidates)
			out.starved = i
			return 0, false
		}
		s.run(i, n, true)
		grant[decode] -= n
		return n, grant[decode] > 0
	})
	if out.preempt >= 0 {
		return out
	}
	out.shape.Decodes = out.shape.Rows

	// What decodes are in the step must not wait longer than stretch times their own step.
	limit := 0.0
	if out.shape.Decodes > 0 && in.limits.stretch > 0 {
		limit = in.limits.stretch * in.cost.seconds(out.shape)
	}
	s.decides(turns[decide], served, grant[decide], limit)
	blocked := s.prefills(turns[prefill], served, grant[prefill], limit)

	if out.shape.Rows == 0 && blocked >= 0 {
		out.preempt, out.starved = leastValuable(in.candidates), blocked
	}
	return out
}

// roomForAll says that each of the turns gets all it wants, so that their order does not matter.
func (s *step) roomForAll(turns []turn, demand, grant int) bool {
	blocks := 0
	for _, t := range turns {
		c := &s.in.candidates[t.index]
		blocks += c.blocks(c.want, s.in.size)
	}
	return demand <= grant && blocks <= s.in.blocks
}

// blocks returns how many blocks n rows take.
func (c *candidate) blocks(n, size int) int {
	if n > c.owned {
		return c.first + (n-c.owned+size-1)/size
	}
	return c.first
}

// split divides the rows of a step: each class gets what it wants up to its share, then what is
// left goes to decodes, decisions and prefills in that order.
func split(demand [classes]int, l limits) (grant [classes]int) {
	left := l.rows
	for c, share := range [classes]float64{l.shares.Decode, l.shares.Decide, l.shares.Prefill} {
		grant[c] = min(demand[c], int(share*float64(l.rows)), left)
		left -= grant[c]
	}
	for c := range grant {
		more := min(demand[c]-grant[c], left)
		grant[c] += more
		left -= more
	}
	return grant
}

// step is a choice under construction.
type step struct {
	in  *input
	out *choice
}

// fits returns how many of n rows have blocks.
func (s *step) fits(c *candidate, n int) int {
	if n <= c.owned && c.first == 0 {
		return n
	}
	have := s.in.blocks - s.out.blocks - c.first
	if have < 0 {
		return 0
	}
	return min(n, c.owned+have*s.in.size)
}

func (s *step) run(i, n int, stream bool) {
	c := &s.in.candidates[i]
	s.out.rows[i] += n
	s.out.blocks += c.blocks(n, s.in.size)
	s.out.shape = s.out.shape.Add(chunk(c.context, n, stream))
}

// within returns how many of n rows keep the step inside the limit, but at least floor.
func (s *step) within(c *candidate, n, floor int, stream bool, limit float64) int {
	if limit == 0 || s.in.cost.seconds(s.out.shape.Add(chunk(c.context, n, stream))) <= limit {
		return n
	}
	lo, hi := 0, n
	for lo+1 < hi {
		mid := (lo + hi) / 2
		if s.in.cost.seconds(s.out.shape.Add(chunk(c.context, mid, stream))) <= limit {
			lo = mid
		} else {
			hi = mid
		}
	}
	return min(n, max(lo, floor))
}

// decides grants rows to decisions. The fair order says whose turn it is; then everybody else who
// reads the same blocks joins, since those are in cache now.
func (s *step) decides(turns []turn, served []float64, grant int, limit float64) {
	groups := map[int][]int{}
	for _, t := range turns {
		if g := s.in.candidates[t.index].group; g != 0 {
			groups[g] = append(groups[g], t.index)
		}
	}
	floor := min(s.in.limits.minPrefill, grant)
	one := func(i int, stream bool) int {
		c := &s.in.candidates[i]
		if s.out.rows[i] > 0 || grant <= 0 {
			return 0
		}
		n := s.within(c, min(c.want, grant), floor, stream, limit)
		if n = s.fits(c, n); n > 0 {
			s.run(i, n, stream)
			grant -= n
			floor = max(0, floor-n)
		}
		return n
	}
	fairly(turns, served, func(i int) (int, bool) {
		n := one(i, true)
		if n > 0 {
			for _, j := range groups[s.in.candidates[i].group] {
				if j != i {
					served[s.in.candidates[j].account] += float64(one(j, false)) * promptWeight
				}
			}
		}
		return n, grant > 0
	})
}

// prefills grants rows to prompts and states, and returns one that got none for want of blocks.
func (s *step) prefills(turns []turn, served []float64, grant int, limit float64) (blocked int) {
	blocked = -1
	floor := s.in.limits.minPrefill
	fairly(turns, served, func(i int) (int, bool) {
		c := &s.in.candidates[i]
		n := s.within(c, min(c.want, grant), floor, true, limit)
		if n == 0 {
			return 0, grant > 0
		}
		if n = s.fits(c, n); n == 0 {
			if blocked < 0 {
				blocked = i
			}
			return 0, true
		}
		s.run(i, n, true)
		grant -= n
		floor = max(0, floor-n)
		return n, grant > 0
	})
	return blocked
}

// leastValuable returns whom to preempt: the lowest priority, then the latest arrival, so that the
// most valuable job always gets on. -1: nobody can be.
func leastValuable(cs []candidate) int {
	worst := -1
	for i, c := range cs {
		if !c.victim {
			continue
		}
		if worst < 0 || c.priority < cs[worst].priority ||
			c.priority == cs[worst].priority && c.arrival > cs[worst].arrival {
			worst = i
		}
	}
	return worst
}
