package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/engine/sample"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/quant"
)

func ptr[T any](v T) *T { return &v }

// Each bad request is refused with the error that the documentation names, and says what is wrong.
// The engine serves on.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	e := openFake(t, &backendtest.Fake{})
	context, vocab := e.Info().Context, int32(e.Info().Vocab)
	good := chat.Text("Once upon a time")
	long := sequence(1, context)

	gen := func(r engine.GenerateRequest) func() error {
		return func() error { _, err := e.Generate(t.Context(), r); return err }
	}
	stream := func(r engine.GenerateRequest) func() error {
		return func() error {
			var last error
			for _, err := range e.Stream(t.Context(), r) {
				last = err
			}
			return last
		}
	}
	dec := func(r decide.Request) func() error {
		return func() error { _, err := e.Decide(t.Context(), r); return err }
	}
	warm := func(p chat.Prompt, ttl time.Duration) func() error {
		return func() error { _, err := e.Warm(t.Context(), p, ttl); return err }
	}
	set := func(s sample.Settings) func() error { return gen(engine.GenerateRequest{Prompt: good, Sampling: s}) }
	is := decide.Boolean("is", "Is it?")

	for name, c := range map[string]struct {
		call func() error
		want error
		says []string
	}{
		"no prompt":             {gen(engine.GenerateRequest{}), engine.ErrRequest, []string{"Prompt", "empty"}},
		"empty text":            {gen(engine.GenerateRequest{Prompt: chat.Text("")}), engine.ErrRequest, []string{"Prompt", "empty"}},
		"empty text, streamed":  {stream(engine.GenerateRequest{Prompt: chat.Text("")}), engine.ErrRequest, []string{"Prompt", "empty"}},
		"no tokens":             {gen(engine.GenerateRequest{Prompt: chat.Tokens()}), engine.ErrRequest, []string{"Prompt", "empty"}},
		"messages, no template": {gen(engine.GenerateRequest{Prompt: chat.Messages(chat.User("hi"))}), chat.ErrNoTemplate, []string{"Prompt"}},
		"mixed prompt":          {gen(engine.GenerateRequest{Prompt: good.With(chat.User("hi"))}), model.ErrPrompt, []string{"Prompt"}},
		"unknown id":            {gen(engine.GenerateRequest{Prompt: chat.Tokens(1, vocab)}), model.ErrToken, []string{"Prompt", "token 1", "512"}},
		"negative id":           {gen(engine.GenerateRequest{Prompt: chat.Tokens(-1)}), model.ErrToken, []string{"Prompt", "token 0", "-1", "512"}},
		"prompt fills context":  {gen(engine.GenerateRequest{Prompt: chat.Tokens(long...)}), engine.ErrTooLong, []string{"Prompt", "512 tokens", "context of 512"}},
		"prompt over context":   {gen(engine.GenerateRequest{Prompt: chat.Tokens(append(long, 5)...)}), engine.ErrTooLong, []string{"Prompt", "513 tokens", "context of 512"}},
		"negative MaxTokens":    {gen(engine.GenerateRequest{Prompt: good, MaxTokens: -3}), engine.ErrRequest, []string{"MaxTokens", "-3"}},
		"empty stop":            {gen(engine.GenerateRequest{Prompt: good, Stop: []string{"a", ""}}), engine.ErrRequest, []string{"Stop[1]", "empty"}},
		"broken stop":           {gen(engine.GenerateRequest{Prompt: good, Stop: []string{"\xa9"}}), engine.ErrRequest, []string{"Stop[0]", "UTF-8"}},
		"stop id":               {gen(engine.GenerateRequest{Prompt: good, StopIDs: []int32{4, 512}}), engine.ErrRequest, []string{"StopIDs[1]", "512"}},
		"banned id":             {gen(engine.GenerateRequest{Prompt: good, Banned: []int32{-1}}), engine.ErrRequest, []string{"Banned[0]", "-1", "512"}},
		"bias id":               {gen(engine.GenerateRequest{Prompt: good, Bias: []sample.Bias{{ID: 600}}}), engine.ErrRequest, []string{"Bias[0]", "600", "512"}},
		"bias value":            {gen(engine.GenerateRequest{Prompt: good, Bias: []sample.Bias{{ID: 6, Value: 300}}}), sample.ErrParams, []string{"bias", "300", "256"}},
		"bias order":            {gen(engine.GenerateRequest{Prompt: good, Bias: []sample.Bias{{ID: 6}, {ID: 6}}}), sample.ErrParams, []string{"bias", "6"}},
		"negative temperature":  {set(sample.Settings{Temperature: ptr(-0.5)}), engine.ErrRequest, []string{"Sampling", "temperature", "-0.5", "100"}},
		"NaN temperature":       {set(sample.Settings{Temperature: ptr(math.NaN())}), sample.ErrParams, []string{"temperature", "NaN"}},
		"top-p":                 {set(sample.Settings{TopP: ptr(1.5)}), sample.ErrParams, []string{"top-p", "1.5", "1"}},
		"zero top-p":            {set(sample.Settings{TopP: ptr(0.0)}), sample.ErrParams, []string{"top-p", "0"}},
		"top-k":                 {set(sample.Settings{TopK: ptr(-1)}), sample.ErrParams, []string{"top-k", "-1", "0"}},
		"penalty":               {set(sample.Settings{PresencePenalty: ptr(3.0)}), sample.ErrParams, []string{"presence penalty", "3", "2"}},
		"top log-probabilities": {gen(engine.GenerateRequest{Prompt: good, TopLogProbs: 65}), sample.ErrParams, []string{"65", "64"}},
		"long namespace":        {gen(engine.GenerateRequest{Prompt: good, Namespace: strings.Repeat("n", 257)}), kvcache.ErrNamespace, []string{"257", "256"}},
		"namespace in control":  {gen(engine.GenerateRequest{Prompt: good, Namespace: "a\n"}), kvcache.ErrNamespace, nil},

		"empty state":         {dec(decide.Request{Questions: []decide.Question{is}}), decide.ErrState, []string{"empty"}},
		"empty text state":    {dec(ask(decide.Text(""))), decide.ErrState, []string{"empty"}},
		"JSON of a channel":   {dec(ask(decide.JSON(make(chan int)))), decide.ErrState, []string{"chan int"}},
		"chat state":          {dec(ask(decide.Chat(chat.Messages(chat.User("hi"))))), chat.ErrNoTemplate, nil},
		"unknown id in state": {dec(ask(decide.Tokens(1, 2, 700))), model.ErrToken, []string{"token 2", "700", "512"}},
		"state over context":  {dec(ask(decide.Tokens(long...))), engine.ErrTooLong, []string{"State", "512 tokens", "context is 512"}},
		"no questions":        {dec(decide.Request{State: decide.Text("a")}), decide.ErrRequest, []string{"Questions", "0", "256"}},
		"no options":          {dec(decide.Request{State: decide.Text("a"), Questions: []decide.Question{decide.Choice("c", "Which?")}}), decide.ErrRequest, []string{"\"c\"", "Options", "0 options", "4096"}},
		"one level":           {dec(decide.Request{State: decide.Text("a"), Questions: []decide.Question{decide.Score("s", "How?", "low")}}), decide.ErrRequest, []string{"\"s\"", "1 levels", "2"}},
		"too many options": {dec(decide.Request{State: decide.Text("a"), Questions: []decide.Question{decide.Choice("c", "Which?", decide.Names(strings.Fields(strings.Repeat("x ", 4097))...)...)}}),
			decide.ErrRequest, []string{"\"c\"", "4097", "4096"}},
		"threshold":           {dec(decide.Request{State: decide.Text("a"), Questions: []decide.Question{is}, MinConfidence: 2}), decide.ErrRequest, []string{"MinConfidence", "2", "1"}},
		"decision, namespace": {dec(decide.Request{State: decide.Text("a"), Questions: []decide.Question{is}, Namespace: strings.Repeat("n", 257)}), kvcache.ErrNamespace, []string{"257", "256"}},

		"negative ttl":     {warm(good, -time.Second), engine.ErrRequest, []string{"ttl", "-1s"}},
		"nothing to warm":  {warm(chat.Text(""), 0), engine.ErrRequest, []string{"empty"}},
		"too long to warm": {warm(chat.Tokens(append(long, 5)...), 0), engine.ErrTooLong, []string{"513 tokens", "512"}},
	} {
		err := c.call()
		mustFail(t, err, c.want)
		for _, s := range c.says {
			if err != nil && !strings.Contains(err.Error(), s) {
				t.Errorf("%s: error %q does not say %q", name, err, s)
			}
		}
	}
	// Whatever is refused was never queued.
	if s := e.Stats(); s.Steps != 0 || s.Failed != 0 {
		t.Errorf("%d steps, %d failed calls", s.Steps, s.Failed)
	}
	g := generate(t, e, engine.GenerateRequest{Prompt: chat.Tokens(long[:context-1]...), MaxTokens: math.MaxInt})
	if len(g.IDs) != 1 || g.Finish != engine.FinishLength || len(g.Warnings) != 1 || !strings.Contains(g.Warnings[0], "room for 1") {
		t.Errorf("a prompt one short of the context: %d tokens, %q, warnings %q", len(g.IDs), g.Finish, g.Warnings)
	}
	decideOn(t, e, ask(decide.Text("still there")))
}

