package quant

import "errors"

var (
	// ErrFormat is returned for a format that is unknown, or that the call cannot encode or decode.
	ErrFormat = errors.New("quant: unsupported format")
	// ErrLength is returned when a length is not whole blocks, or source and destination disagree.
	ErrLength = errors.New("quant: bad length")
	// ErrValue is returned when a value cannot be stored, such as a NaN in a quant block.
	ErrValue = errors.New("quant: bad value")
)
