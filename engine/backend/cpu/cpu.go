package cpu

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/internal/pool"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/quant"
)

// Variable names the environment variable that asks for a kernel path, as WithPath does.
const Variable = "HOTPATH_CPU"

// blockSize is the number of positions in a KV block: the lanes of the widest registers.
const blockSize = 16

// Arithmetic names how activations are rounded before products; see the package comment.
type Arithmetic uint8

// The arithmetic modes.
const (
	Rounded Arithmetic = iota
	Float
)

// String returns the name that stands in the numerics id.
func (a Arithmetic) String() string {
	if a == Float {
		return "float"
	}
	return "rounded"
}

// Backend is the CPU backend with its settings. It is safe for concurrent use.
type Backend struct {
	path       string
	arithmetic Arithmetic
	mapped     bool
}

// Option is a setting of New.
type Option func(*Backend)

// WithPath asks for a kernel path by name: "generic", "avx2", "avx512" or "neon". Open fails with
// backend.ErrUnsupported where the processor or the build lacks it. Empty, the default, takes the
// best one, or the one that the environment variable HOTPATH_CPU names.
func WithPath(name string) Option { return func(b *Backend) { b.path = name } }

// WithArithmetic sets how activations are rounded. The default is Rounded.
func WithArithmetic(a Arithmetic) Option { return func(b *Backend) { b.arithmetic = a } }

// WithMappedWeights runs from the file's mapping without a copy of the weights in the layout of the
// kernels: least memory and quickest Open, and the generic path, since no other reads that layout.
func WithMappedWeights() Option { return func(b *Backend) { b.mapped = true } }

// New returns the backend.
func New(opts ...Option) *Backend {
	b := &Backend{}
	for _, o := range opts {
		o(b)
	}
	return b
}

// Name returns "cpu".
func (b *Backend) Name() string { return "cpu" }

// Paths returns the names of the kernel paths that this processor and build have, best first.
func Paths() []string {
	var names []string
	for _, k := range available() {
		names = append(names, k.name)
	}
	return names
}

// Open prepares the weights and reserves the KV blocks; see backend.Backend.
func (b *Backend) Open(ctx context.Context, m *model.Model, o backend.Options) (backend.Runner, error) {
	k, path, err := choose(b.path, b.mapped)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if o.KV == quant.None {
		o.KV = quant.BF16
	}
	if o.Context == 0 {
		o.Context = m.Program.Context
	}
	if o.Rows == 0 {
		o.Rows = defaultRows
	}
	if o.Spans == 0 {
		o.Spans = defaultSpans
	}
	o.Rows, o.Spans = min(o.Rows, maxRows), min(o.Spans, maxSpans)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if err := checkOptions(&o); err != nil {
		return nil, err
	}
	if err := checkProgram(m.Program); err != nil {
		return nil, err
	}
	r := &Runner{k: k, model: m, program: m.Program, workers: pool.Open(o.Workers)}
	if err := r.open(ctx, o, b.arithmetic, path); err != nil {
		r.release()
		return nil, err
	}
	o.Logger.Debug("cpu: opened", "numerics", r.caps.Numerics, "workers", r.caps.Workers, "weights", r.caps.WeightBytes)
	return r, nil
}

func checkOptions(o *backend.Options) error {
	switch {
	case o.BlockSize != blockSize:
		return fmt.Errorf("%w: cpu: blocks of %d positions, want %d", backend.ErrUnsupported, o.BlockSize, blockSize)
	case o.KV != quant.F32 && o.KV != quant.F16 && o.KV != quant.BF16:
		return fmt.Errorf("%w: cpu: KV in %v, want F32, F16 or BF16", backend.ErrUnsupported, o.KV)
	case o.PoolBlocks < 0 || o.ScratchBlocks < 0 || o.PoolBlocks > maxBlocks-min(o.ScratchBlocks, maxBlocks):
		return fmt.Errorf("%w: cpu: %d pool and %d scratch blocks, limit %d in all", backend.ErrUnsupported, o.PoolBlocks, o.ScratchBlocks, maxBlocks)
	case o.Context < 1 || o.Context > maxContext:
		return fmt.Errorf("%w: cpu: context of %d positions, want 1 to %d", backend.ErrUnsupported, o.Context, maxContext)
	case o.Workers < 0 || o.Rows < 0 || o.Spans < 0:
		return fmt.Errorf("%w: cpu: %d workers, %d rows, %d spans, want at least 0", backend.ErrUnsupported, o.Workers, o.Rows, o.Spans)
	}
	return nil
}

const (
	maxBlocks  = 1 << 26
	maxContext = 1 << 22
	maxRows    = 8192 // in a step
	maxSpans   = 1024

	defaultRows  = 512 // more gain little: weights are read once for all of them
	defaultSpans = 256
)
