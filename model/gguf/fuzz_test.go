package gguf_test

import (
	"testing"

	"github.com/hotpath-go/hotpath/internal/ggufbuild"
	"github.com/hotpath-go/hotpath/model/gguf"
)

func FuzzParse(f *testing.F) {
	for _, c := range hostile {
		if len(c.file) < 4096 {
			f.Add(c.file)
		}
	}
	f.Add(ggufbuild.File{
		Pairs: []ggufbuild.Pair{
			{Key: "general.architecture", Value: "llama"}, {Key: "general.alignment", Value: uint32(32)},
			{Key: "llama.block_count", Value: uint32(2)}, {Key: "llama.rope.freq_base", Value: float32(1e4)},
			{Key: "tokenizer.ggml.tokens", Value: []string{"<s>", "▁a", "b"}},
			{Key: "tokenizer.ggml.scores", Value: []float32{0, -1, -2}},
			{Key: "tokenizer.ggml.token_type", Value: []int32{3, 1, 1}},
			{Key: "flags", Value: []bool{true, false}}, {Key: "deep", Value: []any{[]uint64{1}, []uint64{}}},
		},
		Tensors: []ggufbuild.Tensor{
			ggufbuild.F32("a", []float32{1, 2, 3, 4}, 2, 2), {Name: "b", Format: 2, Dims: []uint64{32, 1}, Data: make([]byte, 18)},
		},
	}.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := gguf.Parse(b)
		if err != nil {
			return
		}
		// Whatever was accepted can be used: no getter may panic, and every view fits its shape.
		for v := range file.Meta().All() {
			use(v)
		}
		size := 0
		for _, x := range file.Tensors() {
			n, err := x.Format.RowBytes(x.Cols)
			if err != nil || n*x.Rows != len(x.Data) || x.Rows < 1 || x.Cols < 1 {
				t.Errorf("%s: %v of %v holds %d bytes, %v", x.Name, x.Format, x.Dims, len(x.Data), err)
			}
			size += len(x.Data)
			if y, ok := file.Tensor(x.Name); !ok || len(y.Data) != len(x.Data) {
				t.Errorf("%s: not found by name", x.Name)
			}
		}
		if size > len(b) {
			t.Errorf("tensors hold %d bytes of a file of %d", size, len(b))
		}
	})
}

func use(v gguf.Value) {
	_, _ = v.Text()
	_, _ = v.Bool()
	_, _ = v.Uint()
	_, _ = v.Int()
	_, _ = v.Float()
	_, _ = v.Strings()
	_, _ = v.Ints()
	_, _ = v.Int32s()
	_, _ = v.Float32s()
	_, _ = v.Bools()
	_, _ = v.PerLayer(2)
	_ = v.String()
	if v.Len() < 1000 {
		for e := range v.All() {
			use(e)
		}
	}
}
