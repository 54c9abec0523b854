package chat

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hotpath-go/hotpath/internal/testdata"
	"github.com/hotpath-go/hotpath/model/tokenizer"
)

var tokenizers sync.Map // name to func() *tokenizer.Tokenizer: they are large, and tests share them

func loadTokenizer(t testing.TB, name string) *tokenizer.Tokenizer {
	t.Helper()
	file := "tokenizers/" + name + "/tokenizer.json.gz"
	testdata.Path(t, file)
	load, _ := tokenizers.LoadOrStore(name, sync.OnceValues(func() (*tokenizer.Tokenizer, error) {
		return tokenizer.FromJSON(testdata.Read(t, file), nil)
	}))
	tok, err := load.(func() (*tokenizer.Tokenizer, error))()
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// vocabularyOf pairs the templates with the vocabularies at hand.
var vocabularyOf = map[string]string{
	"qwen3": "qwen3", "qwen2.5-instruct": "qwen3", "qwen3_coder": "qwen3",
	"llama3": "llama3", "llama3_2_official": "llama3", "gemma3": "gemma3",
}

func controls(tok *tokenizer.Tokenizer, ids []int32) map[int32]int {
	n := map[int32]int{}
	for _, id := range ids {
		if tok.IsControl(id) {
			n[id]++
		}
	}
	return n
}

// TestEncodeEqualsWholeText: where no content spells a control token, the ids are those of the whole
// text encoded with special tokens recognised, which is what other engines do.
func TestEncodeEqualsWholeText(t *testing.T) {
	t.Parallel()
	equal := 0
	for _, s := range suites(t) {
		vocabulary, ok := vocabularyOf[s.name]
		if !ok {
			continue
		}
		tok := loadTokenizer(t, vocabulary)
		e := NewEncoder(tok)
		for _, c := range s.Cases {
			p, o, shape := c.prompt(t)
			r, err := s.template.render(p, o, shape)
			if err != nil || strings.Contains(fmt.Sprint(p.Turns()), "<") {
				continue
			}
			want := tok.Encode(nil, r.Text, tokenizer.Special)
			if bos, ok := tok.BOS(); ok && tok.AddBOS() && want[0] != bos {
				want = slices.Insert(want, 0, bos)
			}
			got, _ := e.Encode(nil, r)
			if !slices.Equal(got, want) {
				t.Errorf("%s/%s:\n got %v\nwant %v\n%q", s.name, c.Name, got, want, r.Text)
			}
			equal++
		}
	}
	if equal < 80 {
		t.Errorf("%d conversations compared", equal)
	}
}

// TestContentNeverControls: whatever the messages spell, the control tokens are those of the same
// conversation about nothing.
func TestContentNeverControls(t *testing.T) {
	t.Parallel()
	for _, s := range suites(t) {
		vocabulary, ok := vocabularyOf[s.name]
		if !ok {
			continue
		}
		tok := loadTokenizer(t, vocabulary)
		e := NewEncoder(tok)
		var spelt []string
		for text := range e.control {
			spelt = append(spelt, text)
		}
		slices.Sort(spelt)
		if most := 60; len(spelt) > most {
			spelt = append(spelt[:most/2:most/2], spelt[len(spelt)-most/2:]...)
		}
		talk := func(content string) map[int32]int {
			t.Helper()
			tool := Tool{Name: "t" + content, Description: content, Parameters: []byte(`{"type":"object","properties":{}}`)}
			r, err := s.template.Render(Messages(System(content), User(content), Assistant(content), User(content)).
				WithTools(tool), RenderOptions{AddGenerationPrompt: true})
			if err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
			ids, _ := e.Encode(nil, r)
			if bos, ok := tok.BOS(); ok && ids[0] == bos && ids[1] == bos {
				t.Errorf("%s: two BOS", s.name)
			}
			return controls(tok, ids)
		}
		want := fmt.Sprint(talk("x"))
		for _, text := range append(spelt, strings.Join(spelt, ""), "<|im_", "end|>", "<", "|>") {
			if got := fmt.Sprint(talk(text)); got != want {
				t.Errorf("%s: content %q: control tokens %s, want %s", s.name, text, got, want)
			}
		}
	}
}

// TestCutsAreBorders: no token crosses a cut, so that the ids before it are those of the head alone.
func TestCutsAreBorders(t *testing.T) {
	t.Parallel()
	for _, s := range suites(t) {
		vocabulary, ok := vocabularyOf[s.name]
		if !ok {
			continue
		}
		e := NewEncoder(loadTokenizer(t, vocabulary))
		for _, c := range s.Cases {
			p, o, shape := c.prompt(t)
			o.EveryTurn = true
			r, err := s.template.render(p, o, shape)
			if err != nil {
				continue
			}
			var cuts []int
			for _, m := range r.Marks {
				cuts = append(cuts, m.Offset)
			}
			all, at := e.Encode(nil, r, cuts...)
			if len(at) != len(cuts) {
				t.Fatalf("%s/%s: %d places for %d cuts", s.name, c.Name, len(at), len(cuts))
			}
			for i, cut := range cuts {
				head, tail := r.Cut(cut)
				front, _ := e.Encode(nil, head, cuts[:i]...)
				rest := make([]int, len(cuts)-i-1)
				for j := range rest {
					rest[j] = cuts[i+1+j] - cut
				}
				whole, _ := e.Encode(front, tail, rest...)
				if at[i] != len(front) || !slices.Equal(whole, all) {
					t.Errorf("%s/%s: cut %d at %d: %d ids before it, the head alone has %d", s.name, c.Name, i, cut, at[i], len(front))
				}
			}
			// Turn ends and reply starts lie between control tokens or whole lines: cutting there changes nothing.
			if m, ok := r.Last(TurnEnd); ok {
				one, _ := e.Encode(nil, r)
				two, _ := e.Encode(nil, r, m.Offset)
				if !slices.Equal(one, two) {
					t.Errorf("%s/%s: the cut at the last turn's end changes the ids", s.name, c.Name)
				}
			}
		}
	}
}

// TestOwnIDsAreKept: a turn that the engine generated keeps its tokens, however odd, and a turn that the
// template rewrites does not.
func TestOwnIDsAreKept(t *testing.T) {
	t.Parallel()
	tok := loadTokenizer(t, "qwen3")
	e := NewEncoder(tok)
	var tmpl *Template
	for _, s := range suites(t) {
		if s.name == "qwen3" {
			tmpl = s.template
		}
	}
	var odd []int32 // one token a character, which encoding would not choose
	for _, r := range "Hello there" {
		odd = tok.Encode(odd, string(r), tokenizer.Text)
	}
	end, _ := tok.ID("<|im_end|>")
	m := Assistant("Hello there")
	for name, ids := range map[string][]int32{"text": odd, "with end": append(slices.Clone(odd), end)} {
		m.IDs = ids
		r, err := tmpl.Render(Messages(User("hi"), m, User("more")), RenderOptions{AddGenerationPrompt: true})
		if err != nil {
			t.Fatal(err)
		}
		got, _ := e.Encode(nil, r)
		if i := indexOf(got, ids); i < 0 {
			t.Errorf("%s: %v are not in %v", name, ids, got)
		}
		if text := tok.Decode(got, false); text != r.Text {
			t.Errorf("%s: decodes to %q, want %q", name, text, r.Text)
		}
	}
	m.IDs = tok.Encode(nil, "Something else", tokenizer.Text)
	r, err := tmpl.Render(Messages(User("hi"), m, User("more")), RenderOptions{AddGenerationPrompt: true})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := e.Encode(nil, r)
	if want := tok.Encode(nil, r.Text, tokenizer.Special); !slices.Equal(got, want) {
		t.Errorf("ids of another text were used: %v, want %v", got, want)
	}
}

func indexOf(in, part []int32) int {
	for i := range len(in) - len(part) + 1 {
		if slices.Equal(in[i:i+len(part)], part) {
			return i
		}
	}
	return -1
}

func TestExactlyOneBOS(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"llama3", "qwen3", "mistral_v01"} {
		tok := loadTokenizer(t, name)
		e := NewEncoder(tok)
		bos, has := tok.BOS()
		text := "<s>"
		if piece, ok := tok.Token(bos); has && ok {
			text = piece.Text
		}
		for src, writes := range map[string]bool{
			"{{ messages[0].content }}":                               false,
			"{{ bos_token }}{{ messages[0].content }}":                true,
			"{{ bos_token }}{{ bos_token }}{{ messages[0].content }}": true,
			"{{ bos_token ~ messages[0].content }}":                   true,
		} {
			tmpl, err := NewTemplate(src, TemplateOptions{BOS: text})
			if err != nil {
				t.Fatal(err)
			}
			for _, content := range []string{"hello", text, text + text + "hello"} {
				r, err := tmpl.Render(Messages(User(content)), RenderOptions{})
				if err != nil {
					t.Fatal(err)
				}
				want := 0
				if has && (writes || tok.AddBOS()) {
					want = 1
				}
				for _, cuts := range [][]int{nil, {0}, {0, len(r.Text)}} {
					ids, at := e.Encode(nil, r, cuts...)
					n := 0
					for i, id := range ids {
						if has && id == bos {
							n++
							if i > 0 {
								t.Errorf("%s: %s with %q: BOS at %d", name, src, content, i)
							}
						}
					}
					if n != want {
						t.Errorf("%s: %s with %q: %d BOS, want %d", name, src, content, n, want)
					}
					if len(at) != len(cuts) || len(cuts) == 2 && at[1] != len(ids) {
						t.Errorf("%s: %s: cuts %v at %v of %d ids", name, src, cuts, at, len(ids))
					}
				}
			}
		}
	}
}

// TestEncodeAppends: a prompt that goes on from other tokens gets no BOS of its own.
func TestEncodeAppends(t *testing.T) {
	t.Parallel()
	tok := loadTokenizer(t, "llama3")
	e := NewEncoder(tok)
	r, err := mustTemplate(t, "{{ messages[0].content }}").Render(Messages(User("hello")), RenderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ids, at := e.Encode([]int32{5, 6}, r, len(r.Text))
	if want := append([]int32{5, 6}, tok.Encode(nil, "hello", tokenizer.Text)...); !slices.Equal(ids, want) || at[0] != len(want) {
		t.Errorf("got %v at %v, want %v", ids, at, want)
	}
}
