package decide

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func ln(x float64) float32 { return float32(math.Log(x)) }

// compiled is a plan of one question whose labels have the given number of spellings each.
func compiled(q Question, spellings int) *Plan {
	names := namesOf(&q)
	p := prompt{reads: []Read{{Labels: make([]int32, spellings*len(names)), LogSumExp: true, Mass: true}}}
	for i := range names {
		p.scores = append(p.scores, []term{{from: i * spellings, to: (i + 1) * spellings}})
	}
	return planOf(q, &asked{names: names, method: Label, prompts: []prompt{p}})
}

func planOf(q Question, a *asked) *Plan {
	plan := &Plan{questions: []Question{q}}
	plan.forms[BorderRaw] = func() (*form, error) { return &form{asked: []*asked{a}, reads: a.reads()}, nil }
	return plan
}

// TestAnswers reads answers off logits whose exponentials are simple numbers.
func TestAnswers(t *testing.T) {
	t.Parallel()
	choice := Choice("c", "which?", Names("a", "b", "c")...)
	score := Score("s", "how?", "low", "mid", "high")
	for _, c := range []struct {
		name      string
		q         Question
		spellings int
		r         Request
		in        Reading
		want      Answer
		mass      float64
	}{
		{
			"spellings are summed", Boolean("b", "is it?"), 2, Request{},
			Reading{Labels: []float32{ln(1), ln(5), ln(1), ln(1)}, LogSumExp: ln(16)},
			Answer{Value: "yes", Probability: .75, Confidence: .5}, .5,
		},
		{
			"a boolean's probability is that of yes", Boolean("b", "is it?"), 1, Request{},
			Reading{Labels: []float32{ln(1), ln(3)}, LogSumExp: ln(4)},
			Answer{Value: "no", Index: 1, Probability: .25, Confidence: .5}, 1,
		},
		{
			"choice", choice, 1, Request{},
			Reading{Labels: []float32{ln(1), ln(8), ln(1)}, LogSumExp: ln(20)},
			Answer{Value: "b", Index: 1, Probability: .8, Confidence: .7}, .5,
		},
		{
			"score", score, 1, Request{},
			Reading{Labels: []float32{ln(7), ln(2), ln(1)}, LogSumExp: ln(10)},
			Answer{Value: "low", Probability: .7, Score: .4, Confidence: .4}, 1,
		},
		{
			"the lowest of equals, and said so", choice, 1, Request{},
			Reading{Labels: []float32{ln(1), ln(2), ln(2)}, LogSumExp: ln(5)},
			Answer{Value: "b", Index: 1, Probability: .4, Confidence: .1, Tied: true}, 1,
		},
		{
			"below the threshold of confidence", choice, 1, Request{MinConfidence: .75},
			Reading{Labels: []float32{ln(1), ln(8), ln(1)}, LogSumExp: ln(10)},
			Answer{Value: "b", Index: 1, Probability: .8, Confidence: .7, Abstained: true}, 1,
		},
		{
			"below the threshold of label mass", choice, 1, Request{MinLabelMass: .6},
			Reading{Labels: []float32{ln(1), ln(8), ln(1)}, LogSumExp: ln(20)},
			Answer{Value: "b", Index: 1, Probability: .8, Confidence: .7, Abstained: true}, .5,
		},
		{
			"confidence by mass", choice, 1, Request{Confidence: Mass},
			Reading{Labels: []float32{ln(1), ln(8), ln(1)}, LogSumExp: ln(20)},
			Answer{Value: "b", Index: 1, Probability: .8, Confidence: .4}, .5,
		},
		{
			"mass skipped", choice, 1, Request{SkipMass: true},
			Reading{Labels: []float32{ln(1), ln(8), ln(1)}},
			Answer{Value: "b", Index: 1, Probability: .8, Confidence: .7}, math.NaN(),
		},
		{
			"an option that cannot be", choice, 1, Request{},
			Reading{Labels: []float32{float32(math.Inf(-1)), ln(1), ln(1)}, LogSumExp: ln(2)},
			Answer{Value: "b", Index: 1, Probability: .5, Confidence: .25, Tied: true}, 1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := compiled(c.q, c.spellings).Answer(c.r, Encoded{Form: BorderRaw}, []Reading{c.in}, nil)
			if err != nil {
				t.Fatal(err)
			}
			a := got[0]
			near := func(name string, got, want float64) {
				if math.Abs(got-want) > 1e-6 {
					t.Errorf("%s %v, want %v", name, got, want)
				}
			}
			near("probability", a.Probability, c.want.Probability)
			near("score", a.Score, c.want.Score)
			near("confidence", a.Confidence, c.want.Confidence)
			if a.Value != c.want.Value || a.Index != c.want.Index || a.Tied != c.want.Tied || a.Abstained != c.want.Abstained {
				t.Errorf("got %+v, want %+v", a, c.want)
			}
			if a.Abstained != (a.Why != "") {
				t.Errorf("abstained %v, because %q", a.Abstained, a.Why)
			}
			switch {
			case c.mass != c.mass:
				if a.LabelMass != nil {
					t.Errorf("label mass %v, want none", *a.LabelMass)
				}
			case a.LabelMass == nil:
				t.Error("no label mass")
			default:
				near("label mass", *a.LabelMass, c.mass)
			}
		})
	}
}

