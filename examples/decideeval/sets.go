package main

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/md5"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hotpath-go/hotpath/decide"
)

// source is what the sets are made from: a folder of decision rows, and one of rows written by hand.
type source struct{ data, hand string }

// The sets that the embedded model is measured on, in the order in which they are printed. What was
// drawn for a row depends on the set's name and the row's line alone, by SHA-256, so that any other
// program can draw the same.
var setNames = []string{"clinc8", "clinc20", "domain", "oos", "held8", "held8h", "bank8", "bfcl", "bfclrel", "shell"}

// sets makes the named sets, or all and the rows written by hand for "all".
func sets(names string, s source) (list []set, err error) {
	wanted := strings.Split(names, ",")
	if names == "all" {
		wanted = slices.Clone(setNames)
		files, err := filepath.Glob(filepath.Join(s.hand, "*.jsonl"))
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			wanted = append(wanted, "hand:"+strings.TrimSuffix(filepath.Base(f), ".jsonl"))
		}
	}
	for _, name := range wanted {
		rows, err := s.rows(strings.TrimSpace(name))
		if err == nil && len(rows) == 0 {
			err = errors.New("no rows")
		}
		if err != nil {
			return nil, fmt.Errorf("set %s: %w", name, err)
		}
		list = append(list, set{name, rows})
	}
	return list, nil
}

type set struct {
	name string
	rows []row
}

func (s source) rows(name string) ([]row, error) {
	switch name {
	case "clinc8", "clinc20", "held8", "held8h":
		return s.intents(name)
	case "bank8":
		return s.banking()
	case "domain", "oos":
		return s.topics(name)
	case "bfcl":
		return s.tools()
	case "bfclrel":
		return s.relevance()
	case "shell":
		return s.shell()
	}
	if file, ok := strings.CutPrefix(name, "hand:"); ok {
		return s.written(file)
	}
	return nil, fmt.Errorf("there are %s, and hand: with a file's name", strings.Join(setNames, ", "))
}

const askIntent = "which intent fits?"

// intents draws options for CLINC150: every fifth intent by sorted name is held out of the embedded
// model's training, name and texts.
func (s source) intents(name string) ([]row, error) {
	lists, err := optionLists(filepath.Join(s.data, "options.json"))
	if err != nil {
		return nil, err
	}
	all := namesOf(lists["clinc_intents"])
	slices.Sort(all)
	var held, seen []string
	for i, n := range all {
		if i%5 == 4 {
			held = append(held, n)
		} else {
			seen = append(seen, n)
		}
	}
	pool, options, unseen := seen, 8, false
	switch name {
	case "clinc20":
		options = 20
	case "held8":
		pool, unseen = all, true
	case "held8h":
		pool, unseen = held, true
	}
	var out []row
	err = s.each("clinc_intent_test", func(i int, r row) error {
		label, err := r.name()
		if err == nil && slices.Contains(held, label) == unseen {
			out = append(out, drawn(name, i, r.Input, label, pool, options))
		}
		return err
	})
	return out, err
}

