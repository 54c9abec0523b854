package sched

import (
	"cmp"
	"container/heap"
	"slices"
)

// account counts what a caller was served: the virtual counter of fair queueing.
type account struct {
	caller string
	served float64 // rows, weighed
	active int     // jobs
	idle   uint64  // when it last became inactive
	slot   int     // in the scheduler's list of active accounts
}

// What a row costs the caller. A generated token holds a step's latency for one row, so it counts double.
const (
	promptWeight = 1.0
	decodeWeight = 2.0
)

// maxAccounts bounds how many inactive callers are remembered.
const maxAccounts = 4096

// join returns the caller's account for one more job. A caller that comes (back) starts no lower
// than the least served of the active ones: being away earns no credit.
func (s *Scheduler) join(caller string) *account {
	a := s.accounts[caller]
	if a == nil {
		a = &account{caller: caller}
		s.accounts[caller] = a
	}
	if a.active == 0 {
		low, any := 0.0, false
		for _, o := range s.active {
			if !any || o.served < low {
				low, any = o.served, true
			}
		}
		if any {
			a.served = max(a.served, low)
		}
	}
	if a.active++; a.active == 1 {
		a.slot = len(s.active)
		s.active = append(s.active, a)
	}
	return a
}

func (s *Scheduler) leave(a *account) {
	if a.active--; a.active > 0 {
		return
	}
	last := s.active[len(s.active)-1]
	s.active[a.slot], last.slot = last, a.slot
	s.active = s.active[:len(s.active)-1]
	s.departures++
	a.idle = s.departures
	if len(s.accounts) <= maxAccounts {
		return
	}
	var oldest *account
	for _, o := range s.accounts {
		if o.active == 0 && (oldest == nil || o.idle < oldest.idle) {
			oldest = o
		}
	}
	delete(s.accounts, oldest.caller)
}

// turn is one entry of a fair order.
type turn struct {
	index    int // the caller's own
	priority int
	account  int
	deadline int64 // 0: none
	arrival  uint64
	weight   float64
}

func (a turn) compare(b turn) int {
	if c := cmp.Compare(b.priority, a.priority); c != 0 {
		return c
	}
	if c := cmp.Compare(a.account, b.account); c != 0 {
		return c
	}
	if (a.deadline != 0) != (b.deadline != 0) {
		if a.deadline != 0 {
			return -1
		}
		return 1
	}
	if c := cmp.Compare(a.deadline, b.deadline); c != 0 {
		return c
	}
	return cmp.Compare(a.arrival, b.arrival)
}

// fairly calls visit for each turn: higher priority first; then always the account that was
// served least, whose count grows by what visit says it took; within an account the earlier
// deadline, then the earlier arrival. visit returning false ends the walk. served changes.
func fairly(turns []turn, served []float64, visit func(i int) (rows int, more bool)) {
	slices.SortFunc(turns, turn.compare)
	for len(turns) > 0 {
		n := 1
		for n < len(turns) && turns[n].priority == turns[0].priority {
			n++
		}
		level := turns[:n]
		turns = turns[n:]
		lanes := lanes{served: served}
		for len(level) > 0 {
			m := 1
			for m < len(level) && level[m].account == level[0].account {
				m++
			}
			lanes.list = append(lanes.list, level[:m])
			level = level[m:]
		}
		heap.Init(&lanes)
		for len(lanes.list) > 0 {
			t := lanes.list[0][0]
			rows, more := visit(t.index)
			if !more {
				return
			}
			served[t.account] += float64(rows) * t.weight
			if lanes.list[0] = lanes.list[0][1:]; len(lanes.list[0]) == 0 {
				heap.Pop(&lanes)
			} else {
				heap.Fix(&lanes, 0)
			}
		}
	}
}

// inTurn visits the turns as they come: for when all of them get what they want.
func inTurn(turns []turn, served []float64, visit func(i int) (rows int, more bool)) {
	for _, t := range turns {
		rows, more := visit(t.index)
		if !more {
			return
		}
		served[t.account] += float64(rows) * t.weight
	}
}

// lanes is a heap of the accounts' turns.
type lanes struct {
	list   [][]turn
	served []float64
}

func (l *lanes) Len() int { return len(l.list) }
func (l *lanes) Less(i, j int) bool {
	a, b := l.list[i][0], l.list[j][0]
	if x, y := l.served[a.account], l.served[b.account]; x != y {
		return x < y
	}
	return a.arrival < b.arrival
}
func (l *lanes) Swap(i, j int) { l.list[i], l.list[j] = l.list[j], l.list[i] }
func (l *lanes) Push(x any)    { l.list = append(l.list, x.([]turn)) }
func (l *lanes) Pop() any {
	last := l.list[len(l.list)-1]
	l.list = l.list[:len(l.list)-1]
	return last
}
