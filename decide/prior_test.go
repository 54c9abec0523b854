package decide_test

import (
	"math"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/model"
)

// TestPrior: an answer divided by what an empty state gives, which is read once.
func TestPrior(t *testing.T) {
	t.Parallel()
	alternate := `{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('no') }}{% endif %}` +
		`{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}` +
		`{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}`
	chat := tinyChat(t)
	inside, err := model.New("inside", chat.Program, chat.Tokenizer, alternate)
	if err != nil {
		t.Fatal(err)
	}
	bare, err := model.New("bare", chat.Program, chat.Tokenizer, "") // no BOS: its empty state has no tokens
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		m    *model.Model
		form decide.Border
	}{
		"raw": {stories(t), decide.BorderRaw}, "bare": {bare, decide.BorderRaw},
		"turn": {chat, decide.BorderTurn}, "inside": {inside, decide.BorderInside},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := openEngine(t, c.m)
			questions := []decide.Question{
				decide.Choice("c", "Which one?", decide.Names("cat", "dog", "bird")...), decide.Boolean("b", "Is it night?"),
			}
			r := decide.Request{State: decide.Text("Tom saw a red cat."), Questions: questions}
			plain, err := e.Decide(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if plain.Border != c.form {
				t.Fatalf("border %v", plain.Border)
			}
			// The prior by hand: the same questions behind the tokens of an empty state.
			comp := decide.NewCompiler(c.m, decide.Options{})
			empty, err := comp.Empty(c.form)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := comp.Compile(r)
			if err != nil {
				t.Fatal(err)
			}
			spans, err := plan.Spans(c.form)
			if err != nil {
				t.Fatal(err)
			}
			feed := newFeeder(t, cpuBackend(), c.m)
			ends := histories(empty.Tokens, spans)
			const w = 0.75
			r.Prior = w
			before := e.Stats()
			got, err := e.Decide(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			for i, a := range got.Answers {
				read := spans[1+i].Reads[0]
				x := feed.logits(ends[1+i])
				n := len(a.Probabilities)
				k := len(read.Labels) / n
				logits := make([]float64, n)
				for j := range logits {
					logits[j] = math.Log(plain.Answers[i].Probabilities[j]) - w*sumExp(x, read.Labels[j*k:(j+1)*k]...)
				}
				for j, p := range normal(logits) {
					if math.Abs(p-a.Probabilities[j]) > 1e-9 {
						t.Errorf("%s: p[%d] is %v, want %v", a.ID, j, a.Probabilities[j], p)
					}
				}
				if a.Prior != w || plain.Answers[i].Prior != 0 {
					t.Errorf("%s: prior %v and %v", a.ID, a.Prior, plain.Answers[i].Prior)
				}
			}
			middle := e.Stats()
			if _, err := e.Decide(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			after := e.Stats()
			if first, second := middle.Decisions-before.Decisions, after.Decisions-middle.Decisions; first != 2 || second != 1 {
				t.Errorf("%d decisions the first time, %d the second, want 2 and 1", first, second)
			}
		})
	}
}
