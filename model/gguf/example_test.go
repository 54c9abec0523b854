package gguf_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/hotpath-go/hotpath/internal/ggufbuild"
	"github.com/hotpath-go/hotpath/model/gguf"
)

func Example() {
	dir, err := os.MkdirTemp("", "gguf")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.gguf")
	if err := os.WriteFile(path, exampleFile(), 0o600); err != nil {
		log.Fatal(err)
	}

	f, err := gguf.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()

	r := f.Meta().Fields()
	arch := r.Text("general.architecture")
	layers := r.Int(arch + ".block_count")
	base := r.Float(arch+".rope.freq_base", 10000) // optional
	if err := r.Err(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(arch, layers, base)

	embd, err := f.Need("token_embd.weight", 4, 2)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(embd.Format, embd.Rows, embd.Cols)

	_, err = f.Meta().Get("general.architecture").Int()
	fmt.Println(err)
	// Output:
	// llama 2 10000
	// F32 2 4
	// gguf: wrong type: key "general.architecture": want integer, found string
}

func exampleFile() []byte {
	return ggufbuild.File{
		Pairs:   []ggufbuild.Pair{{Key: "general.architecture", Value: "llama"}, {Key: "llama.block_count", Value: uint32(2)}},
		Tensors: []ggufbuild.Tensor{ggufbuild.F32("token_embd.weight", make([]float32, 8), 4, 2)},
	}.Bytes()
}
