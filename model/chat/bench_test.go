package chat

import (
	"testing"
	"time"

	"github.com/hotpath-go/hotpath/model/chat/jinja"
)

// BenchmarkExecute runs each template once over a conversation of an agent with tools.
func BenchmarkExecute(b *testing.B) {
	for _, s := range suites(b) {
		for _, c := range s.Cases {
			if c.Name != "long_agent_loop" || c.Error != "" {
				continue
			}
			b.Run(s.name, func(b *testing.B) {
				p, o, shape := c.prompt(b)
				vars, err := s.template.variables(p.Turns(), p.Tools(), p.Args(), o.AddGenerationPrompt, shape)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(c.Rendered)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := s.template.tmpl.Execute(vars, jinja.Options{Now: o.Now}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "renders/s")
			})
		}
	}
}

// BenchmarkPrompt is what a call pays: a render with its marks, and the encoding.
func BenchmarkPrompt(b *testing.B) {
	e := NewEncoder(loadTokenizer(b, "qwen3"))
	for _, s := range suites(b) {
		if s.name != "qwen3" {
			continue
		}
		p := Messages(System("You are an agent."))
		for range 20 {
			p = p.With(User("Please look at the file and tell me what is wrong with it, in a sentence or two."),
				Assistant("The file opens a connection for every request and never closes it."))
		}
		p = p.With(User("Fix it."))
		var dst []int32
		b.ReportAllocs()
		for b.Loop() {
			r, err := s.template.Render(p, RenderOptions{AddGenerationPrompt: true, Now: time.Time{}})
			if err != nil {
				b.Fatal(err)
			}
			dst, _ = e.Encode(dst[:0], r)
		}
		b.ReportMetric(float64(len(dst)), "tokens")
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "prompts/s")
	}
}
