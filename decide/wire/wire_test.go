package wire_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/decide/wire"
	"github.com/hotpath-go/hotpath/model/chat"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// given are the distributions of the samples, in the order of their questions.
type given struct {
	p    []float64
	mass float64 // 0: none
}

func result(t testing.TB, c *wire.Call, model string, list []given) *decide.Result {
	t.Helper()
	r := &decide.Result{Model: model}
	for i, g := range list {
		a, err := decide.NewAnswer(decide.Request{SkipMass: true}, c.Request.Questions[i], g.p)
		if err != nil {
			t.Fatal(err)
		}
		if g.mass > 0 {
			a.LabelMass = &g.mass
		}
		r.Answers = append(r.Answers, a)
	}
	return r
}

// samples are the documented bodies of each route. Their numbers are illustrative: what is compared
// is the shape, the order, and that confidence and score follow from the probabilities by the
// formula of the route, which the samples were worked out with by hand.
var samples = []struct {
	name     string
	dialect  wire.Dialect
	given    []given
	read     int // tokens
	model    string
	skip     []string // fields whose numbers are not by a published formula
	response string
}{
	{"typesafe", wire.TypeSafe(), []given{{p: []float64{.97, .03}}, {p: []float64{.9, .09, .01}}, {p: []float64{.05, .6, .35}}}, 210, "jev-1.13.0", nil, "typesafe_response.json"},
	{"vllm", wire.VLLM(), []given{{[]float64{.8, .2}, .9}, {[]float64{.95, .05}, .98}}, 118, "Qwen/Qwen3-0.6B", nil, "vllm_response.json"},
	{"openai", wire.OpenAI(), []given{{p: []float64{.99, .01}}, {p: []float64{.99, .01}}, {p: []float64{0, .2, .8}}}, 160, "gpt-6-luna", []string{"confidence"}, "openai_response.json"},
	{"sglang", wire.SGLangDecisions(), []given{{[]float64{.03, .95, .02}, .99}, {[]float64{.1, .7, .2}, .97}, {[]float64{.75, .25}, .4}}, 240, "default", nil, "sglang_response.json"},
}

// TestSamples decodes the documented requests, answers them with the documented probabilities and
// compares with the documented responses, then reads those back.
func TestSamples(t *testing.T) {
	t.Parallel()
	for _, s := range samples {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			c, err := s.dialect.DecodeRequest(read(t, s.name+"_request.json"))
			if err != nil {
				t.Fatal(err)
			}
			r := result(t, c, s.model, s.given)
			r.Usage = decide.Usage{CachedTokens: 0, ComputedTokens: s.read}
			got, err := s.dialect.EncodeResponse(c, r, wire.Meta{ID: "9c", Created: time.Unix(1796000000, 0)})
			if err != nil {
				t.Fatal(err)
			}
			want := read(t, s.response)
			if g, w := flatten(t, got, s.skip), flatten(t, want, s.skip); !slices.EqualFunc(g, w, near) {
				t.Errorf("response\n got %v\nwant %v", g, w)
			}
			back, err := s.dialect.DecodeResponse(c, want)
			if err != nil {
				t.Fatal(err)
			}
			if back.Model != s.model || back.Usage.ComputedTokens != s.read {
				t.Errorf("model %q, %d tokens", back.Model, back.Usage.ComputedTokens)
			}
			for i, a := range back.Answers {
				w := r.Answers[i]
				if a.ID != w.ID || a.Index != w.Index || a.Value != w.Value || math.Abs(a.Confidence-w.Confidence) > 1e-9 {
					t.Errorf("answer %d\n got %+v\nwant %+v", i, a, w)
				}
				for j := range a.Probabilities {
					if math.Abs(a.Probabilities[j]-w.Probabilities[j]) > 1e-9 {
						t.Errorf("answer %d: %v, want %v", i, a.Probabilities, w.Probabilities)
					}
				}
				if (a.LabelMass == nil) != (w.LabelMass == nil || s.name == "openai") {
					t.Errorf("answer %d: label mass %v, want %v", i, a.LabelMass, w.LabelMass)
				}
			}
		})
	}
}

// leaf is a path and value of a body.
type leaf struct{ path, value string }

func near(a, b leaf) bool {
	x, err1 := strconv.ParseFloat(a.value, 64)
	y, err2 := strconv.ParseFloat(b.value, 64)
	if err1 == nil && err2 == nil {
		return a.path == b.path && math.Abs(x-y) < 1e-9
	}
	return a == b
}

