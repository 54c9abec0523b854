package decide_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/model"
)

// TestWhatIsTold: instructions of the request, those of a question, its criteria and what its options
// mean stand in the prompt in this order, by every read and behind every border.
func TestWhatIsTold(t *testing.T) {
	t.Parallel()
	choice := decide.Choice("c", "Which team?", decide.Opt("billing", "money"), decide.Opt("sales", ""))
	choice.Criteria = "Refunds count as money."
	boolean := decide.Boolean("b", "Is it late?").Means("the date has passed", "there is time")
	boolean.Criteria = "The date is that of the order."
	score := decide.Score("s", "How angry?", "calm", "furious")
	score.Criteria = "Words in capitals count."
	for name, m := range map[string]*model.Model{"raw": stories(t), "chat": tinyChat(t)} {
		for _, q := range []decide.Question{choice, boolean, score} {
			for method := decide.Automatic; method <= decide.Each; method++ {
				q.Method = method
				p, err := decide.Compile(m, decide.Request{Instructions: "You triage mail.", Questions: []decide.Question{q}}, decide.Options{})
				if err != nil {
					t.Errorf("%s %s %v: %v", name, q.ID, method, err)
					continue
				}
				for _, b := range []decide.Border{decide.BorderRaw, decide.BorderTurn, decide.BorderInside} {
					if (b == decide.BorderRaw) != (m.Template == "") {
						continue
					}
					spans, err := p.Spans(b)
					if err != nil {
						t.Fatal(err)
					}
					var ids []int32
					for _, s := range spans {
						ids = append(ids, s.Tokens...)
					}
					text := m.Tokenizer.Decode(ids, false)
					head := "You triage mail.\n\nQuestion: " + q.Instructions + "\nCriteria: " + q.Criteria + "\n"
					if !strings.Contains(text, head) {
						t.Errorf("%s %s %v %v: no %q in %q", name, q.ID, method, b, head, text)
					}
					for _, o := range q.Options {
						if o.Description != "" && strings.Index(text, o.Description) < strings.Index(text, head) {
							t.Errorf("%s %s %v: %q is not told after the question in %q", name, q.ID, method, o.Description, text)
						}
					}
				}
			}
		}
	}
}

// TestCriteriaAreTheQuestions: other criteria make another question for everything that is kept by
// question, and the same criteria the same.
func TestCriteriaAreTheQuestions(t *testing.T) {
	t.Parallel()
	a, b := decide.Boolean("q", "Is it?"), decide.Boolean("q", "Is it?")
	b.Criteria = "It is."
	merged := decide.Boolean("q", b.Text())
	if a.Key() == b.Key() || b.Key() == merged.Key() {
		t.Error("two questions have one key")
	}
	m := stories(t)
	c := decide.NewCompiler(m, decide.Options{})
	var tokens [][]int32
	for _, q := range []decide.Question{a, b, a, merged} {
		p, err := c.Compile(decide.Request{Questions: []decide.Question{q}})
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, spansOf(t, p)[0].Tokens)
	}
	if !slices.Equal(tokens[0], tokens[2]) || slices.Equal(tokens[0], tokens[1]) {
		t.Error("the compiler mixes criteria up")
	}
	// What a wire with one text for both sends is asked in the same tokens.
	if !slices.Equal(tokens[1], tokens[3]) {
		t.Error("instructions with criteria are not the text of both")
	}
}

// TestCriteriaOfTags: the criteria of a struct's field reach each of its questions.
func TestCriteriaOfTags(t *testing.T) {
	t.Parallel()
	type asked struct {
		Late   bool     `decide:"Is it late?" criteria:"By the date of the order."`
		Topics []string `decide:"Does it speak of" options:"price,quality" criteria:"A word is enough."`
		Plain  bool     `decide:"Is it short?"`
	}
	var got decide.Request
	_, _, err := decide.Into[asked](t.Context(), deciderFunc(func(r decide.Request) (*decide.Result, error) {
		got = r
		return oracle{"Late": "yes", "Topics.price": "yes", "Topics.quality": "no", "Plain": "no"}.Decide(t.Context(), r)
	}), decide.Request{State: decide.Text("x")})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"By the date of the order.", "A word is enough.", "A word is enough.", ""} {
		if got.Questions[i].Criteria != want {
			t.Errorf("%s: criteria %q, want %q", got.Questions[i].ID, got.Questions[i].Criteria, want)
		}
	}
}
