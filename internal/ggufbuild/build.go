// Package ggufbuild makes small GGUF files for tests.
package ggufbuild

import (
	"encoding/binary"
	"fmt"
	"math"
)

// File is what to write. The zero value is a valid file of version 3 without metadata or tensors.
type File struct {
	Version   uint32 // 0: 3
	Alignment uint32 // of tensor data; 0: 32. It is not written as metadata: add general.alignment
	Pairs     []Pair
	Tensors   []Tensor
}

// Pair is a key and a value: bool, string, a sized integer or float, or a slice of any of these or
// of slices. []any is an array of arrays and must not be empty.
type Pair struct {
	Key   string
	Value any
}

// Tensor is a tensor with its number of format, dimensions (inner first) and stored bytes.
type Tensor struct {
	Name   string
	Format uint32
	Dims   []uint64
	Data   []byte
}

// F32 makes a tensor of float32 values.
func F32(name string, values []float32, dims ...uint64) Tensor {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return Tensor{Name: name, Dims: dims, Data: b}
}

// Bytes writes the file. It panics on a value that has no GGUF type.
func (f File) Bytes() []byte {
	le := binary.LittleEndian
	version, align := f.Version, int(f.Alignment)
	if version == 0 {
		version = 3
	}
	if align == 0 {
		align = 32
	}
	b := append([]byte(nil), "GGUF"...)
	b = le.AppendUint32(b, version)
	b = le.AppendUint64(b, uint64(len(f.Tensors)))
	b = le.AppendUint64(b, uint64(len(f.Pairs)))
	for _, p := range f.Pairs {
		b = appendText(b, p.Key)
		b = le.AppendUint32(b, typeOf(p.Value))
		b = appendValue(b, p.Value)
	}
	offset := 0
	for _, t := range f.Tensors {
		b = appendText(b, t.Name)
		b = le.AppendUint32(b, uint32(len(t.Dims)))
		for _, d := range t.Dims {
			b = le.AppendUint64(b, d)
		}
		b = le.AppendUint32(b, t.Format)
		b = le.AppendUint64(b, uint64(offset))
		offset = roundUp(offset+len(t.Data), align)
	}
	for _, t := range f.Tensors {
		b = append(b, make([]byte, roundUp(len(b), align)-len(b))...)
		b = append(b, t.Data...)
	}
	return b
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

func appendText(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}

func typeOf(v any) uint32 {
	switch v.(type) {
	case uint8:
		return 0
	case int8:
		return 1
	case uint16:
		return 2
	case int16:
		return 3
	case uint32:
		return 4
	case int32:
		return 5
	case float32:
		return 6
	case bool:
		return 7
	case string:
		return 8
	case uint64:
		return 10
	case int64:
		return 11
	case float64:
		return 12
	case []any, []uint8, []int8, []uint16, []int16, []uint32, []int32, []float32, []bool, []string, []uint64, []int64, []float64:
		return 9
	}
	panic(fmt.Sprintf("ggufbuild: %T has no GGUF type", v))
}

func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return appendText(b, v)
	case []any:
		b = appendHead(b, typeOf(v[0]), len(v))
		for _, e := range v {
			b = appendValue(b, e)
		}
		return b
	case []uint8:
		return appendArray(b, v)
	case []int8:
		return appendArray(b, v)
	case []uint16:
		return appendArray(b, v)
	case []int16:
		return appendArray(b, v)
	case []uint32:
		return appendArray(b, v)
	case []int32:
		return appendArray(b, v)
	case []float32:
		return appendArray(b, v)
	case []bool:
		return appendArray(b, v)
	case []string:
		return appendArray(b, v)
	case []uint64:
		return appendArray(b, v)
	case []int64:
		return appendArray(b, v)
	case []float64:
		return appendArray(b, v)
	}
	b, err := binary.Append(b, binary.LittleEndian, v)
	if err != nil {
		panic(err)
	}
	return b
}

func appendHead(b []byte, elem uint32, n int) []byte {
	b = binary.LittleEndian.AppendUint32(b, elem)
	return binary.LittleEndian.AppendUint64(b, uint64(n))
}

func appendArray[T any](b []byte, v []T) []byte {
	var zero T
	b = appendHead(b, typeOf(zero), len(v))
	for _, e := range v {
		b = appendValue(b, e)
	}
	return b
}