func TestAnswerOfNaN(t *testing.T) {
	t.Parallel()
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for name, in := range map[string]Reading{
		"a label":         {Labels: []float32{0, nan}},
		"an endless one":  {Labels: []float32{0, inf}},
		"none possible":   {Labels: []float32{-inf, -inf}},
		"the whole vocab": {Labels: []float32{0, 0}, LogSumExp: nan},
		"more than all":   {Labels: []float32{0, 0}, LogSumExp: 0},
	} {
		if _, err := compiled(Boolean("b", "is it?"), 1).Answer(Request{}, Encoded{Form: BorderRaw}, []Reading{in}, nil); !errors.Is(err, ErrNaN) {
			t.Errorf("%s: %v, want ErrNaN", name, err)
		}
	}
}

// TestPlanNeedsItsReadings refuses what a plan did not ask for.
func TestPlanNeedsItsReadings(t *testing.T) {
	t.Parallel()
	p := compiled(Boolean("b", "is it?"), 2)
	for name, in := range map[string][]Reading{
		"none":       nil,
		"two":        make([]Reading, 2),
		"few labels": {{Labels: make([]float32, 3)}},
	} {
		if _, err := p.Answer(Request{}, Encoded{Form: BorderRaw}, in, nil); !errors.Is(err, ErrPlan) {
			t.Errorf("%s: %v, want ErrPlan", name, err)
		}
	}
}

