package safetensors_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/hotpath-go/hotpath/model/safetensors"
)

func Example() {
	dir, err := os.MkdirTemp("", "safetensors")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	weights := file("{"+tensor("model.embed_tokens.weight", "BF16", "[3,2]", 0, 12)+"}", 12)
	config := `{"model_type": "llama", "hidden_size": 2, "rope_scaling": {"rope_type": "llama3", "factor": 8.0}, "head_dim": null}`
	for name, b := range map[string][]byte{"model.safetensors": weights, "config.json": []byte(config)} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			log.Fatal(err)
		}
	}

	f, err := safetensors.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	c, err := f.Config()
	if err != nil {
		log.Fatal(err)
	}
	r := c.Fields()
	fmt.Println(r.Text("model_type"), r.Int("hidden_size"), r.Int("head_dim", 64)) // null takes the default
	fmt.Println(r.Object("rope_scaling").Float("factor"))
	r.Object("rope_scaling").Int("original_max_position_embeddings")
	fmt.Println(r.Err())

	t, err := f.Need("model.embed_tokens.weight", 3, 2)
	if err != nil {
		log.Fatal(err)
	}
	m, err := t.Matrix()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Format, m.Rows, m.Cols)
	// Output:
	// llama 2 64
	// 8
	// safetensors: missing: field "rope_scaling.original_max_position_embeddings"
	// BF16 3 2
}
