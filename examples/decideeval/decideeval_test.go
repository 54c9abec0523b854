package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/internal/testdata"
)

const lines = `{"type":"choice","input":"Lily saw a red ball.","options":"toys","label":"ball"}
{"type":"choice","input":"Tim has a blue car.","options":[{"name":"ball","description":"round"},{"name":"car"}],"label":"car"}

{"type":"boolean","question":"Is she sad?","input":"Lily cried all day.","label":true}
{"type":"boolean","question":"Is she sad?","input":"Lily smiled all day.","label":false}
{"type":"score","question":"How loud?","input":"The dog barked.","options":["quiet","loud"],"label":"loud"}
{"type":"boolean","question":"Can a tool help?","messages":[{"role":"user","content":"Add 1 and 2."}],"tools":[{"name":"sum","description":"adds"}],"label":true}
`

// folder has rows and lists of options, packed or not.
func folder(t *testing.T, packed bool) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "options.json"), []byte(`{"toys":["ball","car","doll"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	path, body := filepath.Join(dir, "rows.jsonl"), []byte(lines)
	if packed {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write(body)
		_ = w.Close()
		path, body = path+".gz", b.Bytes()
	}
	if err := os.WriteFile(path, body, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func evaluate(t *testing.T, args ...string) string {
	t.Helper()
	c, err := parse(args, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	asked := 0
	if err := run(context.Background(), c, &out, func(total int) func(done, total int) {
		return func(done, _ int) { asked = done }
	}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), strconv.Itoa(asked)+" rows") {
		t.Errorf("%d rows shown in the bar\n%s", asked, out.String())
	}
	return out.String()
}

func TestRows(t *testing.T) {
	t.Parallel()
	for _, packed := range []bool{false, true} {
		path := folder(t, packed)
		list, notes, err := load(config{data: path, options: filepath.Join(filepath.Dir(path), "options.json"), question: "Which?"}, false)
		if err != nil || len(list) != 6 || len(notes) != 0 {
			t.Fatalf("%d rows, notes %q, %v", len(list), notes, err)
		}
		var labels, sad int
		for _, e := range list {
			labels += e.Label
			if e.Question.Instructions == "Is she sad?" {
				sad++
			}
			if e.Question.Kind == decide.KindChoice && e.Question.Instructions != "Which?" {
				t.Errorf("%+v", e.Question)
			}
		}
		// Labels by index: ball 0, car 1, true 0, false 1, loud 1, true 0.
		if labels != 3 || sad != 2 {
			t.Errorf("labels sum to %d, %d rows ask the same; want 3 and 2", labels, sad)
		}
	}
	for _, bad := range []string{
		`{"type":"choice","input":"x","options":"none","label":"a"}`,
		`{"type":"choice","input":"x","options":["a"],"label":"b"}`,
		`{"type":"boolean","input":"x","label":"yes"}`,
		`{"type":"dance","input":"x","options":["a"],"label":"a"}`,
		`{"type":"choice"`,
	} {
		if _, err := parseRow([]byte(bad), nil, "q", false); err == nil {
			t.Errorf("%s: taken", bad)
		}
	}
}

// TestNoList: where no list has the name, the labels are the options, and that is said.
func TestNoList(t *testing.T) {
	t.Parallel()
	path := testdata.Path(t, "decisions/banking77_test.jsonl.gz")
	list, notes, err := load(config{data: path, options: filepath.Join(filepath.Dir(path), "options.json"), question: "Which?", rows: 10}, false)
	if err != nil || len(list) != 10 || len(list[0].Question.Options) != 77 {
		t.Fatalf("%d rows, %v", len(list), err)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], `"banking77"`) || !strings.Contains(notes[0], "77 labels") {
		t.Errorf("%q", notes)
	}
}

func TestEvaluates(t *testing.T) {
	t.Parallel()
	diagram := filepath.Join(t.TempDir(), "plot.png")
	out := evaluate(t, "-png", diagram, folder(t, true))
	for _, want := range []string{`accuracy [01]\.\d+   NLL \d`, `ECE 0\.\d`, `computed, \d`, `ms from call`, `100%  `} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	f, err := os.Open(diagram)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := png.Decode(f); err != nil {
		t.Error(err)
	}
}

// TestFits calibrates the embedded model on real rows.
func TestFits(t *testing.T) {
	t.Parallel()
	saved := filepath.Join(t.TempDir(), "cal.json")
	out := evaluate(t, "-rows", "24", "-fit", "temperature", "-save", saved, testdata.Path(t, "decisions/clinc_domain_test.jsonl.gz"))
	if !strings.Contains(out, "fitted on 12 examples, measured on 12 held out") {
		t.Error(out)
	}
	f, err := os.Open(saved)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cal, err := decide.LoadCalibrator(f)
	if err != nil || cal.Temperature(decide.How{Method: decide.Each}, decide.KindChoice, 10) == 1 {
		t.Errorf("%+v, %v", cal, err)
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"a", "b"}, {"-method", "magic", "a"}, {"-fit", "magic", "a"}, {"-keep", "magic", "a"}, {"-save", "x", "a"}} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("%v: taken", args)
		}
	}
	if c, err := parse([]string{"-method", "path", "a"}, io.Discard); err != nil || c.method != decide.Path {
		t.Errorf("%+v, %v", c, err)
	}
}