func TestTypedGetters(t *testing.T) {
	t.Parallel()
	r := &Result{Answers: []Answer{{ID: "b", Kind: KindBoolean, Probability: .9, Value: "yes"}, {ID: "c", Kind: KindChoice, Value: "x"}}}
	if a := r.Boolean("b"); a.Abstained || a.Probability != .9 {
		t.Errorf("%+v", a)
	}
	if a := r.Choice("c"); a.Abstained || a.Value != "x" {
		t.Errorf("%+v", a)
	}
	for name, a := range map[string]Answer{"unknown": r.Choice("none"), "another kind": r.Score("c"), "empty": (&Result{}).Boolean("b")} {
		if !a.Abstained || a.Why == "" || a.Value != "" || a.Probability != 0 {
			t.Errorf("%s: %+v, want an abstained zero answer", name, a)
		}
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	ok := []Question{Boolean("b", "is it?")}
	many := make([]Question, MaxQuestions+1)
	for i := range many {
		many[i] = Boolean(strings.Repeat("x", i+1), "is it?")
	}
	for name, c := range map[string]struct {
		r    Request
		want []string // in the message
	}{
		"no questions":          {Request{}, []string{"Questions", "0", "256"}},
		"too many questions":    {Request{Questions: many}, []string{"Questions", "257", "256"}},
		"empty id":              {Request{Questions: []Question{Boolean(" ", "is it?")}}, []string{"Questions[0].ID"}},
		"twice one id":          {Request{Questions: []Question{ok[0], ok[0]}}, []string{"Questions[1].ID", "Questions[0]"}},
		"one id but for blanks": {Request{Questions: []Question{ok[0], Boolean(" b", "is it?")}}, []string{"Questions[1].ID", "Questions[0]"}},
		"no instructions":       {Request{Questions: []Question{Boolean("b", "\n ")}}, []string{`"b"`, "Instructions"}},
		"unknown kind":          {Request{Questions: []Question{{ID: "b", Kind: 9, Instructions: "x"}}}, []string{"Kind", "9", "3"}},
		"no kind":               {Request{Questions: []Question{{ID: "b", Instructions: "x"}}}, []string{"Kind", "0"}},
		"no options":            {Request{Questions: []Question{Choice("c", "which?")}}, []string{`"c"`, "Options", "0", "4096"}},
		"too many options":      {Request{Questions: []Question{Choice("c", "which?", make([]Option, 4097)...)}}, []string{"4097", "4096"}},
		"one level":             {Request{Questions: []Question{Score("s", "how?", "low")}}, []string{"1 levels", "2 to 255"}},
		"too many levels":       {Request{Questions: []Question{Score("s", "how?", make([]string, 256)...)}}, []string{"256", "255"}},
		"empty option":          {Request{Questions: []Question{Choice("c", "which?", Names("a", " ")...)}}, []string{"Options[1].Name"}},
		"twice one option":      {Request{Questions: []Question{Choice("c", "which?", Names("a", "b", " a ")...)}}, []string{"Options[2].Name", "Options[0]"}},
		"odd boolean options":   {Request{Questions: []Question{{ID: "b", Kind: KindBoolean, Instructions: "x", Options: Names("no", "yes")}}}, []string{"Options", "yes and no"}},
		"threshold":             {Request{Questions: ok, MinConfidence: 1.5}, []string{"MinConfidence", "1.5", "0 to 1"}},
		"own threshold":         {Request{Questions: []Question{{ID: "b", Kind: KindBoolean, Instructions: "x", MinConfidence: 2}}}, []string{"MinConfidence", "2"}},
		"long text":             {Request{Questions: []Question{Boolean("b", strings.Repeat("x", MaxText+1))}}, []string{"1048577", "1048576"}},
		"control character":     {Request{Questions: []Question{Choice("c", "which?", Names("a\nB: b")...)}}, []string{"Options[0].Name", "control"}},
		"threshold NaN":         {Request{Questions: ok, MinLabelMass: math.NaN()}, []string{"MinLabelMass"}},
		"definition":            {Request{Questions: ok, Confidence: 7}, []string{"Confidence", "7", "2"}},
		"mass and no mass":      {Request{Questions: ok, SkipMass: true, Confidence: Mass}, []string{"SkipMass"}},
		"unknown method":        {Request{Questions: ok, Method: 9}, []string{"Method", "9", "4"}},
		"question's method":     {Request{Questions: []Question{{ID: "b", Kind: KindBoolean, Instructions: "x", Method: 5}}}, []string{`"b"`, "Method", "5"}},
		"too many orders":       {Request{Questions: ok, Orders: 65}, []string{"Orders", "65", "64"}},
		"fewer than no order":   {Request{Questions: []Question{{ID: "b", Kind: KindBoolean, Instructions: "x", Orders: -1}}}, []string{"Orders", "-1"}},
		"unknown length":        {Request{Questions: ok, Length: 3}, []string{"Length", "3", "2"}},
		"prior":                 {Request{Questions: ok, Prior: 4.5}, []string{"Prior", "4.5", "0 to 4"}},
		"prior NaN":             {Request{Questions: ok, Prior: math.NaN()}, []string{"Prior"}},
		"spread":                {Request{Questions: ok, MaxSpread: -1}, []string{"MaxSpread", "-1"}},
		"border":                {Request{Questions: ok, Border: BorderTurn}, []string{"Border", "turn", "canonical"}},
		"plan and method":       {Request{Plan: &Plan{}, Method: Path}, []string{"Plan", "Method"}},
		"plan and questions":    {Request{Questions: ok, Plan: &Plan{}}, []string{"Plan"}},
		"state":                 {Request{Questions: ok, State: JSON(math.Inf(1))}, []string{"State", "Inf"}},
		"very deep state":       {Request{Questions: ok, State: JSON(json.RawMessage(strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)))}, []string{"State", "100000", "64"}},
		"unfinished deep state": {Request{Questions: ok, State: JSON(json.RawMessage(strings.Repeat("{\"a\":", 50_000)))}, []string{"State", "50000", "64"}},
		"state not UTF-8":       {Request{Questions: ok, State: JSON(json.RawMessage("[\"ab\xff\"]"))}, []string{"State", "byte 4 of 7"}},
		"endless number":        {Request{Questions: ok, State: JSON(json.RawMessage(`{"a\\\"1e999":[1e3,-2E-999,1e999]}`))}, []string{"State", "1e999", "e+308"}},
		"long number":           {Request{Questions: ok, State: JSON(json.RawMessage("-1" + strings.Repeat("0", 309)))}, []string{"State", "1000000"}},
		"state without value":   {Request{Questions: ok, State: JSON(make(chan int))}, []string{"State", "chan int"}},
		"composed and not":      {Request{Questions: []Question{Choice("c", "which?", Names("\u00e9t\u00e9", "e\u0301te\u0301")...)}}, []string{"Options[1].Name", "Options[0]"}},
		"deep state":            {Request{Questions: ok, State: JSON(nest(65))}, []string{"65", "64"}},
	} {
		err := c.r.Check()
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", name, err, part)
			}
		}
	}
	if err := (&Request{Questions: ok, State: JSON(json.RawMessage(`{"a":"1e999 \" 1e999","1e999":1e308}`))}).Check(); err != nil {
		t.Errorf("large numbers: %v", err)
	}
	if err := (&Request{Questions: ok, State: JSON(nest(64))}).Check(); err != nil {
		t.Errorf("64 levels: %v", err)
	}
}

