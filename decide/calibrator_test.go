package decide_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/model"
)

// label is how the answers of the fitted calibrator were read.
var label = decide.How{Method: decide.Label, Orders: 2}

func fitted() *decide.Calibrator {
	q := decide.Choice("team", "Which?", decide.Names("a", "b")...)
	return &decide.Calibrator{
		Model: "m", Binding: decide.Binding{Model: decide.Hash{1}, Scheme: decide.Hash{2}},
		Bands:   []decide.Band{{label, decide.KindChoice, 3, 4, 2.5, 40}, {label, decide.KindChoice, 1, 4096, 1.5, 90}},
		Platt:   &decide.Platt{How: label, Scale: 0.5, Shift: -1, Examples: 30},
		Vectors: []decide.Vector{{How: label, Question: q.Key(), Scale: []float64{1, 2}, Shift: []float64{0, 1}, Examples: 20}},
	}
}

// TestCalibratorApply has values worked out by hand from the formulas.
func TestCalibratorApply(t *testing.T) {
	t.Parallel()
	c := fitted()
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	for _, s := range []struct {
		q           decide.Question
		logits      []float64
		first       float64
		temperature float64
		fitted      bool
	}{
		{decide.Choice("x", "i", decide.Names("a", "b", "c")...), []float64{5, 0, math.Inf(-1)}, sigmoid(5 / 2.5), 2.5, true},
		{decide.Choice("x", "i", decide.Names("a", "b")...), []float64{3, 0}, sigmoid(3 / 1.5), 1.5, true},
		{decide.Choice("other id", "Which?", decide.Names("a", "b")...), []float64{3, 1}, sigmoid(3 - (2*1 + 1)), 1, true},
		{decide.Boolean("x", "i"), []float64{4, 1}, sigmoid(0.5*3 - 1), 1, true},
		{decide.Score("x", "i", "lo", "hi"), []float64{2, 0}, sigmoid(2), 1, false},
	} {
		p, temperature, ok := c.Apply(label, &s.q, s.logits)
		if math.Abs(p[0]-s.first) > 1e-12 || temperature != s.temperature || ok != s.fitted {
			t.Errorf("%v %v: %v, %v, %v; want %v, %v, %v", s.q.Kind, s.logits, p, temperature, ok, s.first, s.temperature, s.fitted)
		}
	}
	// Read in another way, nothing was fitted.
	for _, h := range []decide.How{{}, {Method: decide.Label}, {Method: decide.Code, Orders: 2}, {Method: decide.Label, Orders: 2, Prior: 1}} {
		for _, q := range []decide.Question{decide.Choice("x", "Which?", decide.Names("a", "b")...), decide.Boolean("x", "i")} {
			if p, temperature, ok := c.Apply(h, &q, []float64{3, 0}); ok || temperature != 1 || math.Abs(p[0]-sigmoid(3)) > 1e-12 {
				t.Errorf("%+v: %v, %v, %v", h, p, temperature, ok)
			}
		}
	}
	for _, s := range []struct {
		kind    decide.Kind
		options int
		want    float64
	}{{decide.KindChoice, 3, 2.5}, {decide.KindChoice, 5, 1.5}, {decide.KindScore, 3, 1}} {
		if got := c.Temperature(label, s.kind, s.options); got != s.want {
			t.Errorf("temperature of %d options: %v, want %v", s.options, got, s.want)
		}
	}
}

