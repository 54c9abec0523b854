package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/hotpath-go/hotpath/decide/wire"
)

func (h *Handler) systemOne(x *exchange) error {
	body, err := x.body()
	if err != nil {
		return err
	}
	return h.decide(x, h.opt.dialects[wire.SystemOneShape], body)
}

func (h *Handler) decisions(x *exchange) error {
	body, err := x.body()
	if err != nil {
		return err
	}
	shape, err := wire.ShapeOf(body)
	if err != nil {
		shape = wire.OpenAIShape // whose reader says what is wrong
	}
	return h.decide(x, h.opt.dialects[shape], body)
}

// decide answers a body in a dialect.
func (h *Handler) decide(x *exchange, d wire.Dialect, body []byte) error {
	x.form = dialectForm(d)
	call, err := d.DecodeRequest(body)
	if err == nil && d.Shape == wire.SystemOneShape && streams(body) {
		err = &wire.Error{Path: []any{"stream"}, Code: wire.CodeValue, Text: "decisions are not streamed"}
	}
	if err != nil {
		return refusal(d, err)
	}
	if err := h.modelError(call.Model); err != nil {
		return err
	}
	r := &call.Request
	r.Caller, r.Namespace = x.caller(r.Namespace)
	res, err := h.engine.Decide(x.r.Context(), *r)
	if err != nil {
		return refusal(d, err)
	}
	meta := wire.Meta{Model: h.models[0], Created: time.Now()}
	if call.ID == "" {
		meta.ID = x.id
	}
	reply, err := d.EncodeResponse(call, res, meta)
	if err != nil {
		return err
	}
	u := res.Usage
	h.metrics.tokens(u.CachedTokens, u.ComputedTokens)
	x.log(slog.String("dialect", d.Name), slog.Int("questions", len(r.Questions)), slog.Int("state", u.StateTokens),
		slog.Int("cached", u.CachedTokens), slog.Int("computed", u.ComputedTokens), slog.Int("steps", u.Steps))
	head := x.w.Header()
	head.Set("X-State-Tokens", strconv.Itoa(u.StateTokens))
	head.Set("X-Cached-Tokens", strconv.Itoa(u.CachedTokens))
	head.Set("X-Computed-Tokens", strconv.Itoa(u.ComputedTokens))
	head.Set("Server-Timing", fmt.Sprintf("queue;dur=%.3f, decide;dur=%.3f", millis(u.Queued), millis(u.Total)))
	return x.send(http.StatusOK, "application/json", reply)
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// streams reports whether a body asks for a stream, which no speaker of System One has.
func streams(body []byte) bool {
	var g struct {
		Stream json.RawMessage `json:"stream"`
	}
	return json.Unmarshal(body, &g) == nil && len(g.Stream) > 0 && string(g.Stream) != "false" && string(g.Stream) != "null"
}

// refusal gives an error the status that the dialect's speakers give it.
func refusal(d wire.Dialect, err error) error {
	status := d.Status(err)
	if status == 0 {
		return err
	}
	p := &problem{status: status, text: err.Error(), err: err}
	var field *wire.Error
	if errors.As(err, &field) {
		p.code, p.param = string(field.Code), field.Where()
	}
	return p
}
