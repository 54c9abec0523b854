package parse

import (
	"strings"
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
		o := Options{Tools: []chat.Tool{{Name: "get_weather"}}, Opened: "<think>\n\n</think>\n\n"}
		if f.Channels() {
			o.Opened = "<|start|>assistant"
		}
		p, err := New(f, o)
		if err != nil {
			t.Fatal(err)
		}
		var calls []chat.ToolCall
		text := ""
		a := s.Arguments
		arguments := map[Values]string{
			JSON:   `{"city":"Oslo"}`,
			Python: a.Before + "city" + a.Between + `"Oslo"` + a.After + a.Close,
			Text:   a.Before + "city" + a.Between + "Oslo" + a.After + a.Close,
			Marked: "{city:" + a.Mark + "Oslo" + a.Mark + "}",
		}[a.Values]
		for _, e := range append(append([]Event(nil), p.Push(s.Open+"get_weather"+s.Middle+arguments+s.Close)...), p.Flush()...) {
			if e.Kind == Call {
				calls = append(calls, e.Call)
			}
			text += e.Text
		}
		if len(calls) != 1 || calls[0].Name != "get_weather" || strings.ReplaceAll(string(calls[0].Arguments), " ", "") != `{"city":"Oslo"}` || text != "" {
			t.Errorf("%s: calls %+v, text %q", f, calls, text)
		}
	}
	if shaped != len(Formats())-1 { // all but Plain
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
