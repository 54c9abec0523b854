// Routingtax measures what one routing question about a long agent prompt costs in three ways:
//
//	router   a separate call whose prompt is the router's own: prefill, a few tokens of JSON, parsed;
//	         then the real call pays for the whole prompt again
//	decide   Decide on the very prompt, then Generate on the same blocks
//	small    Decide on a small model, then Generate on the large one
//
// It prints tokens computed, times and prefix survival (of the decision's state tokens, the share that
// the next call reused), and draws them.
//
//	go run ./examples/routingtax -model qwen3-0.6b-q8_0.gguf -tokens 12000
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/constrain"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
)

type settings struct {
	large, small string // model files; empty: stories260K
	tokens       int    // of the agent's prompt
	decode       int    // tokens of the real call
	picture      string
}

func main() {
	var s settings
	flag.StringVar(&s.large, "model", "", "the agent's model: GGUF file or safetensors folder; empty: stories260K")
	flag.StringVar(&s.small, "router", "", "the small model; empty: stories260K")
	flag.IntVar(&s.tokens, "tokens", 300, "tokens of the agent's prompt")
	flag.IntVar(&s.decode, "decode", 32, "tokens that the real call writes")
	flag.StringVar(&s.picture, "png", "", "file to draw to; empty: none")
	flag.Parse()
	if err := run(context.Background(), s, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// cost is what one way took.
type cost struct {
	name     string
	question time.Duration // until the answer was there
	first    time.Duration // until the real call's first token
	total    time.Duration
	computed int     // rows on the large model
	small    int     // rows on the small one
	survival float64 // of the state tokens that were computed for the decision
}

func run(ctx context.Context, s settings, out *os.File) error {
	if s.tokens < 64 || s.decode < 1 {
		return fmt.Errorf("-tokens %d and -decode %d, must be at least 64 and 1", s.tokens, s.decode)
	}
	ways := []struct {
		name string
		run  func(context.Context, *engine.Engine, *engine.Engine, chat.Prompt, int) (cost, error)
	}{{"router", routed}, {"decide", decided}, {"small", outside}}
	bar := progressbar.NewOptions(len(ways), progressbar.OptionSetWriter(os.Stderr),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetVisibility(person(os.Stderr)))
	var costs []cost
	for _, w := range ways {
		bar.Describe(w.name)
		c, err := measure(ctx, s, w.run)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		c.name = w.name
		costs = append(costs, c)
		_ = bar.Add(1)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "way\tanswer\tfirst token\ttotal\trows\trows, small\tprefix survival\t")
	for _, c := range costs {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%d\t%.0f %%\t\n", c.name, short(c.question), short(c.first), short(c.total), c.computed, c.small, 100*c.survival)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if s.picture != "" {
		return draw(s.picture, costs)
	}
	return nil
}

// measure runs one way on fresh engines, so that none finds another's blocks.
func measure(ctx context.Context, s settings, way func(context.Context, *engine.Engine, *engine.Engine, chat.Prompt, int) (cost, error)) (cost, error) {
	large, err := engine.Open(ctx, source(s.large))
	if err != nil {
		return cost{}, err
	}
	defer large.Close()
	small, err := engine.Open(ctx, source(s.small))
	if err != nil {
		return cost{}, err
	}
	defer small.Close()
	p, err := agentPrompt(large, s.tokens)
	if err != nil {
		return cost{}, err
	}
	return way(ctx, large, small, p, s.decode)
}

func source(path string) model.Source {
	if path == "" {
		return model.Stories()
	}
	return model.File(path)
}

// question is what is asked before the real call.
func question() decide.Question {
	return decide.Choice("next", "Who should handle the last request?",
		decide.Opt("search", "look it up"), decide.Opt("edit", "change files"), decide.Opt("answer", "reply at once"))
}

// routed asks a router with a prompt of its own.
func routed(ctx context.Context, large, _ *engine.Engine, p chat.Prompt, decode int) (cost, error) {
	begin := time.Now()
	text, err := large.Render(p)
	if err != nil {
		return cost{}, err
	}
	schema := constrain.JSONSchema([]byte(`{"type":"object","properties":{"next":{"enum":["search","edit","answer"]}},"required":["next"],"additionalProperties":false}`), constrain.WhitespaceNone)
	asked, err := large.Generate(ctx, engine.GenerateRequest{
		Prompt: chat.Text("Route the request. Reply with JSON.\n" + text + "\nJSON: "), Constraint: &schema, MaxTokens: 32,
	})
	if err != nil {
		return cost{}, err
	}
	var reply struct{ Next string }
	if err := json.Unmarshal([]byte(asked.Text), &reply); err != nil {
		return cost{}, fmt.Errorf("the router's reply %q: %w", asked.Text, err)
	}
	c := cost{question: time.Since(begin), computed: asked.Usage.ComputedTokens}
	return c, c.real(ctx, large, p, decode, begin, 0)
}

// decided asks where the prompt's blocks are.
func decided(ctx context.Context, large, _ *engine.Engine, p chat.Prompt, decode int) (cost, error) {
	begin := time.Now()
	res, err := large.Decide(ctx, decide.Request{State: decide.Chat(p), Questions: []decide.Question{question()}})
	if err != nil {
		return cost{}, err
	}
	c := cost{question: time.Since(begin), computed: res.Usage.ComputedTokens}
	return c, c.real(ctx, large, p, decode, begin, res.Usage.StateTokens)
}

// outside asks a small model, about as much of the prompt's end as it can hold.
func outside(ctx context.Context, large, small *engine.Engine, p chat.Prompt, decode int) (cost, error) {
	begin := time.Now()
	text, err := large.Render(p)
	if err != nil {
		return cost{}, err
	}
	words := strings.Fields(text)
	for {
		n, err := small.Count(chat.Text(strings.Join(words, " ")))
		if err != nil {
			return cost{}, err
		}
		room := small.Info().Context - 200 // for the question
		if n <= room {
			break
		}
		words = words[len(words)-len(words)*room/n:]
	}
	res, err := small.Decide(ctx, decide.Request{State: decide.Text(strings.Join(words, " ")), Questions: []decide.Question{question()}})
	if err != nil {
		return cost{}, err
	}
	c := cost{question: time.Since(begin), small: res.Usage.ComputedTokens}
	return c, c.real(ctx, large, p, decode, begin, res.Usage.StateTokens)
}

// real makes the real call and fills in the rest. state is how many tokens the decision was about.
func (c *cost) real(ctx context.Context, e *engine.Engine, p chat.Prompt, decode int, begin time.Time, state int) error {
	asked := time.Since(begin)
	g, err := e.Generate(ctx, engine.GenerateRequest{Prompt: p, MaxTokens: decode, IgnoreEOS: true})
	if err != nil {
		return err
	}
	c.first = asked + g.Usage.First
	c.total = time.Since(begin)
	c.computed += g.Usage.ComputedTokens
	if state > 0 {
		c.survival = float64(min(g.Usage.CachedTokens, state)) / float64(state)
	}
	return nil
}

// agentPrompt makes a prompt of about n tokens: instructions, a log of tool calls, and a request.
func agentPrompt(e *engine.Engine, n int) (chat.Prompt, error) {
	const head = "You are an agent that works in a repository. Be brief.\n"
	const tail = "user: The build is red since this morning. What changed?\n"
	make := func(lines int) chat.Prompt {
		var b strings.Builder
		b.WriteString(head)
		for i := range lines {
			fmt.Fprintf(&b, "step %d: read file pkg/part%d.go, %d lines, %d tests passed\n", i+1, i*7%31, 40+i*13%200, i*5%17)
		}
		b.WriteString(tail)
		if e.Info().Template {
			return chat.Messages(chat.User(b.String()))
		}
		return chat.Text(b.String())
	}
	lo, hi := 0, n
	for lo+1 < hi { // the most lines that fit
		mid := (lo + hi) / 2
		count, err := e.Count(make(mid))
		if err != nil {
			return chat.Prompt{}, err
		}
		if count <= n {
			lo = mid
		} else {
			hi = mid
		}
	}
	return make(lo), nil
}

func short(d time.Duration) string {
	if d < 10*time.Millisecond {
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Millisecond).String()
}

// person reports whether somebody looks at the file.
func person(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
