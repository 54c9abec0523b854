package backend

import "errors"

var (
	// ErrUnsupported is returned by Open for a device that is absent, or a program, format or option
	// that the backend cannot run.
	ErrUnsupported = errors.New("backend: unsupported")
	// ErrBatch is returned by Submit for a batch that breaks a rule of Batch: it names which.
	ErrBatch = errors.New("backend: bad batch")
	// ErrNaN stands in the Result of a row that has logits that are not numbers.
	ErrNaN = errors.New("backend: logits are not numbers")
	// ErrClosed is returned by calls on a closed Runner.
	ErrClosed = errors.New("backend: closed")
)
