package tokenizer

import (
	"errors"
	"fmt"
)

var (
	// ErrFormat reports a tokenizer description that is malformed: wrong types, ids out of range,
	// merges that name absent tokens, lists whose lengths disagree, duplicate tokens.
	ErrFormat = errors.New("tokenizer: malformed description")

	// ErrUnsupported reports a well-formed description that asks for an algorithm, pattern or option
	// that this package does not implement. The message names it.
	ErrUnsupported = errors.New("tokenizer: unsupported")

	// ErrLimit reports a description that exceeds one of the package's limits.
	ErrLimit = errors.New("tokenizer: limit exceeded")
)

func malformed(field, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrFormat, field, fmt.Sprintf(format, args...))
}

func unsupported(field, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrUnsupported, field, fmt.Sprintf(format, args...))
}

func overLimit(field string, got, limit int) error {
	return fmt.Errorf("%w: %s: %d, limit %d", ErrLimit, field, got, limit)
}
