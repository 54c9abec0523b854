package decide

import (
	"cmp"
	"slices"
	"strings"
)

// ordersOf returns the orders in which a question is asked: the option at each place, nil for the
// caller's order. A choice begins with its options sorted by name and rotates them evenly; a score
// goes up and down.
func ordersOf(q *Question, names []string, orders int) [][]int {
	if orders == 0 {
		return [][]int{nil}
	}
	first := make([]int, len(names))
	for i := range first {
		first[i] = i
	}
	if q.Kind != KindChoice {
		up := [][]int{first}
		if orders > 1 {
			down := slices.Clone(first)
			slices.Reverse(down)
			up = append(up, down)
		}
		return up
	}
	slices.SortFunc(first, func(a, b int) int {
		return cmp.Compare(strings.TrimSpace(names[a]), strings.TrimSpace(names[b]))
	})
	n := min(orders, len(first))
	list := make([][]int, n)
	for i := range list {
		at := i * len(first) / n
		list[i] = slices.Concat(first[at:], first[:at])
	}
	return list
}
