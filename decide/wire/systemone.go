package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/model/chat"
)

// systemOneRequest reads {state, model, questions}.
func (d Dialect) systemOneRequest(c *Call, root node) error {
	var state, model, questions, kwargs node
	var more besides
	into := map[string]*node{"state": &state, "model": &model, "questions": &questions, "chat_template_kwargs": &kwargs}
	more.into(d, into)
	other := ignore
	if d.sglangFields {
		other = func(key string, v node) error {
			switch key {
			case "temperature", "prompt_format_version", "return_prompt_token_ids":
				if !v.null() {
					return v.fail(CodeUnknown, "is a field of /v1/decisions, must be null here")
				}
			}
			return nil
		}
	}
	if err := root.fields(into, func(key string, v node) error {
		if (key == "images" || key == "files" || key == "videos") && v.kind() == '[' && v.count() > 0 {
			return v.fail(CodeValue, "%d given, media are not read", v.count())
		}
		return other(key, v)
	}); err != nil {
		return err
	}
	if err := d.model(c, model); err != nil {
		return err
	}
	if err := d.state(c, state); err != nil {
		return err
	}
	if err := d.thinking(c, kwargs); err != nil {
		return err
	}
	if err := more.set(c); err != nil {
		return err
	}
	if err := questions.want("{", "an object"); err != nil {
		return err
	}
	if err := questions.limit("questions", questions.count(), 1, most(d.Limits.Questions, decide.MaxQuestions)); err != nil {
		return err
	}
	for id, q := range questions.members() {
		if id == "" && !d.blankID {
			return q.fail(CodeValue, "the id is empty")
		}
		e := entry{node: q, name: &id}
		if err := d.systemOneQuestion(&e); err != nil {
			return err
		}
		if err := d.add(c, e); err != nil {
			return err
		}
	}
	return nil
}

func (d Dialect) model(c *Call, n node) error {
	if n.null() && !d.needModel {
		return nil
	}
	if err := n.want(`"`, "a string"); err != nil {
		return err
	}
	c.Model = n.str()
	return nil
}

// state reads a state: a string as text, anything else as JSON.
func (d Dialect) state(c *Call, n node) error {
	kinds, words := `"{[`, "a string, object or array"
	if d.anyState {
		kinds, words = kinds+"0tf", "any value but null"
	}
	if d.scalarNull {
		kinds, words = kinds+"n", "any value"
	}
	if err := n.want(kinds, words); err != nil {
		return err
	}
	if n.kind() == '"' {
		c.Request.State = decide.Text(n.str())
	} else {
		c.Request.State = decide.JSON(n.raw())
	}
	return nil
}

// thinking refuses arguments of the template that open a reasoning section, and keeps the others.
func (d Dialect) thinking(c *Call, n node) error {
	if n.null() {
		return nil
	}
	if err := n.want("{", "an object"); err != nil {
		return err
	}
	for key, v := range n.members() {
		if (key == "enable_thinking" || key == "thinking") && v.kind() != 'f' && !v.null() {
			return v.fail(CodeValue, "%s, decisions need it false or unset", v.text)
		}
	}
	c.Extra = append(c.Extra, Extra{"chat_template_kwargs", n.raw()})
	return nil
}

func (d Dialect) systemOneQuestion(e *entry) error {
	var kind, instructions, criteria node
	if err := e.fields(map[string]*node{"type": &kind, "instructions": &instructions, "criteria": &criteria}, refuse); err != nil {
		return err
	}
	if err := kind.want(`"`, "a string"); err != nil {
		return err
	}
	e.instructions = instructions.words()
	if !d.anyState && !instructions.null() {
		if err := instructions.want(`"{[`, "a string, object or array"); err != nil {
			return err
		}
	}
	switch kind.str() {
	case "noul":
		e.kind = decide.KindBoolean
		if criteria.null() {
			return nil
		}
		var yes, no node
		if err := criteria.fields(map[string]*node{"true": &yes, "false": &no}, refuse); err != nil {
			return err
		}
		e.descriptions = []string{yes.words(), no.words()}
	case "choice":
		e.kind = decide.KindChoice
		if err := criteria.want("{", "an object of options"); err != nil {
			return err
		}
		if err := criteria.limit("options", criteria.count(), max(d.Limits.MinOptions, 1), most(d.Limits.Options, decide.MaxOptions)); err != nil {
			return err
		}
		for name, v := range criteria.members() {
			e.option(v, quote(name), name, v.words())
		}
	case "score":
		e.kind = decide.KindScore
		if err := criteria.want("[", "an array of levels"); err != nil {
			return err
		}
		return d.levels(e, criteria)
	default:
		return kind.fail(CodeValue, "%q, the types are noul, choice and score", kind.str())
	}
	return nil
}

