package safetensors

import "errors"

// Errors of reading files. Each is wrapped with the name of the field and the numbers in question.
var (
	// ErrTruncated is returned when the header or a tensor reaches past the end of the file.
	ErrTruncated = errors.New("safetensors: file too short")
	// ErrLimit is returned for a header, an index or a config.json over its size limit.
	ErrLimit = errors.New("safetensors: over the limit")
	// ErrJSON is returned for a header, an index or a config.json that is not a JSON object in UTF-8.
	ErrJSON = errors.New("safetensors: bad JSON")
	// ErrDuplicate is returned when a JSON object has one name twice.
	ErrDuplicate = errors.New("safetensors: duplicate name")
	// ErrShape is returned for dimensions that are negative, overflow or need another number of
	// bytes than the tensor has, for a matrix of nothing, and by [File.Need] for dimensions other
	// than the wanted ones.
	ErrShape = errors.New("safetensors: bad dimensions")
	// ErrOffsets is returned when the tensors leave a gap, overlap, or do not fill the data.
	ErrOffsets = errors.New("safetensors: bad data offsets")
	// ErrDType is returned for an unknown type, and by [Tensor.Matrix] for one that has no matrix.
	ErrDType = errors.New("safetensors: unsupported data type")
	// ErrIndex is returned for an index whose file names or tensors do not fit the shards.
	ErrIndex = errors.New("safetensors: bad index")
)

// Errors of what is asked of an open file or a Config.
var (
	// ErrMissing is returned for a tensor or a field that is not there, or is null.
	ErrMissing = errors.New("safetensors: missing")
	// ErrType is returned when a field is asked for as a type that it is not.
	ErrType = errors.New("safetensors: wrong type")
	// ErrRange is returned when a number does not fit the type that it is asked for as.
	ErrRange = errors.New("safetensors: number out of range")
)
