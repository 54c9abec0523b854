package cpu

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hotpath-go/hotpath/internal/pool"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model/arch"
	"github.com/hotpath-go/hotpath/quant"
)

// Each path against the generic one, operator by operator, on the same input.

func eachPath(t *testing.T, test func(t *testing.T, k, g *kernels)) {
	t.Parallel()
	for _, k := range available() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			test(t, k, generic())
		})
	}
}

func randoms(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 7))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// near fails where got lies further from want than 1e-4 of the largest value.
func near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	size := 0.0
	for _, v := range want {
		size = max(size, math.Abs(float64(v)))
	}
	for i := range want {
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= 1e-4*size) {
			t.Fatalf("%s: value %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

var lengths = []int{1, 3, 15, 16, 17, 32, 40, 96, 101, 256, 1000}

func TestRowOperators(t *testing.T) {
	eachPath(t, func(t *testing.T, k, g *kernels) {
		for _, n := range lengths {
			a, b, c := randoms(1, n), randoms(2, n), randoms(3, n)
			for i := range a {
				a[i] *= 4
			}
			copyOf := func(x []float32) []float32 { return append([]float32(nil), x...) }
			check := func(name string, run func(k *kernels, x, y []float32)) {
				t.Helper()
				x, y, wx, wy := copyOf(a), copyOf(b), copyOf(a), copyOf(b)
				run(k, x, y)
				run(g, wx, wy)
				near(t, fmt.Sprintf("%s of %d", name, n), x, wx)
				near(t, fmt.Sprintf("%s of %d, second", name, n), y, wy)
			}
			check("norm", func(k *kernels, x, y []float32) { k.norm(x, x, y, 1e-5) })
			check("add", func(k *kernels, x, y []float32) { k.add(x, y) })
			check("silu", func(k *kernels, x, y []float32) { k.silu(x, y) })
			check("silu", func(k *kernels, x, y []float32) { k.silu(y, x) })
			check("blend", func(k *kernels, x, y []float32) { k.blend(x, y, 0.3, 1.7) })
			check("rotate", func(k *kernels, x, y []float32) { k.rotate(x, y, c, b[:n]) })
			if n%2 == 0 {
				check("rotate adjacent", func(k *kernels, x, _ []float32) { k.rotateAdjacent(x, c[:n/2], b[:n/2]) })
			}
			top, sum := k.sumExp(a)
			wantTop, wantSum := g.sumExp(a)
			near(t, fmt.Sprintf("sumExp of %d", n), []float32{top, sum}, []float32{wantTop, wantSum})
		}
	})
}

func TestSoftmax(t *testing.T) {
	eachPath(t, func(t *testing.T, k, g *kernels) {
		for n := 1; n <= partition; n += 1 + n/9 {
			tiles := (n + 15) / 16 * 16
			x := randoms(uint64(n), tiles)
			for i := n; i < tiles; i++ {
				x[i] = float32(math.NaN()) // lanes that nobody may see
			}
			want := append([]float32(nil), x...)
			top, sum := k.softmax(x, n, 1.5)
			wantTop, wantSum := g.softmax(want, n, 1.5)
			near(t, fmt.Sprintf("weights of %d", n), x, want)
			near(t, fmt.Sprintf("state of %d", n), []float32{top, sum}, []float32{wantTop, wantSum})
			for i, v := range x[n:] {
				if v != 0 {
					t.Fatalf("%d scores: weight %d is %v, want 0", n, n+i, v)
				}
			}
		}
	})
}

// The generic functions against float64.
func TestExpIsAccurate(t *testing.T) {
	t.Parallel()
	for x := float32(-87.2); x < 87.2; x += 0.0137 {
		want := math.Exp(float64(x))
		if got := float64(expGeneric(x)); math.Abs(got/want-1) > 2.5e-7 {
			t.Fatalf("exp(%v) is %v, want %v", x, got, want)
		}
	}
	inf := float32(math.Inf(1))
	if expGeneric(0) != 1 || expGeneric(-inf) != 0 || expGeneric(inf) != inf || expGeneric(float32(math.NaN())) == expGeneric(0) {
		t.Error("special values")
	}
}

func TestAnglesAreAccurate(t *testing.T) {
	t.Parallel()
	for i := range 200000 {
		x := float64(i) * 0.731
		s, c := sincos(x)
		ws, wc := math.Sincos(x)
		if math.Abs(s-ws) > 1e-12 || math.Abs(c-wc) > 1e-12 {
			t.Fatalf("angle %v: %v %v, want %v %v", x, s, c, ws, wc)
		}
	}
}

// testMatrix prepares a matrix of a format on a path.
func testMatrix(t *testing.T, k *kernels, f quant.Format, rows, cols int) *matrix {
	t.Helper()
	size, err := f.RowBytes(cols)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, rows*size)
	for i := range rows {
		if err := quant.Encode(data[i*size:(i+1)*size], f, randoms(uint64(i)+100, cols)); err != nil {
			t.Fatal(err)
		}
	}
	w, err := quant.NewTensor(f, rows, cols, data)
	if err != nil {
		t.Fatal(err)
	}
	m, source, packed, err := prepare(k, &arch.Linear{Weight: w}, Rounded)
	if err != nil {
		t.Fatal(err)
	}
	if packed > 0 {
		m.data = make([]byte, packed)
		workers := pool.Open(1)
		defer workers.Close()
		var released []byte
		if err := pack(workers, m, source, w, 3*panelRows*size, func(t quant.Tensor) {
			released = append(released, t.Data...)
		}); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(released, data) {
			t.Errorf("%v %d x %d: released are other bytes than the stored ones, each once", f, rows, cols)
		}
	}
	return m
}

func testInput(k *kernels, m *matrix, rows int) *input {
	in := &input{k: k}
	in.reset(rows, m.cols, m.kernel.form)
	for r := range rows {
		copy(in.row(r), randoms(uint64(r), m.cols))
		in.fill(r, 0, m.cols)
	}
	return in
}

// Products agree with the generic ones, and have the same bits for any number of rows and panels.
func TestProducts(t *testing.T) {
	eachPath(t, func(t *testing.T, k, g *kernels) {
		for f := range k.linear {
			t.Run(f.String(), func(t *testing.T) {
				t.Parallel()
				for _, shape := range [][2]int{{16 * 25, 256}, {70, 512}, {9, 96}, {33, 45}, {40, 1}, {500, 32}} {
					rows, cols := shape[0], shape[1]
					if cols%f.BlockLen() != 0 {
						continue
					}
					m, gm := testMatrix(t, k, f, rows, cols), testMatrix(t, g, f, rows, cols)
					want := make([]float32, 19*rows)
					gm.kernel.multiply(gm, testInput(g, gm, 19), 0, gm.panels(), want, rows)
					first := make([]float32, rows)
					for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 19} {
						in := testInput(k, m, n)
						got := make([]float32, n*rows)
						for lo := 0; lo < m.panels(); lo += n {
							m.kernel.multiply(m, in, lo, min(lo+n, m.panels()), got, rows)
						}
						near(t, fmt.Sprintf("%d x %d, %d rows", rows, cols, n), got, want[:n*rows])
						if n == 1 {
							copy(first, got)
						}
						for o, v := range got[:rows] {
							if math.Float32bits(v) != math.Float32bits(first[o]) || math.Float32bits(m.kernel.one(m, in, 0, o)) != math.Float32bits(v) {
								t.Fatalf("%d x %d, %d rows: output %d is %v, alone %v, as one %v", rows, cols, n, o, v, first[o], m.kernel.one(m, in, 0, o))
							}
						}
					}
				}
			})
		}
	})
}

