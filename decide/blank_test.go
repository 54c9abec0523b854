package decide_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/internal/testdata"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/arch"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/tokenizer"
)

// spTemplates are written for SentencePiece vocabularies, in which a text that begins, or begins after
// a control token, gets a blank before it.
var spTemplates = map[string]string{
	// A turn of the user ends in plain text, one of the assistant in a control token.
	"instructions": `{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}{{ '[INST] ' + m.content + ' [/INST]' }}{% else %}{{ ' ' + m.content + eos_token }}{% endif %}{% endfor %}`,
	// Every turn ends in a newline after a control token.
	"headings": `{% for m in messages %}{{ '<|' + m.role + '|>\n' + m.content + eos_token + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}`,
	// Every turn ends in a control token and the next begins with plain text.
	"names": `{{ bos_token }}{% for m in messages %}{{ m.role + ': ' + m.content + eos_token }}{% endfor %}{% if add_generation_prompt %}{{ 'assistant:' }}{% endif %}`,
	// Users may not speak twice, so that the question goes inside the last content.
	"alternating": `{{ bos_token }}{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('alternate') }}{% endif %}{% if m.role == 'user' %}{{ '[INST] ' + m.content + ' [/INST]' }}{% else %}{{ ' ' + m.content + eos_token }}{% endif %}{% endfor %}`,
}

// TestQuestionBeginsAsInOneText: the tokens of state and question are those of the template's render as
// one text, in which the tokenizer finds the control tokens by itself. No token may cross the border,
// so where the one text has one that does, all others must be the same.
func TestQuestionBeginsAsInOneText(t *testing.T) {
	t.Parallel()
	fresh := 0
	for _, vocab := range []string{"llama2", "mistral_v01", "first"} {
		var tok *tokenizer.Tokenizer
		if vocab == "first" {
			tok = blankFirst(t)
		} else {
			tok = tokenizerOf(t, vocab)
		}
		for name, source := range spTemplates {
			m, err := model.New(name, &arch.Program{Vocab: tok.Size(), Tied: true}, tok, source)
			if err != nil {
				t.Fatal(err)
			}
			c := decide.NewCompiler(m, decide.Options{Clock: noon})
			q := decide.Choice("c", "Which one?", decide.Names("cat", "dog", "bird")...)
			plan, err := c.Compile(decide.Request{Instructions: "Be strict.", Questions: []decide.Question{q}})
			if err != nil {
				t.Fatalf("%s %s: %v", vocab, name, err)
			}
			for _, p := range []chat.Prompt{
				chat.Messages(chat.User("Hello there.")),
				chat.Messages(chat.User("Hello there."), chat.Assistant("Good morning.")),
				chat.Messages(chat.User("Hello there."), chat.Assistant("Good morning."), chat.User("Bye.")),
				chat.Messages(chat.User("Hello there."), chat.Assistant("Good morning."), chat.User("A cat"), chat.Assistant("No!")),
			} {
				e, err := c.Encode(decide.Chat(p), decide.BorderNone)
				if err != nil {
					t.Fatalf("%s %s: %v", vocab, name, err)
				}
				if e.Border == decide.BorderAppended {
					t.Errorf("%s %s: appended", vocab, name)
					continue
				}
				spans, err := plan.Spans(e.Form)
				if err != nil || len(spans) != 1 {
					t.Fatalf("%s %s: %d spans, %v", vocab, name, len(spans), err)
				}
				decoded := tok.Decode(append([]int32{tok.Encode(nil, "x", tokenizer.Text)[0]}, spans[0].Tokens...), false)
				at := strings.Index(decoded, "Be strict.")
				end := strings.LastIndex(decoded, "one option only.") + len("one option only.")
				text := decoded[at:end]
				turns := slices.Clone(p.Turns())
				if e.Border == decide.BorderInside {
					turns[len(turns)-1].Content += "\n\n" + text
				} else {
					turns = append(turns, chat.User(text))
				}
				r, err := m.Render(chat.Messages(turns...), noon)
				if err != nil {
					t.Fatal(err)
				}
				whole := tok.Encode(nil, r.Text, tokenizer.Special)
				if bos, ok := tok.BOS(); ok && whole[0] != bos {
					whole = slices.Insert(whole, 0, bos)
				}
				got := slices.Concat(e.Tokens, spans[0].Tokens)
				if tok.IsControl(e.Tokens[len(e.Tokens)-1]) {
					fresh++
				}
				if crossing := len(whole) - common(got, whole); !slices.Equal(got, whole) && (crossing != 1 || tok.Decode(got, true) != tok.Decode(whole, true)) {
					t.Errorf("%s %s, %d turns, %v:\n%q\nas one text\n%q", vocab, name, len(p.Turns()), e.Border, pieces(tok, got), pieces(tok, whole))
				}
			}
		}
	}
	if fresh < 6 {
		t.Errorf("%d questions stood after a control token", fresh)
	}
}

// blankFirst is a vocabulary that puts a blank before the first text of a sequence alone.
func blankFirst(t testing.TB) *tokenizer.Tokenizer {
	t.Helper()
	var d map[string]any
	if err := json.Unmarshal(testdata.Read(t, "tokenizers/llama2/tokenizer.json.gz"), &d); err != nil {
		t.Fatal(err)
	}
	d["normalizer"] = nil
	d["pre_tokenizer"] = map[string]any{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": false}
	raw, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.FromJSON(raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// common returns how many ids of b are those that a begins and ends with too.
func common(a, b []int32) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	m := 0
	for m < min(len(a), len(b))-n && a[len(a)-1-m] == b[len(b)-1-m] {
		m++
	}
	return n + m
}

func pieces(tok *tokenizer.Tokenizer, ids []int32) []string {
	var list []string
	for _, id := range ids {
		piece, _ := tok.Token(id)
		list = append(list, piece.Text)
	}
	return list
}
