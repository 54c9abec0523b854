package engine

import "slices"

// The lengths of the n-grams that a draft is looked up by, longest first.
const (
	longestGram  = 4
	shortestGram = 2
)

// maxLookup bounds how many tokens a draft has.
const maxLookup = 64

// lookup guesses how a history goes on: what followed the latest earlier place where its last
// tokens stand (prompt-lookup decoding; Saxena, 2023). It returns at most n tokens, a view.
func lookup(history []int32, n int) []int32 {
	for size := longestGram; size >= shortestGram; size-- {
		if len(history) <= size {
			continue
		}
		gram := history[len(history)-size:]
		for at := len(history) - size - 1; at >= 0; at-- {
			if history[at] == gram[0] && slices.Equal(history[at:at+size], gram) {
				from := at + size
				return history[from:min(from+n, len(history))]
			}
		}
	}
	return nil
}
