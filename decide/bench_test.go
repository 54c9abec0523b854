package decide_test

import (
	"fmt"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/internal/testdata"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/arch"
	"github.com/hotpath-go/hotpath/model/chat"
)

func qwen3(b *testing.B) *model.Model {
	b.Helper()
	tok := tokenizerOf(b, "qwen3")
	m, err := model.New("qwen3", &arch.Program{Vocab: tok.Size(), Tied: true}, tok,
		string(testdata.Read(b, "tokenizer-cases/templates/qwen3.jinja")))
	if err != nil {
		b.Fatal(err)
	}
	return m
}

func sixteen() []decide.Question {
	list := make([]decide.Question, 16)
	for i := range list {
		text := fmt.Sprintf("Which of these %d teams should answer the last message, given what was said before?", i)
		list[i] = decide.Choice(fmt.Sprint(i), text, decide.Names("billing", "technical", "sales", "nobody")...)
	}
	return list
}

// BenchmarkPlanned is what 16 questions of a compiled plan cost beside the forward pass and the state's
// own tokens: the spans, and the answers.
func BenchmarkPlanned(b *testing.B) {
	c := decide.NewCompiler(qwen3(b), decide.Options{})
	plan, err := c.Compile(decide.Request{Questions: sixteen()})
	if err != nil {
		b.Fatal(err)
	}
	rows, err := plan.Rows(decide.BorderTurn)
	if err != nil {
		b.Fatal(err)
	}
	r := decide.Request{State: decide.Text("x"), Plan: plan}
	b.ReportAllocs()
	for b.Loop() {
		p, err := c.Compile(r)
		if err != nil {
			b.Fatal(err)
		}
		spans, err := p.Spans(decide.BorderTurn)
		if err != nil {
			b.Fatal(err)
		}
		var readings []decide.Reading
		for _, s := range spans {
			for _, read := range s.Reads {
				in := decide.Reading{Labels: make([]float32, len(read.Labels)), LogSumExp: 9}
				for i := range in.Labels {
					in.Labels[i] = float32(i)
				}
				readings = append(readings, in)
			}
		}
		if _, err := p.Answer(r, decide.Encoded{Form: decide.BorderTurn}, readings, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows), "rows")
}

// BenchmarkCompile compiles 16 questions that were compiled before, and that are new.
func BenchmarkCompile(b *testing.B) {
	m := qwen3(b)
	r := decide.Request{Questions: sixteen()}
	b.Run("kept", func(b *testing.B) {
		c := decide.NewCompiler(m, decide.Options{})
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.Compile(r); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("new", func(b *testing.B) {
		c := decide.NewCompiler(m, decide.Options{})
		for i := 0; b.Loop(); i++ {
			r.Instructions = fmt.Sprint(i)
			if _, err := c.Compile(r); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkEncode encodes a conversation of 40 turns.
func BenchmarkEncode(b *testing.B) {
	c := decide.NewCompiler(qwen3(b), decide.Options{})
	p := chat.Messages(chat.System("You are a helpful assistant."))
	for i := range 20 {
		p = p.With(chat.User(fmt.Sprintf("What is the %d-th thing that one should know about cats and dogs?", i)),
			chat.Assistant("One should know that both of them need food, water, and a little company every day."))
	}
	p = p.With(chat.User("Thanks."))
	e, err := c.Encode(decide.Chat(p), decide.BorderNone)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := c.Encode(decide.Chat(p), decide.BorderNone); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(e.Tokens)), "tokens")
}
