package serve

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/model/chat"
)

// chatReply is a whole reply of a chat, and an event of one.
type chatReply struct {
	ID          string       `json:"id"`
	Object      string       `json:"object"`
	Created     int64        `json:"created"`
	Model       string       `json:"model"`
	Fingerprint string       `json:"system_fingerprint"`
	Choices     []chatChoice `json:"choices"`
	Usage       any          `json:"usage,omitempty"` // *usage; null in the events before it
	Warnings    []string     `json:"warnings,omitempty"`
}

type chatChoice struct {
	Index    int        `json:"index"`
	Message  *chatText  `json:"message,omitempty"` // of a whole reply
	Delta    *chatDelta `json:"delta,omitempty"`   // of an event
	LogProbs *chatProbs `json:"logprobs"`
	Finish   *string    `json:"finish_reason"`
}

type chatText struct {
	Role      string     `json:"role"`
	Content   *string    `json:"content"`
	Refusal   *string    `json:"refusal"` // always null
	Reasoning string     `json:"reasoning_content,omitempty"`
	ToolCalls []chatCall `json:"tool_calls,omitempty"`
}

type chatDelta struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	ToolCalls []chatCall `json:"tool_calls,omitempty"`
}

type chatProbs struct {
	Content []chatProb `json:"content"`
	Refusal []chatProb `json:"refusal"` // always null
}

type chatProb struct {
	Token   string     `json:"token"`
	LogProb float64    `json:"logprob"`
	Bytes   []int      `json:"bytes"`
	Top     []chatProb `json:"top_logprobs"`
}

func probOf(p engine.LogProb) chatProb {
	out := chatProb{Token: strings.ToValidUTF8(p.Text, "\ufffd"), LogProb: logarithm(p.LogProb), Bytes: []int{}, Top: []chatProb{}}
	for _, b := range []byte(p.Text) {
		out.Bytes = append(out.Bytes, int(b))
	}
	return out
}

func probsOf(list []engine.LogProb) *chatProbs {
	out := &chatProbs{Content: []chatProb{}}
	for _, p := range list {
		one := probOf(p)
		for _, t := range p.Top {
			top := probOf(t)
			top.Top = nil
			one.Top = append(one.Top, top)
		}
		out.Content = append(out.Content, one)
	}
	return out
}

// callsOf writes calls, numbered from first where they are part of a stream.
func callsOf(calls []chat.ToolCall, first int) []chatCall {
	var out []chatCall
	for i, c := range calls {
		one := chatCall{ID: c.ID, Type: "function", Function: chatFunction{Name: c.Name, Arguments: string(c.Arguments)}}
		if one.ID == "" {
			one.ID = "call_" + randomID()
		}
		if first >= 0 {
			n := first + i
			one.Index = &n
		}
		out = append(out, one)
	}
	return out
}

func (h *Handler) chatCompletions(x *exchange) error {
	body, err := x.body()
	if err != nil {
		return err
	}
	var c chatRequest
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
	head := chatReply{
		ID: "chatcmpl-" + x.id, Object: "chat.completion", Created: time.Now().Unix(),
		Model: h.models[0], Fingerprint: h.engine.Info().Numerics,
	}
	if c.Stream {
		head.Object = "chat.completion.chunk"
		return h.streamChat(x, &r, head, c.usage())
	}
	g, err := h.engine.Generate(x.r.Context(), r)
	if err != nil {
		return err
	}
	cost := &usage{}
	head.Usage, head.Warnings = cost, g.Warnings
	for i, one := range all(g) {
		h.count(x, one, cost, i == 0)
		finish := reason(one.Finish)
		m := &chatText{Role: "assistant", Content: &one.Text, Reasoning: one.Reasoning, ToolCalls: callsOf(one.ToolCalls, -1)}
		if one.Text == "" && len(one.ToolCalls) > 0 {
			m.Content = nil
		}
		choice := chatChoice{Index: i, Message: m, Finish: &finish}
		if r.LogProbs {
			choice.LogProbs = probsOf(one.LogProbs)
		}
		head.Choices = append(head.Choices, choice)
	}
	return x.json(http.StatusOK, head)
}

// all returns a generation and its others.
func all(g *engine.Generation) []*engine.Generation {
	list := []*engine.Generation{g}
	for i := range g.Others {
		list = append(list, &g.Others[i])
	}
	return list
}

// count adds a choice to the usage, the metrics and the log.
func (h *Handler) count(x *exchange, g *engine.Generation, u *usage, first bool) {
	u.add(g, first)
	h.metrics.generated(g.Usage)
	if first {
		x.log(slog.Int("prompt", g.Usage.PromptTokens), slog.Int("cached", g.Usage.CachedTokens),
			slog.Int("generated", g.Usage.GeneratedTokens), slog.Duration("first", g.Usage.First), slog.String("finish", string(g.Finish)))
	}
}

// streamChat writes a reply as it comes.
func (h *Handler) streamChat(x *exchange, r *engine.GenerateRequest, head chatReply, withUsage bool) error {
	s := x.events()
	defer s.end()
	total := &usage{}
	if withUsage {
		head.Usage = json.RawMessage("null") // as OpenAI says
	}
	calls := make([]int, max(r.N, 1)) // of each choice, so far
	begun := make([]bool, len(calls))
	send := func(c chatChoice) error {
		event := head
		event.Choices = []chatChoice{c}
		return s.send(event)
	}
	for ev, err := range h.engine.Stream(x.r.Context(), *r) {
		if err != nil {
			return s.close(err)
		}
		if !begun[ev.Choice] {
			begun[ev.Choice] = true
			empty := ""
			if err := send(chatChoice{Index: ev.Choice, Delta: &chatDelta{Role: "assistant", Content: &empty}}); err != nil {
				return s.close(gone(err))
			}
		}
		if ev.Text != "" || ev.Reasoning != "" || len(ev.ToolCalls) > 0 || len(ev.LogProbs) > 0 {
			d := &chatDelta{Reasoning: ev.Reasoning, ToolCalls: callsOf(ev.ToolCalls, calls[ev.Choice])}
			calls[ev.Choice] += len(ev.ToolCalls)
			if ev.Text != "" {
				d.Content = &ev.Text
			}
			c := chatChoice{Index: ev.Choice, Delta: d}
			if r.LogProbs {
				c.LogProbs = probsOf(ev.LogProbs)
			}
			if err := send(c); err != nil {
				return s.close(gone(err))
			}
		}
		if ev.Done != nil {
			h.count(x, ev.Done, total, ev.Choice == 0)
			finish := reason(ev.Done.Finish)
			if err := send(chatChoice{Index: ev.Choice, Delta: &chatDelta{}, Finish: &finish}); err != nil {
				return s.close(gone(err))
			}
		}
	}
	if withUsage {
		head.Choices, head.Usage = []chatChoice{}, total
		if err := s.send(head); err != nil {
			return s.close(gone(err))
		}
	}
	return s.close(nil)
}

// gone is a client that does not take what is written.
func gone(err error) error {
	return &problem{status: statusGone, code: "client_gone", text: "the client went away", err: err}
}
