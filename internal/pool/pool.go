package pool

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/hotpath-go/hotpath/internal/mmap"
)

// MaxTasks is the largest number of tasks in one Run.
const MaxTasks = 1<<nextBits - 1

// Job is a loop body. Do is called once for each i, from several goroutines at once; worker is
// below the pool's Workers and no two calls with the same worker overlap, so it may index scratch
// memory. Tasks are handed out in rising order of i, each to the first worker that is free.
type Job interface {
	Do(worker, i int)
}

// Pool is one holder's share of the workers. Its methods may be called from several goroutines;
// jobs of the whole process run one after another.
type Pool struct {
	workers int
	closed  atomic.Bool
}

// Open returns a pool of the given number of workers, the calling goroutine of Run being one of
// them. 0 means GOMAXPROCS, which is also the most that is given.
func Open(workers int) *Pool {
	limit := min(runtime.GOMAXPROCS(0), maxWorkers)
	if workers <= 0 || workers > limit {
		workers = limit
	}
	shared.open(workers - 1)
	return &Pool{workers: workers}
}

// Workers returns the number of workers, at least 1.
func (p *Pool) Workers() int { return p.workers }

// Run calls job.Do for each i below n and returns when all calls have returned. A panic in Do, and
// a fault on a mapped file, becomes the error that Run returns; tasks not yet begun are then left
// out. Run allocates nothing unless it fails. Do must not call Run.
func (p *Pool) Run(job Job, n int) error {
	if n <= 0 {
		return nil
	}
	if n > MaxTasks {
		return fmt.Errorf("pool: %d tasks, limit %d", n, MaxTasks)
	}
	return shared.run(job, n, min(p.workers, n)-1)
}

// Close gives the share back; the last one ends the workers. It must not overlap Run. Later calls
// do nothing.
func (p *Pool) Close() {
	if !p.closed.Swap(true) {
		shared.close()
	}
}

// The state of a job is one word, so that a worker claims a task and learns what it belongs to in
// one step: from the top, a count of jobs, the number of helpers that may take part, the number of
// tasks and the next task. A worker that comes late claims a task of a later job, if it may take
// part in that one, or none.
const (
	nextBits   = 20
	countBits  = 20
	helperBits = 8
	maxWorkers = 1 << helperBits
)

func pack(epoch uint64, helpers, count int) uint64 {
	return epoch<<(nextBits+countBits+helperBits) | uint64(helpers)<<(nextBits+countBits) | uint64(count)<<nextBits
}

func epochOf(word uint64) uint64 { return word >> (nextBits + countBits + helperBits) }
func helpersOf(word uint64) int  { return int(word >> (nextBits + countBits) & (1<<helperBits - 1)) }

// shared is the crew of the process: reference-counted, empty until the first Open.
var shared crew

type crew struct {
	word atomic.Uint64
	_    [56]byte // keep what the claims write away from what the finishers write
	left atomic.Int32
	_    [60]byte

	job     Job // stable while tasks of it are left
	failed  atomic.Pointer[error]
	waiting atomic.Bool   // the caller parks on done
	done    chan struct{} // capacity 1

	running sync.Mutex // held by Run
	epoch   uint64

	mu      sync.Mutex // guards what follows
	refs    int
	helpers atomic.Pointer[[]*helper] // replaced, never changed
	ended   sync.WaitGroup
}

type helper struct {
	index  int
	parked atomic.Bool
	wake   chan struct{} // capacity 1
	quit   atomic.Bool
}

// signal leaves a token for the helper; one that is there already does as well.
func (h *helper) signal() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

func (c *crew) open(helpers int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refs++
	if c.done == nil {
		c.done = make(chan struct{}, 1)
	}
	var list []*helper
	if old := c.helpers.Load(); old != nil {
		list = append(list, *old...)
	}
	for i := len(list); i < helpers; i++ {
		h := &helper{index: i, wake: make(chan struct{}, 1)}
		list = append(list, h)
		c.ended.Add(1)
		go c.help(h)
	}
	c.helpers.Store(&list)
}

