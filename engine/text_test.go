package engine_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/model/chat"
)

func TestText(t *testing.T) {
	t.Parallel()
	e := openFor(t, chatty{hermes})
	ids, err := e.Tokenize(chat.Text(once))
	if err != nil || ids[0] != 1 {
		t.Fatalf("%v, %v", ids, err)
	}
	if n, err := e.Count(chat.Text(once)); err != nil || n != len(ids) {
		t.Errorf("%d tokens, %v", n, err)
	}
	if s, err := e.Detokenize(ids[1:]); err != nil || s != once {
		t.Errorf("%q, %v", s, err)
	}
	if got := e.EncodeText(once, false); !slices.Equal(got, ids[1:]) {
		t.Errorf("%v, want %v", got, ids[1:])
	}
	if got := e.EncodeText("</s>", true); len(got) != 1 || got[0] != 2 {
		t.Errorf("parsed: %v", got)
	}
	if got := e.EncodeText("</s>", false); slices.Contains(got, 2) {
		t.Errorf("as text: %v", got)
	}
	for want, p := range map[string]chat.Prompt{
		"[user] hi\n[assistant] ": chat.Messages(chat.User("hi")),
		once:                      chat.Text(once),
		"Once upon":               chat.Tokens(e.EncodeText("Once upon", false)...),
	} {
		if got, err := e.Render(p); err != nil || got != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	for _, p := range []chat.Prompt{{}, chat.Text(""), chat.Tokens(9999), chat.Messages()} {
		if _, err := e.Render(p); !errors.Is(err, engine.ErrRequest) {
			t.Errorf("%v: %v", p, err)
		}
	}
}
