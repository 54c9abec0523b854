package reference

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/quant"
)

// Backend is the reference backend; make one with New. It is safe for concurrent use.
type Backend struct {
	rounded bool

	mu     sync.Mutex
	tokens map[[sha256.Size]byte]int32 // by the bytes of an exported row
}

// Option is a setting of New.
type Option func(*Backend)

// WithRoundedActivations rounds activations as backends with integer products do, before they meet
// weights of the formats of quant.DotInt8: to 8 bits, in blocks of 32 with a scale each, see
// quant.Int8Row. What is left between such a backend and this one is the order of sums. By default
// nothing is rounded.
func WithRoundedActivations() Option { return func(b *Backend) { b.rounded = true } }

// New returns the backend.
func New(opts ...Option) *Backend {
	b := &Backend{tokens: map[[sha256.Size]byte]int32{}}
	for _, o := range opts {
		o(b)
	}
	return b
}

// Name implements backend.Backend.
func (b *Backend) Name() string { return "reference" }

// Open implements backend.Backend. Options.Workers is ignored.
func (b *Backend) Open(ctx context.Context, m *model.Model, o backend.Options) (backend.Runner, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	kv := o.KV
	if kv == quant.None {
		kv = quant.BF16
	}
	if kv != quant.F32 && kv != quant.F16 && kv != quant.BF16 {
		return nil, fmt.Errorf("%w: KV format %v, must be F32, F16 or BF16", backend.ErrUnsupported, kv)
	}
	if o.BlockSize < 1 || o.PoolBlocks < 0 || o.ScratchBlocks < 0 {
		return nil, fmt.Errorf("%w: %d pool and %d scratch blocks of %d positions", backend.ErrUnsupported, o.PoolBlocks, o.ScratchBlocks, o.BlockSize)
	}
	net, err := expand(m.Program, kv, b.rounded)
	if err != nil {
		return nil, err
	}
	if o.Progress != nil {
		o.Progress(m.Size, m.Size)
	}
	activations := "f32"
	if b.rounded {
		activations = "int8"
	}
	limit := o.Context
	if limit == 0 {
		limit = m.Program.Context
	}
	return &runner{
		backend: b,
		net:     net,
		slots:   make([]slot, (o.PoolBlocks+o.ScratchBlocks)*o.BlockSize),
		caps: backend.Caps{
			PoolBlocks:    o.PoolBlocks,
			ScratchBlocks: o.ScratchBlocks,
			BlockSize:     o.BlockSize,
			BlockBytes:    int64(m.Program.KVBytes(kv) * o.BlockSize),
			WeightBytes:   net.bytes,
			KV:            backend.Selection[quant.Format]{Requested: kv, Effective: kv},
			KVFormats:     []quant.Format{quant.F32, quant.F16, quant.BF16},
			Workers:       1,
			Path:          backend.Selection[string]{Effective: "gorgonia"},
			Wants:         backend.WantLabels | backend.WantLogSumExp | backend.WantTopK | backend.WantSample,
			Masks:         []backend.Mask{backend.Causal},
			Context:       limit,
			MaxRows:       max(o.Rows, 1<<14),
			MaxSpans:      max(o.Spans, 1<<10),
			InFlight:      1,
			Numerics:      "reference/1 " + activations + " kv=" + kv.String(),
		},
	}, nil
}

// learn remembers which token an exported row belongs to.
func (b *Backend) learn(row []byte, token int32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens[sha256.Sum256(row)] = token
}

// recall is the inverse of learn.
func (b *Backend) recall(row []byte) (int32, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	token, ok := b.tokens[sha256.Sum256(row)]
	return token, ok
}
