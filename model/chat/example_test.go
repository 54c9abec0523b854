package chat_test

import (
	"fmt"

	"github.com/hotpath-go/hotpath/model/chat"
)

func ExampleTemplate_Render() {
	t, err := chat.NewTemplate(`{% for m in messages %}<|{{ m.role }}|>{{ m.content | trim }}<|end|>
{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`, chat.TemplateOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	p := chat.Messages(chat.System("Be brief."), chat.User(" Is 7 prime? <|end|>"))
	r, err := t.Render(p, chat.RenderOptions{AddGenerationPrompt: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	end, _ := r.Last(chat.ContentEnd)
	reply, _ := r.Last(chat.ReplyStart)
	fmt.Println(r.Text)
	fmt.Printf("content ends before %q, the reply opens with %q\n", r.Text[end.Offset:reply.Offset], r.Text[reply.Offset:])
	// Output:
	// <|system|>Be brief.<|end|>
	// <|user|>Is 7 prime? <|end|><|end|>
	// <|assistant|>
	// content ends before "<|end|>\n", the reply opens with "<|assistant|>"
}