func TestCalibratorSaves(t *testing.T) {
	t.Parallel()
	c := fitted()
	var b bytes.Buffer
	if err := c.Save(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	back, err := decide.LoadCalibrator(&b)
	if err != nil || !reflect.DeepEqual(back, c) {
		t.Fatalf("%+v, %v\n%s", back, err, text)
	}
	for _, bad := range []string{
		"", "{}", text[:len(text)/2],
		strings.Replace(text, `"version": 1`, `"version": 2`, 1),
		strings.Replace(text, "hotpath calibrator", "hotpath decision head", 1),
		strings.Replace(text, `"temperature": 2.5`, `"temperature": 0`, 1),
		strings.Replace(text, `"temperature": 2.5`, `"temperature": -1`, 1),
		strings.Replace(text, `"from": 3`, `"from": 9`, 1),
		strings.Replace(text, `"model": "01`, `"model": "1`, 1),
	} {
		if _, err := decide.LoadCalibrator(strings.NewReader(bad)); !errors.Is(err, decide.ErrSaved) {
			t.Errorf("%.60q: %v", bad, err)
		}
	}
}

func fittedHead(hidden int) *decide.Head {
	h := &decide.Head{
		Model: "m", Question: decide.Boolean("q", "Is it?"), Width: 2, Hidden: hidden,
		Mean: []float32{1, 0}, Scale: []float32{2, 1}, B2: []float32{0.5, 0}, W2: []float32{1, 0, -1, 0},
	}
	if hidden > 0 {
		h.W1, h.B1 = []float32{1, 0, 0, 1}, []float32{0, 0.25}
	}
	return h
}

func TestHeadApplies(t *testing.T) {
	t.Parallel()
	// (3-1)*2 = 4 and 1: 4 - 1 + 0.5 for yes, 0 for no.
	got, err := fittedHead(0).Logits([]float32{3, 1})
	if err != nil || got[0] != 3.5 || got[1] != 0 {
		t.Errorf("linear: %v, %v", got, err)
	}
	got, err = fittedHead(2).Logits([]float32{3, 1})
	if want := math.Tanh(4) - math.Tanh(1.25) + 0.5; err != nil || math.Abs(got[0]-want) > 1e-12 {
		t.Errorf("hidden layer: %v, want %v, %v", got, want, err)
	}
	if _, err := fittedHead(0).Logits([]float32{3}); !errors.Is(err, decide.ErrCalibrator) {
		t.Error(err)
	}
	if _, err := fittedHead(0).Probabilities([]float32{float32(math.NaN()), 0}); !errors.Is(err, decide.ErrNaN) {
		t.Error(err)
	}
	a, err := fittedHead(0).Answer(decide.Request{}, []float32{3, 1})
	if want := 1 / (1 + math.Exp(-3.5)); err != nil || a.Value != "yes" || math.Abs(a.Probability-want) > 1e-12 || a.LabelMass != nil {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestHeadSaves(t *testing.T) {
	t.Parallel()
	for _, h := range []*decide.Head{fittedHead(0), fittedHead(2)} {
		var b bytes.Buffer
		if err := h.Save(&b); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		back, err := decide.LoadHead(&b)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := h.Logits([]float32{0.3, -7})
		got, err := back.Logits([]float32{0.3, -7})
		if err != nil || !reflect.DeepEqual(got, want) || back.Question.Key() != h.Question.Key() {
			t.Errorf("%v, want %v, %v", got, want, err)
		}
		for _, bad := range []string{
			text[:len(text)/2],
			strings.Replace(text, `"width": 2`, `"width": 3`, 1),
			strings.Replace(text, `"width": 2`, `"width": -1`, 1),
			strings.Replace(text, `"instructions": "Is it?"`, `"instructions": ""`, 1),
		} {
			if _, err := decide.LoadHead(strings.NewReader(bad)); !errors.Is(err, decide.ErrSaved) {
				t.Errorf("%v", err)
			}
		}
	}
}

func TestBinding(t *testing.T) {
	t.Parallel()
	m, err := model.Stories().Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	of := func(m *model.Model) decide.Binding {
		b, err := decide.NewCompiler(m, decide.Options{}).Binding()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	here := of(m)
	if err := here.Fits(of(m)); err != nil {
		t.Error(err)
	}
	// The same model with a template writes its questions in another way.
	const template = `{% for m in messages %}[{{ m.role }}] {{ m.content }}
{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}`
	other, err := model.New(m.Name, m.Program, m.Tokenizer, template)
	if err != nil {
		t.Fatal(err)
	}
	there := of(other)
	if here.Template == there.Template || here.Scheme == there.Scheme {
		t.Errorf("the same template or scheme under another template: %x %x", here.Scheme, there.Scheme)
	}
	if err := here.Fits(there); !errors.Is(err, decide.ErrCalibrator) {
		t.Error(err)
	}
}

func FuzzLoad(f *testing.F) {
	var b bytes.Buffer
	_ = fitted().Save(&b)
	f.Add(b.Bytes())
	b = bytes.Buffer{}
	_ = fittedHead(2).Save(&b)
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := decide.LoadCalibrator(bytes.NewReader(data)); err == nil {
			q := decide.Choice("q", "i", decide.Names("a", "b", "c")...)
			if p, _, _ := c.Apply(label, &q, []float64{1, 2, 3}); len(p) != 3 {
				t.Fatalf("%v", p)
			}
		}
		if h, err := decide.LoadHead(bytes.NewReader(data)); err == nil {
			if _, err := h.Logits(make([]float32, h.Width)); err != nil {
				t.Fatal(err)
			}
		}
	})
}