func (c *crew) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refs--
	if c.refs > 0 {
		return
	}
	for _, h := range *c.helpers.Load() {
		h.quit.Store(true)
		h.signal()
	}
	c.ended.Wait()
	c.helpers.Store(nil)
}

func (c *crew) run(job Job, n, helpers int) error {
	c.running.Lock()
	defer c.running.Unlock()
	c.job = job
	c.failed.Store(nil)
	c.left.Store(int32(n))
	c.epoch++
	c.word.Store(pack(c.epoch, helpers, n))
	if helpers > 0 {
		for _, h := range (*c.helpers.Load())[:helpers] {
			if h.parked.Load() && h.parked.CompareAndSwap(true, false) {
				h.signal()
			}
		}
	}
	c.work(0)
	c.wait()
	c.job = nil
	if err := c.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// How long to look before parking: rounds of a pause of a few tens of nanoseconds to two hundred,
// by CPU.
const (
	callerSpins = 2000
	helperSpins = 400
)

// wait returns when the claimed tasks of the others are done.
func (c *crew) wait() {
	for range callerSpins {
		if c.left.Load() == 0 {
			return
		}
		pause()
	}
	// The finisher of the job before may be between its last task and its look at the flag, take the
	// flag for its own and signal: so the flag is set again before each look at what is left.
	for c.waiting.Store(true); c.left.Load() != 0; c.waiting.Store(true) {
		<-c.done
	}
	if !c.waiting.CompareAndSwap(true, false) {
		// The last finisher saw the flag: its signal is in the channel, or on its way to wake a later wait
		// for nothing.
		select {
		case <-c.done:
		default:
		}
	}
}

func (c *crew) finish() {
	if c.left.Add(-1) == 0 && c.waiting.CompareAndSwap(true, false) {
		select {
		case c.done <- struct{}{}:
		default:
		}
	}
}

func (c *crew) help(h *helper) {
	defer c.ended.Done()
	var seen uint64
	for {
		word := c.word.Load()
		for spins := 0; epochOf(word) == seen || helpersOf(word) <= h.index; spins++ {
			if h.quit.Load() {
				return
			}
			if spins == helperSpins {
				h.parked.Store(true)
				// A job published before the flag was seen would not wake this helper.
				if word = c.word.Load(); epochOf(word) == seen || helpersOf(word) <= h.index {
					<-h.wake
				}
				h.parked.Store(false)
				spins = 0
			}
			pause()
			word = c.word.Load()
		}
		seen = epochOf(word)
		c.work(h.index + 1)
	}
}

// work claims tasks until there are none, with the floating-point control word that kernels
// expect: foreign code on this thread may have left another.
func (c *crew) work(worker int) {
	runtime.LockOSThread()
	old := setControl(controlDefault)
	for c.batch(worker) {
	}
	setControl(old)
	runtime.UnlockOSThread()
}

// batch runs tasks until there are none, false, or one fails, true.
func (c *crew) batch(worker int) (again bool) {
	claimed := false
	defer func() {
		if !claimed {
			return
		}
		if r := recover(); r != nil {
			c.fail(fmt.Errorf("pool: panic in a worker: %v", r))
			again = true
		}
		c.finish()
	}()
	err := mmap.Guard(func() error {
		for {
			word := c.word.Load()
			next, count := word&(1<<nextBits-1), word>>nextBits&(1<<countBits-1)
			if next >= count || worker > helpersOf(word) {
				return nil
			}
			if !c.word.CompareAndSwap(word, word+1) {
				continue
			}
			claimed = true
			if c.failed.Load() == nil {
				c.job.Do(worker, int(next))
			}
			claimed = false
			c.finish()
		}
	})
	if err != nil {
		c.fail(err)
		return true
	}
	return false
}

func (c *crew) fail(err error) { c.failed.CompareAndSwap(nil, &err) }