// flatten lists the leaves of a body in their order. The keys of an answer come in an order of
// their own in each document, so only the order of options and answers is kept.
func flatten(t testing.TB, body []byte, skip []string) []leaf {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.UseNumber()
	var list []leaf
	var walk func(path string)
	walk = func(path string) {
		tok, err := d.Token()
		if err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		switch tok {
		case json.Delim('{'):
			for d.More() {
				key, _ := d.Token()
				walk(path + "." + key.(string))
			}
			_, _ = d.Token()
		case json.Delim('['):
			for i := 0; d.More(); i++ {
				walk(path + "[" + strconv.Itoa(i) + "]")
			}
			_, _ = d.Token()
		default:
			text, _ := json.Marshal(tok)
			if !slices.ContainsFunc(skip, func(s string) bool { return strings.HasSuffix(path, "."+s) }) {
				list = append(list, leaf{path, string(text)})
			}
		}
	}
	walk("")
	return grouped(list)
}

// grouped puts the leaves of one object beside each other by their kind, keeping order inside maps
// of options.
func grouped(list []leaf) []leaf {
	slices.SortStableFunc(list, func(a, b leaf) int { return strings.Compare(head(a.path), head(b.path)) })
	return list
}

func head(path string) string {
	if i := strings.Index(path, ".probabilities"); i >= 0 {
		return path[:i+len(".probabilities")]
	}
	return path
}

// TestRoundTrip encodes each sample's call as a client and reads it back as a server.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, s := range samples {
		c, err := s.dialect.DecodeRequest(read(t, s.name+"_request.json"))
		if err != nil {
			t.Fatal(err)
		}
		roundTrip(t, s.dialect, c)
	}
}

func roundTrip(t testing.TB, d wire.Dialect, c *wire.Call) {
	t.Helper()
	body, err := d.EncodeRequest(c)
	if err != nil {
		t.Fatalf("%s: %v", d.Name, err)
	}
	back, err := d.DecodeRequest(body)
	if err != nil {
		t.Fatalf("%s: %v\n%s", d.Name, err, body)
	}
	if !reflect.DeepEqual(c, back) {
		t.Fatalf("%s\n%s\n got %+v\nwant %+v", d.Name, body, back, c)
	}
}

func numbered(n int, item func(i int) string) string {
	var list []string
	for i := range n {
		list = append(list, item(i))
	}
	return strings.Join(list, ",")
}

func quoted(i int) string { return strconv.Quote("n" + strconv.Itoa(i)) }

func systemOne(questions string) string {
	return `{"model":"m","state":"s","questions":{` + questions + `}}`
}

func choiceOf(n int) string {
	return systemOne(`"q":{"type":"choice","instructions":"i","criteria":{` + numbered(n, func(i int) string { return quoted(i) + ":null" }) + `}}`)
}

func scoreOf(n int) string {
	return systemOne(`"q":{"type":"score","instructions":"i","criteria":[` + numbered(n, quoted) + `]}`)
}

func questionsOf(n int) string {
	return systemOne(numbered(n, func(i int) string { return quoted(i) + `:{"type":"noul","instructions":"i"}` }))
}

func openAI(question string) string {
	return `{"model":"m","input":"s","questions":[` + question + `]}`
}

func choicesOf(n int) string {
	return openAI(`{"type":"choice","instructions":"i","choices":[` + numbered(n, func(i int) string { return `{"value":` + quoted(i) + `}` }) + `]}`)
}

func predicatesOf(n int) string {
	return openAI(numbered(n, func(int) string { return `{"type":"predicate","instructions":"i"}` }))
}

func sglang(question string) string { return `{"input":"s","questions":[` + question + `]}` }

func optionsOf(n int) string {
	return sglang(`{"id":"q","type":"choice","question":"i","options":[` + numbered(n, func(i int) string { return `{"name":` + quoted(i) + `}` }) + `]}`)
}

