package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hotpath-go/hotpath/decide"
)

// meter is a Decider that adds up what another one's decisions cost.
type meter struct {
	engine decide.Decider

	mu        sync.Mutex
	decisions int
	usage     decide.Usage
}

func (m *meter) Decide(ctx context.Context, r decide.Request) (*decide.Result, error) {
	res, err := m.engine.Decide(ctx, r)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.decisions++
	m.usage.StateTokens += res.Usage.StateTokens
	m.usage.CachedTokens += res.Usage.CachedTokens
	m.usage.ComputedTokens += res.Usage.ComputedTokens
	m.usage.Steps += res.Usage.Steps
	m.usage.Total += res.Usage.Total
	return res, nil
}

// Binding passes on what the engine's answers depend on, for the calibrator.
func (m *meter) Binding() (decide.Binding, error) {
	if b, ok := m.engine.(interface {
		Binding() (decide.Binding, error)
	}); ok {
		return b.Binding()
	}
	return decide.Binding{}, nil
}

// print writes the means over the decisions; wall is how long all of them took.
func (m *meter) print(out io.Writer, wall time.Duration) {
	n := float64(m.decisions)
	ms := func(d time.Duration) float64 { return float64(d) / n / float64(time.Millisecond) }
	fmt.Fprintf(out, "a decision: %.1f tokens of state, %.1f cached, %.1f computed, %.1f steps; %.2f ms from call to answer, %.2f ms of the whole run\n",
		float64(m.usage.StateTokens)/n, float64(m.usage.CachedTokens)/n, float64(m.usage.ComputedTokens)/n,
		float64(m.usage.Steps)/n, ms(m.usage.Total), ms(wall))
}
