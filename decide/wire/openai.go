package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/model/chat"
)

// openAIRequest reads {model, input, questions} with a list of questions.
func (d Dialect) openAIRequest(c *Call, root node) error {
	var model, input, questions, user, key, options node
	var more besides
	into := map[string]*node{
		"model": &model, "input": &input, "questions": &questions, "safety_identifier": &user,
		"prompt_cache_key": &key, "prompt_cache_options": &options,
	}
	more.into(d, into)
	if err := root.fields(into, refuse); err != nil {
		return err
	}
	if err := more.set(c); err != nil {
		return err
	}
	if err := d.model(c, model); err != nil {
		return err
	}
	text, err := d.input(input)
	if err != nil {
		return err
	}
	c.Request.State = decide.Text(text)
	if err := questions.want("[", "an array"); err != nil {
		return err
	}
	if err := questions.limit("questions", questions.count(), 1, most(d.Limits.Questions, decide.MaxQuestions)); err != nil {
		return err
	}
	for _, q := range questions.elements() {
		e := entry{node: q}
		if err := d.openAIQuestion(&e); err != nil {
			return err
		}
		if err := d.add(c, e); err != nil {
			return err
		}
	}
	if !user.null() {
		if err := user.want(`"`, "a string"); err != nil {
			return err
		}
		if err := user.limit("characters", utf8.RuneCountInString(user.str()), 0, 128); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		n     node
		kinds string
		name  string
	}{{user, `"`, "safety_identifier"}, {key, `"`, "prompt_cache_key"}, {options, "{", "prompt_cache_options"}} {
		if f.n.null() {
			continue
		}
		if err := f.n.want(f.kinds, "of its type"); err != nil {
			return err
		}
		c.Extra = append(c.Extra, Extra{f.name, f.n.raw()})
	}
	return nil
}

