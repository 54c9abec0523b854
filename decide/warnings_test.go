package decide_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/tokenizer"
)

// TestWarnings: settings and messages that come to nothing are told.
func TestWarnings(t *testing.T) {
	t.Parallel()
	base := tinyChat(t)
	m, err := model.New("forgetful", base.Program, base.Tokenizer,
		strings.ReplaceAll(chatML, "{{ '<|im_start|>'", "{% if m.role == 'tool' %}{% continue %}{% endif %}{{ '<|im_start|>'"))
	if err != nil {
		t.Fatal(err)
	}
	e := openEngine(t, m)
	r := decide.Request{
		State: decide.Chat(chat.Messages(chat.User("hi"), chat.ToolResult("1", "f", "42"), chat.User("so?"))),
		Questions: []decide.Question{
			{ID: "a", Kind: decide.KindBoolean, Instructions: "Is it?", Method: decide.Each, Orders: 3},
			{ID: "b", Kind: decide.KindBoolean, Instructions: "Is it?", Length: decide.PerByte},
			{ID: "c", Kind: decide.KindBoolean, Instructions: "Is it?", Method: decide.Path, Orders: 3, Length: decide.PerByte},
		},
	}
	res, err := e.Decide(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`question "a": Orders: 3`, `question "b": Length: per byte`, "State: message 1"}
	if len(res.Warnings) != len(want) {
		t.Fatalf("%q", res.Warnings)
	}
	for i, w := range want {
		if !strings.HasPrefix(res.Warnings[i], w) {
			t.Errorf("%q, want %q", res.Warnings[i], w)
		}
	}
	alone, err := e.Decide(t.Context(), decide.Request{
		State: decide.Tokens(5, 6, 7), Border: decide.BorderCanonical, MaxSpread: .5, Questions: []decide.Question{decide.Boolean("a", "Is it?")},
	})
	if err != nil || len(alone.Warnings) != 2 || !strings.HasPrefix(alone.Warnings[0], "Border: canonical") || !strings.HasPrefix(alone.Warnings[1], "MaxSpread: 0.5") {
		t.Errorf("%+v, %v", alone, err)
	}
	// Again, from what was kept.
	again, err := e.Decide(t.Context(), r)
	if err != nil || !slices.Equal(again.Warnings, res.Warnings) || printBits(again) != printBits(res) {
		t.Errorf("%v, %v", again, err)
	}
}

// TestStatesOfAChatModel: what each kind of state becomes on a model with a template.
func TestStatesOfAChatModel(t *testing.T) {
	t.Parallel()
	m := tinyChat(t)
	c := decide.NewCompiler(m, decide.Options{})
	user := m.Tokenizer.Encode(nil, "<|im_start|>user\nhi<|im_end|>\n", tokenizer.Special)
	for name, w := range map[string]struct {
		s      decide.State
		tokens []int32
		border decide.Border
	}{
		"text":     {decide.Text("hi"), user, decide.BorderTurn},
		"messages": {decide.Chat(chat.Messages(chat.User("hi"))), user, decide.BorderTurn},
		"json":     {decide.JSON("hi"), m.Tokenizer.Encode(nil, "<|im_start|>user\n\"hi\"<|im_end|>\n", tokenizer.Special), decide.BorderTurn},
		"raw text": {decide.Chat(chat.Text("hi")), m.Tokenizer.Encode(nil, "hi", tokenizer.Text), decide.BorderRaw},
		"tokens":   {decide.Tokens(user...), user, decide.BorderAppended},
	} {
		e, err := c.Encode(w.s, decide.BorderNone)
		if err != nil || e.Border != w.border || !slices.Equal(e.Tokens, w.tokens) {
			t.Errorf("%s: %v, %v, want %v, %v", name, e, err, w.tokens, w.border)
		}
	}
	if turns := decide.Text("hi").Messages(); len(turns) != 1 || turns[0].Content != "hi" {
		t.Errorf("a text state is %v", turns)
	}
	plan, err := c.Compile(decide.Request{Questions: []decide.Question{decide.Boolean("b", "Is it?")}})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := plan.Spans(decide.BorderRaw)
	if err != nil || !strings.HasSuffix(m.Tokenizer.Decode(raw[0].Tokens, false), "\nAnswer:") {
		t.Errorf("%v, %v", raw, err)
	}
	if _, err := plan.Spans(decide.BorderCanonical); !errors.Is(err, decide.ErrPlan) {
		t.Errorf("%v, want ErrPlan: canonical is the form of another", err)
	}
}

// TestNoWayToClose: a model that reasons in every reply is refused, whatever the state.
func TestNoWayToClose(t *testing.T) {
	t.Parallel()
	base := tinyChat(t)
	m, err := model.New("thinker", base.Program, base.Tokenizer, strings.ReplaceAll(chatML, `assistant\n`, `assistant\n<think>\n`))
	if err != nil {
		t.Fatal(err)
	}
	e := openEngine(t, m)
	for name, s := range map[string]decide.State{
		"text": decide.Text("hi"), "tokens": decide.Tokens('h', 'i'), "messages": decide.Chat(chat.Messages(chat.User("hi"))),
	} {
		_, err := e.Decide(t.Context(), decide.Request{State: s, Questions: []decide.Question{decide.Boolean("b", "Is it?")}})
		if !errors.Is(err, decide.ErrReasoning) || !strings.Contains(err.Error(), "<think>") {
			t.Errorf("%s: %v, want ErrReasoning", name, err)
		}
	}
}

// FuzzDeclaration: no declaration of a model file makes a compile panic.
func FuzzDeclaration(f *testing.F) {
	f.Add(`{"read": "each", "state": "<|im_start|> {state}", "question": "<|im_end|>[ {question}]", "option": "{name}[ : {description}]",
		"level": "{index}: {name}", "yes": "y", "words": true, "temperature": {"choice": 1.3}, "evidence": {"boolean": 0}}`)
	f.Add(`{"read": "each", "state": "{state}", "question": "[{question}]", "option": "{name}", "yes": "y"}`)
	f.Add(`{"read": "each", "state": "}{", "question": "[[", "option": "]"}`)
	m := tinyChat(f)
	f.Fuzz(func(t *testing.T, source string) {
		own := *m
		own.Decision = source
		c := decide.NewCompiler(&own, decide.Options{})
		if _, err := c.Compile(decide.Request{Questions: []decide.Question{decide.Boolean("b", "Is it?")}}); err == nil {
			if _, err := c.Encode(decide.Text("x"), decide.BorderNone); err != nil && !errors.Is(err, decide.ErrState) {
				t.Error(err)
			}
		}
	})
}
