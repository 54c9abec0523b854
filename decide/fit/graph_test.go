package fit

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/hotpath-go/hotpath/decide"
)

// TestGradients compares each objective with differences of a loss that is written out here.
func TestGradients(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	draw := func(n int, scale float64) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = scale * r.NormFloat64()
		}
		return x
	}
	var ragged, even []Sample
	for i := range 12 {
		n := 2 + i%3
		ragged = append(ragged, Sample{Logits: draw(n, 3), Label: r.IntN(n)})
		even = append(even, Sample{Logits: draw(3, 3), Label: r.IntN(3)})
	}
	// Rows that differ by more than exp holds: the library's own softmax gives NaN here.
	even[3].Logits[1], even[5].Logits[0] = 900, -900
	mean := func(samples []Sample, logits func(x []float64) []float64) float64 {
		total := 0.0
		for _, s := range samples {
			z := logits(s.Logits)
			top, sum := z[argmax(z)], 0.0
			for _, v := range z {
				sum += math.Exp(v - top)
			}
			total += top + math.Log(sum) - z[s.Label]
		}
		return total / float64(len(samples))
	}
	const l2 = 0.01
	squares := func(x []float64, from float64) float64 {
		s := 0.0
		for _, v := range x {
			s += (v - from) * (v - from)
		}
		return l2 * s
	}

	check := func(name string, o *objective, err error, theta []float64, loss func(theta []float64) float64) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		defer o.close()
		grad := make([]float64, o.size())
		// Twice: nothing may be left over from the evaluation before.
		for range 2 {
			got, err := o.eval(theta, grad)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if want := loss(theta); math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
				t.Errorf("%s: loss %v, want %v", name, got, want)
			}
		}
		for i := range theta {
			const h = 1e-5
			x := append([]float64(nil), theta...)
			x[i] += h
			up := loss(x)
			x[i] -= 2 * h
			want := (up - loss(x)) / (2 * h)
			if math.Abs(grad[i]-want) > 1e-5*(1+math.Abs(want)) {
				t.Errorf("%s: gradient %d is %v, differences give %v", name, i, grad[i], want)
			}
		}
	}

	m := matrixOf(ragged)
	o, err := m.objective([]param{{"theta", 1, 1, []float64{0}}}, func(t *tape, in *gorgonia.Node, p []*gorgonia.Node) *gorgonia.Node {
		return t.scale(in, t.exp(p[0]))
	}, nil)
	check("temperature", o, err, []float64{0.3}, func(theta []float64) float64 {
		return mean(ragged, func(x []float64) []float64 {
			z := make([]float64, len(x))
			for i := range x {
				z[i] = math.Exp(theta[0]) * x[i]
			}
			return z
		})
	})

	m = matrixOf(even)
	for i, s := range even {
		copy(m.x[i*3:], s.Logits)
	}
	both := func(t *tape, _ *gorgonia.Node, p []*gorgonia.Node) *gorgonia.Node {
		return t.add(t.penalty(p[0], 1, l2), t.penalty(p[1], 0, l2))
	}
	o, err = m.objective(vectorParams(3), vectorLogits, both)
	check("vector", o, err, []float64{0.5, 1.2, 0.9, 0.1, -0.4, 0.2}, func(theta []float64) float64 {
		return squares(theta[:3], 1) + squares(theta[3:], 0) + mean(even, func(x []float64) []float64 {
			z := make([]float64, 3)
			for i := range x {
				z[i] = theta[i]*x[i] + theta[3+i]
			}
			return z
		})
	})

	var odds []Sample
	pm := &matrix{rows: 8, cols: 2, x: make([]float64, 16), want: make([]float64, 16)}
	for i := range pm.rows {
		x := 4 * r.NormFloat64()
		odds = append(odds, Sample{Logits: []float64{x, 0}, Label: i % 2})
		pm.x[2*i], pm.want[2*i+i%2] = x, 1
	}
	o, err = pm.objective(plattParams(), plattLogits, both)
	check("platt", o, err, []float64{0.7, -0.3}, func(theta []float64) float64 {
		return squares(theta[:1], 1) + squares(theta[1:], 0) + mean(odds, func(x []float64) []float64 {
			return []float64{theta[0]*x[0] + theta[1], 0}
		})
	})

	var rows []Row
	for i := range 10 {
		row := Row{Label: i % 3}
		for range 4 {
			row.State = append(row.State, float32(r.NormFloat64()))
		}
		rows = append(rows, row)
	}
	for _, hidden := range []int{0, 5} {
		h := &decide.Head{Width: 4, Hidden: hidden}
		standardize(h, rows)
		b, err := newProbe(h, rows, 3, Options{L2: l2, Hidden: hidden})
		if err != nil {
			t.Fatal(err)
		}
		theta := draw(b.size(), 0.5)
		check("head", b.objective, err, theta, func(theta []float64) float64 {
			loss := 0.0
			for _, row := range rows {
				x := make([]float64, 4)
				for j, v := range row.State {
					x[j] = (float64(v) - float64(h.Mean[j])) * float64(h.Scale[j])
				}
				rest := theta
				if hidden > 0 {
					x, rest = layer(x, rest, hidden)
					for i := range x {
						x[i] = math.Tanh(x[i])
					}
				}
				z, _ := layer(x, rest, 3)
				loss += mean([]Sample{{Logits: z, Label: row.Label}}, func(x []float64) []float64 { return x }) / float64(len(rows))
			}
			if hidden > 0 {
				return loss + squares(theta[:4*hidden], 0) + squares(theta[4*hidden+hidden:][:hidden*3], 0)
			}
			return loss + squares(theta[:12], 0)
		})
	}
}