func nest(n int) any {
	var v any = "]]{{\\\"["
	for range n {
		v = []any{v}
	}
	return v
}

func TestJSONState(t *testing.T) {
	t.Parallel()
	type ticket struct {
		Zeta  string
		Alpha []int
		HTML  string
	}
	s := JSON(ticket{"z", []int{1, 2}, "<a&b>"})
	if got, want := s.Prompt().RawText(), `{"Zeta":"z","Alpha":[1,2],"HTML":"<a&b>"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	raw := JSON(json.RawMessage(`{ "b" : 1, "a" : [ ] }`))
	if got, want := raw.Prompt().RawText(), `{"b":1,"a":[]}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if m := s.Messages(); len(m) != 1 || m[0].Content != s.Prompt().RawText() {
		t.Errorf("messages %+v", m)
	}
	if !(State{}).IsZero() || s.IsZero() || Text("").IsZero() {
		t.Error("only the zero State is zero")
	}
}

// TestReadingsOfPaths: log-probabilities are summed over the tokens of an option and set off against
// their number as asked; together they are the label mass.
func TestReadingsOfPaths(t *testing.T) {
	t.Parallel()
	var p prompt
	p.tokens = make([]int32, 3)
	// 1 2, 1 2 3 and 4: the first is the beginning of the second, and ends with 9.
	if err := addPaths(&p, [][]int32{{1, 2}, {1, 2, 3}, {4}}, []int32{9}); err != nil {
		t.Fatal(err)
	}
	want := []Span{{Tokens: []int32{1, 2}, Reads: []Read{
		{Row: 0, Labels: []int32{2}, LogSumExp: true}, {Row: 1, Labels: []int32{9, 3}, LogSumExp: true},
	}}}
	if !reflect.DeepEqual(p.spans, want) || !reflect.DeepEqual(p.reads, []Read{{Labels: []int32{1, 4}, LogSumExp: true}}) {
		t.Fatalf("reads %+v, spans %+v", p.reads, p.spans)
	}
	readings := []Reading{
		{Labels: []float32{ln(6), ln(2)}, LogSumExp: ln(10)}, // .6 for 1, .2 for 4
		{Labels: []float32{ln(5)}, LogSumExp: ln(10)},        // .5 for 2
		{Labels: []float32{ln(1), ln(3)}, LogSumExp: ln(10)}, // .1 for the end, .3 for 3
	}
	for length, want := range map[Length][]float64{
		Sum:      {.03, .09, .2},
		PerToken: {math.Pow(.03, 1./3), math.Pow(.09, 1./3), .2},
		PerByte:  {math.Pow(.03, 1./4), math.Pow(.09, 1./6), math.Pow(.2, 1./2)},
	} {
		p.divide = nil
		switch length {
		case PerToken:
			p.divide = []float64{3, 3, 1}
		case PerByte:
			p.divide = []float64{4, 6, 2}
		}
		a, err := planOf(Choice("c", "which?", Names("aaaa", "aaaabb", "cc")...), &asked{
			names: []string{"aaaa", "aaaabb", "cc"}, method: Path, length: length, prompts: []prompt{p},
		}).Answer(Request{}, Encoded{Form: BorderRaw}, readings, nil)
		if err != nil {
			t.Fatal(err)
		}
		sum := want[0] + want[1] + want[2]
		for i, x := range want {
			if math.Abs(a[0].Probabilities[i]-x/sum) > 1e-6 {
				t.Errorf("%v: p[%d] is %v, want %v", length, i, a[0].Probabilities[i], x/sum)
			}
		}
		if math.Abs(*a[0].LabelMass-.32) > 1e-6 || a[0].Length != length || a[0].Method != Path {
			t.Errorf("%v: %+v, want a label mass of .32", length, a[0])
		}
	}
}

