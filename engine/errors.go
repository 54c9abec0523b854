package engine

import (
	"errors"

	"github.com/hotpath-go/hotpath/sched"
)

var (
	// ErrClosed ends every call that is waiting when Close is called, and every later call that would
	// compute something.
	ErrClosed = errors.New("engine: closed")
	// ErrDraining is returned to calls that come after Shutdown.
	ErrDraining = errors.New("engine: shutting down")
	// ErrRequest is returned for a request that breaks a rule; the message names the field and both
	// numbers.
	ErrRequest = errors.New("engine: bad request")
	// ErrTooLong is returned for a prompt or state that does not fit the context length; nothing is
	// cut.
	ErrTooLong = errors.New("engine: too long for the context")
	// ErrMemory is returned by Open when the KV blocks do not fit the memory.
	ErrMemory = errors.New("engine: not enough memory")
	// ErrOption is returned by Open for an option that breaks a rule.
	ErrOption = errors.New("engine: bad option")
	// ErrBackend is returned by Open when no backend opens the model; it wraps each one's reason.
	ErrBackend = errors.New("engine: no backend opens the model")
	// ErrInternal wraps a fault inside the engine, such as a panic in a worker. The call fails, the
	// engine lives on.
	ErrInternal = errors.New("engine: internal error")
	// ErrSlowReader ends a stream whose reader stayed behind for too long.
	ErrSlowReader = errors.New("engine: the reader of the stream is too slow")
)

// ErrBusy is returned when the queue is full: which bound was reached, both numbers, and an
// estimate of when to try again.
type ErrBusy = sched.BusyError