// layer applies weights and biases from the front of theta.
func layer(x, theta []float64, n int) (out, rest []float64) {
	out = append([]float64(nil), theta[len(x)*n:][:n]...)
	for i, v := range x {
		for j := range n {
			out[j] += v * theta[i*n+j]
		}
	}
	return out, theta[(len(x)+1)*n:]
}

// TestPanicIsAnError gives the library shapes that do not go together.
func TestPanicIsAnError(t *testing.T) {
	t.Parallel()
	_, err := newObjective([]param{{"p", 1, 2, []float64{1, 2}}}, func(t *tape, p []*gorgonia.Node) *gorgonia.Node {
		return gorgonia.Must(gorgonia.Mul(p[0], p[0]))
	})
	if !errors.Is(err, ErrFit) {
		t.Errorf("%v", err)
	}
}

// TestMinimize goes down a bent valley to a known end.
func TestMinimize(t *testing.T) {
	t.Parallel()
	got, err := minimize(func(x, g []float64) (float64, error) {
		a, b := 1-x[0], x[1]-x[0]*x[0]
		g[0], g[1] = -2*a-400*x[0]*b, 200*b
		return a*a + 100*b*b, nil
	}, []float64{-1.2, 1}, 200, nil)
	if err != nil || math.Abs(got[0]-1) > 1e-5 || math.Abs(got[1]-1) > 1e-5 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := minimize(func(x, g []float64) (float64, error) { return 0, ErrFit }, []float64{1}, 5, nil); !errors.Is(err, ErrFit) {
		t.Error(err)
	}
}

// TestMovingCollectorImport keeps the blank import without which programs may panic at start.
func TestMovingCollectorImport(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("moving.go")
	if err != nil || !strings.Contains(string(b), `import _ "go4.org/unsafe/assume-no-moving-gc"`) {
		t.Errorf("moving.go must import it: %v", err)
	}
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mod)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "go4.org/unsafe/assume-no-moving-gc" && f[1] < "v0.0.0-20231121144256" {
			t.Errorf("go.mod asks for %s, which panics under Go releases it does not know", f[1])
		}
	}
}