// A row with a NaN or an infinity has no finite product, and the rows beside it keep theirs.
func TestProductsKeepNaNInItsRow(t *testing.T) {
	eachPath(t, func(t *testing.T, k, _ *kernels) {
		for f := range k.linear {
			m := testMatrix(t, k, f, 40, 256)
			for _, bad := range []float64{math.NaN(), math.Inf(1)} {
				in := testInput(k, m, 3)
				in.row(1)[100] = float32(bad)
				in.fill(1, 0, 256)
				y := make([]float32, 3*40)
				m.kernel.multiply(m, in, 0, m.panels(), y, 40)
				for i, v := range y {
					if finite := v-v == 0; finite != (i/40 != 1) {
						t.Fatalf("%v: row %d, output %d is %v", f, i/40, i%40, v)
					}
				}
			}
		}
	})
}

// testTiles stores keys and values of n positions in blocks and returns the tiles of head 1.
func testTiles(t *testing.T, f quant.Format, dim, n int) (l *layerCache, keys, values []*byte, k, v [][]float32) {
	t.Helper()
	c, err := openCache([]*arch.Attention{{KVHeads: 2, HeadDim: dim}}, f, (n+15)/16)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	l = &c.layers[0]
	for pos := range n {
		x := randoms(uint64(pos)+50, 2*dim)
		store := make([]byte, 2*dim*f.BlockBytes())
		if err := quant.Encode(store, f, x); err != nil {
			t.Fatal(err)
		}
		if err := quant.Decode(x, f, store); err != nil {
			t.Fatal(err)
		}
		l.store(kvcache.BlockID(pos/16), 1, pos%16, x[:dim], x[dim:])
		k, v = append(k, x[:dim]), append(v, x[dim:])
	}
	for b := range (n + 15) / 16 {
		keys, values = append(keys, &l.keys(kvcache.BlockID(b), 1)[0]), append(values, &l.values(kvcache.BlockID(b), 1)[0])
	}
	return l, keys, values, k, v
}

