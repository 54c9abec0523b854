package sample

import (
	"fmt"
	"math"
	"slices"
)

// Sampler chooses tokens. It holds buffers that grow to the vocabulary's size, so that a choice
// allocates nothing in steady state. The zero value is ready; it is for one goroutine at a time.
type Sampler struct {
	edits []Logit // original values of the logits that a call changed
	found []Logit // candidates, in order of id
	list  ranked
	top   []LogProb
}

// Choice is a chosen token.
type Choice struct {
	Token   int32
	LogProb float64   // when Params.LogProbs asks; 0 otherwise
	Top     []LogProb // the likeliest tokens, best first; valid until the sampler's next call
}

// LogProb is a token and the natural logarithm of its probability.
type LogProb struct {
	ID    int32
	Value float64
}

// Choose returns the token that the key's random number picks from the row. Parameters must be
// valid (see Validate). A nil mask allows every token, a nil history is empty. The row's values
// change during the call and are as before when it returns.
//
// It fails with ErrNoToken, ErrNaN, or, when a bias or a history names a token outside the row,
// ErrToken. Banned tokens outside the row are ignored.
func (s *Sampler) Choose(row []float32, p *Params, mask Mask, history *Counts, key Key) (Choice, error) {
	var c Choice
	wanted := p.LogProbs || p.TopLogProbs > 0
	var norm normaliser
	if wanted && !p.Processed {
		var err error
		if norm, err = s.raw(row, p.TopLogProbs); err != nil {
			return c, err
		}
	}
	err := s.edit(row, p, history)
	if err == nil {
		c, err = s.pick(row, p, mask, key)
	}
	s.restore(row)
	if err != nil {
		return Choice{}, err
	}
	if wanted && !p.Processed {
		c.LogProb, c.Top = norm.of(row[c.Token]), s.top
	}
	if !p.LogProbs {
		c.LogProb = 0
	}
	return c, nil
}

// raw fills top from the model's own distribution and returns its normaliser.
func (s *Sampler) raw(row []float32, n int) (normaliser, error) {
	norm, err := normalise(row)
	if err != nil {
		return norm, err
	}
	if s.found, err = TopK(s.found[:0], row, nil, n); err != nil {
		return norm, err
	}
	s.top = s.top[:0]
	for _, l := range s.found {
		s.top = append(s.top, LogProb{l.ID, norm.of(l.Value)})
	}
	return norm, nil
}

// normaliser turns logits into log-probabilities. Infinite logits share all of the probability.
type normaliser struct {
	logSumExp, infinite float64
}

func normalise(row []float32) (normaliser, error) {
	n := normaliser{logSumExp: LogSumExp(row)}
	switch {
	case n.logSumExp != n.logSumExp:
		return n, ErrNaN
	case math.IsInf(n.logSumExp, -1):
		return n, ErrNoToken
	case math.IsInf(n.logSumExp, 1):
		for _, v := range row {
			if math.IsInf(float64(v), 1) {
				n.infinite++
			}
		}
	}
	return n, nil
}

func (n normaliser) of(v float32) float64 {
	if math.IsInf(float64(v), 1) {
		return -math.Log(n.infinite)
	}
	return float64(v) - n.logSumExp
}

// edit applies penalties, biases and bans to the row and remembers what was there.
func (s *Sampler) edit(row []float32, p *Params, history *Counts) error {
	repetition := p.RepetitionPenalty
	if repetition == 0 {
		repetition = 1
	}
	if history != nil && (repetition != 1 || p.FrequencyPenalty != 0 || p.PresencePenalty != 0) {
		for _, h := range history.seen {
			if uint(h.id) >= uint(len(row)) {
				return fmt.Errorf("%w: history holds %d, the row has %d tokens", ErrToken, h.id, len(row))
			}
			v := float64(row[h.id])
			if v > 0 {
				v /= repetition
			} else {
				v *= repetition
			}
			if h.output > 0 {
				v -= float64(p.FrequencyPenalty*float64(h.output)) + p.PresencePenalty
			}
			s.set(row, h.id, float32(v))
		}
	}
	for _, b := range p.Bias {
		if uint(b.ID) >= uint(len(row)) {
			return fmt.Errorf("%w: bias names %d, the row has %d tokens", ErrToken, b.ID, len(row))
		}
		v := row[b.ID] + b.Value
		if math.IsInf(float64(b.Value), -1) {
			v = b.Value // also where the logit is +Inf
		}
		s.set(row, b.ID, v)
	}
	for _, id := range p.Banned {
		if uint(id) < uint(len(row)) {
			s.set(row, id, float32(math.Inf(-1)))
		}
	}
	return nil
}

func (s *Sampler) set(row []float32, id int32, v float32) {
	s.edits = append(s.edits, Logit{id, row[id]})
	row[id] = v
}

