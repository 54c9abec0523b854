package arch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotpath-go/hotpath/model/safetensors"
	"github.com/hotpath-go/hotpath/quant"
)

// parts translates the last part of a GGUF tensor name into that of Hugging Face checkpoints.
func parts() map[string]string {
	return map[string]string{
		"token_embd":  "model.embed_tokens",
		"output_norm": "model.norm",
		"output":      "lm_head",
		"attn_norm":   "input_layernorm",
		"attn_q":      "self_attn.q_proj",
		"attn_k":      "self_attn.k_proj",
		"attn_v":      "self_attn.v_proj",
		"attn_output": "self_attn.o_proj",
		"attn_q_norm": "self_attn.q_norm",
		"attn_k_norm": "self_attn.k_norm",
		"ffn_norm":    "post_attention_layernorm",
		"ffn_gate":    "mlp.gate_proj",
		"ffn_up":      "mlp.up_proj",
		"ffn_down":    "mlp.down_proj",
	}
}

// safeTensors finds tensors by their GGUF names in a safetensors file.
type safeTensors struct {
	file  *safetensors.File
	parts map[string]string
	tied  bool // the head is the embedding, whatever the file holds
}

func (s safeTensors) find(name string) (quant.Tensor, []int, bool) {
	if s.tied && name == "output.weight" {
		return quant.Tensor{}, nil, false
	}
	stem, end, _ := cutLast(name, ".") // weight or bias
	prefix := ""
	if layer, ok := strings.CutPrefix(stem, "blk."); ok {
		i, rest, _ := strings.Cut(layer, ".")
		prefix, stem = "model.layers."+i+".", rest
	}
	to, ok := s.parts[stem]
	if !ok {
		return quant.Tensor{}, nil, false
	}
	t, ok := s.file.Tensor(prefix + to + "." + end)
	if !ok {
		return quant.Tensor{}, nil, false
	}
	m, err := t.Matrix()
	if err != nil {
		return quant.Tensor{}, nil, false
	}
	dims := slices.Clone(t.Shape)
	slices.Reverse(dims)
	return m, dims, true
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// FromSafetensors builds the program of opened safetensors files with the config.json beside them.
// Errors wrap ErrFamily, ErrConfig, ErrTensor or those of package safetensors.
func FromSafetensors(f *safetensors.File) (*Program, error) {
	conf, err := f.Config()
	if err != nil {
		return nil, err
	}
	get := conf.Fields()
	name := get.Text("model_type")
	if err := get.Err(); err != nil {
		return nil, err
	}
	switch name {
	case "mistral": // the same layers under another name
		name = "llama"
	}
	fam, err := lookup(name)
	if err != nil {
		return nil, err
	}
	if act := get.Text("hidden_act", "silu"); act != "silu" {
		return nil, fmt.Errorf("%w: hidden_act %q", ErrFamily, act)
	}
	for _, field := range []string{"attention_bias", "mlp_bias", "use_sliding_window"} {
		if get.Bool(field, false) && (field != "attention_bias" || name != "qwen2") {
			return nil, fmt.Errorf("%w: %s", ErrFamily, field)
		}
	}
	if name == "llama" && get.Has("sliding_window") {
		return nil, fmt.Errorf("%w: sliding_window %d", ErrFamily, get.Int("sliding_window"))
	}
	c := config{
		family:  name,
		width:   get.Int("hidden_size"),
		layers:  get.Int("num_hidden_layers"),
		heads:   get.Int("num_attention_heads"),
		inner:   get.Int("intermediate_size"),
		context: get.Int("max_position_embeddings"),
		epsilon: float32(get.Float("rms_norm_eps")),
	}
	c.kvHeads = get.Int("num_key_value_heads", c.heads)
	if err := get.Err(); err != nil {
		return nil, err
	}
	if c.heads > 0 {
		c.headDim = get.Int("head_dim", c.width/c.heads)
	}
	c.rope = ropeOf(get, &c)
	tied := get.Bool("tie_word_embeddings", false)
	if err := get.Err(); err != nil {
		return nil, err
	}
	w := &weights{config: c, from: safeTensors{f, parts(), tied}}
	if err := w.check(); err != nil {
		return nil, err
	}
	if !tied && !w.has("output.weight") {
		return nil, fmt.Errorf("%w: \"lm_head.weight\" is missing and tie_word_embeddings is false", ErrTensor)
	}
	return fam.build(w)
}

// ropeOf reads the rotation: rope_theta and rope_scaling, or both in rope_parameters.
func ropeOf(get *safetensors.Fields, c *config) ropeConfig {
	r := ropeConfig{dim: c.headDim, base: 10000}
	from := get.Object("rope_scaling")
	if get.Has("rope_parameters") {
		from = get.Object("rope_parameters")
		r.base = from.Float("rope_theta", r.base)
	}
	r.base = get.Float("rope_theta", r.base)
	r.scaling = from.Text("rope_type", from.Text("type", "default"))
	if r.scaling == "default" {
		r.scaling = ""
		return r
	}
	r.factor = from.Float("factor", 1)
	r.context = from.Float("original_max_position_embeddings", float64(c.context))
	r.low = from.Float("low_freq_factor", 0)
	r.high = from.Float("high_freq_factor", 0)
	r.betaFast = from.Float("beta_fast", 32)
	r.betaSlow = from.Float("beta_slow", 1)
	r.attention = from.Float("attention_factor", 0)
	return r
}
