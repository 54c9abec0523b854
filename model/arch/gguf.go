package arch

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/hotpath-go/hotpath/model/gguf"
	"github.com/hotpath-go/hotpath/quant"
)

// family is how one value of general.architecture, or of model_type, is built.
type family struct {
	build func(*weights) (*Program, error)
	// adjacent: the converter to GGUF reorders the rows of q and k so that pairs are neighbours.
	adjacent bool
}

// families returns the supported families by their name in both kinds of file.
func families() map[string]family {
	return map[string]family{
		"llama": {llama, true},
		"qwen2": {qwen2, false},
		"qwen3": {qwen3, false},
	}
}

func lookup(name string) (family, error) {
	all := families()
	f, ok := all[name]
	if !ok {
		return f, fmt.Errorf("%w: %q, supported: %s", ErrFamily, name, strings.Join(slices.Sorted(maps.Keys(all)), ", "))
	}
	return f, nil
}

type ggufTensors struct{ file *gguf.File }

func (g ggufTensors) find(name string) (quant.Tensor, []int, bool) {
	t, ok := g.file.Tensor(name)
	return t.Tensor, t.Dims, ok
}

// FromGGUF builds the program of an opened GGUF file. Errors wrap ErrFamily, ErrConfig, ErrTensor or
// those of package gguf.
func FromGGUF(f *gguf.File) (*Program, error) {
	meta := f.Meta().Fields()
	name := meta.Text("general.architecture")
	if err := meta.Err(); err != nil {
		return nil, err
	}
	fam, err := lookup(name)
	if err != nil {
		return nil, err
	}
	key := func(s string) string { return name + "." + s }
	c := config{
		family:   name,
		width:    meta.Int(key("embedding_length")),
		layers:   meta.Int(key("block_count")),
		heads:    meta.Int(key("attention.head_count")),
		inner:    meta.Int(key("feed_forward_length")),
		context:  meta.Int(key("context_length")),
		epsilon:  float32(meta.Float(key("attention.layer_norm_rms_epsilon"))),
		adjacent: fam.adjacent,
	}
	c.kvHeads = meta.Int(key("attention.head_count_kv"), c.heads)
	if err := meta.Err(); err != nil {
		return nil, err
	}
	if c.heads > 0 {
		c.headDim = meta.Int(key("attention.key_length"), c.width/c.heads)
	}
	if v := meta.Int(key("attention.value_length"), c.headDim); v != c.headDim {
		return nil, fmt.Errorf("%w: values of %d, keys of %d in a head", ErrFamily, v, c.headDim)
	}
	if n := meta.Int(key("expert_count"), 0); n > 0 {
		return nil, fmt.Errorf("%w: %q with %d experts", ErrFamily, name, n)
	}
	c.rope = ropeConfig{
		dim:      meta.Int(key("rope.dimension_count"), c.headDim),
		base:     meta.Float(key("rope.freq_base"), 10000),
		scaling:  meta.Text(key("rope.scaling.type"), ""),
		factor:   meta.Float(key("rope.scaling.factor"), 1),
		context:  meta.Float(key("rope.scaling.original_context_length"), float64(c.context)),
		betaFast: meta.Float(key("rope.scaling.yarn_beta_fast"), 32),
		betaSlow: meta.Float(key("rope.scaling.yarn_beta_slow"), 1),
	}
	// Here the factor multiplies the formula's own magnitude; in a config.json it replaces it.
	c.rope.attention = meta.Float(key("rope.scaling.attn_factor"), 1) * (1 + 0.1*math.Log(c.rope.factor))
	if c.rope.scaling == "none" {
		c.rope.scaling = ""
	}
	if err := meta.Err(); err != nil {
		return nil, err
	}
	w := &weights{config: c, from: ggufTensors{f}}
	if w.has("rope_freqs.weight") && c.rope.dim > 0 && c.rope.dim <= maxWidth {
		w.rope.divisors = w.vector("rope_freqs.weight", c.rope.dim/2)
	}
	if err := errors.Join(w.err, w.check()); err != nil {
		return nil, err
	}
	return fam.build(w)
}
