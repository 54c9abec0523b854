package quant

import "errors"

var (
	// ErrFormat is returned for a format that is unknown, or that the call cannot encode or decode.
	ErrFormat = errors.New("quant: unsupported format")
	// ErrLength is returned when a length is not whole blocks, or source and destination disagree.
	ErrLength = errors.New("quant: bad length")
)
