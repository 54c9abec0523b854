package wire

import (
	"fmt"
	"math"
	"strings"

	"github.com/hotpath-go/hotpath/decide"
)

// formatVersion is the version of SGLang's prompt wording that its documentation describes.
const formatVersion = 1

// sglangRequest reads {input, questions} with a list of questions with ids.
func (d Dialect) sglangRequest(c *Call, root node) error {
	var model, input, questions, temperature, kwargs, version, ids, images node
	var more besides
	into := map[string]*node{
		"model": &model, "input": &input, "questions": &questions, "temperature": &temperature, "images": &images,
		"chat_template_kwargs": &kwargs, "prompt_format_version": &version, "return_prompt_token_ids": &ids,
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
	if strings.Contains(c.Model, ":") {
		return model.fail(CodeValue, "%q names an adapter", c.Model)
	}
	if err := input.want(`"{[`, "a string, object or array"); err != nil {
		return err
	}
	if strings.TrimSpace(input.words()) == "" {
		return input.fail(CodeValue, "blank")
	}
	if err := d.state(c, input); err != nil {
		return err
	}
	if !temperature.null() {
		if err := temperature.want("0", "a number above 0"); err != nil {
			return err
		}
		if c.Temperature = temperature.float(); c.Temperature <= 0 {
			return temperature.fail(CodeValue, "%s, must be above 0", temperature.text)
		}
	}
	if err := d.thinking(c, kwargs); err != nil {
		return err
	}
	if !version.null() && version.text != fmt.Sprint(formatVersion) {
		return version.fail(CodeValue, "%s, this is version %d", version.text, formatVersion)
	}
	if !ids.null() && ids.kind() != 'f' {
		return ids.fail(CodeValue, "prompt tokens are not returned")
	}
	if !images.null() && images.count() > 0 {
		return images.fail(CodeValue, "%d given, images are not read", images.count())
	}
	if err := questions.want("[", "an array"); err != nil {
		return err
	}
	if err := questions.limit("questions", questions.count(), 1, most(d.Limits.Questions, decide.MaxQuestions)); err != nil {
		return err
	}
	for _, q := range questions.elements() {
		e := entry{node: q}
		if err := d.sglangQuestion(&e); err != nil {
			return err
		}
		for i, f := range c.Fields {
			if *f.Name == *e.name {
				return q.fail(CodeValue, "the id %q is also that of question %d", *e.name, i)
			}
		}
		if err := d.add(c, e); err != nil {
			return err
		}
	}
	return nil
}

func (d Dialect) sglangQuestion(e *entry) error {
	var kind node
	for key, v := range e.members() {
		if key == "type" {
			kind = v
		}
	}
	if e.node.kind() != '{' {
		return e.want("{", "an object")
	}
	if kind.kind() == ' ' {
		kind.at = e.at.then("type")
	}
	if err := kind.want(`"`, "a string"); err != nil {
		return err
	}
	var id, question, list, yes, no node
	into := map[string]*node{"type": &kind, "id": &id, "question": &question}
	switch kind.str() {
	case "yes_no":
		e.kind, into["yes"], into["no"] = decide.KindBoolean, &yes, &no
	case "choice":
		e.kind, into["options"] = decide.KindChoice, &list
	case "score":
		e.kind, into["levels"] = decide.KindScore, &list
	default:
		return kind.fail(CodeValue, "%q, the types are yes_no, choice and score", kind.str())
	}
	if err := e.fields(into, refuse); err != nil {
		return err
	}
	if err := id.want(`"`, "a string"); err != nil {
		return err
	}
	name := id.str()
	if strings.TrimSpace(name) == "" {
		return id.fail(CodeValue, "blank")
	}
	e.name = &name
	if err := question.want(`"{[`, "a string, object or array"); err != nil {
		return err
	}
	e.instructions = question.words()
	if strings.TrimSpace(e.instructions) == "" {
		return question.fail(CodeValue, "blank")
	}
	switch e.kind {
	case decide.KindBoolean:
		e.descriptions = []string{yes.words(), no.words()}
		return nil
	case decide.KindScore:
		if err := list.want("[", "an array of levels"); err != nil {
			return err
		}
		return d.levels(e, list)
	}
	if err := list.want("[", "an array of options"); err != nil {
		return err
	}
	if err := list.limit("options", list.count(), d.Limits.MinOptions, most(d.Limits.Options, decide.MaxOptions)); err != nil {
		return err
	}
	for _, item := range list.elements() {
		var name, description node
		if err := item.fields(map[string]*node{"name": &name, "description": &description}, refuse); err != nil {
			return err
		}
		if err := name.want(`"`, "a string"); err != nil {
			return err
		}
		e.option(name, quote(name.str()), name.str(), description.words())
	}
	return nil
}

// sglangBody writes a request.
func (d Dialect) sglangBody(c *Call) ([]member, error) {
	state, err := stateValue(c.Request.State)
	if err != nil {
		return nil, err
	}
	var questions []any
	for i, q := range c.Request.Questions {
		f := c.Fields[i]
		body := []member{{"id", *f.Name}, {"type", "yes_no"}, {"question", q.Text()}}
		switch q.Kind {
		case decide.KindBoolean:
			for j, o := range q.Options {
				if o.Description != "" {
					body = append(body, member{[]string{"yes", "no"}[j], o.Description})
				}
			}
		case decide.KindChoice:
			body[1].value = "choice"
			body = append(body, member{"options", describe(q, f, "name")})
		case decide.KindScore:
			body[1].value = "score"
			levels, err := rawLevels(i, q, f)
			if err != nil {
				return nil, err
			}
			body = append(body, member{"levels", levels})
		}
		questions = append(questions, body)
	}
	top := []member{}
	if c.Model != "" {
		top = append(top, member{"model", c.Model})
	}
	top = append(top, member{"input", state})
	top = append(append(top, d.besides(c)...), member{"questions", questions})
	if c.Temperature != 0 {
		top = append(top, member{"temperature", c.Temperature})
	}
	return top, nil
}

// sglangResponse writes {object, model, prompt_format_version, answers, usage}.
func (d Dialect) sglangResponse(c *Call, list []reply, m Meta, u decide.Usage) []member {
	var answers []member
	for i, a := range list {
		f := c.Fields[i]
		var body []member
		switch c.Request.Questions[i].Kind {
		case decide.KindBoolean:
			body = []member{{"type", "yes_no"}, {"probabilities", []member{{"yes", a.p[0]}, {"no", a.p[1]}}}}
		case decide.KindChoice:
			body = []member{{"type", "choice"}, {"probabilities", a.byName(f)}, {"choice", f.Options[a.top]}}
		case decide.KindScore:
			body = []member{{"type", "score"}, {"probabilities", a.byLevel()}, {"score", a.score()}}
		}
		if a.mass != nil {
			body = append(body, member{"label_mass", *a.mass})
		}
		answers = append(answers, member{*f.Name, body})
	}
	return []member{
		{"object", "decisions"}, {"model", m.Model}, {"prompt_format_version", formatVersion}, {"answers", answers},
		{"usage", []member{{"prompt_tokens", input(u)}, {"completion_tokens", 0}, {"total_tokens", input(u)}}},
	}
}

// sglangResult reads the answer to one question of a response.
func sglangResult(q decide.Question, f Field, body node) (heard, error) {
	var kind, choice, score, probabilities, mass node
	if err := body.fields(map[string]*node{
		"type": &kind, "choice": &choice, "score": &score, "probabilities": &probabilities, "label_mass": &mass,
	}, ignore); err != nil {
		return heard{}, err
	}
	if err := kind.is(map[decide.Kind]string{decide.KindBoolean: "yes_no", decide.KindChoice: "choice", decide.KindScore: "score"}[q.Kind]); err != nil {
		return heard{}, err
	}
	h := heard{node: body, choice: -1, score: math.NaN()}
	var err error
	if h.mass, err = mass.optional(); err != nil {
		return h, err
	}
	switch q.Kind {
	case decide.KindBoolean:
		h.p, err = probabilities.byKeys([]string{"yes", "no"})
	case decide.KindChoice:
		if h.p, err = probabilities.byName(f.Options); err == nil {
			h.choice, err = choice.among(f.Options)
		}
	case decide.KindScore:
		if h.p, err = probabilities.byLevel(len(f.Options)); err == nil {
			h.score, err = score.number()
		}
	}
	return h, err
}
