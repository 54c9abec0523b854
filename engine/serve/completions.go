package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/model/chat"
)

// Limits of a text request.
const (
	maxPrompts   = 128 // times n
	maxTextProbs = 5   // as OpenAI's
)

// textRequest is the body of /v1/completions.
type textRequest struct {
	settings
	Prompt   json.RawMessage `json:"prompt"`
	Echo     bool            `json:"echo"`
	LogProbs *int            `json:"logprobs"`
	Suffix   json.RawMessage `json:"suffix"`
	BestOf   *int            `json:"best_of"`
}

type textReply struct {
	ID          string       `json:"id"`
	Object      string       `json:"object"`
	Created     int64        `json:"created"`
	Model       string       `json:"model"`
	Fingerprint string       `json:"system_fingerprint"`
	Choices     []textChoice `json:"choices"`
	Usage       any          `json:"usage,omitempty"` // *usage; null in the events before it
	Warnings    []string     `json:"warnings,omitempty"`
}

type textChoice struct {
	Index    int        `json:"index"`
	Text     string     `json:"text"`
	LogProbs *textProbs `json:"logprobs"`
	Finish   *string    `json:"finish_reason"`
}

type textProbs struct {
	Tokens  []string             `json:"tokens"`
	Probs   []float64            `json:"token_logprobs"`
	Top     []map[string]float64 `json:"top_logprobs"`
	Offsets []int                `json:"text_offset"` // in code points
}

// textProbsOf writes log-probabilities of tokens that begin at an offset of the text, and returns
// the offset behind them.
func textProbsOf(list []engine.LogProb, offset int) (*textProbs, int) {
	out := &textProbs{Tokens: []string{}, Probs: []float64{}, Top: []map[string]float64{}, Offsets: []int{}}
	for _, p := range list {
		token := strings.ToValidUTF8(p.Text, "\ufffd")
		top := map[string]float64{}
		for _, t := range p.Top {
			top[strings.ToValidUTF8(t.Text, "\ufffd")] = logarithm(t.LogProb)
		}
		out.Tokens = append(out.Tokens, token)
		out.Probs = append(out.Probs, logarithm(p.LogProb))
		out.Top = append(out.Top, top)
		out.Offsets = append(out.Offsets, offset)
		offset += len([]rune(token))
	}
	return out, offset
}

