package backendtest

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/quant"
)

// Fake is a Backend that computes nothing but remembers everything. Each slot of a block holds the
// position and token written there and a hash of the whole history up to it; logits and hidden
// values are a function of that hash. It looks at the model for sizes alone, but a NaN in the
// final norm's gain makes all its logits NaN.
//
// What a device cannot see the Fake reports: reads of rows never written, or written by a step that
// failed; rows in a context that do not continue each other; two spans that write one slot; a slot
// written and read in one step; a batch that changes while its step runs; Submit and Copy at the
// same time; more steps in flight than allowed; a Wait too many, or out of order. Each is an error of the call and
// one of Problems.
//
// Set the fields before Open. The zero value is ready to use. A Fake may open several Runners; its
// methods are safe for concurrent use.
type Fake struct {
	InFlight int             // steps in flight; 0: 2
	MaxRows  int             // 0: Options.Rows, or 512
	MaxSpans int             // 0: Options.Spans, or 256
	Without  backend.WantSet // optional wants that it lacks
	Latency  time.Duration   // that the device takes for a step; zero: none

	// Logits, when set, edits the logits of a wanted row; history ends with the row's own token. It
	// is called on the device's goroutine and must depend on its arguments alone.
	Logits func(history []int32, logits []float32)

	// Hook, when set, is called at each operation before anything is done. The error it returns is
	// that of the operation; when it panics, so does the operation (a step: its Wait); while it
	// blocks, so does the operation (OpStep: the device). It may be called from several goroutines.
	Hook func(Call) error

	mu       sync.Mutex
	counts   [operations]int
	problems []string
	open     int
}

// Call is one operation of a Runner.
type Call struct {
	Op    Op
	N     int // how many operations of this kind there were, this one included
	Batch *backend.Batch
	Moves []backend.Move
}

// Op names an operation.
type Op uint8

// The operations. OpStep is the execution of a submitted step, on the device's goroutine.
const (
	OpOpen Op = iota
	OpSubmit
	OpStep
	OpWait
	OpCopy
	OpExport
	OpImport
	OpClose
	operations
)

// Name implements backend.Backend.
func (f *Fake) Name() string { return "fake" }

// Open implements backend.Backend.
func (f *Fake) Open(ctx context.Context, m *model.Model, o backend.Options) (backend.Runner, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := f.hook(Call{Op: OpOpen}); err != nil {
		return nil, err
	}
	kv := o.KV
	if kv == quant.None {
		kv = quant.BF16
	}
	rowBytes := m.Program.KVBytes(kv)
	switch {
	case kv != quant.F32 && kv != quant.F16 && kv != quant.BF16:
		return nil, fmt.Errorf("%w: KV format %v", backend.ErrUnsupported, kv)
	case o.BlockSize < 1 || o.PoolBlocks < 0 || o.ScratchBlocks < 0:
		return nil, fmt.Errorf("%w: %d pool and %d scratch blocks of %d", backend.ErrUnsupported, o.PoolBlocks, o.ScratchBlocks, o.BlockSize)
	case rowBytes < slotBytes:
		return nil, fmt.Errorf("%w: %d bytes a position, the fake needs %d", backend.ErrUnsupported, rowBytes, slotBytes)
	}
	r := &fakeRunner{
		fake:    f,
		program: m.Program,
		device: device{
			fake:     f,
			program:  m.Program,
			size:     o.BlockSize,
			rowBytes: rowBytes,
			slots:    make([]slot, (o.PoolBlocks+o.ScratchBlocks)*o.BlockSize),
			nan:      notNumbers(m.Program.Embedding),
			closing:  make(chan struct{}),
		},
		caps: backend.Caps{
			PoolBlocks:    o.PoolBlocks,
			ScratchBlocks: o.ScratchBlocks,
			BlockSize:     o.BlockSize,
			BlockBytes:    int64(rowBytes * o.BlockSize),
			KV:            backend.Selection[quant.Format]{Requested: kv, Effective: kv},
			KVFormats:     []quant.Format{quant.F32, quant.F16, quant.BF16},
			Workers:       1,
			Path:          backend.Selection[string]{Effective: "fake"},
			Wants:         (backend.WantLabels | backend.WantLogSumExp | backend.WantTopK | backend.WantSample) &^ f.Without,
			Masks:         []backend.Mask{backend.Causal},
			Context:       o.Context,
			MaxRows:       or(f.MaxRows, or(o.Rows, 512)),
			MaxSpans:      or(f.MaxSpans, or(o.Spans, 256)),
			InFlight:      or(f.InFlight, 2),
			Numerics:      "fake/1 " + kv.String(),
		},
		jobs: make(chan func(), 16),
		done: make(chan struct{}),
	}
	if o.Progress != nil {
		o.Progress(m.Size, m.Size)
	}
	f.mu.Lock()
	f.open++
	f.mu.Unlock()
	go r.work()
	return r, nil
}

// notNumbers returns the tokens whose F32 embedding starts with a NaN.
func notNumbers(t quant.Tensor) map[int32]bool {
	var list map[int32]bool
	for i := 0; t.Format == quant.F32 && t.Cols > 0 && i < t.Rows; i++ {
		if v := math.Float32frombits(binary.LittleEndian.Uint32(t.Row(i))); v != v {
			if list == nil {
				list = map[int32]bool{}
			}
			list[int32(i)] = true
		}
	}
	return list
}

// Count returns how many operations of a kind there were.
func (f *Fake) Count(op Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts[op]
}

// Problems returns what broke the rules so far.
func (f *Fake) Problems() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.problems...)
}

// Verify fails the test for every problem, and for Runners that were not closed. Call it when the
// test is over.
func (f *Fake) Verify(t testing.TB) {
	t.Helper()
	for _, p := range f.Problems() {
		t.Errorf("fake backend: %s", p)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open > 0 {
		t.Errorf("fake backend: %d runners were not closed", f.open)
	}
}

// hook counts an operation and lets the test interfere.
func (f *Fake) hook(c Call) error {
	f.mu.Lock()
	f.counts[c.Op]++
	c.N = f.counts[c.Op]
	f.mu.Unlock()
	if f.Hook == nil {
		return nil
	}
	return f.Hook(c)
}

// problem records a broken rule and returns it as an error.
func (f *Fake) problem(err error) error {
	const limit = 100 // one mistake can repeat for every row
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.problems) < limit {
		f.problems = append(f.problems, err.Error())
	}
	return err
}

func or(v, def int) int {
	if v == 0 {
		return def
	}
	return v
}
