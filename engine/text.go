package engine

import (
	"fmt"

	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/tokenizer"
)

// Tokenize returns the tokens that Generate computes for a prompt.
func (e *Engine) Tokenize(p chat.Prompt) ([]int32, error) {
	ids, err := e.model.Encode(p, e.opt.clock)
	if err != nil {
		return nil, fmt.Errorf("%w: prompt: %w", ErrRequest, err)
	}
	return ids, nil
}

// Count returns how many tokens a prompt has.
func (e *Engine) Count(p chat.Prompt) (int, error) {
	ids, err := e.Tokenize(p)
	return len(ids), err
}

// Render returns a prompt as the text that is encoded: what the template makes of messages.
func (e *Engine) Render(p chat.Prompt) (string, error) {
	switch p.Kind() {
	case chat.KindMessages:
		r, err := e.model.Render(p, e.opt.clock)
		if err != nil {
			return "", fmt.Errorf("%w: prompt: %w", ErrRequest, err)
		}
		return r.Text, nil
	case chat.KindTokens:
		return e.Detokenize(p.IDs())
	}
	if _, err := e.Tokenize(p); err != nil {
		return "", err
	}
	return p.RawText(), nil
}

// Detokenize returns the text of tokens, control tokens and all.
func (e *Engine) Detokenize(ids []int32) (string, error) {
	if _, err := e.Tokenize(chat.Tokens(ids...)); err != nil {
		return "", err
	}
	return e.model.Tokenizer.Decode(ids, false), nil
}

// EncodeText returns the tokens of a text as it stands: with special, control tokens in it are parsed;
// without, nothing becomes one. Nothing is added around it.
func (e *Engine) EncodeText(text string, special bool) []int32 {
	mode := tokenizer.Text
	if special {
		mode = tokenizer.Special
	}
	return e.model.Tokenizer.Encode(nil, text, mode)
}