// A logit that is not a number fails its own call alone, and is never a key's fault.
func TestNaNLogits(t *testing.T) {
	t.Parallel()
	for name, without := range map[string]backend.WantSet{"device": 0, "host": backend.WantLabels | backend.WantLogSumExp | backend.WantTopK | backend.WantSample} {
		for _, inFlight := range []int{1, 2} {
			t.Run(fmt.Sprint(name, " ", inFlight), func(t *testing.T) {
				t.Parallel()
				const poison = 77 // a history that begins with it has no logits from row 25 on
				f := &backendtest.Fake{InFlight: inFlight, Without: without, Logits: func(history []int32, logits []float32) {
					if history[0] == poison && len(history) > 25 {
						logits[300] = float32(math.NaN())
					}
				}}
				e := openFake(t, f)
				ref := openFake(t, &backendtest.Fake{})
				var sick, well []<-chan result[any]
				var want []string
				start := func(first int32, i int) <-chan result[any] {
					ids := concat([]int32{first}, sequence(i, 19))
					if i%2 == 0 {
						want = append(want, print(generate(t, ref, write(ids, 30))))
						return begin(func() (any, error) { return e.Generate(t.Context(), write(ids, 30)) })
					}
					want = append(want, print(decideOn(t, ref, ask(decide.Tokens(ids...)))))
					return begin(func() (any, error) { return e.Decide(t.Context(), ask(decide.Tokens(ids...))) })
				}
				for i := range 6 {
					sick = append(sick, start(poison, i))
				}
				want = nil
				for i := range 6 {
					well = append(well, start(76, i))
				}
				for _, c := range sick {
					r := <-c
					if !errors.Is(r.err, backend.ErrNaN) {
						t.Errorf("error %v, want ErrNaN", r.err)
					}
					if g, ok := r.value.(*engine.Generation); ok && (g == nil || len(g.IDs) != 6 || g.Finish != engine.FinishError) {
						t.Errorf("generation %+v, want the 6 tokens before", g)
					}
				}
				for i, c := range well {
					r := <-c
					if r.err != nil {
						t.Error(r.err)
					} else {
						same(t, fmt.Sprint("neighbour ", i), r.value, want[i])
					}
				}
				checkIdle(t, e)
				if s := e.Stats(); s.Failed != 6 {
					t.Errorf("%d calls failed, want 6", s.Failed)
				}
			})
		}
	}
}

