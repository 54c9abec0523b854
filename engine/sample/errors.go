package sample

import "errors"

var (
	// ErrParams is returned for a setting outside its range; the error names the field, the value
	// and the range.
	ErrParams = errors.New("sample: bad parameter")
	// ErrNaN is returned when a logit that could be chosen, or that a log-probability needs, is
	// not a number.
	ErrNaN = errors.New("sample: a logit is NaN")
	// ErrNoToken is returned when no token is left to choose: all are masked, banned or -Inf.
	ErrNoToken = errors.New("sample: no token is allowed")
	// ErrToken is returned for a token id outside the row of logits.
	ErrToken = errors.New("sample: token id out of range")
)