// TestReadingsOfEach: the log-odds of yes, or its logit alone where there is no no.
func TestReadingsOfEach(t *testing.T) {
	t.Parallel()
	q := Choice("c", "which?", Names("a", "b")...)
	read := func(terms ...term) prompt {
		var p prompt
		for i := range 2 {
			p.spans = append(p.spans, Span{Tokens: []int32{1}, Reads: []Read{{Labels: []int32{5, 6}, LogSumExp: true}}})
			own := slices.Clone(terms)
			for j := range own {
				own[j].read = i
			}
			p.scores = append(p.scores, own)
		}
		return p
	}
	readings := []Reading{{Labels: []float32{ln(3), ln(1)}, LogSumExp: ln(8)}, {Labels: []float32{ln(2), ln(2)}, LogSumExp: ln(5)}}
	for name, c := range map[string]struct {
		p    prompt
		want float64
		mass bool
	}{
		"yes and no": {read(term{to: 1}, term{from: 1, to: 2, minus: true}), .75, true}, // odds 3 and 1
		"yes alone":  {read(term{to: 1}), .6, false},                                    // 3 and 2
	} {
		p := planOf(q, &asked{names: []string{"a", "b"}, method: Each, prompts: []prompt{c.p}})
		a, err := p.Answer(Request{}, Encoded{Form: BorderRaw}, readings, nil)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(a[0].Probability-c.want) > 1e-6 || (a[0].LabelMass != nil) != c.mass || c.mass && math.Abs(*a[0].LabelMass-.5) > 1e-6 {
			t.Errorf("%s: %+v, want %v", name, a[0], c.want)
		}
		// What is not there is below every threshold, and no confidence.
		for _, r := range []Request{{MinLabelMass: .4}, {Confidence: Mass}} {
			a, err := p.Answer(r, Encoded{Form: BorderRaw}, readings, nil)
			if err != nil || a[0].Abstained == c.mass || a[0].Confidence != a[0].Confidence {
				t.Errorf("%s: %+v, %v", name, a, err)
			}
		}
	}
}

func TestPathsThatCannotBeTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		seqs [][]int32
		ends []int32
	}{
		"no tokens":    {[][]int32{{1}, {}}, []int32{9}},
		"the same":     {[][]int32{{1, 2}, {3}, {1, 2}}, []int32{9}},
		"no end token": {[][]int32{{1, 2}, {1}}, nil},
	} {
		if err := addPaths(&prompt{tokens: []int32{0}}, c.seqs, c.ends); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestRecent: what is used stays, within the bound.
func TestRecent(t *testing.T) {
	t.Parallel()
	r := recent[int]{most: 10}
	key := func(i int) [32]byte { return [32]byte{byte(i), byte(i >> 8)} }
	for i := range 500 {
		r.put(key(i), i, 3)
		if v, ok := r.get(key(i)); !ok || v != i {
			t.Fatalf("%d is not there", i)
		}
		if v, ok := r.get(key(0)); !ok || v != 0 {
			t.Fatalf("0 is used all the time, and gone after %d", i)
		}
		if n := len(r.young) + len(r.old); n > 8 {
			t.Fatalf("%d values of size 3, the bound is twice 10", n)
		}
	}
	if _, ok := r.get(key(250)); ok {
		t.Error("250 is still there")
	}
	if r.put(key(1000), 1, 11); len(r.young)+len(r.old) > 8 {
		t.Error("a value over the bound is kept")
	}
	if _, ok := r.get(key(1000)); ok {
		t.Error("a value over the bound is kept")
	}
}