// TestLimits asks for the published limit, which must do, and one more, which must not.
func TestLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dialect wire.Dialect
		body    func(n int) string
		limit   int
		path    []any
	}{
		{wire.TypeSafe(), choiceOf, 255, []any{"questions", "q", "criteria"}},
		{wire.TypeSafe(), scoreOf, 10, []any{"questions", "q", "criteria"}},
		{wire.VLLM(), choiceOf, 26, []any{"questions", "q", "criteria"}},
		{wire.VLLM(), scoreOf, 10, []any{"questions", "q", "criteria"}},
		{wire.VLLM(), questionsOf, 64, []any{"questions"}},
		{wire.SGLang(), choiceOf, 255, []any{"questions", "q", "criteria"}},
		{wire.SGLang(), scoreOf, 10, []any{"questions", "q", "criteria"}},
		{wire.LlamaCPP(), choiceOf, 255, []any{"questions", "q", "criteria"}},
		{wire.LlamaCPP(), scoreOf, 10, []any{"questions", "q", "criteria"}},
		{wire.OpenAI(), choicesOf, 255, []any{"questions", 0, "choices"}},
		{wire.OpenAI(), predicatesOf, decide.MaxQuestions, []any{"questions"}}, // 400 where package decide allows it
		{wire.VLLMDecisions(), choicesOf, 26, []any{"questions", 0, "choices"}},
		{wire.VLLMDecisions(), predicatesOf, 64, []any{"questions"}},
		{wire.Fireworks(), choicesOf, 208, []any{"questions", 0, "choices"}},
		{wire.SGLangDecisions(), optionsOf, 26, []any{"questions", 0, "options"}},
		{wire.Own(wire.SystemOneShape), choiceOf, decide.MaxOptions, []any{"questions", "q", "criteria"}},
		{wire.Own(wire.SystemOneShape), scoreOf, decide.MaxLevels, []any{"questions", "q", "criteria"}},
		{wire.Own(wire.SystemOneShape), questionsOf, decide.MaxQuestions, []any{"questions"}},
	} {
		call, err := c.dialect.DecodeRequest([]byte(c.body(c.limit)))
		if err != nil {
			t.Errorf("%s: %v", c.dialect.Name, err)
			continue
		}
		roundTrip(t, c.dialect, call)
		_, err = c.dialect.DecodeRequest([]byte(c.body(c.limit + 1)))
		var e *wire.Error
		if !errors.As(err, &e) || e.Code != wire.CodeLimit || e.Got != c.limit+1 || e.Limit != c.limit || !slices.Equal(e.Path, c.path) {
			t.Errorf("%s: one above %d: %v", c.dialect.Name, c.limit, err)
		}
	}
}