// A choice that cannot be made fails its own call.
func TestNoTokenLeft(t *testing.T) {
	t.Parallel()
	e := openFake(t, &backendtest.Fake{})
	var all []int32
	for id := range int32(e.Info().Vocab) {
		all = append(all, id)
	}
	r := write(sequence(1, 5), 5)
	r.Banned = all
	_, err := e.Generate(t.Context(), r)
	mustFail(t, err, sample.ErrNoToken)
	generate(t, e, write(sequence(1, 5), 5))
}

// Stop texts that tokens build together, and one that ends in a token's middle.
func TestStopOverTokens(t *testing.T) {
	t.Parallel()
	e := open(t)
	whole := generate(t, e, engine.GenerateRequest{Prompt: chat.Text("Once upon a time"), MaxTokens: 40})
	for _, c := range []struct{ stop, text string }{
		{"little girl named", ", there was a "},
		{"rl na", ", there was a little gi"},
		{",", ""},
		{"Lily. She loved to play outside", ", there was a little girl named "},
		{"outsidx", whole.Text},
	} {
		g := generate(t, e, engine.GenerateRequest{Prompt: chat.Text("Once upon a time"), MaxTokens: 40, Stop: []string{"zzz", c.stop}})
		finish := engine.FinishStop
		if c.text == whole.Text {
			finish = engine.FinishLength
		}
		if g.Text != c.text || g.Finish != finish {
			t.Errorf("stop %q: text %q, finish %q, want %q and %q", c.stop, g.Text, g.Finish, c.text, finish)
		}
	}
	// A stop id is a token of the generation and no text.
	id := whole.IDs[4]
	g := generate(t, e, engine.GenerateRequest{Prompt: chat.Text("Once upon a time"), MaxTokens: 40, StopIDs: []int32{id}})
	if last := g.IDs[len(g.IDs)-1]; last != id || g.Finish != engine.FinishStop || !strings.HasPrefix(whole.Text, g.Text) || len(g.Text) >= len(whole.Text) {
		t.Errorf("stop id %d: ids %v, text %q, finish %q", id, g.IDs, g.Text, g.Finish)
	}
}