// option appends an option to the question.
func (e *entry) option(where node, raw json.RawMessage, name, description string) {
	e.where = append(e.where, where)
	e.raw = append(e.raw, raw)
	e.names = append(e.names, name)
	e.descriptions = append(e.descriptions, description)
}

// levels reads a list of level descriptions, lowest first.
func (d Dialect) levels(e *entry, list node) error {
	if err := list.limit("levels", list.count(), 2, most(d.Limits.Levels, decide.MaxLevels)); err != nil {
		return err
	}
	for _, v := range list.elements() {
		if err := v.want(`"{[`, "a string, object or array"); err != nil {
			return err
		}
		raw := v.raw()
		if v.kind() == '"' {
			raw = quote(v.str())
		}
		e.option(v, raw, v.words(), "")
	}
	return nil
}

// systemOneBody writes a request.
func (d Dialect) systemOneBody(c *Call) ([]member, error) {
	state, err := stateValue(c.Request.State)
	if err != nil {
		return nil, err
	}
	top := []member{}
	if c.Model != "" || d.needModel {
		top = append(top, member{"model", c.Model})
	}
	top = append(top, member{"state", state})
	top = append(top, d.besides(c)...)
	var questions []member
	seen := make(map[string]bool)
	for i, q := range c.Request.Questions {
		f := c.Fields[i]
		if seen[*f.Name] {
			return nil, fmt.Errorf("%w: Fields[%d].Name: %q is there twice", ErrShape, i, *f.Name)
		}
		seen[*f.Name] = true
		body := []member{{"type", "noul"}, {"instructions", q.Text()}}
		switch q.Kind {
		case decide.KindBoolean:
			if len(q.Options) == 2 {
				body = append(body, member{"criteria", []member{
					{"true", orNull(q.Options[0].Description)}, {"false", orNull(q.Options[1].Description)},
				}})
			}
		case decide.KindChoice:
			body[0].value = "choice"
			var criteria []member
			for j, raw := range f.Options {
				var name string
				if err := json.Unmarshal(raw, &name); err != nil {
					return nil, fmt.Errorf("%w: Fields[%d].Options[%d]: %s, must be a string", ErrShape, i, j, raw)
				}
				criteria = append(criteria, member{name, orNull(q.Options[j].Description)})
			}
			body = append(body, member{"criteria", criteria})
		case decide.KindScore:
			body[0].value = "score"
			levels, err := rawLevels(i, q, f)
			if err != nil {
				return nil, err
			}
			body = append(body, member{"criteria", levels})
		}
		questions = append(questions, member{*f.Name, body})
	}
	return append(top, member{"questions", questions}), nil
}

