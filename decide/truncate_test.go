package decide_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/quant"
)

// TestTruncate cuts a content to every length: the rest is what the cut says, whole characters
// within whole scaffolding, and as much as fits.
func TestTruncate(t *testing.T) {
	t.Parallel()
	m := tinyChat(t)
	c := decide.NewCompiler(m, decide.Options{})
	content := "Grüße aus Köln 😀, " + strings.Repeat("日本 and more ", 4)
	conversation := func(s string) decide.State {
		return decide.Chat(chat.Messages(chat.System("Be kind."), chat.User(s), chat.Assistant("Yes?")))
	}
	ids := make([]int32, 300)
	for i := range ids {
		ids[i] = int32('a' + i%26)
	}
	for name, state := range map[string]func(string) decide.State{"text": func(s string) decide.State { return decide.Text(s) }, "chat": conversation} {
		whole, err := c.Encode(state(content), decide.BorderNone)
		if err != nil {
			t.Fatal(err)
		}
		bare, err := c.Encode(state("x"), decide.BorderNone)
		if err != nil {
			t.Fatal(err)
		}
		for how, tr := range map[string]decide.Truncation{"head": decide.KeepHead(), "tail": decide.KeepTail(), "ends": decide.KeepEnds(" [...] ")} {
			last := 0
			for room := len(bare.Tokens); room <= len(whole.Tokens); room++ {
				e, cut, err := c.EncodeWithin(state(content), decide.BorderNone, tr, room)
				if err != nil {
					t.Fatal(err)
				}
				if room == len(whole.Tokens) {
					if cut != nil || !slices.Equal(e.Tokens, whole.Tokens) {
						t.Errorf("%s, %s: cut what fits: %v", name, how, cut)
					}
					continue
				}
				if cut == nil {
					if room > len(bare.Tokens)+12 {
						t.Errorf("%s, %s: nothing cut for %d tokens", name, how, room)
					}
					continue
				}
				marker := ""
				if how == "ends" {
					marker = " [...] "
				}
				kept := content[:cut.From] + marker + content[cut.To:]
				want, err := c.Encode(state(kept), decide.BorderNone)
				if err != nil || !slices.Equal(e.Tokens, want.Tokens) || len(e.Tokens) > room || !utf8.ValidString(kept) {
					t.Errorf("%s, %s: %d tokens for %d, %v, kept %q", name, how, len(e.Tokens), room, err, kept)
				}
				if how == "head" && cut.To != len(content) || how == "tail" && cut.From != 0 || cut.From >= cut.To {
					t.Errorf("%s, %s: cut %v", name, how, cut)
				}
				if wrong := map[string]int{"text": 0, "chat": 1}[name]; cut.Message != wrong {
					t.Errorf("%s: cut message %d", name, cut.Message)
				}
				if len(kept) < last || room-len(e.Tokens) > 8 {
					t.Errorf("%s, %s: kept %d bytes, before %d; %d of %d tokens", name, how, len(kept), last, len(e.Tokens), room)
				}
				last = len(kept)
			}
		}
		if e, cut, err := c.EncodeWithin(state(content), decide.BorderNone, decide.KeepHead(), 3); err != nil || cut != nil || len(e.Tokens) != len(whole.Tokens) {
			t.Errorf("%s: %d tokens, %v, %v, for a room that the scaffolding fills", name, len(e.Tokens), cut, err)
		}
	}
	for how, tr := range map[string]decide.Truncation{"head": decide.KeepHead(), "tail": decide.KeepTail(), "ends": decide.KeepEnds("-")} {
		e, cut, err := c.EncodeWithin(decide.Tokens(ids...), decide.BorderNone, tr, 101)
		if err != nil || cut == nil || len(e.Tokens) != 101 {
			t.Fatalf("%s: %d tokens, %v, %v", how, len(e.Tokens), cut, err)
		}
		var marker []int32
		if how == "ends" {
			marker = []int32{'-'}
		}
		if want := slices.Concat(ids[:cut.From], marker, ids[cut.To:]); !slices.Equal(e.Tokens, want) {
			t.Errorf("%s: %v", how, e.Tokens)
		}
	}
}

// TestTooLong: a state is refused with both numbers, or cut as asked, and the result says so.
func TestTooLong(t *testing.T) {
	t.Parallel()
	e := openEngine(t, tinyChat(t), engine.WithContextLength(256),
		engine.WithKV(engine.KV{Format: quant.F32, Bytes: 2 << 20, Scratch: 1 << 20}))
	r := decide.Request{State: decide.Text(strings.Repeat("word ", 200)), Questions: []decide.Question{decide.Boolean("b", "Is it?")}}
	_, err := e.Decide(t.Context(), r)
	if !errors.Is(err, decide.ErrState) || !errors.Is(err, engine.ErrTooLong) || !strings.Contains(err.Error(), "256") {
		t.Errorf("%v", err)
	}
	r.Truncate = decide.KeepTail()
	res, err := e.Decide(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if res.Cut == nil || res.Cut.From != 0 || res.Cut.To < 100 || res.Usage.StateTokens > 256 {
		t.Errorf("%+v, %v", res.Cut, res.Usage)
	}
	r.State = decide.Text("short")
	if res, err = e.Decide(t.Context(), r); err != nil || res.Cut != nil {
		t.Errorf("%v, %v", res, err)
	}
}
