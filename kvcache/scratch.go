package kvcache

// scratch hands out blocks for reads: same format as the pool's, never indexed, owned by one
// request until it gives them back.
type scratch struct {
	first BlockID
	total int
	free  []BlockID
}

// newScratch returns n free blocks with ids from first on.
func newScratch(first BlockID, n int) *scratch {
	s := &scratch{first: first, total: n, free: make([]BlockID, n)}
	for i := range s.free {
		s.free[i] = first + BlockID(n-1-i)
	}
	return s
}

// Take returns n blocks. ErrScratch when that is more than there are at all, ErrBusy when it is
// more than are free now.
func (s *scratch) Take(n int) ([]BlockID, error) {
	switch {
	case n < 0:
		return nil, &CapacityError{Err: ErrRows, Need: n, Have: s.total}
	case n > s.total:
		return nil, &CapacityError{Err: ErrScratch, Need: n, Have: s.total}
	case n > len(s.free):
		return nil, &CapacityError{Err: ErrBusy, Need: n, Have: len(s.free)}
	}
	at := len(s.free) - n
	out := make([]BlockID, n)
	copy(out, s.free[at:])
	s.free = s.free[:at]
	return out, nil
}

// Give takes back blocks that Take returned.
func (s *scratch) Give(blocks []BlockID) { s.free = append(s.free, blocks...) }
