package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/decide/fit"
	"github.com/hotpath-go/hotpath/model/chat"
)

// row is one line of the file.
type row struct {
	Set      string          `json:"set,omitempty"` // that it belongs to, in files of several
	Type     string          `json:"type"`
	Input    string          `json:"input,omitempty"`
	Messages []message       `json:"messages,omitempty"`
	Tools    []tool          `json:"tools,omitempty"`
	Question string          `json:"question,omitempty"`
	Options  json.RawMessage `json:"options,omitempty"`
	Label    json.RawMessage `json:"label"`

	Page        string `json:"page,omitempty"` // of tldr's commands
	Description string `json:"description,omitempty"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// maxLine bounds a row, in bytes.
const maxLine = 16 << 20

// load reads the rows and draws those that are asked. template says whether the model has one. notes
// say where options come from that no list has.
func load(c config, template bool) (examples []fit.Example, notes []string, err error) {
	lists, err := optionLists(c.options)
	if err != nil {
		return nil, nil, err
	}
	if lists == nil {
		lists = map[string][]decide.Option{}
	}
	lines, err := readLines(c.data)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", c.data, err)
	}
	for key, labels := range labelsOf(lines) {
		if lists[key] == nil {
			lists[key] = decide.Names(labels...)
			notes = append(notes, fmt.Sprintf("options %q: no list has this name, these are the %d labels of its rows", key, len(labels)))
		}
	}
	slices.Sort(notes)
	for n, line := range lines {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		e, err := parseRow(line, lists, c.question, template)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: line %d: %w", c.data, n+1, err)
		}
		examples = append(examples, e)
	}
	if len(examples) == 0 {
		return nil, nil, fmt.Errorf("%s: no rows", c.data)
	}
	rand.New(rand.NewPCG(c.seed, 1)).Shuffle(len(examples), func(i, j int) { examples[i], examples[j] = examples[j], examples[i] })
	if c.rows > 0 && c.rows < len(examples) {
		examples = examples[:c.rows]
	}
	return examples, notes, nil
}

// readLines reads a file, unpacked where its name ends in .gz.
func readLines(path string) ([][]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var r io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(file); err != nil {
			return nil, err
		}
	}
	var list [][]byte
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		list = append(list, bytes.Clone(lines.Bytes()))
	}
	return list, lines.Err()
}

// labelsOf returns the labels of the choices that name a list of options, sorted, by that name.
func labelsOf(lines [][]byte) map[string][]string {
	lists := map[string][]string{}
	for _, line := range lines {
		var r struct{ Type, Options, Label string }
		if json.Unmarshal(line, &r) == nil && r.Type == "choice" && r.Options != "" {
			lists[r.Options] = append(lists[r.Options], r.Label)
		}
	}
	for key, labels := range lists {
		slices.Sort(labels)
		lists[key] = slices.Compact(labels)
	}
	return lists
}

// optionLists reads lists of options by key. A file that is not there holds none.
func optionLists(path string) (map[string][]decide.Option, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	lists := make(map[string][]decide.Option, len(raw))
	for key, list := range raw {
		if lists[key], err = parseOptions(list); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, key, err)
		}
	}
	return lists, nil
}

// parseOptions reads a list of names, or of names with descriptions.
func parseOptions(raw json.RawMessage) ([]decide.Option, error) {
	var names []string
	if json.Unmarshal(raw, &names) == nil {
		return decide.Names(names...), nil
	}
	var items []struct{ Name, Description string }
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	options := make([]decide.Option, len(items))
	for i, o := range items {
		options[i] = decide.Opt(o.Name, o.Description)
	}
	return options, nil
}

// parseRow makes an example of a line.
func parseRow(line []byte, lists map[string][]decide.Option, question string, template bool) (fit.Example, error) {
	var r row
	if err := json.Unmarshal(line, &r); err != nil {
		return fit.Example{}, err
	}
	return r.example(lists, question, template)
}

func (r row) example(lists map[string][]decide.Option, question string, template bool) (fit.Example, error) {
	e := fit.Example{State: state(r, template)}
	if r.Question != "" {
		question = r.Question
	}
	if r.Type == "boolean" {
		e.Question = decide.Boolean("q", question)
		var yes bool
		if err := json.Unmarshal(r.Label, &yes); err != nil {
			return e, fmt.Errorf("label: %s, must be true or false", r.Label)
		}
		if !yes {
			e.Label = 1
		}
		return e, nil
	}
	var options []decide.Option
	var key string
	if json.Unmarshal(r.Options, &key) == nil {
		if options = lists[key]; options == nil {
			return e, fmt.Errorf("options: no list is called %q", key)
		}
	} else {
		var err error
		if options, err = parseOptions(r.Options); err != nil {
			return e, err
		}
	}
	e.Question = decide.Choice("q", question, options...)
	switch r.Type {
	case "choice":
	case "score":
		e.Question.Kind = decide.KindScore
	default:
		return e, fmt.Errorf("type: %q, must be boolean, choice or score", r.Type)
	}
	var label string
	if err := json.Unmarshal(r.Label, &label); err != nil {
		return e, fmt.Errorf("label: %s, must be the name of an option", r.Label)
	}
	e.Label = slices.IndexFunc(options, func(o decide.Option) bool { return o.Name == label })
	if e.Label < 0 {
		return e, fmt.Errorf("label: %q is none of the %d options", label, len(options))
	}
	return e, nil
}

// state returns what a row is about: its text; or its messages and tools, as a prompt where the
// model has a template and as JSON where it has none.
func state(r row, template bool) decide.State {
	switch {
	case r.Messages == nil:
		return decide.Text(r.Input)
	case !template:
		return decide.JSON(struct {
			Messages []message `json:"messages"`
			Tools    []tool    `json:"tools,omitempty"`
		}{r.Messages, r.Tools})
	}
	turns := make([]chat.Message, len(r.Messages))
	for i, m := range r.Messages {
		turns[i] = chat.Message{Role: chat.Role(m.Role), Content: m.Content}
	}
	tools := make([]chat.Tool, len(r.Tools))
	for i, t := range r.Tools {
		tools[i] = chat.Tool(t)
	}
	p := chat.Messages(turns...)
	if len(tools) > 0 {
		p = p.WithTools(tools...)
	}
	return decide.Chat(p)
}