// TestRefused gives each dialect what its speaker refuses.
func TestRefused(t *testing.T) {
	t.Parallel()
	noul := `"q":{"type":"noul","instructions":"i"}`
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	own := wire.Own(wire.SystemOneShape)
	for _, c := range []struct {
		dialect wire.Dialect
		body    string
		code    wire.Code
		where   string
	}{
		{own, ``, wire.CodeSyntax, ""},
		{own, `{"state":"s"`, wire.CodeSyntax, ""},
		{own, `{"state":"s","questions":{}} x`, wire.CodeSyntax, ""},
		{own, `{"state":"\xff","questions":{` + noul + `}}`, wire.CodeSyntax, "state"},
		{own, "{\"state\":\"\xff\",\"questions\":{" + noul + `}}`, wire.CodeSyntax, ""},
		{own, `{"state":"\ud800","questions":{` + noul + `}}`, wire.CodeSyntax, "state"},
		{own, `{"state":"\udc00\ud800","questions":{` + noul + `}}`, wire.CodeSyntax, "state"},
		{own, `{"state":NaN,"questions":{` + noul + `}}`, wire.CodeSyntax, "state"},
		{own, `{"state":[1,-Infinity],"questions":{` + noul + `}}`, wire.CodeSyntax, "state[1]"},
		{own, `{"state":[1e999],"questions":{` + noul + `}}`, wire.CodeSyntax, "state[0]"},
		{own, `{"state":01,"questions":{` + noul + `}}`, wire.CodeSyntax, "state"},
		{own, `{"state":{"a":{"b":1,"c":2,"\u0062":3}},"questions":{` + noul + `}}`, wire.CodeSyntax, "state.a.b"},
		{own, `{"state":"s","questions":{` + noul + `,` + noul + `}}`, wire.CodeSyntax, "questions.q"},
		{own, `{"state":` + deep(64) + `,"questions":{` + noul + `}}`, wire.CodeLimit, "state" + strings.Repeat("[0]", 63)},
		{own, `{"questions":{` + noul + `}}`, wire.CodeMissing, "state"},
		{own, `{"state":null,"questions":{` + noul + `}}`, wire.CodeType, "state"},
		{own, `{"state":"s","questions":{}}`, wire.CodeLimit, "questions"},
		{own, `{"state":"s","questions":[]}`, wire.CodeType, "questions"},
		{own, systemOne(`"q":{"type":"box","instructions":"i"}`), wire.CodeValue, "questions.q.type"},
		{own, systemOne(`"q":{"type":"noul"}`), wire.CodeValue, "questions.q"},
		{own, systemOne(`"q":{"type":"noul","instructions":"i","criteria":{"yes":"y"}}`), wire.CodeUnknown, "questions.q.criteria.yes"},
		{own, systemOne(`"q":{"type":"noul","instructions":"i","weight":1}`), wire.CodeUnknown, "questions.q.weight"},
		{own, systemOne(`"":{"type":"noul","instructions":"i"}`), wire.CodeValue, "questions."},
		{own, systemOne(`"q":{"type":"choice","instructions":"i","criteria":["a","b"]}`), wire.CodeType, "questions.q.criteria"},
		{own, systemOne(`"q":{"type":"choice","instructions":"i","criteria":{" ":null}}`), wire.CodeValue, "questions.q.criteria. "},
		{own, scoreOf(1), wire.CodeLimit, "questions.q.criteria"},
		{own, systemOne(`"q":{"type":"score","instructions":"i","criteria":["a",null]}`), wire.CodeType, "questions.q.criteria[1]"},
		{own, systemOne(`"q":{"type":"score","instructions":"i","criteria":["a","a"]}`), wire.CodeValue, "questions.q.criteria[1]"},
		{own, `{"state":"s","images":["x"],"questions":{` + noul + `}}`, wire.CodeValue, "images"},
		{own, `{"state":"s","chat_template_kwargs":{"enable_thinking":true},"questions":{` + noul + `}}`, wire.CodeValue, "chat_template_kwargs.enable_thinking"},

		{wire.TypeSafe(), `{"state":"s","questions":{` + noul + `}}`, wire.CodeMissing, "model"},
		{wire.TypeSafe(), `{"model":"m","state":7,"questions":{` + noul + `}}`, wire.CodeType, "state"},
		{wire.TypeSafe(), systemOne(`"q":{"type":"noul","instructions":7}`), wire.CodeType, "questions.q.instructions"},
		{wire.SGLang(), `{"state":"s","temperature":2,"questions":{` + noul + `}}`, wire.CodeUnknown, "temperature"},
		{wire.SGLang(), systemOne(`"q":{"type":"choice","criteria":{"A":null," a":null}}`), wire.CodeValue, "questions.q.criteria. a"},
		{wire.SGLang(), systemOne(`"q":{"type":"choice","criteria":{"a\nb":null}}`), wire.CodeValue, "questions.q.criteria.a\nb"},
		{wire.LlamaCPP(), systemOne(`"q":{"type":"choice","criteria":{"a":null}}`), wire.CodeValue, "questions.q"},
		{wire.LlamaCPP(), `{"state":null,"questions":{` + noul + `}}`, wire.CodeType, "state"},

		{wire.OpenAI(), `{"model":"m","input":"s","stream":true,"questions":[{"type":"predicate","instructions":"i"}]}`, wire.CodeUnknown, "stream"},
		{wire.OpenAI(), openAI(`{"type":"predicate","instructions":"i","choices":[]}`), wire.CodeUnknown, "questions[0].choices"},
		{wire.OpenAI(), openAI(`{"type":"predicate"}`), wire.CodeMissing, "questions[0].instructions"},
		{wire.OpenAI(), openAI(`{"type":"choice","instructions":"i","choices":[{"value":true},{"value":true}]}`), wire.CodeValue, "questions[0].choices[1].value"},
		{wire.OpenAI(), openAI(`{"type":"choice","instructions":"i","choices":[{"value":1},{"value":2}]}`), wire.CodeType, "questions[0].choices[0].value"},
		{wire.OpenAI(), openAI(`{"type":"choice","instructions":"i","choices":[{"value":"a"}]}`), wire.CodeLimit, "questions[0].choices"},
		{wire.OpenAI(), `{"model":"m","input":[{"role":"assistant","content":"x"}],"questions":[]}`, wire.CodeValue, "input[0].role"},
		{wire.OpenAI(), `{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:"}]}],"questions":[]}`, wire.CodeValue, "input[0].content[0].type"},
		{wire.OpenAI(), `{"model":"m","input":"s","safety_identifier":"` + strings.Repeat("x", 129) + `","questions":[{"type":"predicate","instructions":"i"}]}`, wire.CodeLimit, "safety_identifier"},
		{wire.VLLMDecisions(), openAI(`{"type":"predicate","instructions":"i","name":null}`), wire.CodeType, "questions[0].name"},

		{wire.SGLangDecisions(), `{"input":" ","questions":[{"id":"a","type":"yes_no","question":"q"}]}`, wire.CodeValue, "input"},
		{wire.SGLangDecisions(), sglang(`{"id":" ","type":"yes_no","question":"q"}`), wire.CodeValue, "questions[0].id"},
		{wire.SGLangDecisions(), sglang(`{"id":"a","type":"yes_no","question":"q","options":[]}`), wire.CodeUnknown, "questions[0].options"},
		{wire.SGLangDecisions(), sglang(`{"id":"a","type":"yes_no","question":"q"},{"id":"a","type":"yes_no","question":"r"}`), wire.CodeValue, "questions[1]"},
		{wire.SGLangDecisions(), `{"input":"s","temperature":0,"questions":[]}`, wire.CodeValue, "temperature"},
		{wire.SGLangDecisions(), `{"input":"s","prompt_format_version":2,"questions":[]}`, wire.CodeValue, "prompt_format_version"},
		{wire.SGLangDecisions(), `{"input":"s","model":"base:adapter","questions":[]}`, wire.CodeValue, "model"},
	} {
		_, err := c.dialect.DecodeRequest([]byte(c.body))
		var e *wire.Error
		if !errors.As(err, &e) || !errors.Is(err, wire.ErrBody) || e.Code != c.code || e.Where() != c.where {
			t.Errorf("%s: %.80s\n got %v\nwant %s at %q", c.dialect.Name, c.body, err, c.code, c.where)
		}
	}
}

