package decide

import (
	"math"
	"testing"
)

// TestConfidence compares with values computed by hand from the published formulas.
func TestConfidence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind                           Kind
		p                              []float64
		mass                           float64
		concentration, entropy, ofMass float64
	}{
		{KindChoice, []float64{.97, .02, .01}, .9, .955, .860, .873},
		{KindChoice, []float64{.88, .12, 0}, .9, .820, .666, .792},
		{KindChoice, []float64{.84, .159, .001}, .9, .760, .594, .756},
		{KindChoice, []float64{.0125, .9781, .0093}, 1, .9671, .8908, .9781},
		{KindChoice, []float64{.9, .09, .01}, 1, .85, 1 - (-.9*math.Log(.9)-.09*math.Log(.09)-.01*math.Log(.01))/math.Log(3), .9},
		{KindChoice, []float64{1. / 3, 1. / 3, 1. / 3}, .5, 0, 0, 1. / 6},
		{KindChoice, []float64{1}, .25, 1, 1, .25},
		{KindChoice, []float64{0, 1}, 1, 1, 1, 1},
		{KindBoolean, []float64{.75, .25}, 1, .5, 1 - (.75*math.Log2(4./3) + .25*2), .75},
		{KindBoolean, []float64{.5, .5}, 1, 0, 0, .5},
		{KindScore, []float64{.5, 0, .5}, .9, 0, .369, .45},
		{KindScore, []float64{.7, .2, .1}, 1, .40, .270, .7},
		{KindScore, []float64{.05, .6, .35}, 1, .40, 1 - (-.05*math.Log(.05)-.6*math.Log(.6)-.35*math.Log(.35))/math.Log(3), .6},
		{KindScore, []float64{.25, .25, .25, .25}, 1, 0, 0, .25},
		{KindScore, []float64{0, 0, 0, 1}, 1, 1, 1, 1},
	} {
		for _, d := range []struct {
			def  Confidence
			want float64
		}{{Concentration, c.concentration}, {Entropy, c.entropy}, {Mass, c.ofMass}} {
			// The table has three decimals where the source has.
			if got := d.def.Of(c.kind, c.p, c.mass); math.Abs(got-d.want) > 6e-4 {
				t.Errorf("%v of %v %v, mass %v: %.4f, want %.4f", d.def, c.kind, c.p, c.mass, got, d.want)
			}
		}
	}
}

func TestSoftmax(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		logits, want []float64
		temperature  float64
	}{
		{[]float64{0, 0}, []float64{.5, .5}, 1},
		{[]float64{math.Log(3), 0}, []float64{.75, .25}, 1},
		{[]float64{2 * math.Log(3), 0}, []float64{.75, .25}, 2},
		{[]float64{1000, 1000 - math.Log(3)}, []float64{.75, .25}, 1},
		{[]float64{math.Inf(-1), -5000}, []float64{0, 1}, 1},
	} {
		got := softmax(c.logits, c.temperature)
		for i := range got {
			if math.Abs(got[i]-c.want[i]) > 1e-12 {
				t.Errorf("softmax(%v / %v) = %v, want %v", c.logits, c.temperature, got, c.want)
				break
			}
		}
	}
}

func TestLogSumExp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		x    []float64
		want float64
	}{
		{nil, math.Inf(-1)},
		{[]float64{3}, 3},
		{[]float64{0, 0}, math.Log(2)},
		{[]float64{1000, 1000, 1000, 1000}, 1000 + math.Log(4)},
		{[]float64{math.Inf(-1), 2}, 2},
		{[]float64{math.Inf(-1), math.Inf(-1)}, math.Inf(-1)},
	} {
		if got := logSumExp(c.x); got != c.want && math.Abs(got-c.want) > 1e-12 {
			t.Errorf("logSumExp(%v) = %v, want %v", c.x, got, c.want)
		}
	}
}
