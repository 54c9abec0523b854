package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
)

// blockBytes is a block of stories260K: 16 positions of 5 layers with 4 heads of 8 for keys
// and for values, in bf16.
const blockBytes = 16 * 5 * 2 * 4 * 8 * 2

// blocks sizes pool and scratch for stories260K.
func blocks(pool, scratch int64) engine.Option {
	return engine.WithKV(engine.KV{Bytes: pool * blockBytes, Scratch: scratch * blockBytes})
}

// open opens stories260K until the test ends, when the bookkeeping must be whole and nothing
// may be referenced but by holds.
func open(t testing.TB, opts ...engine.Option) *engine.Engine {
	t.Helper()
	return openModel(t, model.Stories(), opts...)
}

func openModel(t testing.TB, src model.Source, opts ...engine.Option) *engine.Engine {
	t.Helper()
	e, err := engine.Open(context.Background(), src, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		checkIdle(t, e)
	})
	return e
}

// openFake opens stories260K on a fake device.
func openFake(t testing.TB, f *backendtest.Fake, opts ...engine.Option) *engine.Engine {
	t.Helper()
	t.Cleanup(func() { f.Verify(t) })
	return open(t, append([]engine.Option{engine.WithBackend(f)}, opts...)...)
}

// checkIdle checks the bookkeeping of an engine on which no call is live.
func checkIdle(t testing.TB, e *engine.Engine) {
	t.Helper()
	if err := engine.CacheOf(e).Check(); err != nil {
		t.Error(err)
	}
	s := e.Stats()
	if s.Running != 0 || s.Waiting != 0 {
		t.Errorf("idle, but %d calls run and %d wait", s.Running, s.Waiting)
	}
	if s.Cache.Referenced != s.Cache.Held {
		t.Errorf("idle, but %d blocks are referenced, %d of them held", s.Cache.Referenced, s.Cache.Held)
	}
	if s.Cache.ScratchFree != s.Cache.Scratch {
		t.Errorf("idle, but %d of %d scratch blocks are free", s.Cache.ScratchFree, s.Cache.Scratch)
	}
}

// gate holds every step at the device until the test lets it go.
type gate struct {
	arrived chan *backend.Batch
	pass    chan struct{}
	open    chan struct{}
	once    sync.Once
}

// gated gives a fake a gate, which opens for good when the test ends.
func gated(t testing.TB, f *backendtest.Fake) *gate {
	g := &gate{arrived: make(chan *backend.Batch), pass: make(chan struct{}), open: make(chan struct{})}
	f.Hook = g.hook
	return g
}

func (g *gate) hook(c backendtest.Call) error {
	if c.Op != backendtest.OpStep {
		return nil
	}
	select {
	case g.arrived <- c.Batch:
	case <-g.open:
		return nil
	}
	select {
	case <-g.pass:
	case <-g.open:
	}
	return nil
}

// step waits until a step is at the device, where it stays.
func (g *gate) step() *backend.Batch { return <-g.arrived }

// let lets the step at the device go.
func (g *gate) let() { g.pass <- struct{}{} }

// free lets all steps go from now on.
func (g *gate) free() { g.once.Do(func() { close(g.open) }) }

// sequence returns n ids that stand for no control token, another run of them for each seed.
func sequence(seed, n int) []int32 {
	ids := make([]int32, n)
	x := uint32(seed)*2654435761 + 12345
	for i := range ids {
		x = x*1664525 + 1013904223
		ids[i] = 3 + int32(x>>8)%500
	}
	return ids
}

func write(ids []int32, n int) engine.GenerateRequest {
	return engine.GenerateRequest{Prompt: chat.Tokens(ids...), MaxTokens: n, IgnoreEOS: true}
}

// ask returns a decision with one question of each kind.
func ask(s decide.State) decide.Request {
	return decide.Request{State: s, Questions: []decide.Question{
		decide.Boolean("glad", "Is she glad?"),
		decide.Choice("who", "Who is it?", decide.Names("dog", "cat", "girl")...),
		decide.Score("far", "How far?", "near", "there", "far"),
	}}
}

func generate(t testing.TB, e *engine.Engine, r engine.GenerateRequest) *engine.Generation {
	t.Helper()
	g, err := e.Generate(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func decideOn(t testing.TB, e *engine.Engine, r decide.Request) *decide.Result {
	t.Helper()
	res, err := e.Decide(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// print writes what must be equal of two results, floats to the last bit.
func print(v any) string {
	switch v := v.(type) {
	case *decide.Result:
		s := v.Border.String()
		for _, a := range v.Answers {
			mass := "none"
			if a.LabelMass != nil {
				mass = fmt.Sprintf("%b", *a.LabelMass)
			}
			a.LabelMass = nil
			s += fmt.Sprintf("\n%s %d %s %b %b %b %b mass %s", a.ID, a.Index, a.Value, a.Probabilities, a.Probability, a.Score, a.Confidence, mass)
		}
		return s
	case *engine.Generation:
		return fmt.Sprintf("%q %v %s %v", v.Text, v.IDs, v.Finish, v.LogProbs)
	}
	return fmt.Sprint(v)
}

// same fails the test where got and want differ.
func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if g, w := print(got), print(want); g != w {
		t.Errorf("%s:\n%s\nwant\n%s", what, g, w)
	}
}

// covered returns how much of a prefix of tokens the cache holds.
func covered(e *engine.Engine, ns string, tokens []int32) int {
	n, _ := engine.CacheOf(e).Peek(kvcache.Namespace{Salt: ns}, tokens, len(tokens))
	return n
}

// mustFail checks an error against the ones that it must wrap.
func mustFail(t testing.TB, err error, want ...error) {
	t.Helper()
	for _, w := range want {
		if !errors.Is(err, w) {
			t.Errorf("error %v, want one that wraps %q", err, w)
		}
	}
}

// result is what a call in a goroutine of its own returned.
type result[T any] struct {
	value T
	err   error
}

// begin makes a call in a goroutine of its own.
func begin[T any](f func() (T, error)) <-chan result[T] {
	c := make(chan result[T], 1)
	go func() {
		v, err := f()
		c <- result[T]{v, err}
	}()
	return c
}

func concat(parts ...[]int32) []int32 { return slices.Concat(parts...) }
