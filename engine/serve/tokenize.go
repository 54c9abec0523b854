package serve

import (
	"encoding/json"
	"net/http"

	"github.com/hotpath-go/hotpath/model/chat"
)

// tokenizeRequest is the body of /tokenize, for a text or for messages.
type tokenizeRequest struct {
	Model        string                     `json:"model"`
	Prompt       *string                    `json:"prompt"`
	Special      *bool                      `json:"add_special_tokens"` // of a text: as a prompt is encoded; default true
	Strings      bool                       `json:"return_token_strs"`
	Messages     []chatMessage              `json:"messages"`
	Tools        []chatTool                 `json:"tools"`
	TemplateArgs map[string]json.RawMessage `json:"chat_template_kwargs"`
	Opened       *bool                      `json:"add_generation_prompt"`
}

type tokenizeReply struct {
	Count   int      `json:"count"`
	Context int      `json:"max_model_len"`
	Tokens  []int32  `json:"tokens"`
	Strings []string `json:"token_strs,omitempty"`
}

func (h *Handler) tokenize(x *exchange) error {
	body, err := x.body()
	if err != nil {
		return err
	}
	var t tokenizeRequest
	if err := decode(body, &t); err != nil {
		return err
	}
	if err := h.modelError(t.Model); err != nil {
		return err
	}
	reply := tokenizeReply{Tokens: []int32{}, Context: h.engine.Info().Context}
	switch {
	case t.Prompt != nil && t.Messages != nil:
		return bad("prompt", "given together with messages")
	case t.Prompt != nil && t.Special != nil && !*t.Special:
		reply.Tokens = append(reply.Tokens, h.engine.EncodeText(*t.Prompt, false)...)
	case t.Prompt != nil:
		reply.Tokens, err = h.engine.Tokenize(chat.Text(*t.Prompt))
	case t.Messages != nil:
		if t.Opened != nil && !*t.Opened {
			return bad("add_generation_prompt", "false, the tokens are those of a prompt for a reply")
		}
		p, bad := prompt(t.Messages, t.Tools, t.TemplateArgs, "")
		if bad != nil {
			return bad
		}
		reply.Tokens, err = h.engine.Tokenize(p)
	default:
		return bad("prompt", "missing, as are messages")
	}
	if err != nil {
		return err
	}
	if reply.Count = len(reply.Tokens); t.Strings {
		for _, id := range reply.Tokens {
			s, err := h.engine.Detokenize([]int32{id})
			if err != nil {
				return err
			}
			reply.Strings = append(reply.Strings, s)
		}
	}
	return x.json(http.StatusOK, reply)
}

func (h *Handler) detokenize(x *exchange) error {
	body, err := x.body()
	if err != nil {
		return err
	}
	var t struct {
		Model  string  `json:"model"`
		Tokens []int32 `json:"tokens"`
	}
	if err := decode(body, &t); err != nil {
		return err
	}
	if err := h.modelError(t.Model); err != nil {
		return err
	}
	text := ""
	if len(t.Tokens) > 0 {
		if text, err = h.engine.Detokenize(t.Tokens); err != nil {
			return err
		}
	}
	return x.json(http.StatusOK, struct {
		Prompt string `json:"prompt"`
	}{text})
}