// TestTaken gives the dialects what their speakers take, and another would not.
func TestTaken(t *testing.T) {
	t.Parallel()
	noul := `"q":{"type":"noul","instructions":"i"}`
	for _, c := range []struct {
		dialect wire.Dialect
		body    string
	}{
		{wire.TypeSafe(), `{"model":"m","state":[],"future":1,"questions":{` + noul + `}}`},
		{wire.TypeSafe(), systemOne(`"q":{"type":"choice","criteria":{"a":null,"b":{"is":[1]}}}`)},
		{wire.VLLM(), `{"state":null,"questions":{` + noul + `}}`},
		{wire.VLLM(), `{"state":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `,"questions":{` + noul + `}}`},
		{wire.VLLM(), `{"state":1.5,"instructions":"You triage.","cache_salt":"a","priority":-3,"request_id":"r","chat_template_kwargs":{"enable_thinking":false},"questions":{` + noul + `}}`},
		{wire.SGLang(), `{"state":"s","temperature":null,"questions":{"":{"type":"noul","instructions":"i"}," ":{"type":"noul","criteria":{"true":"t"}}}}`},
		{wire.OpenAI(), openAI(`{"type":"predicate","instructions":"i","name":null},{"type":"predicate","instructions":"j"},{"type":"predicate","name":"#0","instructions":"j"}`)},
		{wire.SGLangDecisions(), `{"input":{"a":1},"temperature":2.5,"prompt_format_version":1,"return_prompt_token_ids":false,"images":[],"questions":[{"id":"a","type":"score","question":{"b":[1]},"levels":["x",{"y":1}]}]}`},
	} {
		call, err := c.dialect.DecodeRequest([]byte(c.body))
		if err != nil {
			t.Errorf("%s: %s: %v", c.dialect.Name, c.body, err)
			continue
		}
		body, err := c.dialect.EncodeRequest(call)
		if err != nil {
			t.Errorf("%s: %v", c.dialect.Name, err)
			continue
		}
		// On the wire a lower priority runs first, in a request a higher one.
		if first := strings.Contains(c.body, `"priority":-3`); first != (call.Request.Priority == 3) || first != strings.Contains(string(body), `"priority":-3`) {
			t.Errorf("%s: priority %d, and %s", c.body, call.Request.Priority, body)
		}
		if _, err := c.dialect.DecodeRequest(body); err != nil {
			t.Errorf("%s: %s: %v", c.dialect.Name, body, err)
		}
	}
}

// TestValues keeps a string apart from the boolean that looks like it, from the request to the
// answer.
func TestValues(t *testing.T) {
	t.Parallel()
	d := wire.OpenAI()
	c, err := d.DecodeRequest([]byte(openAI(`{"type":"choice","name":"v","instructions":"i","choices":[{"value":"true"},{"value":true},{"value":false}]}`)))
	if err != nil {
		t.Fatal(err)
	}
	options := []decide.Option{
		{Name: `"true"`, Value: decide.ValueOf("true")}, {Name: "true", Value: decide.ValueOf(true)}, {Name: "false", Value: decide.ValueOf(false)},
	}
	if got := c.Request.Questions[0].Options; !slices.Equal(got, options) {
		t.Errorf("the model sees %v", got)
	}
	for i, want := range []string{`"choice":"true"`, `"choice":true`, `"choice":false`} {
		p := []float64{.1, .1, .1}
		p[i] = .8
		body, err := d.EncodeResponse(c, result(t, c, "m", []given{{p: p}}), wire.Meta{})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(body), want) {
			t.Errorf("%s, want %s", body, want)
		}
		back, err := d.DecodeResponse(c, body)
		if err != nil || back.Answers[0].Index != i || back.Answers[0].Chosen != options[i].Value {
			t.Errorf("option %d came back as %+v, %v", i, back, err)
		}
	}
	plain, err := d.DecodeRequest([]byte(openAI(`{"type":"choice","instructions":"i","choices":[{"value":"maybe"},{"value":true}]}`)))
	if err != nil {
		t.Fatal(err)
	}
	if got := plain.Request.Questions[0].Options; !slices.Equal(got, []decide.Option{decide.Opt("maybe", ""), decide.Opt(true, "")}) {
		t.Errorf("the model sees %v", got)
	}
}

// TestOrder keeps options in an order that no sort gives.
func TestOrder(t *testing.T) {
	t.Parallel()
	d := wire.VLLM()
	c, err := d.DecodeRequest([]byte(systemOne(`"z":{"type":"choice","instructions":"i","criteria":{"m":null,"a":null,"z":null,"b":null}},"a":{"type":"noul","instructions":"i"}`)))
	if err != nil {
		t.Fatal(err)
	}
	body, err := d.EncodeResponse(c, result(t, c, "m", []given{{p: []float64{.1, .2, .3, .4}}, {p: []float64{.5, .5}}}), wire.Meta{})
	if err != nil {
		t.Fatal(err)
	}
	if want := `"answers":{"z":{"type":"choice","choice":"b","probabilities":{"m":0.1,"a":0.2,"z":0.3,"b":0.4},`; !strings.Contains(string(body), want) {
		t.Errorf("%s\nwant %s", body, want)
	}
}

// TestConfidence has the table of the three definitions, worked out by hand from their formulas.
func TestConfidence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dialect wire.Dialect
		p       []float64
		want    float64
	}{
		{wire.TypeSafe(), []float64{.97, .02, .01}, .955},
		{wire.SGLang(), []float64{.88, .12, 0}, .82},
		{wire.LlamaCPP(), []float64{.84, .159, .001}, .76},
		{wire.VLLM(), []float64{.97, .02, .01}, .873},
		{wire.VLLM(), []float64{.84, .159, .001}, .756},
	} {
		call, err := c.dialect.DecodeRequest([]byte(systemOne(`"q":{"type":"choice","instructions":"i","criteria":{"a":null,"b":null,"c":null}}`)))
		if err != nil {
			t.Fatal(err)
		}
		body, err := c.dialect.EncodeResponse(call, result(t, call, "m", []given{{c.p, .9}}), wire.Meta{})
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Answers struct{ Q struct{ Confidence float64 } }
		}
		if err := json.Unmarshal(body, &got); err != nil || math.Abs(got.Answers.Q.Confidence-c.want) > 5e-4 {
			t.Errorf("%s: %v: confidence %v, want %v (%v)", c.dialect.Name, c.p, got.Answers.Q.Confidence, c.want, err)
		}
	}
}

// TestTemperature compares with the softmax of logits that are divided.
func TestTemperature(t *testing.T) {
	t.Parallel()
	d := wire.SGLangDecisions()
	c, err := d.DecodeRequest([]byte(`{"input":"s","temperature":2,"questions":[{"id":"q","type":"yes_no","question":"i"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	logit := 3.0
	yes := 1 / (1 + math.Exp(-logit))
	body, err := d.EncodeResponse(c, result(t, c, "m", []given{{p: []float64{yes, 1 - yes}}}), wire.Meta{})
	if err != nil {
		t.Fatal(err)
	}
	back, err := d.DecodeResponse(c, body)
	if err != nil {
		t.Fatal(err)
	}
	if want := 1 / (1 + math.Exp(-logit/2)); math.Abs(back.Answers[0].Probability-want) > 1e-9 {
		t.Errorf("%v, want %v", back.Answers[0].Probability, want)
	}
}

// TestResponseRefused gives a client what is no answer to its call.
func TestResponseRefused(t *testing.T) {
	t.Parallel()
	q := wire.NewCall("m", decide.Request{State: decide.Text("s"), Questions: []decide.Question{
		decide.Choice("q", "i", decide.Names("a", "b", "c")...),
	}})
	for _, c := range []struct{ body, where string }{
		{`{"answers":{}}`, "answers"},
		{`{"answers":{"q":{"type":"score"}}}`, "answers.q.type"},
		{`{"answers":{"q":{"type":"choice","choice":"a","probabilities":{"a":1,"b":0}}}}`, "answers.q.probabilities"},
		{`{"answers":{"q":{"type":"choice","choice":"a","probabilities":{"a":1,"b":0,"d":0}}}}`, "answers.q.probabilities.d"},
		{`{"answers":{"q":{"type":"choice","choice":"d","probabilities":{"a":1,"b":0,"c":0}}}}`, "answers.q.choice"},
		{`{"answers":{"q":{"type":"choice","choice":"b","probabilities":{"a":1,"b":0,"c":0}}}}`, "answers.q"},
		{`{"answers":{"q":{"type":"choice","choice":"a","probabilities":{"a":1.5,"b":0,"c":0}}}}`, "answers.q.probabilities.a"},
		{`{"answers":{"q":{"type":"choice","choice":"a","probabilities":{"a":0.5,"b":0,"c":0}}}}`, "answers.q"},
		{`{"answers":{"q":{"type":"choice","choice":"a","probabilities":{"a":1,"b":0,"c":0},"x_label_mass":-1}}}`, "answers.q.x_label_mass"},
		{`{"answers":{"q":{"type":"choice","choice":"a","probabilities":{"a":1,"b":0,"c":0}},"r":{}}}`, "answers"},
		{`{"answers":{"q":{"type":"choice","choice":"a","probabilities":{"a":1,"b":0,"c":0}}},"usage":{"input_tokens":-1}}`, "usage.input_tokens"},
	} {
		_, err := wire.TypeSafe().DecodeResponse(q, []byte(c.body))
		var e *wire.Error
		if !errors.As(err, &e) || e.Where() != c.where {
			t.Errorf("%s: %v, want an error at %s", c.body, err, c.where)
		}
	}
}

// TestRounded takes probabilities of two decimals, and the server's word for which is largest.
func TestRounded(t *testing.T) {
	t.Parallel()
	q := wire.NewCall("m", decide.Request{State: decide.Text("s"), MinConfidence: 0.5, Confidence: decide.Entropy, Questions: []decide.Question{
		decide.Choice("q", "i", decide.Names("a", "b", "c")...),
	}})
	r, err := wire.OpenAI().DecodeResponse(q, []byte(`{"model":"g","answers":[{"type":"choice","name":"q","choice":"b","confidence":0.9,
		"probabilities":[{"value":"a","probability":0.33},{"value":"b","probability":0.33},{"value":"c","probability":0.33}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	a := r.Choice("q")
	if a.Value != "b" || !a.Tied || !a.Abstained || math.Abs(a.Confidence) > 1e-9 || a.ConfidenceIs != decide.Entropy {
		t.Errorf("%+v", a)
	}
	r, err = wire.OpenAI().DecodeResponse(q, []byte(`{"model":"g","answers":[{"type":"refusal","name":"q"}]}`))
	if err != nil || !r.Choice("q").Abstained {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestWordless refuses what a shape cannot say.
func TestWordless(t *testing.T) {
	t.Parallel()
	ask := []decide.Question{decide.Boolean("q", "i")}
	for _, c := range []struct {
		dialect wire.Dialect
		request decide.Request
		field   string
	}{
		{wire.TypeSafe(), decide.Request{State: decide.Text("s"), Instructions: "x", Questions: ask}, "Instructions"},
		{wire.OpenAI(), decide.Request{State: decide.Text("s"), Method: decide.Path, Questions: ask}, "Method"},
		{wire.OpenAI(), decide.Request{State: decide.Text("s"), Prior: 1, Questions: ask}, "Prior"},
		{wire.OpenAI(), decide.Request{State: decide.Text("s"), Truncate: decide.KeepTail(), Questions: ask}, "Truncate"},
		{wire.OpenAI(), decide.Request{State: decide.Text("s"), Questions: []decide.Question{{ID: "q", Kind: decide.KindBoolean, Instructions: "i", Orders: 2}}}, "Orders"},
		{wire.VLLM(), decide.Request{State: decide.Tokens(1, 2), Questions: ask}, "State"},
		{wire.OpenAI(), decide.Request{State: decide.Chat(chat.Messages(chat.System("x"), chat.User("y"))), Questions: ask}, "State"},
		{wire.OpenAI(), decide.Request{State: decide.Text("s"), Questions: []decide.Question{
			{ID: "q", Kind: decide.KindBoolean, Instructions: "i", Options: []decide.Option{{Name: "yes", Description: "d"}, {Name: "no"}}},
		}}, "Questions[0].Options"},
	} {
		_, err := c.dialect.EncodeRequest(wire.NewCall("m", c.request))
		if !errors.Is(err, wire.ErrShape) || !strings.Contains(err.Error(), c.field) {
			t.Errorf("%s: %v, want %s", c.dialect.Name, err, c.field)
		}
	}
}

// TestMessages writes a conversation as chat completions have it.
func TestMessages(t *testing.T) {
	t.Parallel()
	p := chat.Messages(chat.System("be brief"), chat.User("hi")).WithTools(chat.Tool{Name: "f", Parameters: json.RawMessage(`{"z":1,"a":2}`)})
	body, err := wire.VLLM().EncodeRequest(wire.NewCall("m", decide.Request{State: decide.Chat(p), Questions: []decide.Question{decide.Boolean("q", "i")}}))
	if err != nil {
		t.Fatal(err)
	}
	want := `"state":{"tools":[{"name":"f","description":"","parameters":{"z":1,"a":2}}],"messages":[{"role":"system","content":"be brief"},{"role":"user","content":"hi"}]}`
	if !strings.Contains(string(body), want) {
		t.Errorf("%s\nwant %s", body, want)
	}
}

// TestErrors writes refusals as the speakers do.
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dialect wire.Dialect
		body    string
		status  int
		want    string
	}{
		{wire.TypeSafe(), `{"state":"s","questions":{}}`, 422, `{"detail":[{"loc":["body","model"],"msg":"missing, must be a string","type":"missing"}]}`},
		{wire.TypeSafe(), choiceOf(256), 400, `{"detail":{"error_type":"invalid_request","message":"wire: bad body: questions.q.criteria: 256 options, limit 255"}}`},
		{wire.SGLang(), scoreOf(11), 422, `{"detail":[{"loc":["body","questions","q","criteria"],"msg":"11 levels, limit 10","type":"limit"}]}`},
		{wire.VLLM(), choiceOf(27), 400, `{"error":{"message":"wire: bad body: questions.q.criteria: 27 options, limit 26","type":"invalid_request_error","param":"questions.q.criteria","code":400}}`},
	} {
		_, err := c.dialect.DecodeRequest([]byte(c.body))
		status := c.dialect.Status(err)
		if got := string(c.dialect.EncodeError(err, status)); status != c.status || got != c.want {
			t.Errorf("%s: %d %s\nwant %d %s", c.dialect.Name, status, got, c.status, c.want)
		}
	}
	if got := wire.VLLM().Status(decide.ErrNaN); got != 0 {
		t.Errorf("an error of the model has status %d, want 0", got)
	}
}

// TestNamed finds every preset by its name.
func TestNamed(t *testing.T) {
	t.Parallel()
	total := 0
	for s := range wire.SGLangShape + 1 {
		for _, d := range wire.Dialects(s) {
			got, err := wire.Named(d.Name)
			if err != nil || !reflect.DeepEqual(got, d) {
				t.Errorf("%s: %+v, %v", d.Name, got, err)
			}
			total++
		}
	}
	if total != 11 {
		t.Errorf("%d presets, want 11", total)
	}
	if _, err := wire.Named("nobody"); !errors.Is(err, wire.ErrShape) {
		t.Error(err)
	}
}

// TestShapeOf tells the bodies apart that share a path.
func TestShapeOf(t *testing.T) {
	t.Parallel()
	for _, s := range samples {
		if got, err := wire.ShapeOf(read(t, s.name+"_request.json")); err != nil || got != s.dialect.Shape {
			t.Errorf("%s: %v, %v", s.name, got, err)
		}
	}
	for body, want := range map[string]wire.Shape{
		`{"questions":[{"type":"yes_no"}]}`:            wire.SGLangShape,
		`{"questions":[{"type":"choice","name":"a"}]}`: wire.OpenAIShape,
		`{"questions":[]}`:                             wire.OpenAIShape,
		`{"state":1}`:                                  wire.SystemOneShape,
	} {
		if got, err := wire.ShapeOf([]byte(body)); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", body, got, err, want)
		}
	}
	for _, body := range []string{`[]`, `{}`, `{"questions":1}`, `{`} {
		if _, err := wire.ShapeOf([]byte(body)); !errors.Is(err, wire.ErrBody) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestTextLimits names the question whose texts are too long, before package decide sees them.
func TestTextLimits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", decide.MaxText+1)
	_, err := wire.TypeSafe().DecodeRequest([]byte(systemOne(`"q":{"type":"noul","instructions":"` + long + `"}`)))
	var e *wire.Error
	if !errors.As(err, &e) || e.Where() != "questions.q" || e.Limit != decide.MaxText || e.Got != decide.MaxText+1 {
		t.Errorf("%v", err)
	}
}
