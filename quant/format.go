package quant

import (
	"fmt"
	"strings"
)

// Format names how values are stored: the float types, and the block formats of GGUF files.
// The zero Format is none; where an option has that type, zero means the default.
type Format uint8

// The formats, in the order of their GGUF type numbers.
const (
	None Format = iota
	F32
	F16
	Q4_0
	Q4_1
	Q5_0
	Q5_1
	Q8_0
	Q8_1
	Q2_K
	Q3_K
	Q4_K
	Q5_K
	Q6_K
	Q8_K
	IQ2_XXS
	IQ2_XS
	IQ3_XXS
	IQ1_S
	IQ4_NL
	IQ3_S
	IQ2_S
	IQ4_XS
	I8
	I16
	I32
	I64
	F64
	IQ1_M
	BF16
	TQ1_0
	TQ2_0
	MXFP4
	NVFP4
	Q1_0
	Q2_0
	formats
)

// info is what the table below knows of one format.
type info struct {
	name  string
	ggml  uint32 // type number in GGUF files
	len   int    // values in a block
	bytes int    // bytes of a block
}

var table = [formats]info{
	None:    {"none", 0, 0, 0},
	F32:     {"F32", 0, 1, 4},
	F16:     {"F16", 1, 1, 2},
	Q4_0:    {"Q4_0", 2, 32, 18},
	Q4_1:    {"Q4_1", 3, 32, 20},
	Q5_0:    {"Q5_0", 6, 32, 22},
	Q5_1:    {"Q5_1", 7, 32, 24},
	Q8_0:    {"Q8_0", 8, 32, 34},
	Q8_1:    {"Q8_1", 9, 32, 36},
	Q2_K:    {"Q2_K", 10, 256, 84},
	Q3_K:    {"Q3_K", 11, 256, 110},
	Q4_K:    {"Q4_K", 12, 256, 144},
	Q5_K:    {"Q5_K", 13, 256, 176},
	Q6_K:    {"Q6_K", 14, 256, 210},
	Q8_K:    {"Q8_K", 15, 256, 292},
	IQ2_XXS: {"IQ2_XXS", 16, 256, 66},
	IQ2_XS:  {"IQ2_XS", 17, 256, 74},
	IQ3_XXS: {"IQ3_XXS", 18, 256, 98},
	IQ1_S:   {"IQ1_S", 19, 256, 50},
	IQ4_NL:  {"IQ4_NL", 20, 32, 18},
	IQ3_S:   {"IQ3_S", 21, 256, 110},
	IQ2_S:   {"IQ2_S", 22, 256, 82},
	IQ4_XS:  {"IQ4_XS", 23, 256, 136},
	I8:      {"I8", 24, 1, 1},
	I16:     {"I16", 25, 1, 2},
	I32:     {"I32", 26, 1, 4},
	I64:     {"I64", 27, 1, 8},
	F64:     {"F64", 28, 1, 8},
	IQ1_M:   {"IQ1_M", 29, 256, 56},
	BF16:    {"BF16", 30, 1, 2},
	TQ1_0:   {"TQ1_0", 34, 256, 54},
	TQ2_0:   {"TQ2_0", 35, 256, 66},
	MXFP4:   {"MXFP4", 39, 32, 17},
	NVFP4:   {"NVFP4", 40, 64, 36},
	Q1_0:    {"Q1_0", 41, 128, 18},
	Q2_0:    {"Q2_0", 42, 64, 18},
}

// FromGGML returns the format with a GGUF type number, and false for a number that names none.
func FromGGML(id uint32) (Format, bool) {
	for f := F32; f < formats; f++ {
		if table[f].ggml == id {
			return f, true
		}
	}
	return None, false
}

// Parse returns the format with a name as String gives it, in any case.
func Parse(name string) (Format, error) {
	for f := F32; f < formats; f++ {
		if strings.EqualFold(table[f].name, name) {
			return f, nil
		}
	}
	return None, fmt.Errorf("%w: %q", ErrFormat, name)
}

// String returns the name that GGUF tools use, "Q4_K" for instance.
func (f Format) String() string {
	if f >= formats {
		return fmt.Sprintf("Format(%d)", uint8(f))
	}
	return table[f].name
}

// GGML returns the type number in GGUF files.
func (f Format) GGML() uint32 { return f.info().ggml }

// BlockLen returns how many values a quant block holds, 1 for the plain types.
func (f Format) BlockLen() int { return f.info().len }

// BlockBytes returns the size of a quant block in bytes.
func (f Format) BlockBytes() int { return f.info().bytes }

// RowBytes returns the size in bytes of n values, which must be whole blocks.
func (f Format) RowBytes(n int) (int, error) {
	i := f.info()
	if i.len == 0 {
		return 0, fmt.Errorf("%w: %v", ErrFormat, f)
	}
	if n < 0 || n%i.len != 0 {
		return 0, fmt.Errorf("%w: %d values in %v, blocks hold %d", ErrLength, n, f, i.len)
	}
	blocks := n / i.len
	if blocks > maxInt/i.bytes {
		return 0, fmt.Errorf("%w: %d values in %v overflow the size", ErrLength, n, f)
	}
	return blocks * i.bytes, nil
}

func (f Format) info() info {
	if f >= formats {
		return info{}
	}
	return table[f]
}

const maxInt = int(^uint(0) >> 1)