func (s *Sampler) restore(row []float32) {
	for _, e := range slices.Backward(s.edits) {
		row[e.ID] = e.Value
	}
	s.edits = s.edits[:0]
}

// pick chooses from the edited row.
func (s *Sampler) pick(row []float32, p *Params, mask Mask, key Key) (Choice, error) {
	if p.Temperature == 0 {
		return s.greedy(row, p, mask)
	}
	u := key.Uniform()
	// Tokens so far below the best that all of them together weigh less than e^-6 of it are left
	// out at first. Only if they could change the result is the whole row looked at.
	reach := math.Log(float64(len(row)+1)) + 6
	for {
		n, err := s.candidates(row, p, mask, reach)
		if err != nil {
			return Choice{}, err
		}
		missing := 0.0 // what the tokens left out may weigh
		if topK := p.TopK > 0 && p.TopK < n; !topK && !math.IsInf(reach, 1) {
			missing = float64(n-len(s.found)) * exp(-reach)
		}
		s.list.fill(s.found, p.Temperature, reach)
		if i, kept, ok := s.list.draw(p, u, missing); ok {
			return s.chosen(p, i, kept), nil
		}
		reach = math.Inf(1)
	}
}

// candidates fills found with the allowed tokens whose logit is less than reach temperatures
// below the largest, or with the TopK largest, and returns the number of allowed tokens.
func (s *Sampler) candidates(row []float32, p *Params, mask Mask, reach float64) (int, error) {
	n := mask.count(len(row))
	var err error
	if p.TopK > 0 && p.TopK < n {
		if s.found, err = TopK(s.found[:0], row, mask, p.TopK); err != nil {
			return 0, err
		}
		for len(s.found) > 0 && math.IsInf(float64(s.found[len(s.found)-1].Value), -1) {
			s.found = s.found[:len(s.found)-1]
		}
	} else if s.found, err = above(s.found[:0], row, mask, p.Temperature*reach); err != nil {
		return 0, err
	}
	if len(s.found) == 0 {
		return 0, ErrNoToken
	}
	return n, nil
}

func (s *Sampler) greedy(row []float32, p *Params, mask Mask) (Choice, error) {
	var err error
	if s.found, err = above(s.found[:0], row, mask, 0); err != nil {
		return Choice{}, err
	}
	if len(s.found) == 0 {
		return Choice{}, ErrNoToken
	}
	c := Choice{Token: s.found[0].ID}
	if p.Processed && (p.LogProbs || p.TopLogProbs > 0) {
		if s.found, err = above(s.found[:0], row, mask, math.Inf(1)); err != nil {
			return Choice{}, err
		}
		s.list.fill(s.found, 1, math.Inf(1))
		c.LogProb, c.Top = s.processed(p, 0, len(s.found))
	}
	return c, nil
}

// chosen reports the token at a place of the ranked list, of which the first kept stay.
func (s *Sampler) chosen(p *Params, place, kept int) Choice {
	c := Choice{Token: s.list.at(place).ID}
	if p.Processed && (p.LogProbs || p.TopLogProbs > 0) {
		c.LogProb, c.Top = s.processed(p, place, kept)
	}
	return c
}

// processed returns the log-probabilities of the ranked list's first kept tokens.
func (s *Sampler) processed(p *Params, place, kept int) (float64, []LogProb) {
	norm := math.Log(s.list.upTo(kept))
	s.top = s.top[:0]
	for i := range min(p.TopLogProbs, kept) {
		l := s.list.at(i)
		s.top = append(s.top, LogProb{l.ID, -s.list.depth(l) - norm})
	}
	return -s.list.depth(s.list.at(place)) - norm, s.top
}

// stretch is how many logits are looked at one by one where large ones are close together.
const stretch = 32

// above appends the allowed logits that lie less than span below the largest allowed one, and
// all that equal it, in order of id. -Inf is never among them.
func above(dst []Logit, row []float32, mask Mask, span float64) ([]Logit, error) {
	best := float32(math.Inf(-1))
	for i := mask.next(row, 0, best); i < len(row); i = mask.next(row, i, best) {
		if best = row[i]; best != best {
			return dst, ErrNaN
		}
	}
	low := below(best, span)
	last := -stretch
	for i := mask.next(row, 0, low); i < len(row); i = mask.next(row, i, low) {
		end := i + 1
		if i-last < stretch/4 { // many are: a search for each would cost more than looking
			end = min(i+stretch, len(row))
		}
		for last = i; i < end; i++ {
			if v := row[i]; v > low && (mask == nil || mask.Has(int32(i))) {
				dst = append(dst, Logit{int32(i), v})
				last = i
			}
		}
	}
	return dst, nil
}

// below is the largest value that lies at least span below v, and always below v itself.
func below(v float32, span float64) float32 {
	low := float32(float64(v) - span)
	if !(low < v) {
		low = math.Nextafter32(v, float32(math.Inf(-1)))
	}
	return low
}
