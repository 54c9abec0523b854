package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/constrain"
	"github.com/hotpath-go/hotpath/engine/sample"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/chat/parse"
	"github.com/hotpath-go/hotpath/model/tokenizer"
)

// marked is the story model with a byte-level tokenizer, in which the markers of a format are control
// tokens: byte tokens first, as many ids as the model has.
type marked struct {
	template string
	markers  []string
}

func (m marked) String() string { return "marked" }

func (m marked) Load(ctx context.Context) (*model.Model, error) {
	base, err := model.Stories().Load(ctx)
	if err != nil {
		return nil, err
	}
	vocab := map[string]int{}
	next := rune(0x100) // GPT-2's table: printable Latin-1 stands for itself
	for b := range rune(256) {
		r := b
		if !(b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE) {
			r, next = next, next+1
		}
		vocab[string(r)] = int(b)
	}
	type added struct {
		ID      int    `json:"id"`
		Content string `json:"content"`
		Special bool   `json:"special"`
	}
	var list []added
	for id := 256; id < base.Tokenizer.Size(); id++ {
		content := fmt.Sprintf("<|unused%d|>", id)
		if i := id - 256; i < len(m.markers) {
			content = m.markers[i]
		}
		list = append(list, added{id, content, true})
	}
	doc, err := json.Marshal(map[string]any{
		"model":         map[string]any{"type": "BPE", "vocab": vocab, "merges": []string{}},
		"pre_tokenizer": map[string]any{"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
		"decoder":       map[string]any{"type": "ByteLevel"}, "added_tokens": list,
	})
	if err != nil {
		return nil, err
	}
	tok, err := tokenizer.FromJSON(doc, nil)
	if err != nil {
		return nil, err
	}
	return model.New("marked", base.Program, tok, m.template)
}

// TestMarkersAsTokens: where a format's markers are tokens of their own, forced calls are written with
// them, their strings hold none, and they are read back.
func TestMarkersAsTokens(t *testing.T) {
	t.Parallel()
	templates := speaking()
	templates[parse.DeepSeekV3] = strings.Replace(templates[parse.LFM2], "<|tool_call_start|>", "<｜tool▁calls▁begin｜>", 1)
	for format, c := range map[parse.Format]struct {
		markers []string
		inside  []string // that a call holds as tokens
	}{
		parse.Gemma:      {[]string{"<|tool_call>", "<tool_call|>", `<|"|>`, "<|channel>", "<channel|>", "<eos>"}, []string{"<|tool_call>", "<tool_call|>"}},
		parse.GLM45:      {[]string{"<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "<|user|>", "<|observation|>"}, []string{"<tool_call>"}},
		parse.LFM2:       {[]string{"<|tool_call_start|>", "<|tool_call_end|>", "<|im_end|>"}, []string{"<|tool_call_start|>", "<|tool_call_end|>"}},
		parse.DeepSeekV3: {[]string{"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>", "<｜end▁of▁sentence｜>"}, []string{"<｜tool▁sep｜>", "<｜tool▁calls▁end｜>"}},
		parse.GPTOSS:     {[]string{"<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>", "<|constrain|>"}, []string{"<|channel|>", "<|message|>", "<|call|>"}},
	} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			e := openFor(t, marked{templates[format], c.markers}, murmurEnds(256+3))
			id := func(marker string) int32 {
				ids := e.EncodeText(marker, true)
				if len(ids) != 1 || ids[0] < 256 {
					t.Fatalf("%q is %v", marker, ids)
				}
				return ids[0]
			}
			for seed := range uint64(12) {
				for _, choice := range []string{"weather", engine.ToolRequired} {
					g := generate(t, e, engine.GenerateRequest{Prompt: toolPrompt(), ToolChoice: choice, MaxTokens: 400, Seed: seed, Sampling: sample.Settings{Temperature: new(1.5)}})
					if g.Finish != engine.FinishTool || len(g.ToolCalls) != 1 || g.Text != "" || !json.Valid(g.ToolCalls[0].Arguments) || len(g.Warnings) != 0 {
						t.Fatalf("%s: finish %q, calls %+v, text %q, %q", choice, g.Finish, g.ToolCalls, g.Text, g.Warnings)
					}
					for _, marker := range c.inside {
						if !slices.Contains(g.IDs, id(marker)) {
							t.Errorf("no token %q in %v", marker, g.IDs)
						}
					}
				}
			}
			if format.Channels() {
				spec := constrain.Choice("yes", "no")
				g := generate(t, e, engine.GenerateRequest{Prompt: chat.Messages(chat.User("so?")), Constraint: &spec, MaxTokens: 400, Seed: 2, Sampling: sample.Settings{Temperature: new(1.5)}})
				if g.Text != "yes" && g.Text != "no" {
					t.Errorf("%q after %q", g.Text, g.Reasoning)
				}
			}
		})
	}
}
