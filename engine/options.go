package engine

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/quant"
)

// Option changes how Open opens an engine.
type Option func(*options) error

// options are the resolved settings of an engine.
type options struct {
	context    int
	kv         KV
	workers    int
	progress   func(Progress)
	logger     *slog.Logger
	backends   []backend.Backend
	stepRows   int
	queue      Queue
	slow       SlowReader
	clock      time.Time
	calibrator *decide.Calibrator
}

// KV says how keys and values are kept.
type KV struct {
	// Format is quant.BF16, quant.F16 or quant.F32; zero: BF16.
	Format quant.Format
	// Bytes is the size of the pool. Zero: the lesser of a quarter of the memory that the process may
	// use and what four full contexts need, and never less than one context.
	Bytes int64
	// Scratch is the size of the scratch, where decisions put their own rows. Zero: an eighth of the
	// pool, at least 64 blocks.
	Scratch int64
}

// Queue bounds what may wait to be run. A call beyond it fails with *ErrBusy.
type Queue struct {
	Requests int // zero: 1,024
	Tokens   int // of the waiting requests; zero: 64 full contexts
}

// SlowReader bounds how far the reader of a stream may fall behind.
type SlowReader struct {
	Events int           // not scheduled while this many events wait; zero: 256
	After  time.Duration // ended with ErrSlowReader after this long behind; zero: 1 minute
}

// Progress tells how far Open is.
type Progress struct {
	Stage string // "weights"
	Done  int64  // bytes
	Total int64
}

// Fraction returns the part that is done, 0 to 1.
func (p Progress) Fraction() float64 {
	if p.Total <= 0 {
		return 0
	}
	return float64(p.Done) / float64(p.Total)
}

// WithContextLength sets how many positions a sequence may have. Default: what the model was
// trained for, at most 32,768.
func WithContextLength(n int) Option {
	return func(o *options) error {
		if n < 1 {
			return fmt.Errorf("%w: WithContextLength: %d, must be at least 1", ErrOption, n)
		}
		o.context = n
		return nil
	}
}

// WithKV sets format and sizes of the KV memory.
func WithKV(kv KV) Option {
	return func(o *options) error {
		switch kv.Format {
		case quant.None, quant.F32, quant.F16, quant.BF16:
		default:
			return fmt.Errorf("%w: WithKV: format %v, must be F32, F16 or BF16", ErrOption, kv.Format)
		}
		if kv.Bytes < 0 || kv.Scratch < 0 {
			return fmt.Errorf("%w: WithKV: sizes %d and %d bytes, must not be negative", ErrOption, kv.Bytes, kv.Scratch)
		}
		o.kv = kv
		return nil
	}
}

// WithCalibrator makes every answer calibrated that the calibrator was fitted for. Open is
// decide.ErrCalibrator where it was fitted under another model, template or label scheme. It takes the
// place of the temperatures that the model's file may ship.
func WithCalibrator(c *decide.Calibrator) Option {
	return func(o *options) error { o.calibrator = c; return nil }
}

// WithWorkers sets how many workers compute, at most GOMAXPROCS, which is the default; Info says how
// many it came to. All engines of a process share one pool of workers.
func WithWorkers(n int) Option {
	return func(o *options) error {
		if n < 1 {
			return fmt.Errorf("%w: WithWorkers: %d, must be at least 1", ErrOption, n)
		}
		o.workers = n
		return nil
	}
}

// WithProgress calls f while the model is loaded, from one goroutine at a time, at most a hundred
// times a stage.
func WithProgress(f func(Progress)) Option {
	return func(o *options) error { o.progress = f; return nil }
}

// WithLogger sets where the engine logs. Default: nowhere. Prompts are never logged.
func WithLogger(l *slog.Logger) Option {
	return func(o *options) error { o.logger = l; return nil }
}

// WithBackend sets the backends to try, in order: the first that opens the model is used, and Info
// says why the ones before it did not. Default: cpu.New().
func WithBackend(b ...backend.Backend) Option {
	return func(o *options) error {
		if len(b) == 0 {
			return fmt.Errorf("%w: WithBackend: 0 backends, needs at least 1", ErrOption)
		}
		for i := range b {
			if b[i] == nil {
				return fmt.Errorf("%w: WithBackend: backend %d of %d is nil", ErrOption, i+1, len(b))
			}
		}
		o.backends = b
		return nil
	}
}

// WithStepRows sets how many rows a step may carry: larger steps prefill faster and make running
// streams wait longer. Default: 1,024.
func WithStepRows(n int) Option {
	return func(o *options) error {
		if n < 1 {
			return fmt.Errorf("%w: WithStepRows: %d, must be at least 1", ErrOption, n)
		}
		o.stepRows = n
		return nil
	}
}

// WithQueue bounds what may wait to be run.
func WithQueue(q Queue) Option {
	return func(o *options) error {
		if q.Requests < 0 || q.Tokens < 0 {
			return fmt.Errorf("%w: WithQueue: %d requests and %d tokens, must not be negative", ErrOption, q.Requests, q.Tokens)
		}
		o.queue = q
		return nil
	}
}

// WithSlowReader bounds how far the reader of a stream may fall behind.
func WithSlowReader(s SlowReader) Option {
	return func(o *options) error {
		if s.Events < 0 || s.After < 0 {
			return fmt.Errorf("%w: WithSlowReader: %d events and %v, must not be negative", ErrOption, s.Events, s.After)
		}
		o.slow = s
		return nil
	}
}

// WithClock sets the clock that chat templates may ask for, fixed when the engine is opened so that
// a prompt renders the same for the engine's whole life. Default: the time of Open.
func WithClock(t time.Time) Option {
	return func(o *options) error { o.clock = t; return nil }
}

func (q *Queue) fill(context int) {
	if q.Requests == 0 {
		q.Requests = 1024
	}
	if q.Tokens == 0 {
		q.Tokens = 64 * context
	}
}

func (s *SlowReader) fill() {
	if s.Events == 0 {
		s.Events = 256
	}
	if s.After == 0 {
		s.After = time.Minute
	}
}