// prompts reads a text, token ids, or an array of either. texts are what echo shows.
func (h *Handler) prompts(raw json.RawMessage) (list []chat.Prompt, texts []string, err error) {
	var text string
	var ids []int32
	add := func(raw json.RawMessage) bool {
		ids = nil
		switch {
		case json.Unmarshal(raw, &text) == nil && present(raw):
			list = append(list, chat.Text(text))
		case json.Unmarshal(raw, &ids) == nil && len(ids) > 0:
			list = append(list, chat.Tokens(ids...))
			text = ""
			if _, bad := h.engine.Tokenize(chat.Tokens(ids...)); bad != nil {
				err = bad
				return true
			}
			if text, err = h.engine.Detokenize(ids); err != nil {
				return true
			}
		default:
			return false
		}
		texts = append(texts, text)
		return true
	}
	if add(raw) {
		return list, texts, err
	}
	var many []json.RawMessage
	if json.Unmarshal(raw, &many) != nil || len(many) == 0 {
		return nil, nil, bad("prompt", "want a string, an array of token ids, or an array of these")
	}
	if len(many) > maxPrompts {
		return nil, nil, bad("prompt", "%d prompts, limit %d", len(many), maxPrompts)
	}
	for i, one := range many {
		if !add(one) {
			return nil, nil, bad(fmt.Sprintf("prompt[%d]", i), "want a string or an array of token ids")
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return list, texts, nil
}

func (h *Handler) completions(x *exchange) error {
	body, err := x.body()
	if err != nil {
		return err
	}
	var c textRequest
	if err := decode(body, &c); err != nil {
		return err
	}
	if err := h.modelError(c.Model); err != nil {
		return err
	}
	r, err := c.request(x)
	if err != nil {
		return err
	}
	prompts, texts, err := h.prompts(c.Prompt)
	if err != nil {
		return err
	}
	if n := len(prompts) * max(r.N, 1); n > maxPrompts {
		return bad("n", "%d for %d prompts: %d replies, limit %d", r.N, len(prompts), n, maxPrompts)
	}
	if !c.Echo {
		texts = make([]string, len(prompts))
	}
	head := textReply{
		ID: "cmpl-" + x.id, Object: "text_completion", Created: time.Now().Unix(),
		Model: h.models[0], Fingerprint: h.engine.Info().Numerics,
	}
	if c.Stream {
		return h.streamText(x, &r, prompts, texts, head, c.usage())
	}
	done := make([]*engine.Generation, len(prompts))
	if err := each(x.r.Context(), len(prompts), func(ctx context.Context, i int) error {
		mine := r
		mine.Prompt = prompts[i]
		var err error
		done[i], err = h.engine.Generate(ctx, mine)
		return err
	}); err != nil {
		return err
	}
	cost := &usage{}
	head.Usage = cost
	for i, g := range done {
		head.Warnings = append(head.Warnings, g.Warnings...)
		for j, one := range all(g) {
			h.count(x, one, cost, j == 0)
			finish := reason(one.Finish)
			choice := textChoice{Index: len(head.Choices), Text: texts[i] + one.Text, Finish: &finish}
			if r.LogProbs {
				choice.LogProbs, _ = textProbsOf(one.LogProbs, 0)
			}
			head.Choices = append(head.Choices, choice)
		}
	}
	return x.json(http.StatusOK, head)
}

func (c *textRequest) request(x *exchange) (engine.GenerateRequest, error) {
	if c.MaxTokens == nil {
		few := 16 // as that API says
		c.MaxTokens = &few
	}
	r, err := c.settings.request(x)
	if err != nil {
		return r, err
	}
	if c.LogProbs != nil {
		if *c.LogProbs < 0 || *c.LogProbs > maxTextProbs {
			return r, bad("logprobs", "%d, must be 0 to %d", *c.LogProbs, maxTextProbs)
		}
		if c.Echo {
			return r, bad("logprobs", "given together with echo: prompts have none")
		}
		r.LogProbs, r.TopLogProbs = true, *c.LogProbs
	}
	if present(c.Suffix) && string(c.Suffix) != `""` {
		return r, bad("suffix", "not supported")
	}
	if c.BestOf != nil && *c.BestOf != max(r.N, 1) {
		return r, bad("best_of", "%d, must be n, which is %d", *c.BestOf, max(r.N, 1))
	}
	return r, nil
}

// each runs f for 0 to n-1 at once and returns the first error, after all have ended.
func each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if err := f(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// streamText writes the continuations of all prompts as they come.
func (h *Handler) streamText(x *exchange, r *engine.GenerateRequest, prompts []chat.Prompt, texts []string, head textReply, withUsage bool) error {
	s := x.events()
	defer s.end()
	total := &usage{}
	if withUsage {
		head.Usage = json.RawMessage("null") // as OpenAI says
	}
	n := max(r.N, 1)
	offsets := make([]int, n*len(prompts))
	begun := make([]bool, len(offsets))
	var mu sync.Mutex // what the prompts' goroutines share
	send := func(c textChoice) error {
		event := head
		event.Choices = []textChoice{c}
		return s.send(event)
	}
	take := func(i int, ev *engine.Event) error {
		mu.Lock()
		defer mu.Unlock()
		at := i*n + ev.Choice
		c := textChoice{Index: at, Text: ev.Text}
		if !begun[at] {
			begun[at], c.Text = true, texts[i]+c.Text
		}
		if r.LogProbs {
			c.LogProbs, offsets[at] = textProbsOf(ev.LogProbs, offsets[at])
		}
		if ev.Done != nil {
			h.count(x, ev.Done, total, ev.Choice == 0)
			finish := reason(ev.Done.Finish)
			c.Finish = &finish
		}
		if c.Text == "" && c.Finish == nil && len(ev.LogProbs) == 0 {
			return nil
		}
		if err := send(c); err != nil {
			return gone(err)
		}
		return nil
	}
	if err := each(x.r.Context(), len(prompts), func(ctx context.Context, i int) error {
		mine := *r
		mine.Prompt = prompts[i]
		for ev, err := range h.engine.Stream(ctx, mine) {
			if err == nil {
				err = take(i, &ev)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return s.close(err)
	}
	if withUsage {
		head.Choices, head.Usage = []textChoice{}, total
		if err := s.send(head); err != nil {
			return s.close(gone(err))
		}
	}
	return s.close(nil)
}