func (s source) banking() ([]row, error) {
	var pool []string
	err := s.each("banking77_test", func(_ int, r row) error {
		label, err := r.name()
		pool = append(pool, label)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(pool)
	pool = slices.Compact(pool)
	var out []row
	err = s.each("banking77_test", func(i int, r row) error {
		label, err := r.name()
		out = append(out, drawn("bank8", i, r.Input, label, pool, 8))
		return err
	})
	return out, err
}

// drawn makes a row with its label and n-1 other names.
func drawn(set string, i int, input, label string, pool []string, n int) row {
	type ranked struct {
		name   string
		digest [32]byte
	}
	rank := func(name string) ranked {
		return ranked{name, sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%s", set, i, name))}
	}
	order := func(a, b ranked) int { return bytes.Compare(a.digest[:], b.digest[:]) }
	var others []ranked
	for _, name := range pool {
		if name != label {
			others = append(others, rank(name))
		}
	}
	slices.SortFunc(others, order)
	chosen := append(others[:min(n-1, len(others))], rank(label))
	slices.SortFunc(chosen, order)
	options := make([]decide.Option, len(chosen))
	for j, x := range chosen {
		options[j].Name = x.name
	}
	return choice(input, askIntent, label, options)
}

// topics asks about the ten domains of CLINC150: which it is, or whether it is one at all.
func (s source) topics(name string) ([]row, error) {
	lists, err := optionLists(filepath.Join(s.data, "options.json"))
	if err != nil {
		return nil, err
	}
	domains := lists["clinc_domains"]
	if name == "domain" {
		var out []row
		err = s.each("clinc_domain_test", func(_ int, r row) error {
			label, err := r.name()
			out = append(out, choice(r.Input, "which domain is this?", label, domains))
			return err
		})
		return out, err
	}
	question := "is the request one that the assistant supports? topics: " + strings.ReplaceAll(strings.Join(namesOf(domains), ", "), "_", " ")
	var out []row
	err = s.each("clinc_oos_test", func(_ int, r row) error {
		out = append(out, row{Type: "boolean", Input: r.Input, Question: question, Label: r.Label})
		return nil
	})
	return out, err
}

// tools chooses among the functions of BFCL.
func (s source) tools() (out []row, err error) {
	err = s.each("bfcl_tool_choice", func(_ int, r row) error {
		label, err := r.name()
		if err != nil {
			return err
		}
		options, err := parseOptions(r.Options)
		out = append(out, choice(said(r), "which tool should be called?", label, options))
		return err
	})
	return out, err
}

// relevance asks whether one of the first six functions of a row serves its request.
func (s source) relevance() (out []row, err error) {
	err = s.each("bfcl_tool_relevance", func(_ int, r row) error {
		var listed []string
		for _, t := range r.Tools[:min(6, len(r.Tools))] {
			listed = append(listed, words(t.Name)+" : "+strings.Join(strings.Fields(t.Description), " "))
		}
		question := "can one of the tools serve the request? tools: " + strings.Join(listed, " ; ")
		out = append(out, row{Type: "boolean", Input: said(r), Question: question, Label: r.Label})
		return nil
	})
	return out, err
}

// words parts a name at its marks and capitals, for a list within a question.
func words(name string) string {
	var b strings.Builder
	for i, r := range name {
		switch {
		case strings.ContainsRune("_.-/", r):
			r = ' '
		case i > 0 && r >= 'A' && r <= 'Z' && name[i-1] >= 'a' && name[i-1] <= 'z':
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// shell asks whether a request needs a command: those of tldr pages that were held out of training
// (every fifth by MD5) do, and requests to an assistant or a bank do not.
func (s source) shell() ([]row, error) {
	ways := []string{"%s", "how do i %s", "please %s", "can you %s", "i want to %s", "i need to %s", "run a command to %s",
		"%s on this machine", "help me %s", "what is the way to %s"}
	const question = "does it need a shell command?"
	key := regexp.MustCompile(`\[(\w)\]`) // of a mnemonic, as in [p]rint
	var out []row
	positive, err := s.fewest("tldr_commands", "shell", 750, func(r row) bool {
		sum := md5.Sum([]byte(r.Page))
		// The whole digest modulo 5: 256 is 1 modulo 5, and so is each of its powers.
		rest := 0
		for _, b := range sum {
			rest += int(b)
		}
		return rest%5 == 0
	})
	if err != nil {
		return nil, err
	}
	for _, r := range positive {
		d := strings.ReplaceAll(key.ReplaceAllString(r.Description, "$1"), "`", "")
		first, size := utf8.DecodeRuneInString(d)
		d = string(unicode.ToLower(first)) + d[size:]
		out = append(out, row{Type: "boolean", Input: fmt.Sprintf(ways[int(r.digest[0])%len(ways)], d), Question: question, Label: json.RawMessage("true")})
	}
	for _, from := range []struct {
		file, set string
		rows      int
	}{{"clinc_intent_test", "shell clinc", 525}, {"banking77_test", "shell bank", 225}} {
		negative, err := s.fewest(from.file, from.set, from.rows, func(row) bool { return true })
		if err != nil {
			return nil, err
		}
		for _, r := range negative {
			out = append(out, row{Type: "boolean", Input: r.Input, Question: question, Label: json.RawMessage("false")})
		}
	}
	return out, nil
}

type digested struct {
	row
	digest [32]byte
}

// fewest returns the n rows that pass and have the smallest digests.
func (s source) fewest(file, set string, n int, pass func(row) bool) ([]digested, error) {
	var list []digested
	err := s.each(file, func(i int, r row) error {
		if pass(r) {
			list = append(list, digested{r, sha256.Sum256(fmt.Appendf(nil, "%s\n%d", set, i))})
		}
		return nil
	})
	slices.SortFunc(list, func(a, b digested) int {
		return cmp.Compare(binary.BigEndian.Uint64(a.digest[:8]), binary.BigEndian.Uint64(b.digest[:8]))
	})
	return list[:min(n, len(list))], err
}

// written returns the second half, every other row, of a file of rows written by hand: the first is
// for training.
func (s source) written(name string) ([]row, error) {
	f, err := os.Open(filepath.Join(s.hand, name+".jsonl"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []row
	err = scan(f, func(i int, line []byte) error {
		if i%2 == 0 {
			return nil
		}
		var in struct {
			Kind, Question string
			State          json.RawMessage
			Options        []decide.Option
			Answer         int
		}
		if err := json.Unmarshal(line, &in); err != nil {
			return err
		}
		r := row{Type: in.Kind, Question: in.Question}
		if err := json.Unmarshal(in.State, &r.Input); err != nil {
			var turns [][2]string
			if err := json.Unmarshal(in.State, &turns); err != nil {
				return fmt.Errorf("state: %w", err)
			}
			for _, t := range turns {
				r.Messages = append(r.Messages, message{t[0], t[1]})
			}
		}
		switch {
		case in.Answer < 0 || in.Answer >= len(in.Options):
			return fmt.Errorf("answer %d of %d options", in.Answer, len(in.Options))
		case in.Kind == "boolean":
			r.Label, _ = json.Marshal(in.Answer == 0)
		default:
			r.Options, r.Label = listed(in.Options), quoted(in.Options[in.Answer].Name)
		}
		out = append(out, r)
		return nil
	})
	return out, err
}

// each reads the rows of a file of the data folder.
func (s source) each(file string, f func(line int, r row) error) error {
	path := filepath.Join(s.data, file+".jsonl.gz")
	packed, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: not in the folder of decision rows", path)
	}
	if err != nil {
		return err
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return scan(r, func(i int, line []byte) error {
		var x row
		if err := json.Unmarshal(line, &x); err != nil {
			return fmt.Errorf("%s: line %d: %w", path, i+1, err)
		}
		return f(i, x)
	})
}

func scan(r io.Reader, f func(i int, line []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for i := 0; lines.Scan(); i++ {
		if err := f(i, lines.Bytes()); err != nil {
			return err
		}
	}
	return lines.Err()
}

// said joins what the user says.
func said(r row) string {
	var list []string
	for _, m := range r.Messages {
		if m.Role == "user" {
			list = append(list, m.Content)
		}
	}
	return strings.Join(list, " ")
}

func choice(input, question, label string, options []decide.Option) row {
	return row{Type: "choice", Input: input, Question: question, Options: listed(options), Label: quoted(label)}
}

func namesOf(options []decide.Option) []string {
	list := make([]string, len(options))
	for i, o := range options {
		list[i] = o.Name
	}
	return list
}

// listed writes options as rows have them.
func listed(options []decide.Option) json.RawMessage {
	type named struct {
		Name        string `json:"name"`
		Description string `json:"description,omitempty"`
	}
	list := make([]named, len(options))
	for i, o := range options {
		list[i] = named{o.Name, o.Description}
	}
	b, _ := json.Marshal(list)
	return b
}

func quoted(s string) json.RawMessage {
	b, _ := json.Marshal(s)
	return b
}

// name returns a label that is a name.
func (r *row) name() (string, error) {
	var s string
	if err := json.Unmarshal(r.Label, &s); err != nil {
		return "", fmt.Errorf("label %s: %w", r.Label, err)
	}
	return s, nil
}
