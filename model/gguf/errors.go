package gguf

import "errors"

// Errors of Open and Parse. Each is wrapped with the name of the field and the numbers in question.
var (
	// ErrFormat is returned for bytes that are not a GGUF file.
	ErrFormat = errors.New("gguf: not a GGUF file")
	// ErrVersion is returned for a version other than 2 and 3, version 1 among them.
	ErrVersion = errors.New("gguf: unsupported version")
	// ErrBigEndian is returned for a file that was written for a big-endian machine.
	ErrBigEndian = errors.New("gguf: big-endian files are not supported")
	// ErrTruncated is returned when a count, a length or a tensor reaches past the end of the file.
	ErrTruncated = errors.New("gguf: file too short")
	// ErrLimit is returned for a name, a number of dimensions or a nesting of arrays over its limit.
	ErrLimit = errors.New("gguf: over the limit")
	// ErrText is returned for text that is not UTF-8, and for a name that is empty or has a NUL.
	ErrText = errors.New("gguf: bad text")
	// ErrAlignment is returned for an alignment of zero or not a multiple of 8, and for a tensor
	// whose offset is not a multiple of the alignment.
	ErrAlignment = errors.New("gguf: bad alignment")
	// ErrShape is returned for dimensions that are zero, overflow, or do not fill whole quant
	// blocks, and by [File.Need] for dimensions other than the wanted ones.
	ErrShape = errors.New("gguf: bad dimensions")
	// ErrOverlap is returned when two tensors share bytes.
	ErrOverlap = errors.New("gguf: tensors overlap")
	// ErrDuplicate is returned when two keys or two tensors have one name.
	ErrDuplicate = errors.New("gguf: duplicate name")
	// ErrSplit is returned when the parts of a split file do not fit together.
	ErrSplit = errors.New("gguf: bad split file")
)

// Errors of what is asked of an open file. ErrType is also one of Open and Parse.
var (
	// ErrType is returned for a type number that names no type, for an alignment, a split field or
	// a bool of the wrong type, and when a value is asked for as a type that it is not.
	ErrType = errors.New("gguf: wrong type")
	// ErrRange is returned when a number does not fit the type that it is asked for as.
	ErrRange = errors.New("gguf: number out of range")
	// ErrMissing is returned for a key or a tensor that the file does not have.
	ErrMissing = errors.New("gguf: missing")
	// ErrNoTensors is returned by [File.Need] when the file holds metadata alone.
	ErrNoTensors = errors.New("gguf: file has no tensors")
)