func TestAttentionKernels(t *testing.T) {
	eachPath(t, func(t *testing.T, kernels, _ *kernels) {
		for _, f := range []quant.Format{quant.BF16, quant.F16, quant.F32} {
			for _, dim := range []int{8, 16, 24, 64, 80, 128, 192, 256} {
				const n = 103
				l, keys, values, k, v := testTiles(t, f, dim, n)
				for rows := 1; rows <= maxTileRows; rows++ {
					q := make([]float32, rows*l.padded)
					for r := range rows {
						copy(q[r*l.padded:], randoms(uint64(r), dim))
					}
					scores := make([]float32, rows*partition)
					kernels.scores[f](scores, q, rows, l.padded, keys)
					sums := make([]float32, rows*l.padded)
					lo, hi := 2*rows, n-rows
					kernels.values[f](sums, scores, rows, l.padded, values, 0, lo)
					kernels.values[f](sums, scores, rows, l.padded, values, lo, hi)
					for r := range rows {
						want, sum := make([]float32, n), make([]float32, l.padded)
						for pos := range n {
							s := 0.0
							for d := range dim {
								s += float64(q[r*l.padded+d]) * float64(k[pos][d])
							}
							want[pos] = float32(s)
							for d := range dim {
								if pos < hi {
									sum[d] += scores[r*partition+pos] * v[pos][d]
								}
							}
						}
						what := fmt.Sprintf("%v, heads of %d, row %d of %d", f, dim, r, rows)
						near(t, "scores: "+what, scores[r*partition:][:n], want)
						near(t, "values: "+what, sums[r*l.padded:][:l.padded], sum)
					}
				}
			}
		}
	})
}

// Values of positions that a row does not see have no part in it, whatever they are.
func TestAttentionDoesNotTouchHiddenPositions(t *testing.T) {
	eachPath(t, func(t *testing.T, kernels, _ *kernels) {
		for _, f := range []quant.Format{quant.BF16, quant.F16, quant.F32} {
			const dim, n = 32, 29
			l, _, values, _, _ := testTiles(t, f, dim, n)
			nan := make([]float32, dim)
			for d := range nan {
				nan[d] = float32(math.NaN())
			}
			l.store(kvcache.BlockID(1), 1, n-16, nan, nan)
			weights, sums := make([]float32, partition), make([]float32, dim)
			for i := range n {
				weights[i] = 1
			}
			kernels.values[f](sums, weights, 1, dim, values, 0, n)
			for d, s := range sums {
				if s != s {
					t.Fatalf("%v: value %d is NaN", f, d)
				}
			}
		}
	})
}
