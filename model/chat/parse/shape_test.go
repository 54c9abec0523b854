package parse

import (
	"testing"

	"github.com/hotpath-go/hotpath/model/chat"
)

// TestCallShape reads back what each shape writes.
func TestCallShape(t *testing.T) {
	t.Parallel()
	shaped := 0
	for _, f := range Formats() {
		s, ok := f.CallShape()
		if !ok {
			continue
		}
		shaped++
		p, err := New(f, Options{Tools: []chat.Tool{{Name: "get_weather"}}, Opened: "<think>\n\n</think>\n\n"})
		if err != nil {
			t.Fatal(err)
		}
		var calls []chat.ToolCall
		text := ""
		for _, e := range append(append([]Event(nil), p.Push(s.Open+"get_weather"+s.Middle+`{"city":"Oslo"}`+s.Close)...), p.Flush()...) {
			if e.Kind == Call {
				calls = append(calls, e.Call)
			}
			text += e.Text
		}
		if len(calls) != 1 || calls[0].Name != "get_weather" || string(calls[0].Arguments) != `{"city":"Oslo"}` || text != "" {
			t.Errorf("%s: calls %+v, text %q", f, calls, text)
		}
	}
	if shaped < 6 {
		t.Errorf("%d formats have a shape", shaped)
	}
}

func TestThinking(t *testing.T) {
	t.Parallel()
	open, close := Qwen3.Reasoning()
	p, err := New(Qwen3, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		delta string
		want  bool
	}{{open, true}, {"hm", true}, {close, false}, {"yes", false}} {
		p.Push(c.delta)
		if p.Thinking() != c.want {
			t.Errorf("after %q: thinking %v", c.delta, p.Thinking())
		}
	}
}
