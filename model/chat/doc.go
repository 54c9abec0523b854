// Package chat turns conversations into what a model reads.
//
// A [Prompt] is raw text, messages with their tools, or token ids. A [Template] renders messages with
// the model's own Jinja template, as the transformers library would, and an [Encoder] turns the
// [Rendered] prompt into ids:
//
//	t, err := chat.NewTemplate(source, chat.TemplateOptions{BOS: "<s>"})
//	r, err := t.Render(prompt, chat.RenderOptions{AddGenerationPrompt: true, Now: now})
//	ids, _ := chat.NewEncoder(tokenizer).Encode(nil, r)
//
// Every byte of a Rendered prompt knows its [Source], through whatever the template did to it. That is
// why content never becomes a control token, although templates trim, split, quote and rearrange it, and
// why a [Mark] is exact. Package parse reads replies back.
//
// # What to know
//
//   - Known roles count as scaffolding, since templates spell control tokens with them. Other roles, tool
//     names, arguments and everything else of a prompt are data.
//   - Messages are passed as the caller has them. What the template refuses is ErrRender, with its
//     message; what it leaves out silently is in [Rendered].Dropped.
//   - The clock is an option of each render. Rendering twice gives the same text.
//   - A render with its marks costs two or three executions of the template.
package chat
