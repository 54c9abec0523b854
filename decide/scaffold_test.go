package decide

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hotpath-go/hotpath/model/chat"
)

// TestReplies: replies open with their reasoning closed, in whatever way the template has.
func TestReplies(t *testing.T) {
	t.Parallel()
	const head = `{% for m in messages %}{{ '[' + m.role + ']' }}{% if m.role == 'assistant' %}{{ closed }}{% endif %}{{ m.content + '\n' }}{% endfor %}`
	open := func(s string) string { return `{% if add_generation_prompt %}{{ '[assistant]` + s + `' }}{% endif %}` }
	never := strings.ReplaceAll(head, "{{ closed }}", "")
	for name, c := range map[string]struct{ template, reply string }{
		"none":             {never + open(""), "[assistant]"},
		"a switch":         {never + `{% if add_generation_prompt %}{{ '[assistant]' }}{% if enable_thinking is defined and not enable_thinking %}{{ '<think></think>' }}{% endif %}{% endif %}`, "[assistant]<think></think>"},
		"open, a switch":   {never + `{% if add_generation_prompt %}{{ '[assistant]' }}{{ '<think>' if thinking | default(true) else '' }}{% endif %}`, "[assistant]"},
		"open, no switch":  {never + open(`<think>\n`), ""},
		"switch of a rule": {`{% if enable_thinking is defined and not enable_thinking %}{{ '/no_think ' }}{% endif %}` + never + open(`<think>\n`), ""},
		"in the turns":     {strings.ReplaceAll(head, "{{ closed }}", "{{ '<think>\\n\\n</think>\\n\\n' }}") + open(""), "[assistant]<think>\n\n</think>\n\n"},
		"opened, in turns": {strings.ReplaceAll(head, "{{ closed }}", "{{ '<think>\\n\\n</think>\\n\\n' }}") + open(`<think>\n`), "[assistant]<think>\n\n</think>\n\n"},
		"a space in turns": {strings.ReplaceAll(head, "{{ closed }}", "{{ ' ' }}") + open(""), "[assistant]"},
		"closed already":   {never + open(`<|channel>thought\n<channel|>`), "[assistant]<|channel>thought\n<channel|>"},
		"another bracket":  {never + open(`[THINK]`), ""},
	} {
		tmpl, err := chat.NewTemplate(c.template, chat.TemplateOptions{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s, err := newScaffold(tmpl, time.Time{})
		if c.reply == "" {
			if !errors.Is(err, ErrReasoning) {
				t.Errorf("%s: %+v, %v, want ErrReasoning", name, s, err)
			}
			continue
		}
		if err != nil || s.reply != c.reply || s.open != "[user]" || s.close != "\n" {
			t.Errorf("%s: %+q %+q %+q, %v, want the reply %+q", name, s.open, s.close, s.reply, err, c.reply)
		}
	}
}
