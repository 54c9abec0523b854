package tokenizer

import (
	"slices"
	"strings"
)

// isMarker reports whether an added token that its file does not call special is structure all the
// same: several files mark only the chat roles as special and leave reasoning, tool and
// fill-in-the-middle markers as plain added tokens.
func isMarker(text string) bool {
	for _, b := range [...][2]string{{"<|", "|>"}, {"<｜", "｜>"}, {"<unused", ">"}, {"<|", ">"}, {"<", "|>"}} {
		if len(text) > len(b[0])+len(b[1]) && strings.HasPrefix(text, b[0]) && strings.HasSuffix(text, b[1]) {
			return true
		}
	}
	name := text
	switch {
	case len(text) > 2 && text[0] == '<' && text[len(text)-1] == '>':
		name = text[1 : len(text)-1]
	case len(text) > 2 && text[0] == '[' && text[len(text)-1] == ']':
		name = text[1 : len(text)-1]
	default:
		return false
	}
	return slices.Contains(markerNames[:], strings.ToLower(strings.TrimPrefix(name, "/")))
}

var markerNames = [...]string{
	"pad", "mask", "bos", "eos", "unk", "2mass", "@bos@", "multimodal",
	"think", "tool_call", "tool_calls", "tool_response", "tool_result", "tool_results", "tools",
	"available_tools", "tool_content", "arg_key", "arg_value", "inst", "sys", "system_prompt",
	"start_of_turn", "end_of_turn", "start_of_image", "end_of_image", "img", "image_soft_token",
	"cls", "sep",
}

// endNames are the control tokens that end a generation whatever the metadata says.
var endNames = [...]string{
	"<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|return|>", "<|call|>", "<end_of_turn>",
	"<turn|>", "<|endoftext|>", "<|end_of_text|>", "<|eot|>", "<|eom|>", "<｜end▁of▁sentence｜>",
	"</s>", "<eos>", "[EOS]", "<EOT>", "_<EOT>", "[EOT]", "<end_of_utterance>", "<|END_OF_TURN_TOKEN|>",
}

// beginNames and eosNames serve descriptions that do not say which token opens and ends a text.
var (
	beginNames = [...]string{"<s>", "<bos>", "<|begin_of_text|>", "<|startoftext|>", "<｜begin▁of▁sentence｜>"}
	eosNames   = [...]string{"</s>", "<eos>", "<|im_end|>", "<|eot_id|>", "<|end_of_text|>", "<|endoftext|>", "<｜end▁of▁sentence｜>"}
)
