package arch

import "errors"

var (
	// ErrFamily is returned for a file of a family, or with a feature, that no Program describes.
	ErrFamily = errors.New("arch: unsupported model family")
	// ErrConfig is returned for a hyper-parameter that is missing or impossible.
	ErrConfig = errors.New("arch: bad hyper-parameter")
	// ErrTensor is returned for a tensor that is missing or has another shape than the
	// hyper-parameters say.
	ErrTensor = errors.New("arch: bad tensor")
)
