package sample

import "slices"

// buckets is the number of classes of logits that a list is split into. More make the parts that
// need sorting shorter, fewer make small lists cheaper.
const buckets = 1024

// ranked is a list of tokens in descending order with their weights, exp((logit-best)/temperature),
// and running sums in float64. Only the parts that are asked for get picked out and sorted: tokens
// are first put into buckets by logit, whose sums are known without an order inside them.
type ranked struct {
	best, temperature, reach float64
	tokens                   []Logit // as they came
	items                    []Logit // in order, where sorted is set
	sorted                   [buckets]bool
	start                    [buckets + 1]int     // place of each bucket's first token
	sum                      [buckets + 1]float64 // weight of the buckets before
	class                    []uint16
}

// fill takes the tokens, of which there is at least one and none -Inf, and which must not change while
// the list is in use; reach is about how many temperatures the last lies below the first.
func (r *ranked) fill(tokens []Logit, temperature, reach float64) {
	top := tokens[0].Value
	for _, l := range tokens {
		if l.Value > top { // not max, which looks for NaN
			top = l.Value
		}
	}
	r.best, r.temperature, r.reach, r.tokens = float64(top), temperature, reach, tokens
	// Below 40 temperatures nothing weighs in; those tokens share the last bucket.
	scale := (buckets - 1) / min(reach, 40)
	r.class = slices.Grow(r.class[:0], len(tokens))[:len(tokens)]
	r.items = slices.Grow(r.items[:0], len(tokens))[:len(tokens)]
	clear(r.sorted[:])
	clear(r.start[:])
	clear(r.sum[:])
	for i, l := range tokens {
		d := r.depth(l)
		place := d * scale
		if place > buckets-1 {
			place = buckets - 1
		}
		if d > -lowest {
			d = -lowest
		}
		b := uint16(place) % buckets // the remainder tells the compiler of the bound
		r.class[i] = b
		r.start[b+1]++
		r.sum[b+1] += exp(-d)
	}
	for b := range buckets {
		r.start[b+1] += r.start[b]
		r.sum[b+1] += r.sum[b]
	}
}

// depth is how many temperatures a token lies below the best.
func (r *ranked) depth(l Logit) float64 {
	if float64(l.Value) == r.best {
		return 0 // also where both are infinite
	}
	return (r.best - float64(l.Value)) / r.temperature
}

func (r *ranked) weight(l Logit) float64 { return exp(max(-r.depth(l), lowest)) }

func (r *ranked) total() float64 { return r.sum[buckets] }

// bucket returns a bucket's tokens in order.
func (r *ranked) bucket(b int) []Logit {
	s := r.items[r.start[b]:r.start[b+1]]
	if !r.sorted[b] {
		n, tokens := 0, r.tokens[:len(r.class)]
		for i, c := range r.class {
			if c == uint16(b) {
				s[n] = tokens[i]
				n++
			}
		}
		slices.SortFunc(s, descending)
		r.sorted[b] = true
	}
	return s
}

// at returns the token at a place of the order.
func (r *ranked) at(i int) Logit {
	b, _ := slices.BinarySearch(r.start[1:], i+1)
	return r.bucket(b)[i-r.start[b]]
}

// upTo returns the weight of the first n tokens.
func (r *ranked) upTo(n int) float64 {
	b, found := slices.BinarySearch(r.start[:], n)
	if found {
		return r.sum[b]
	}
	b--
	sum := r.sum[b]
	for _, l := range r.bucket(b)[:n-r.start[b]] {
		sum += r.weight(l)
	}
	return sum
}

// reaches returns the number of leading tokens whose weight first reaches the target, or first
// exceeds it where strict, and false if the list ends before.
func (r *ranked) reaches(target float64, strict bool) (int, bool) {
	done := func(sum float64) bool { return sum > target || !strict && sum == target }
	for b := range buckets {
		if r.start[b] == r.start[b+1] || !done(r.sum[b+1]) {
			continue
		}
		sum := r.sum[b]
		for i, l := range r.bucket(b) {
			if sum += r.weight(l); done(sum) {
				return r.start[b] + i + 1, true
			}
		}
		return r.start[b+1], true // the bucket's own sum was rounded the other way
	}
	return len(r.items), false
}

// draw cuts the list by top-p and min-p and returns the place of the token that u picks and how
// many tokens stay. Tokens that are not in the list weigh between nothing and missing; if that
// matters the result is not ok.
func (r *ranked) draw(p *Params, u, missing float64) (place, kept int, ok bool) {
	kept = len(r.items)
	lo := r.total() // of what stays, with its upper bound
	hi := lo + missing
	cut := false // whether what stays is known to lie inside the list
	if p.TopP > 0 && p.TopP < 1 {
		n, in := r.reaches(p.TopP*lo, false)
		if m, also := r.reaches(p.TopP*hi, false); m != n || also != in || missing > 0 && !in {
			return 0, 0, false
		}
		kept, cut = n, true
	}
	if p.MinP > 0 {
		n := r.within(p.MinP)
		// Tokens outside the list weigh less than any in it, and than exp(-reach).
		cut = cut || n < kept || p.MinP > 2*exp(max(-r.reach, lowest))
		kept = min(kept, n)
	}
	if cut {
		lo = r.upTo(kept)
		hi = lo
	}
	n, _ := r.reaches(u*lo, true)
	if hi > lo {
		if m, in := r.reaches(u*hi, true); m != n || !in {
			return 0, 0, false
		}
		if p.Processed {
			return 0, 0, false // the log-probabilities need the exact total
		}
	}
	return min(n, kept) - 1, kept, true
}

// within returns the number of tokens with at least a share of the best one's weight.
func (r *ranked) within(share float64) int {
	n := 0
	for _, l := range r.tokens {
		if r.weight(l) >= share {
			n++
		}
	}
	return n
}