// refuser is a backend that opens nothing.
type refuser struct{ name, why string }

func (r refuser) Name() string { return r.name }

func (r refuser) Open(context.Context, *model.Model, backend.Options) (backend.Runner, error) {
	return nil, fmt.Errorf("%w: %s", backend.ErrUnsupported, r.why)
}

func TestBadOptions(t *testing.T) {
	t.Parallel()
	f := &backendtest.Fake{}
	t.Cleanup(func() { f.Verify(t) })
	for name, c := range map[string]struct {
		opts []engine.Option
		want error
		says []string
	}{
		"context of 0":          {[]engine.Option{engine.WithContextLength(0)}, engine.ErrOption, []string{"WithContextLength", "0", "1"}},
		"context over model":    {[]engine.Option{engine.WithContextLength(513)}, engine.ErrOption, []string{"WithContextLength", "513", "512"}},
		"workers":               {[]engine.Option{engine.WithWorkers(0)}, engine.ErrOption, []string{"WithWorkers", "0", "1"}},
		"step rows":             {[]engine.Option{engine.WithStepRows(-1)}, engine.ErrOption, []string{"WithStepRows", "-1", "1"}},
		"no backends":           {[]engine.Option{engine.WithBackend()}, engine.ErrOption, []string{"WithBackend", "0", "1"}},
		"KV format":             {[]engine.Option{engine.WithKV(engine.KV{Format: quant.Q8_0})}, engine.ErrOption, []string{"WithKV", "format"}},
		"KV bytes":              {[]engine.Option{engine.WithKV(engine.KV{Bytes: -5})}, engine.ErrOption, []string{"WithKV", "-5"}},
		"queue":                 {[]engine.Option{engine.WithQueue(engine.Queue{Requests: -1})}, engine.ErrOption, []string{"WithQueue", "-1"}},
		"slow reader":           {[]engine.Option{engine.WithSlowReader(engine.SlowReader{After: -1})}, engine.ErrOption, []string{"WithSlowReader", "-1ns"}},
		"pool under a block":    {[]engine.Option{engine.WithKV(engine.KV{Bytes: 100})}, engine.ErrMemory, []string{"100 bytes", fmt.Sprint(blockBytes)}},
		"scratch under a block": {[]engine.Option{engine.WithKV(engine.KV{Scratch: 100})}, engine.ErrMemory, []string{"100 bytes", fmt.Sprint(blockBytes)}},
		"pool over memory":      {[]engine.Option{engine.WithKV(engine.KV{Bytes: 1 << 42})}, engine.ErrMemory, []string{"need"}},
		"blocks without end":    {[]engine.Option{engine.WithKV(engine.KV{Bytes: math.MaxInt64})}, engine.ErrMemory, []string{fmt.Sprint(1 << 30)}},
		"all without end":       {[]engine.Option{engine.WithKV(engine.KV{Bytes: math.MaxInt64, Scratch: math.MaxInt64})}, engine.ErrMemory, []string{fmt.Sprint(1 << 30)}},
	} {
		e, err := engine.Open(t.Context(), model.Stories(), append([]engine.Option{engine.WithBackend(f)}, c.opts...)...)
		if err == nil {
			_ = e.Close()
		}
		mustFail(t, err, c.want)
		for _, s := range c.says {
			if err != nil && !strings.Contains(err.Error(), s) {
				t.Errorf("%s: error %q does not say %q", name, err, s)
			}
		}
	}
	if n := f.Count(backendtest.OpOpen); n != 0 {
		t.Errorf("the backend was opened %d times", n)
	}

	if _, err := engine.Open(t.Context(), nil); !errors.Is(err, engine.ErrOption) {
		t.Errorf("no source: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := engine.Open(ended, model.Stories())
	mustFail(t, err, context.Canceled)
	_, err = engine.Open(t.Context(), model.File("/no/such/file.gguf"))
	if err == nil || !strings.Contains(err.Error(), "/no/such/file.gguf") {
		t.Errorf("error %v does not name the file", err)
	}
}

func TestBackendsInOrder(t *testing.T) {
	t.Parallel()
	one, two := refuser{"one", "no such device"}, refuser{"two", "too old"}
	_, err := engine.Open(t.Context(), model.Stories(), engine.WithBackend(one, two))
	mustFail(t, err, engine.ErrBackend, backend.ErrUnsupported)
	for _, s := range []string{"one", "no such device", "two", "too old"} {
		if err != nil && !strings.Contains(err.Error(), s) {
			t.Errorf("error %q does not say %q", err, s)
		}
	}
	e := open(t, engine.WithBackend(one, two, &backendtest.Fake{}))
	s := e.Info().Backend
	if s.Requested != "one" || s.Effective != "fake" || !strings.Contains(s.Reason, "no such device") || !strings.Contains(s.Reason, "too old") {
		t.Errorf("selection %+v", s)
	}
	if s := open(t, engine.WithBackend(&backendtest.Fake{})).Info().Backend; s.Reason != "" || s.Effective != s.Requested {
		t.Errorf("selection %+v, want no reason", s)
	}
}

// Progress comes in rising order, ends whole, and is told at most a hundred times a stage.
func TestProgress(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	last := engine.Progress{}
	open(t, engine.WithProgress(func(p engine.Progress) {
		calls.Add(1)
		if p.Done < last.Done || p.Done > p.Total || p.Stage == "" {
			t.Errorf("%+v after %+v", p, last)
		}
		last = p
	}))
	if n := calls.Load(); n < 1 || n > 101 || last.Fraction() != 1 {
		t.Errorf("%d calls, the last %+v", n, last)
	}
}