// input reads a string, or user messages, which are joined with a blank line, as vLLM does.
func (d Dialect) input(n node) (string, error) {
	if err := n.want(`"[`, "a string or an array of messages"); err != nil {
		return "", err
	}
	if n.kind() == '"' {
		return d.inputText(n)
	}
	if err := n.limit("messages", n.count(), 1, d.Limits.Messages); err != nil {
		return "", err
	}
	var texts []string
	for _, m := range n.elements() {
		var kind, role, content node
		if err := m.fields(map[string]*node{"type": &kind, "role": &role, "content": &content}, refuse); err != nil {
			return "", err
		}
		if kind.kind() != ' ' {
			if err := kind.is("message"); err != nil {
				return "", err
			}
		}
		if err := role.is("user"); err != nil {
			return "", err
		}
		if err := content.want(`"[`, "a string or an array of parts"); err != nil {
			return "", err
		}
		if content.kind() == '"' {
			text, err := d.inputText(content)
			if err != nil {
				return "", err
			}
			texts = append(texts, text)
			continue
		}
		if err := content.limit("parts", content.count(), 1, d.Limits.Parts); err != nil {
			return "", err
		}
		for _, p := range content.elements() {
			text, err := d.part(p)
			if err != nil {
				return "", err
			}
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n\n"), nil
}

func (d Dialect) part(p node) (string, error) {
	for key, v := range p.members() {
		if key == "type" && v.text == `"input_image"` {
			return "", v.fail(CodeValue, "input_image, images are not read")
		}
	}
	var kind, text, breakpoint node
	if err := p.fields(map[string]*node{"type": &kind, "text": &text, "prompt_cache_breakpoint": &breakpoint}, refuse); err != nil {
		return "", err
	}
	if err := kind.is("input_text"); err != nil {
		return "", err
	}
	if err := text.want(`"`, "a string"); err != nil {
		return "", err
	}
	return d.inputText(text)
}

func (d Dialect) inputText(n node) (string, error) {
	s := n.str()
	return s, n.limit("characters", utf8.RuneCountInString(s), 0, d.Limits.Input)
}

func (d Dialect) openAIQuestion(e *entry) error {
	var kind, name, instructions, choices, levels node
	if err := e.fields(map[string]*node{
		"type": &kind, "name": &name, "instructions": &instructions, "choices": &choices, "levels": &levels,
	}, refuse); err != nil {
		return err
	}
	if err := kind.want(`"`, "a string"); err != nil {
		return err
	}
	if name.kind() != ' ' && (d.strictName || !name.null()) {
		if err := name.want(`"`, "a string"); err != nil {
			return err
		}
		s := name.str()
		e.name = &s
	}
	if err := instructions.want(`"`, "a string"); err != nil {
		return err
	}
	e.instructions = instructions.str()
	unwanted := func(n node) error {
		if n.kind() != ' ' {
			return n.fail(CodeUnknown, "no field of a %s", kind.str())
		}
		return nil
	}
	switch kind.str() {
	case "predicate":
		e.kind = decide.KindBoolean
		if err := unwanted(choices); err != nil {
			return err
		}
		return unwanted(levels)
	case "choice":
		e.kind = decide.KindChoice
		if err := unwanted(levels); err != nil {
			return err
		}
		if err := choices.want("[", "an array"); err != nil {
			return err
		}
		if err := choices.limit("choices", choices.count(), d.Limits.MinOptions, most(d.Limits.Options, decide.MaxOptions)); err != nil {
			return err
		}
		return e.described(choices, "value", `"tf`, "a string or a boolean")
	case "score":
		e.kind = decide.KindScore
		if err := unwanted(choices); err != nil {
			return err
		}
		if err := levels.want("[", "an array"); err != nil {
			return err
		}
		if err := levels.limit("levels", levels.count(), 2, most(d.Limits.Levels, decide.MaxLevels)); err != nil {
			return err
		}
		return e.described(levels, "label", `"`, "a string")
	}
	return kind.fail(CodeValue, "%q, the types are predicate, choice and score", kind.str())
}

// described reads options of the form {field, description?}.
func (e *entry) described(list node, field, kinds, words string) error {
	for _, item := range list.elements() {
		var value, description node
		if err := item.fields(map[string]*node{field: &value, "description": &description}, refuse); err != nil {
			return err
		}
		if err := value.want(kinds, words); err != nil {
			return err
		}
		raw, name := value.raw(), value.text
		if value.kind() == '"' {
			name = value.str()
			raw = quote(name)
		}
		if !description.null() {
			if err := description.want(`"`, "a string"); err != nil {
				return err
			}
		}
		e.option(value, raw, name, description.words())
	}
	return nil
}

// openAIBody writes a request.
func (d Dialect) openAIBody(c *Call) ([]member, error) {
	input, err := openAIInput(c.Request.State)
	if err != nil {
		return nil, err
	}
	var questions []any
	for i, q := range c.Request.Questions {
		f := c.Fields[i]
		body := []member{{"type", "predicate"}}
		if f.Name != nil {
			body = append(body, member{"name", *f.Name})
		}
		body = append(body, member{"instructions", q.Text()})
		field := "choices"
		key := "value"
		switch q.Kind {
		case decide.KindBoolean:
			for _, o := range q.Options {
				if o.Description != "" {
					return nil, fmt.Errorf("%w: Questions[%d].Options: a predicate describes neither yes nor no", ErrShape, i)
				}
			}
		case decide.KindChoice:
			body[0].value = "choice"
		case decide.KindScore:
			body[0].value, field, key = "score", "levels", "label"
		}
		if q.Kind != decide.KindBoolean {
			body = append(body, member{field, describe(q, f, key)})
		}
		questions = append(questions, body)
	}
	top := []member{{"model", c.Model}, {"input", input}}
	return append(append(top, d.besides(c)...), member{"questions", questions}), nil
}

// describe writes options of the form {key, description?}.
func describe(q decide.Question, f Field, key string) []any {
	var list []any
	for j, raw := range f.Options {
		item := []member{{key, raw}}
		if s := q.Options[j].Description; s != "" {
			item = append(item, member{"description", s})
		}
		list = append(list, item)
	}
	return list
}

// openAIInput writes a state: text and JSON as a string, user messages as messages.
func openAIInput(s decide.State) (any, error) {
	p := s.Prompt()
	switch {
	case s.Value() != nil:
		return string(s.Value()), nil
	case p.Kind() == chat.KindText:
		return p.RawText(), nil
	case p.Kind() != chat.KindMessages:
		return nil, fmt.Errorf("%w: State: token ids", ErrShape)
	case len(p.Tools()) > 0:
		return nil, fmt.Errorf("%w: State: %d tools", ErrShape, len(p.Tools()))
	}
	var list []any
	for i, m := range p.Turns() {
		if m.Role != chat.RoleUser {
			return nil, fmt.Errorf("%w: State: message %d is of %q, all must be of the user", ErrShape, i, m.Role)
		}
		list = append(list, []member{{"role", "user"}, {"content", content(m)}})
	}
	return list, nil
}

// openAIResponse writes {model, answers, usage} with a list of answers.
func (d Dialect) openAIResponse(c *Call, list []reply, m Meta, u decide.Usage) []member {
	var answers []any
	for i, a := range list {
		q, f := c.Request.Questions[i], c.Fields[i]
		var name any
		if f.Name != nil {
			name = *f.Name
		}
		body := []member{{"type", "predicate"}, {"name", name}}
		switch {
		case d.refusal && a.abstained:
			body[0].value = "refusal"
		case q.Kind == decide.KindBoolean:
			body = append(body, member{"probability", a.p[0]})
		case q.Kind == decide.KindChoice:
			body[0].value = "choice"
			var p []any
			for j, raw := range f.Options {
				p = append(p, []member{{"value", raw}, {"probability", a.p[j]}})
			}
			body = append(body, member{"choice", f.Options[a.top]}, member{"probabilities", p}, member{"confidence", a.confidence(d, q.Kind)})
		default:
			body[0].value = "score"
			var p []any
			for j, raw := range f.Options {
				p = append(p, []member{{"value", j}, {"label", raw}, {"probability", a.p[j]}})
			}
			body = append(body, member{"score", a.score()}, member{"probabilities", p}, member{"confidence", a.confidence(d, q.Kind)})
		}
		answers = append(answers, body)
	}
	return []member{{"model", m.Model}, {"answers", answers}, {"usage", []member{
		{"input_tokens", input(u)},
		{"input_tokens_details", []member{{"cached_tokens", u.CachedTokens}, {"cache_write_tokens", 0}}},
		{"output_tokens", 0},
		{"output_tokens_details", []member{{"reasoning_tokens", 0}}},
		{"total_tokens", input(u)},
	}}}
}

// openAIResult reads the answer to one question of a response.
func openAIResult(q decide.Question, f Field, body node) (heard, error) {
	var kind, name, probability, choice, score, probabilities, confidence node
	if err := body.fields(map[string]*node{
		"type": &kind, "name": &name, "probability": &probability, "choice": &choice, "score": &score,
		"probabilities": &probabilities, "confidence": &confidence,
	}, ignore); err != nil {
		return heard{}, err
	}
	if f.Name == nil && !name.null() || f.Name != nil && (name.kind() != '"' || name.str() != *f.Name) {
		return heard{}, name.fail(CodeValue, "is not the name of the question in this place")
	}
	h := heard{node: body, choice: -1, score: math.NaN()}
	if kind.text == `"refusal"` {
		h.refused = true
		return h, nil
	}
	if err := kind.is(map[decide.Kind]string{decide.KindBoolean: "predicate", decide.KindChoice: "choice", decide.KindScore: "score"}[q.Kind]); err != nil {
		return h, err
	}
	if q.Kind == decide.KindBoolean {
		yes, err := probability.probability()
		h.p = []float64{yes, 1 - yes}
		return h, err
	}
	var err error
	if h.confidence, err = confidence.optional(); err != nil {
		return h, err
	}
	if err := probabilities.want("[", "an array"); err != nil {
		return h, err
	}
	if n := probabilities.count(); n != len(f.Options) {
		return h, probabilities.fail(CodeValue, "%d probabilities for %d options", n, len(f.Options))
	}
	h.p = make([]float64, len(f.Options))
	seen := make([]bool, len(f.Options))
	for _, item := range probabilities.elements() {
		var value, p node
		if err := item.fields(map[string]*node{"value": &value, "probability": &p}, ignore); err != nil {
			return h, err
		}
		options := f.Options
		if q.Kind == decide.KindScore {
			options = indexes(len(options))
		}
		j, err := value.among(options)
		if err != nil {
			return h, err
		}
		if seen[j] {
			return h, value.fail(CodeValue, "%s is there twice", value.text)
		}
		seen[j] = true
		if h.p[j], err = p.probability(); err != nil {
			return h, err
		}
	}
	if q.Kind == decide.KindChoice {
		h.choice, err = choice.among(f.Options)
		return h, err
	}
	h.score, err = score.number()
	return h, err
}

// indexes returns the level numbers as JSON.
func indexes(n int) []json.RawMessage {
	list := make([]json.RawMessage, n)
	for i := range list {
		list[i] = appendJSON(nil, i)
	}
	return list
}
