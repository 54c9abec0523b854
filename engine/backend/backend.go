package backend

import (
	"context"
	"log/slog"

	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/quant"
)

// Backend opens models on one kind of device. A Backend is a value that holds its own settings;
// there is no registry.
type Backend interface {
	// Name is a short stable name: "cpu", "cuda".
	Name() string
	// Open prepares the model's weights and reserves the KV blocks. It fails with an error that
	// wraps ErrUnsupported when the device or the program is not one it can run. The model must
	// stay open until the Runner is closed.
	Open(ctx context.Context, m *model.Model, o Options) (Runner, error)
}

// Options say what a Runner reserves. The zero value of a field means what its comment says.
type Options struct {
	BlockSize     int          // positions in a KV block, at least 1; a backend may take one size alone (cpu: 16)
	PoolBlocks    int          // blocks with ids 0 .. PoolBlocks-1
	ScratchBlocks int          // blocks with ids PoolBlocks .. PoolBlocks+ScratchBlocks-1
	States        int          // recurrent states with ids 1 .. States, for programs that have them
	KV            quant.Format // F32, F16 or BF16; None: BF16
	Context       int          // largest position + 1 that a row may have; 0: the program's
	Workers       int          // workers to use; 0: GOMAXPROCS
	Rows          int          // rows a step should be able to carry; 0: the backend's choice
	Spans         int          // spans likewise
	Progress      func(done, total int64)
	Logger        *slog.Logger // nil: silent
}

// Runner runs steps on an opened model. Submit and Copy are called from one goroutine; Wait may be
// called from another. Steps are executed in the order they were submitted, and a Copy after the
// steps submitted before it and before those submitted after it.
type Runner interface {
	// Caps says what the Runner can do; it does not change while the Runner is open.
	Caps() Caps
	// Submit starts a step. The batch and everything it refers to must not change until the step's
	// Wait returns. The context bounds starting alone: a step that was started runs to its end, since
	// it carries the rows of many callers. An error means that nothing was started.
	Submit(ctx context.Context, b *Batch) (Step, error)
	// Copy copies rows of blocks, or whole states, byte for byte, in the order given. It may return
	// before the copy is made; moves may be reused then, and a later fault surfaces in the Wait of
	// the steps that follow.
	Copy(ctx context.Context, moves []Move) error
	// Close ends the Runner; steps in flight are finished or fail first.
	Close() error
}

// Step is a submitted step. Wait blocks until it is done and must be called exactly once, for the
// steps in the order of their Submit, and also after Close, when it fails. The
// output's buffers belong to the caller and are reused where they are large enough. After an error
// the rows of the step hold nothing that may be read.
type Step interface {
	Wait(out *Output) error
}

// BlockIO is implemented by Runners whose blocks can leave the process. Its calls come from the
// goroutine that submits and take their place in the order of steps and copies. The bytes are the
// canonical layout of the KV format: for each attention layer in order, keys then values, each
// position after position, head after head, value after value, little-endian.
type BlockIO interface {
	// Export writes positions 0 .. rows-1 of a block to dst and returns the bytes written.
	Export(ctx context.Context, block kvcache.BlockID, rows int, dst []byte) (int, error)
	// Import is the inverse of Export.
	Import(ctx context.Context, block kvcache.BlockID, rows int, src []byte) error
}

// Caps is what a Runner can do.
type Caps struct {
	PoolBlocks    int
	ScratchBlocks int
	BlockSize     int
	BlockBytes    int64 // bytes of one KV block as the device keeps it
	States        int
	StateBytes    int64
	WeightBytes   int64 // memory that the prepared weights take beside the file's mapping
	KV            Selection[quant.Format]
	KVFormats     []quant.Format // that Open accepts
	Workers       int
	Path          Selection[string] // kernel path: "generic", "avx512", ...
	Wants         WantSet           // beside Logits and Hidden, which every Runner has
	Masks         []Mask
	Context       int    // largest position + 1 that a row may have; 0: no limit but the blocks
	MaxRows       int    // rows in a step
	MaxSpans      int    // spans in a step
	InFlight      int    // steps that may be submitted and not yet waited for, at least 1
	Numerics      string // the numerics id: equal ids give equal bits
}

// Selection tells what was asked for, what is used, and why where they differ.
type Selection[T comparable] struct {
	Requested T
	Effective T
	Reason    string // empty when Effective is what was requested
}

// WantSet is the set of optional wants a Runner computes itself. Where one is absent the engine
// asks for Logits and derives it.
type WantSet uint8

// The optional wants.
const (
	WantLabels WantSet = 1 << iota
	WantLogSumExp
	WantTopK
	WantSample
)

// Has reports whether all of w are in the set.
func (s WantSet) Has(w WantSet) bool { return s&w == w }

// Move copies rows From..From+Rows-1 of a block (or, with State ids set, one state).
type Move struct {
	From, To           kvcache.BlockID
	Start, Rows        int // slots in the block, the same in both
	FromState, ToState kvcache.StateID
}