// rawLevels returns levels for shapes in which a level is one text.
func rawLevels(i int, q decide.Question, f Field) ([]any, error) {
	levels := make([]any, len(f.Options))
	for j, raw := range f.Options {
		if q.Options[j].Description != "" {
			return nil, fmt.Errorf("%w: Questions[%d].Options[%d].Description: a level has one text here", ErrShape, i, j)
		}
		levels[j] = raw
	}
	return levels, nil
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// stateValue writes a state: JSON as it is, text as a string, messages as an array of them, or,
// where there are tools, as an object of tools and messages.
func stateValue(s decide.State) (any, error) {
	p := s.Prompt()
	switch {
	case s.Value() != nil:
		return s.Value(), nil
	case p.Kind() == chat.KindText:
		return p.RawText(), nil
	case p.Kind() != chat.KindMessages:
		return nil, fmt.Errorf("%w: State: token ids", ErrShape)
	}
	var turns, tools []any
	for _, m := range p.Turns() {
		turns = append(turns, message(m))
	}
	for _, t := range p.Tools() {
		tool := []member{{"name", t.Name}, {"description", t.Description}}
		if len(t.Parameters) > 0 {
			tool = append(tool, member{"parameters", t.Parameters})
		}
		tools = append(tools, tool)
	}
	if tools == nil {
		return turns, nil
	}
	return []member{{"tools", tools}, {"messages", turns}}, nil
}

// message writes one turn in the form of chat completions.
func message(m chat.Message) []member {
	out := []member{{"role", string(m.Role)}, {"content", content(m)}}
	var calls []any
	for _, t := range m.ToolCalls {
		calls = append(calls, []member{
			{"id", t.ID}, {"type", "function"},
			{"function", []member{{"name", t.Name}, {"arguments", string(t.Arguments)}}},
		})
	}
	if calls != nil {
		out = append(out, member{"tool_calls", calls})
	}
	if m.ToolCallID != "" {
		out = append(out, member{"tool_call_id", m.ToolCallID})
	}
	if m.Name != "" {
		out = append(out, member{"name", m.Name})
	}
	return out
}

// content returns a message's text.
func content(m chat.Message) string {
	text := m.Content
	for _, p := range m.Parts {
		text += p.Text
	}
	return text
}

// systemOneResponse writes {model, answers, usage}.
func (d Dialect) systemOneResponse(c *Call, list []reply, m Meta, u decide.Usage) []member {
	var answers, diagnostics []member
	for i, a := range list {
		q := c.Request.Questions[i]
		var body []member
		switch q.Kind {
		case decide.KindBoolean:
			body = []member{{"type", "noul"}, {"noul", a.p[0]}}
			if d.boolConfidence {
				body = append(body, member{"probabilities", []member{{"yes", a.p[0]}, {"no", a.p[1]}}})
			}
		case decide.KindChoice:
			body = []member{{"type", "choice"}, {"choice", c.Fields[i].Options[a.top]}, {"probabilities", a.byName(c.Fields[i])}}
		case decide.KindScore:
			var legend []member
			for j, raw := range c.Fields[i].Options {
				legend = append(legend, member{strconv.Itoa(j), raw})
			}
			body = []member{{"type", "score"}, {"score", a.score()}, {"legend", legend}, {"probabilities", a.byLevel()}}
		}
		if q.Kind != decide.KindBoolean || d.boolConfidence {
			body = append(body, member{"confidence", a.confidence(d, q.Kind)})
		}
		if d.labelMass && a.mass != nil {
			body = append(body, member{"x_label_mass", *a.mass})
		}
		name := *c.Fields[i].Name
		answers = append(answers, member{name, body})
		if a.mass != nil {
			diagnostic := []member{{"label_mass", *a.mass}}
			// The greedy token is known to be a label where what is left cannot hold a likelier one.
			if a.p[a.top]**a.mass >= 1-*a.mass {
				diagnostic = append(diagnostic, member{"argmax_is_label", true})
			}
			diagnostics = append(diagnostics, member{name, diagnostic})
		}
	}
	usage := []member{{"input_tokens", input(u)}, {"output_tokens", 0}}
	if !d.envelope {
		body := []member{{"model", m.Model}, {"answers", answers}, {"usage", usage}}
		if d.diagnostics {
			body = append(body, member{"diagnostics", diagnostics})
		}
		return body
	}
	return []member{
		{"id", "decision-" + m.ID}, {"object", "structured_decision"}, {"created", int(m.Created.Unix())}, {"model", m.Model},
		{"answers", answers}, {"usage", usage}, {"diagnostics", diagnostics},
	}
}

// systemOneResult reads the answer to one question of a response.
func systemOneResult(q decide.Question, f Field, body, diagnostics node) (heard, error) {
	var kind, noul, choice, score, probabilities, confidence, mass node
	if err := body.fields(map[string]*node{
		"type": &kind, "noul": &noul, "choice": &choice, "score": &score,
		"probabilities": &probabilities, "confidence": &confidence, "x_label_mass": &mass,
	}, ignore); err != nil {
		return heard{}, err
	}
	if err := kind.is(map[decide.Kind]string{decide.KindBoolean: "noul", decide.KindChoice: "choice", decide.KindScore: "score"}[q.Kind]); err != nil {
		return heard{}, err
	}
	if mass.null() {
		for id, v := range diagnostics.members() {
			if id != *f.Name {
				continue
			}
			if err := v.fields(map[string]*node{"label_mass": &mass}, ignore); err != nil {
				return heard{}, err
			}
		}
	}
	h := heard{node: body, choice: -1, score: math.NaN()}
	var err error
	if h.confidence, err = confidence.optional(); err != nil {
		return h, err
	}
	if h.mass, err = mass.optional(); err != nil {
		return h, err
	}
	switch q.Kind {
	case decide.KindBoolean:
		yes, err := noul.probability()
		h.p = []float64{yes, 1 - yes}
		return h, err
	case decide.KindChoice:
		if h.p, err = probabilities.byName(f.Options); err != nil {
			return h, err
		}
		h.choice, err = choice.among(f.Options)
		return h, err
	}
	if h.p, err = probabilities.byLevel(len(f.Options)); err != nil {
		return h, err
	}
	h.score, err = score.number()
	return h, err
}
