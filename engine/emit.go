package engine

import "strings"

// stopper lets text through up to the first stop text, and nothing that may yet turn out to be the
// start of one.
type stopper struct {
	stops []string
	held  string
}

// push adds text and returns what is now certain. stopped says that a stop text came to its end; it and
// what follows are dropped.
func (s *stopper) push(piece string) (text string, stopped bool) {
	if len(s.stops) == 0 {
		return piece, false
	}
	s.held += piece
	first := -1
	for _, stop := range s.stops {
		if i := strings.Index(s.held, stop); i >= 0 && (first < 0 || i < first) {
			first = i
		}
	}
	if first >= 0 {
		text := s.held[:first]
		s.held = ""
		return text, true
	}
	keep := 0
	for _, stop := range s.stops {
		keep = max(keep, overlap(s.held, stop))
	}
	text = s.held[:len(s.held)-keep]
	s.held = s.held[len(text):]
	return text, false
}

// rest returns what was held back, for text that ends without a stop text.
func (s *stopper) rest() string {
	text := s.held
	s.held = ""
	return text
}

// overlap returns the length of the longest end of text that is a beginning of stop.
func overlap(text, stop string) int {
	for n := min(len(text), len(stop)-1); n > 0; n-- {
		if strings.HasSuffix(text, stop[:n]) {
			return n
		}
	}
	return 0
}
