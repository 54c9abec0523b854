package dense_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/dense"
)

func random(rows, cols int, seed uint64) backend.Matrix {
	r := rand.New(rand.NewPCG(seed, 1))
	m := backend.NewMatrix(rows, cols)
	for i := range m.Data {
		m.Data[i] = float32(r.NormFloat64())
	}
	return m
}

func toDense(t testing.TB, m backend.Matrix) *tensor.Dense {
	t.Helper()
	d, err := dense.ToDense(m)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestSharesMemory(t *testing.T) {
	t.Parallel()
	m := random(3, 5, 1)
	d := toDense(t, m)
	m.Data[7] = 42
	if v, err := d.At(1, 2); err != nil || v != float32(42) {
		t.Fatalf("element (1, 2) is %v, %v", v, err)
	}
	back, err := dense.FromDense(d)
	if err != nil || back.Rows != 3 || back.Cols != 5 || &back.Data[0] != &m.Data[0] {
		t.Fatalf("%+v, %v", back, err)
	}
	// A slice of rows is contiguous.
	rows, err := d.Slice(tensor.S(1, 3))
	if err != nil {
		t.Fatal(err)
	}
	part, err := dense.FromDense(rows.(*tensor.Dense))
	if err != nil || part.Rows != 2 || part.Cols != 5 || &part.Data[0] != &m.Data[5] {
		t.Fatalf("%+v, %v", part, err)
	}
	vector, err := dense.FromDense(tensor.New(tensor.WithBacking([]float32{1, 2, 3})))
	if err != nil || vector.Rows != 1 || vector.Cols != 3 {
		t.Fatalf("%+v, %v", vector, err)
	}
}

// views returns tensors whose elements do not lie in row order.
func views(t *testing.T) map[string]*tensor.Dense {
	t.Helper()
	columns, err := toDense(t, random(4, 6, 2)).Slice(nil, tensor.S(1, 3))
	if err != nil {
		t.Fatal(err)
	}
	every, err := toDense(t, random(4, 6, 2)).Slice(tensor.S(0, 4, 2))
	if err != nil {
		t.Fatal(err)
	}
	turned := toDense(t, random(4, 6, 2))
	if err := turned.T(); err != nil {
		t.Fatal(err)
	}
	masked := toDense(t, random(2, 2, 3))
	if err := masked.MaskedEqual(float32(0)); err != nil {
		t.Fatal(err)
	}
	list := map[string]*tensor.Dense{
		"columns":      columns.(*tensor.Dense),
		"every second": every.(*tensor.Dense),
		"transposed":   turned,
		"column-major": tensor.New(tensor.WithShape(4, 6), tensor.AsFortran(random(4, 6, 2).Data)),
		"masked":       masked,
	}
	for _, d := range list {
		dense.WithEngine(d)
	}
	return list
}

func TestRefusesViews(t *testing.T) {
	t.Parallel()
	for name := range views(t) {
		v := views(t)[name]
		if _, err := dense.FromDense(v); !errors.Is(err, dense.ErrView) {
			t.Errorf("%s: FromDense: %v", name, err)
		}
		n := v.Shape().Clone()
		right := toDense(t, random(n[1], 3, 4))
		left := toDense(t, random(3, n[0], 5))
		vector := dense.WithEngine(tensor.New(tensor.WithBacking(make([]float32, n[1]))))
		for what, do := range map[string]func() error{
			"MatMul left":  func() error { _, err := tensor.MatMul(v, right); return err },
			"MatMul right": func() error { _, err := tensor.MatMul(left, v); return err },
			// The library first makes a result plain; where the memory allows that, the numbers are right.
			"MatMul into": func() error {
				a, b := random(n[0], 2, 6), random(2, n[1], 6)
				y, err := tensor.MatMul(toDense(t, a), toDense(t, b), tensor.WithReuse(v))
				if err != nil {
					return err
				}
				want, err := tensor.MatMul(toDense(t, a), toDense(t, b))
				if err != nil || !slices.Equal(y.Data().([]float32), want.Data().([]float32)) {
					t.Errorf("%s: MatMul into: wrong product, %v", name, err)
				}
				return dense.ErrView
			},
			"MatVecMul":   func() error { _, err := tensor.MatVecMul(v, vector); return err },
			"Dot":         func() error { _, err := tensor.Dot(v, right); return err },
			"SoftMax":     func() error { _, err := tensor.SoftMax(v, 1); return err },
			"LogSoftMax":  func() error { _, err := tensor.LogSoftMax(v, 0); return err },
			"SoftMaxB":    func() error { _, err := tensor.SoftMaxB(v, v, 1); return err },
			"LogSoftMaxB": func() error { _, err := tensor.LogSoftMaxB(v, v, 1); return err },
			"SoftMax into": func() error {
				_, err := tensor.SoftMax(toDense(t, random(n[0], n[1], 7)), 1, tensor.WithReuse(v))
				return err
			},
		} {
			if err := do(); !errors.Is(err, dense.ErrView) {
				t.Errorf("%s: %s: %v", name, what, err)
			}
			v = views(t)[name] // the library has reshaped a view that was to be a result
		}
	}
	column, err := toDense(t, random(4, 6, 2)).Slice(nil, tensor.S(1))
	if err != nil {
		t.Fatal(err)
	}
	other := dense.WithEngine(tensor.New(tensor.WithBacking(make([]float32, 4))))
	if _, err := tensor.Inner(column, other); err == nil {
		t.Error("Inner with a column is no error")
	}
	if _, err := tensor.Outer(column, other); !errors.Is(err, dense.ErrView) {
		t.Errorf("Outer: %v", err)
	}
}

func TestProducts(t *testing.T) {
	t.Parallel()
	const m, k, n = 7, 70, 33
	a, b := random(m, k, 1), random(k, n, 2)
	want := make([]float64, m*n)
	for i := range m {
		for j := range n {
			for l := range k {
				want[i*n+j] += float64(a.Row(i)[l]) * float64(b.Row(l)[j])
			}
		}
	}
	check := func(what string, got []float32, want []float64) {
		t.Helper()
		for i := range want {
			if len(got) != len(want) || math.Abs(float64(got[i])-want[i]) > 1e-4 {
				t.Fatalf("%s: %d values, value %d is %v, want %v", what, len(got), i, got[i], want[i])
			}
		}
	}
	for what, product := range map[string]func() (tensor.Tensor, error){
		"MatMul": func() (tensor.Tensor, error) { return tensor.MatMul(toDense(t, a), toDense(t, b)) },
		"Dot":    func() (tensor.Tensor, error) { return tensor.Dot(toDense(t, a), toDense(t, b)) },
		"MatMul into": func() (tensor.Tensor, error) {
			return tensor.MatMul(toDense(t, a), toDense(t, b), tensor.WithReuse(toDense(t, random(m, n, 3))))
		},
	} {
		y, err := product()
		if err != nil {
			t.Fatal(err)
		}
		got, err := dense.FromDense(y.(*tensor.Dense))
		if err != nil {
			t.Fatal(err)
		}
		check(what, got.Data, want)
		if _, ok := y.Engine().(dense.Engine); !ok {
			t.Errorf("%s: the result carries %T", what, y.Engine())
		}
	}
	column := make([]float32, k)
	first := make([]float64, m)
	for l := range column {
		column[l] = b.Row(l)[0]
	}
	for i := range first {
		first[i] = want[i*n]
	}
	y, err := tensor.MatVecMul(toDense(t, a), dense.WithEngine(tensor.New(tensor.WithBacking(column))))
	if err != nil {
		t.Fatal(err)
	}
	check("MatVecMul", y.Data().([]float32), first)
}

// The library's own engine gives NaN for these rows.
func TestSoftMaxOfUnlikeRows(t *testing.T) {
	t.Parallel()
	m := backend.Matrix{Rows: 3, Cols: 3, Data: []float32{200, 0, 0, 0, 0, 0, -1000, -1001, -1000}}
	e := math.Exp(-1)
	want := []float64{1, 0, 0, 1. / 3, 1. / 3, 1. / 3, 1 / (2 + e), e / (2 + e), 1 / (2 + e)}
	for _, axis := range []int{1, -1} {
		y, err := tensor.SoftMax(toDense(t, m), axis)
		if err != nil {
			t.Fatal(err)
		}
		z, err := tensor.LogSoftMax(toDense(t, m), axis)
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range want {
			if got := float64(y.Data().([]float32)[i]); math.Abs(got-w) > 1e-6 {
				t.Errorf("axis %d: value %d is %v, want %v", axis, i, got, w)
			}
			if got := float64(z.Data().([]float32)[i]); w > 0 && math.Abs(got-math.Log(w)) > 1e-6 {
				t.Errorf("axis %d: log of value %d is %v, want %v", axis, i, got, math.Log(w))
			}
		}
	}
}

func TestSoftMaxAxes(t *testing.T) {
	t.Parallel()
	shape := []int{3, 4, 5}
	data := make([]float64, 60)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range data {
		data[i] = r.NormFloat64() * 50
	}
	x := dense.WithEngine(tensor.New(tensor.WithShape(shape...), tensor.WithBacking(slices.Clone(data))))
	for axis, stride := range []int{20, 5, 1} {
		y, err := tensor.SoftMax(x, axis)
		if err != nil {
			t.Fatal(err)
		}
		got := y.Data().([]float64)
		if !slices.Equal(x.Float64s(), data) {
			t.Fatal("the operand changed")
		}
		for i := range got {
			// All places with the same other coordinates.
			first := i - i/stride%shape[axis]*stride
			sum := 0.0
			for j := range shape[axis] {
				sum += math.Exp(data[first+j*stride] - data[i])
			}
			if math.Abs(got[i]-1/sum) > 1e-12 {
				t.Fatalf("axis %d: value %d is %v, want %v", axis, i, got[i], 1/sum)
			}
		}
		z, err := tensor.SoftMax(x, axis, tensor.WithReuse(dense.WithEngine(tensor.New(tensor.WithShape(shape...), tensor.Of(tensor.Float64)))))
		if err != nil || !slices.Equal(z.Data().([]float64), got) {
			t.Fatalf("with reuse: %v", err)
		}
	}
	if _, err := tensor.SoftMax(x, 3); !errors.Is(err, dense.ErrShape) {
		t.Errorf("axis 3: %v", err)
	}
	if _, err := tensor.SoftMax(x, -4); !errors.Is(err, dense.ErrShape) {
		t.Errorf("axis -4: %v", err)
	}
	z, err := tensor.SoftMax(x, 2, tensor.UseUnsafe())
	if err != nil || z != tensor.Tensor(x) || slices.Equal(x.Float64s(), data) {
		t.Errorf("in place: %v", err)
	}
}

func TestRefusesShapesAndTypes(t *testing.T) {
	t.Parallel()
	for _, m := range []backend.Matrix{{}, {Rows: 0, Cols: 3}, {Rows: 2}} {
		if _, err := dense.ToDense(m); !errors.Is(err, dense.ErrShape) {
			t.Errorf("%d x %d: %v", m.Rows, m.Cols, err)
		}
	}
	for _, m := range []backend.Matrix{{Rows: 2, Cols: 3, Data: make([]float32, 5)}, {Rows: -1, Cols: -6, Data: make([]float32, 6)}} {
		if _, err := dense.ToDense(m); !errors.Is(err, backend.ErrShape) {
			t.Errorf("%d x %d: %v", m.Rows, m.Cols, err)
		}
	}
	if _, err := dense.FromDense(tensor.New(tensor.WithShape(2, 2), tensor.Of(tensor.Float64))); !errors.Is(err, dense.ErrType) {
		t.Errorf("float64: %v", err)
	}
	if _, err := dense.FromDense(tensor.New(tensor.WithShape(2, 2, 2), tensor.Of(tensor.Float32))); !errors.Is(err, dense.ErrShape) {
		t.Errorf("three dimensions: %v", err)
	}
	ints := dense.WithEngine(tensor.New(tensor.WithShape(2, 2), tensor.Of(tensor.Int)))
	if _, err := tensor.SoftMax(ints, 1); !errors.Is(err, dense.ErrType) {
		t.Errorf("softmax of integers: %v", err)
	}
}
